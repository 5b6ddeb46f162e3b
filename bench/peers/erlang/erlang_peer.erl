%% Peer of `weft compare`: the rows by Erlang's processes.
%%
%%     erl +S W:W ... -s erlang_peer main -extra ROW WORKERS N SIZE
%%
%% Prints `ops=... ns=... check=...` and what else the row measures; docs/comparison.md tells what each row is.
-module(erlang_peer).
-export([main/0]).

-define(PAIRS, 1000).
-define(FLIGHT_MEMBERS, 1000).
-define(SENDERS, 100).
-define(CHILDREN, 10).
-define(BURST, 32).
-define(HOGS, 4).

main() ->
    [Row, _Workers, N, Size] = init:get_plain_arguments(),
    Self = self(),
    %% With room from the start for what the measuring process gathers: it is no part of the row.
    Root = fun() -> Self ! {done, row(Row, list_to_integer(N), list_to_integer(Size))} end,
    spawn_opt(Root, [link, {min_heap_size, 4096}]),
    receive {done, {Ops, Ns, Check, More}} -> io:format("ops=~b ns=~b check=~b~s~n", [Ops, Ns, Check, More]) end,
    halt(0).

row("yield", N, _) -> yield(N);
row("spawn", N, _) -> spawns(N);
row("pingpong", N, _) -> pairs(N, 1);
row("pairs", N, _) -> pairs(N, ?PAIRS);
row("ring", N, Size) -> round(N, Size, 1);
row("flight", N, Size) -> round(N, ?FLIGHT_MEMBERS, Size);
row("mailbox", N, Size) -> mailbox(N, Size);
row("fanin", N, _) -> fanin(N);
row("skynet", N, _) -> skynet(N);
row("fib", N, _) -> fib(N);
row("parked", N, _) -> parked(N);
row("sleepers", N, _) -> sleepers(N);
row("timers", N, Size) -> timers(N, Size);
row("hog", N, _) -> hog(N);
row("latency", N, _) -> latency(N).

now_ns() -> erlang:monotonic_time(nanosecond).

%% The I-th, from 0, of so many equal parts.
part(N, Parts, I) when I < N rem Parts -> N div Parts + 1;
part(N, Parts, _) -> N div Parts.

each(0, _) -> ok;
each(Left, Do) -> Do(), each(Left - 1, Do).

%% ---- switches and births

turns(Left, Had) when Left > 0 -> erlang:yield(), turns(Left - 1, Had + 1);
turns(0, Had) -> Had.

yield(N) ->
    Self = self(),
    Start = now_ns(),
    [spawn_link(fun() -> Self ! {turned, turns(part(N, 2, I), 0)} end) || I <- [0, 1]],
    Turned = receive {turned, A} -> receive {turned, B} -> A + B end end,
    {N, now_ns() - Start, Turned, ""}.

spawns(N) ->
    Ended = counters:new(1, [write_concurrency]),
    Start = now_ns(),
    spawn_bursts(N, fun() -> counters:add(Ended, 1, 1) end),
    await(Ended, N),
    {N, now_ns() - Start, counters:get(Ended, 1), ""}.

spawn_bursts(0, _) -> ok;
spawn_bursts(Left, Body) ->
    spawn(Body),
    if Left rem ?BURST =:= 0 -> erlang:yield(); true -> ok end,
    spawn_bursts(Left - 1, Body).

await(Counter, N) ->
    case counters:get(Counter, 1) of
        Had when Had < N -> erlang:yield(), await(Counter, N);
        _ -> ok
    end.

%% ---- messages

pong() ->
    receive
        {From, Value} -> From ! Value, pong();
        stop -> ok
    end.

trips(_, 0, Sum) -> Sum;
trips(Other, Left, Sum) ->
    Other ! {self(), Left},
    receive Value -> trips(Other, Left - 1, Sum + Value) end.

ping(Umpire, Trips) ->
    Other = spawn_link(fun pong/0),
    Sum = trips(Other, Trips, 0),
    Other ! stop,
    Umpire ! {sum, Sum}.

pairs(N, Most) ->
    Count = min(N, Most),
    Self = self(),
    Start = now_ns(),
    [spawn_link(fun() -> ping(Self, part(N, Count, I)) end) || I <- lists:seq(0, Count - 1)],
    Sum = sums(Count, 0),
    {N, now_ns() - Start, Sum, ""}.

sums(0, Sum) -> Sum;
sums(Left, Sum) -> receive {sum, One} -> sums(Left - 1, Sum + One) end.

