"""The work that is compared: what each program is asked to do, what must come out, and which lines of the table it gives."""
import collections

STACKFUL, STEP, PREEMPTED, ALARMED, PACKED, CHANNELS = "weft", "weft step", "weft preempted", "weft alarmed", "weft packed", "weft channels"
WEFT = (STACKFUL, STEP)
OWN = WEFT + (PACKED, CHANNELS)  # what `weft bench` is asked for
ALL = ("go", "tokio", "erlang", "boost", "caf", "st")


def triangle(n):
    return n * (n + 1) // 2


def parts(n, count):
    """n in so many equal parts."""
    return [n // count + (i < n % count) for i in range(count)]


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def batches(n, size):
    """Messages of `mailbox`: whole batches of that size."""
    return max(size, n // size * size)


def places(n, members, tokens):
    """Where tokens end, counted from one, that begin at members 0, 1, 2 and so on and make n hops in all."""
    return sum((start + hops) % members + 1 for start, hops in enumerate(parts(n, min(tokens, n))))


PAIRS, FLIGHT_MEMBERS, SENDERS = 1000, 1000, 100
# Of rows in which many processes begin, or a mailbox may grow: with half a million, weft's pairs spent a quarter of their 14 ms on the first touch of two thousand stacks,
# and its fan-in was over before the mailbox had outgrown the caches.
LONG = 2000000
# What a program's `check` must be, for n operations on that size.
CHECKS = {
    "yield": lambda n, size: n,
    "spawn": lambda n, size: n,
    "pingpong": lambda n, size: triangle(n),
    "pairs": lambda n, size: sum(map(triangle, parts(n, PAIRS))),
    "latency": lambda n, size: triangle(n),
    "ring": lambda n, size: places(n, size, 1),
    "flight": lambda n, size: places(n, FLIGHT_MEMBERS, size),
    "mailbox": lambda n, size: triangle(batches(n, size)),
    "fanin": lambda n, size: sum(map(triangle, parts(n, SENDERS))),
    "skynet": lambda n, size: triangle(n - 1),
    "skynet-join": lambda n, size: triangle(n - 1),
    "fib": lambda n, size: fibonacci(n),
    **{name: lambda n, size: n for name in ("parked", "sleepers", "timers", "hog", "blocking")},
}
# And its `ops`, where that is not n.
OPERATIONS = {"fib": lambda n, size: fibonacci(n + 1) - 1, "mailbox": batches}
# What `weft bench` calls it, and its options; else as here.
BENCHES = {"fib": ("forkjoin", "--by", "join"), "skynet": ("skynet", "--by", "message"), "skynet-join": ("skynet", "--by", "join"),
           "timers": ("sleepers.cancelled",), "echo": ("echo.64",)}
# The same by one of weft's.
BENCHES_OF = {PACKED: {"parked": ("parked.packed",)}, CHANNELS: {"fanin": ("channel.fanin",)}}


# Where it depends on the machine which form of a peer's program is the fastest: how many it has, by row. Each round runs all, and the fastest counts.
# Boost's workers without work sleep or spin (with one worker there is nothing to choose); oneTBB waits for each 32 tasks, each 1,024, or all at the end.
FORMS = {"boost": dict.fromkeys(("spawn", "pingpong", "pairs", "ring", "fanin"), 2), "tbb": {"spawn": 3}}


def forms(peer, job):
    return 1 if peer == "boost" and job.workers == 1 else FORMS.get(peer, {}).get(job.name, 1)


class Work(collections.namedtuple("Work", "name workers n quick size who joint")):
    """One thing to do for each of `who`. `joint`: others that weft's own program measures in the same run, by the prefix of their keys."""

    @property
    def key(self):
        """Of its samples. With n: `pairs` on two workers is in the table and in a plot, by different numbers of trips and rounds."""
        return f"{self.name}/{self.workers}w/{self.size}/{self.n}"

    def check(self, n):
        return CHECKS[self.name](n, self.size) if self.name in CHECKS else None

    def operations(self, n):
        return OPERATIONS.get(self.name, lambda n, size: n)(n, self.size)

    def count(self, quick):
        return self.quick if quick else self.n


def work(name, workers, n, quick, who, size=1, joint=None):
    return Work(name, workers, n, quick, size, who, joint or {})


# A line of the table: `own` is which of weft's it is about. `metric`: a key of what the programs print, None for nanoseconds by operation.
Row = collections.namedtuple("Row", "title unit work own metric own_metric")


def lines(title, job, kinds=WEFT, unit="ns", metric=None, own_metric=None):
    workers = f"{job.workers} worker" + ("s" if job.workers > 1 else "")
    return [Row(f"{title}, {'step' if own == STEP else 'stackful'}, {workers}", unit, job, own, metric, own_metric or metric) for own in kinds
            if own in job.who]


def table():
    """Every line, in order."""
    both, stackful = WEFT + ALL, (STACKFUL,)
    many = ("go", "tokio", "erlang", "boost", "caf")  # State Threads has one thread
    rows = lines("yield", work("yield", 1, 2000000, 100000, WEFT + ("go", "tokio", "erlang", "boost", "st")))
    rows += lines("spawn", work("spawn", 1, 500000, 20000, both + ("tbb",)))
    rows += lines("spawn", work("spawn", 2, 500000, 20000, WEFT + many + ("tbb",)))
    rows += lines("pingpong", work("pingpong", 1, 500000, 20000, both))
    rows += lines("pingpong", work("pingpong", 2, 500000, 20000, WEFT + many))
    rows += lines("pairs", work("pairs", 2, LONG, 20000, WEFT + many))
    rows += lines("ring", work("ring", 1, 500000, 20000, both, size=503))
    rows += lines("ring", work("ring", 2, 500000, 20000, WEFT + many, size=503))
    rows += lines("skynet by messages", work("skynet", 2, 1000000, 20000, WEFT + ("go", "tokio", "erlang", "caf")))
    rows += lines("skynet by join", work("skynet-join", 2, 1000000, 20000, stackful + ("tbb",)))
    rows += lines("fib by join", work("fib", 1, 27, 20, stackful + ("go", "tokio", "erlang", "tbb")))
    rows += lines("fib by join", work("fib", 2, 27, 20, stackful + ("go", "tokio", "erlang", "tbb")))
    fan = work("fanin", 2, LONG, 20000, WEFT + (CHANNELS,) + many)
    rows += lines("fan-in", fan)
    rows += [Row("fan-in through a weft channel with room for 1,024, stackful, 2 workers", "ns", fan, CHANNELS, None, None)]
    wait = work("parked", 1, 200000, 20000, both + (PACKED,))
    rows += lines("parked", wait, unit="bytes", metric="bytes_each")
    rows += [Row("parked for long, with WEFT_SPAWN_PACK, stackful, 1 worker", "bytes", wait, PACKED, "bytes_each", "served_bytes_each")]
    sleep = work("sleepers", 2, 200000, 20000, WEFT + ("go", "tokio", "erlang", "boost"))
    rows += lines("sleepers, past the second", sleep, unit="ms", metric="late_ms")
    rows += lines("sleepers, processor time", sleep, unit="s", metric="cpu_s")
    hogs = work("hog", 2, 500, 100, stackful + ("go", "tokio", "erlang"), joint={"threads": "thread_", PREEMPTED: "l2_1ms_", ALARMED: "l2_alarms_"})
    rows += lines("ticker beside loops, p99 late", hogs, kinds=stackful, unit="µs", metric="p99_us")
    rows += [Row("ticker beside loops, preempted after 1 ms, p99 late, stackful, 2 workers", "µs", hogs, PREEMPTED, "p99_us", "p99_us"),
             Row("ticker beside loops, preempted after 1 ms by alarms, p99 late, stackful, 2 workers", "µs", hogs, ALARMED, "p99_us", "p99_us")]
    rows += lines("blocking, 200 × 10 ms, all together", work("blocking", 2, 200, 200, stackful + ("go", "tokio", "libuv")), unit="ms", metric="ms")
    full = work("latency", 2, 2000, 200, stackful + ("go", "tokio", "erlang"))
    for title, metric in (("p50", "p50_us"), ("p99", "p99_us"), ("p99.9", "p999_us")):
        rows += lines(f"request under full load, {title}", full, unit="µs", metric=metric)
    rows += lines("http, processor time of a request", work("http", 1, 3, 1, stackful, joint={"libuv": "uv_"}), unit="µs", metric="cpu_us")
    rows += lines("echo over 64 connections, processor time", work("echo", 1, 100000, 20000, stackful, joint={"libuv": "uv_"}), unit="µs",
                  metric="cpu_us")
    return rows


# A plot: what is on the x axis, and for each place there the work.
Series = collections.namedtuple("Series", "name title axis points")


def scaling():
    some = (STACKFUL, STEP, "go", "tokio", "erlang")
    sizes = (10, 100, 1000, 10000, 100000, 1000000)

    def series(name, title, axis, row, workers, n, who, places=sizes):
        return Series(name, title, axis, [(x, work(row, workers, max(n, x), 20000, who, size=x)) for x in places])  # a whole lap at least

    return [
        series("processes", "one hop of a message, by the number of processes in the ring", "processes", "ring", 1, 300000, some),
        series("flight", "one hop, by the number of messages in flight among 1,000 processes", "messages in flight", "flight", 2, 300000, some,
               (1, 10, 100, 1000, 10000, 100000)),
        series("timers", "one timer cancelled and armed again, by the number of timers armed", "timers armed", "timers", 1, 200000,
               (STEP, "go", "tokio", "erlang", "libuv")),
        series("mailbox", "one message sent and read, by the number that wait in the mailbox", "messages that wait", "mailbox", 1, 300000, some),
        Series("workers", "one round trip of a thousand pairs, by the number of workers", "workers",
               [(workers, work("pairs", workers, 300000, 20000, some)) for workers in (1, 2, 4, 8)]),
    ]
