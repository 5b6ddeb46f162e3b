#!/usr/bin/env escript
%% Runs the scenarios on Erlang and prints what happened: tests/erlang/run compares it with what weft does.
-mode(compile).

main([Path]) ->
    {ok, Text} = file:read_file(Path),
    Lines = [string:lexemes(Line, " ") || Line <- string:lexemes(binary_to_list(Text), "\n"), Line =/= [], hd(Line) =/= $#],
    run(Lines, none).

%% One scenario after the other. The world: the actors in order, as {Name, Pid}.
run([], World) -> finish(World);
run([["scenario", Name] | Rest], World) ->
    finish(World),
    io:format("== ~s~n", [Name]),
    put(ended, #{}),
    run(Rest, []);
run([Line | Rest], World) -> run(Rest, step(Line, World)).

step(["spawn" | Names], World) -> lists:foldl(fun(Name, Known) -> add(Name, spawn(fun() -> actor([], #{}) end), Known) end, World, Names);
step(["kill", Name], World) -> exit(pid(Name, World), kill), World;
step(["dead", N], World) -> until(fun() -> map_size(ended()) >= list_to_integer(N) end, {dead, N}), World;
step(["got", Name, N], World) ->
    until(fun() -> length(ask(pid(Name, World), log)) >= list_to_integer(N) end, {got, Name, N}), World;
step(["call", Name, Text], World) -> io:format("call ~s ~s: ~s~n", [Name, Text, call(whereis(list_to_atom(Name)), Text)]), World;
step(["names"], World) ->
    Names = [atom_to_list(Name) || Name <- registered(), lists:keymember(whereis(Name), 2, World)],
    io:format("names: ~s~n", [case Names of [] -> "none"; _ -> lists:join(" ", lists:sort(Names)) end]), World;
step(["do", Name, "exit", "normal"], World) -> pid(Name, World) ! {exit, normal}, World;
step(["do", Name, "exit", Reason], World) -> pid(Name, World) ! {exit, list_to_integer(Reason)}, World;
step(["do", Name | Operation], World) ->
    {Answer, New} = ask(pid(Name, World), {do, Operation, World}),
    io:format("~s ~s: ~s~n", [Name, lists:join(" ", Operation), Answer]),
    case New of
        {Child, Pid} -> add(Child, Pid, World);
        none -> World
    end.

add(Name, Pid, World) ->
    monitor(process, Pid),
    World ++ [{Name, Pid}].
pid(Name, World) -> proplists:get_value(Name, World).
name(Pid, World) -> case lists:keyfind(Pid, 2, World) of {Name, _} -> Name; false -> "?" end.

%% The ends that the coordinator was told of.
ended() ->
    receive {'DOWN', _, process, Pid, Reason} -> put(ended, (get(ended))#{Pid => Reason}), ended()
    after 0 -> get(ended)
    end.

until(Holds, What) -> until(Holds, What, 5000).
until(_, What, 0) -> io:format("never: ~p~n", [What]);
until(Holds, What, Times) ->
    case Holds() of
        true -> ok;
        false -> timer:sleep(2), until(Holds, What, Times - 1)
    end.

ask(Pid, Question) ->
    Ref = monitor(process, Pid),
    Pid ! {ask, self(), Ref, Question},
    receive
        {Ref, Answer} -> demonitor(Ref, [flush]), Answer;
        {'DOWN', Ref, process, Pid, _} -> []
    end.

call(undefined, _) -> "noproc";
call(Pid, Text) -> case ask(Pid, {echo, Text}) of [] -> "noproc"; Answer -> Answer end.

finish(none) -> ok;
finish(World) ->
    timer:sleep(10),
    Logs = [{Name, Pid, ask(Pid, {shown, World})} || {Name, Pid} <- World],
    Ended = ended(),
    [io:format("~s: ~s~n", [Name, lists:join("; ", [state(Pid, Ended) | lists:sort(Log)])]) || {Name, Pid, Log} <- Logs],
    [exit(Pid, kill) || {_, Pid} <- World],
    until(fun() -> map_size(ended()) >= length(World) end, all).

state(Pid, Ended) -> case Ended of #{Pid := Reason} -> reason(Reason); _ -> "alive" end.
reason(Reason) -> io_lib:format("~p", [Reason]).

%% An actor: the log of what it was told, newest first, and its monitors by name.
actor(Log, Refs) ->
    receive
        {exit, Reason} -> exit(Reason);
        {ask, From, Ref, log} -> From ! {Ref, Log}, actor(Log, Refs);
        {ask, From, Ref, {shown, World}} -> From ! {Ref, [show(Entry, World) || Entry <- Log]}, actor(Log, Refs);
        {ask, From, Ref, {echo, Text}} -> From ! {Ref, Text}, actor(Log, Refs);
        {ask, From, Ref, {do, Operation, World}} ->
            {Answer, New, Known} = do(Operation, World, Refs),
            From ! {Ref, {Answer, New}},
            actor(Log, Known);
        Told -> actor([Told | Log], Refs)
    end.

show({'DOWN', _, process, Pid, Reason}, World) -> ["DOWN ", name(Pid, World), " ", reason(Reason)];
show({'EXIT', Pid, Reason}, World) -> ["EXIT ", name(Pid, World), " ", reason(Reason)];
show({msg, Text}, _) -> ["MSG ", Text].

do(["after", B | Operation], World, Refs) ->
    {message_queue_len, Before} = process_info(self(), message_queue_len),
    pid(B, World) ! {exit, 7},
    until(fun() -> not is_process_alive(pid(B, World)) andalso process_info(self(), message_queue_len) > {message_queue_len, Before} end, told),
    do(Operation, World, Refs);
do(["spawn", Name], _, Refs) -> {"ok", {Name, spawn(fun() -> actor([], #{}) end)}, Refs};
do(["spawn_link", Name], _, Refs) -> {"ok", {Name, spawn_link(fun() -> actor([], #{}) end)}, Refs};
do(["spawn_monitor", Name, M], _, Refs) ->
    {Pid, Ref} = spawn_monitor(fun() -> actor([], #{}) end),
    {"ok", {Name, Pid}, Refs#{M => Ref}};
do(["monitor", B, M], World, Refs) -> {"ok", none, Refs#{M => monitor(process, pid(B, World))}};
do(["demonitor", M], _, Refs) -> demonitor(maps:get(M, Refs)), {"ok", none, Refs};
do(["demonitor_flush", M], _, Refs) -> demonitor(maps:get(M, Refs), [flush]), {"ok", none, Refs};
do(["link", B], World, Refs) -> {try link(pid(B, World)), "ok" catch error:noproc -> "noproc" end, none, Refs};
do(["unlink", B], World, Refs) -> unlink(pid(B, World)), {"ok", none, Refs};
do(["trap", How], _, Refs) -> process_flag(trap_exit, How =:= "on"), {"ok", none, Refs};
do(["alive", B], World, Refs) -> {case is_process_alive(pid(B, World)) of true -> "yes"; false -> "no" end, none, Refs};
do(["send", B, Text], World, Refs) -> pid(B, World) ! {msg, Text}, {"ok", none, Refs};
do(["register", Name, B], World, Refs) ->
    {try register(list_to_atom(Name), pid(B, World)), "ok" catch error:badarg -> "refused" end, none, Refs};
do(["unregister", Name], _, Refs) -> {try unregister(list_to_atom(Name)), "ok" catch error:badarg -> "refused" end, none, Refs};
do(["whereis", Name], World, Refs) ->
    {case whereis(list_to_atom(Name)) of undefined -> "none"; Pid -> name(Pid, World) end, none, Refs};
do(["send_name", Name, Text], _, Refs) -> {try list_to_atom(Name) ! {msg, Text}, "ok" catch error:badarg -> "refused" end, none, Refs}.