%% The value says how many hops are left, the one just made included.
member(Next, Number, Umpire) ->
    receive
        Left when Left > 1 -> Next ! Left - 1, member(Next, Number, Umpire);
        1 -> Umpire ! {sum, Number + 1}, member(Next, Number, Umpire)
    end.

round(Hops, Members, Most) ->
    Tokens = min(Hops, Most),
    Self = self(),
    First = spawn_link(fun() -> receive {next, Next} -> member(Next, 0, Self) end end),
    Ring = [First | members(Members - 1, First, Self, [])],
    At = list_to_tuple(Ring),
    First ! {next, element(1 rem Members + 1, At)},
    element(1 rem Members + 1, At) ! Members, % a lap before the clock: every member has run then, and waits
    sums(1, 0),
    Start = now_ns(),
    [element((T + 1) rem Members + 1, At) ! part(Hops, Tokens, T) || T <- lists:seq(0, Tokens - 1)],
    Places = sums(Tokens, 0),
    {Hops, now_ns() - Start, Places, ""}.

members(0, _, _, Made) -> Made;
members(Number, Next, Umpire, Made) ->
    One = spawn_link(fun() -> member(Next, Number, Umpire) end),
    members(Number - 1, One, Umpire, [One | Made]).

reader(Writer, Length, Had, Sum) ->
    receive Value ->
        if (Had + 1) rem Length =:= 0 -> Writer ! {sum, Sum + Value}; true -> ok end,
        reader(Writer, Length, Had + 1, Sum + Value)
    end.

%% The reader's messages are kept off its heap, as in fanin.
mailbox(N, Length) ->
    Messages = max(Length, N div Length * Length),
    Self = self(),
    Reader = spawn_opt(fun() -> reader(Self, Length, 0, 0) end, [link, {message_queue_data, off_heap}]),
    Start = now_ns(),
    Sum = write(Reader, 1, Messages, Length, 0),
    {Messages, now_ns() - Start, Sum, ""}.

write(_, I, Messages, _, Sum) when I > Messages -> Sum;
write(Reader, I, Messages, Length, Sum) ->
    Reader ! I,
    Now = if I rem Length =:= 0 -> sums(1, 0); true -> Sum end,
    write(Reader, I + 1, Messages, Length, Now).

send_all(_, 0) -> ok;
send_all(To, Left) -> To ! Left, send_all(To, Left - 1).

%% Senders are slowed down by Erlang itself when the receiver is behind. The receiver's messages are kept off its heap, as is advised for one that
%% gets many.
fanin(N) ->
    Self = self(),
    process_flag(message_queue_data, off_heap),
    Start = now_ns(),
    [spawn_link(fun() -> send_all(Self, part(N, ?SENDERS, I)) end) || I <- lists:seq(0, ?SENDERS - 1)],
    Sum = receive_all(N, 0),
    {N, now_ns() - Start, Sum, ""}.

receive_all(0, Sum) -> Sum;
receive_all(Left, Sum) -> receive Value -> receive_all(Left - 1, Sum + Value) end.

sky(Up, First, 1) -> Up ! {sum, First};
sky(Up, First, Leaves) ->
    Self = self(),
    Children = min(Leaves, ?CHILDREN),
    split(Self, First, Leaves, Children, 0),
    Up ! {sum, sums(Children, 0)}.

split(_, _, _, Children, Children) -> ok;
split(Self, First, Leaves, Children, I) ->
    Below = part(Leaves, Children, I),
    spawn(fun() -> sky(Self, First, Below) end),
    split(Self, First + Below, Leaves, Children, I + 1).

skynet(N) ->
    Self = self(),
    Start = now_ns(),
    spawn_link(fun() -> sky(Self, 0, N) end),
    Sum = sums(1, 0),
    {N, now_ns() - Start, Sum, ""}.

%% Answers carry the process they are from: they may come in any order.
fib_of(N) when N < 2 -> N;
fib_of(N) ->
    Self = self(),
    Child = spawn(fun() -> Self ! {self(), fib_of(N - 1)} end),
    One = fib_of(N - 2),
    receive {Child, Other} -> One + Other end.

tasks(N) when N < 2 -> 0;
tasks(N) -> 1 + tasks(N - 1) + tasks(N - 2).

fib(N) ->
    Start = now_ns(),
    Sum = fib_of(N),
    {tasks(N), now_ns() - Start, Sum, ""}.

%% ---- waiting and time

resident_bytes() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(binary_to_list(Text), " "),
    list_to_integer(Pages) * 4096.

parked(N) ->
    Had = counters:new(1, [write_concurrency]),
    Before = resident_bytes(),
    Start = now_ns(),
    spawn_parked(N, fun() -> receive _ -> counters:add(Had, 1, 1) end, receive never -> ok end end),
    await(Had, N),
    Ns = now_ns() - Start,
    Each = (resident_bytes() - Before) / N,
    {N, Ns, counters:get(Had, 1), io_lib:format(" bytes_each=~.1f", [Each])}.

spawn_parked(0, _) -> ok;
spawn_parked(Left, Body) ->
    spawn(Body) ! Left,
    if Left rem ?BURST =:= 0 -> erlang:yield(); true -> ok end,
    spawn_parked(Left - 1, Body).

%% Milliseconds of all threads.
cpu_ms() -> {Ms, _} = statistics(runtime), Ms.

sleepers(N) ->
    Self = self(),
    Woken = atomics:new(1, []),
    Before = cpu_ms(),
    Start = now_ns(),
    each(N, fun() -> spawn(fun() -> sleeper(Self, Woken, N) end) end),
    receive all -> ok end,
    Ns = now_ns() - Start,
    More = io_lib:format(" late_ms=~.3f cpu_s=~.4f", [Ns / 1.0e6 - 1000, (cpu_ms() - Before) / 1000]),
    {N, Ns, atomics:get(Woken, 1), More}.

sleeper(Umpire, Woken, N) ->
    receive after rand:uniform(1000) - 1 -> ok end,
    case atomics:add_get(Woken, 1, 1) of
        N -> Umpire ! all;
        _ -> ok
    end.

%% Size timers stay armed; the oldest is cancelled and another one armed.
timers(N, Size) ->
    Armed = queue:from_list([arm() || _ <- lists:seq(1, Size)]),
    Start = now_ns(),
    Cancelled = rearm(N, Armed, 0),
    {N, now_ns() - Start, Cancelled, ""}.

arm() -> erlang:start_timer(3600000 + rand:uniform(1000), self(), late).

rearm(0, _, Cancelled) -> Cancelled;
rearm(Left, Armed, Cancelled) ->
    {{value, Oldest}, Others} = queue:out(Armed),
    true = is_integer(erlang:cancel_timer(Oldest)),
    rearm(Left - 1, queue:in(arm(), Others), Cancelled + 1).

percentiles(Took) ->
    Sorted = list_to_tuple(lists:sort(Took)),
    At = fun(Part) -> element(trunc(Part * (tuple_size(Sorted) - 1)) + 1, Sorted) / 1000 end,
    io_lib:format(" p50_us=~.3f p99_us=~.3f p999_us=~.3f", [At(0.5), At(0.99), At(0.999)]).

endless() -> endless().

%% Timers count in milliseconds, so the ticks are at whole ones.
hog(N) ->
    each(?HOGS, fun() -> spawn(fun endless/0) end),
    receive after 50 -> ok end,
    Start = now_ns(),
    Late = ticks(N, erlang:monotonic_time(millisecond) + 1, []),
    {N, now_ns() - Start, length(Late), percentiles(Late)}.

ticks(0, _, Late) -> Late;
ticks(Left, Next, Late) ->
    await_time(Next, now_ns()),
    Now = now_ns(),
    By = Now - Next * 1000000,
    Then = if By > 1000000 -> Now div 1000000 + 1; true -> Next + 1 end,
    ticks(Left - 1, Then, [By | Late]).

never_pauses(Other) ->
    Other ! {self(), 1},
    receive 1 -> never_pauses(Other) end.

%% A request every millisecond, while a thousand pairs never pause. One that had to wait for the one before it counts from its own time.
latency(N) ->
    each(?PAIRS, fun() -> spawn(fun() -> never_pauses(spawn(fun pong/0)) end) end),
    Other = spawn(fun pong/0),
    receive after 100 -> ok end,
    Start = now_ns(),
    {Sum, Took} = requests(1, N, erlang:monotonic_time(millisecond), Other, 0, []),
    {N, now_ns() - Start, Sum, percentiles(Took)}.

requests(I, N, _, _, Sum, Took) when I > N -> {Sum, Took};
requests(I, N, Start, Other, Sum, Took) ->
    Due = Start + I,
    await_time(Due, now_ns()),
    Other ! {self(), I},
    receive Value -> requests(I + 1, N, Start, Other, Sum + Value, [now_ns() - Due * 1000000 | Took]) end.

await_time(Due, Now) when Now < Due * 1000000 ->
    erlang:start_timer(Due, self(), tick, [{abs, true}]),
    receive {timeout, _, tick} -> ok end;
await_time(_, _) -> ok.
