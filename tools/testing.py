"""What tools/run-tests and tools/test-full share: running commands, counting them, and how each build's programs are run."""
import collections, functools, os, pathlib, re, resource, subprocess, sys, tempfile, threading, time

root = pathlib.Path(__file__).resolve().parent.parent
cores = int(os.environ.get("JOBS") or os.cpu_count())
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$")
# 64-bit ARM is emulated, so only the rooms whose code depends on the machine, or on its memory order in more than one place, are run there.
AARCH64_ROOMS = ("base", "queue", "ctx", "proc", "fiber", "wait", "mail", "scope", "forkjoin", "sync", "runtime", "preempt",
                 "life", "registry", "super", "server")
# What the emulator cannot do, or does not do as a kernel.
AARCH64_LEFT_OUT = {
    "runtime/test_deadlock": "a program with threads that are not weft's is never in a deadlock, and the emulator has one",
    **{name: "takes it for granted that a thread has begun a call after 5 ms" for name in ("wait/test_blocking", "wait/test_blocking_threads")},
    **{f"preempt/test_{name}": "slices of 50 us in an emulator that runs a hundredth as fast: minutes"
       for name in ("preempt", "calls", "hammer", "locks", "places", "registers", "signals", "steps", "stopping")},
    **{name: "nothing that depends on the machine, and too many processes for an emulator" for name in (
        "mail/test_send_after", "mail/test_post", "mail/test_send", "mail/test_handoff", "runtime/test_start", "runtime/test_stats", "runtime/test_stop",
        "runtime/test_start_faults", "runtime/test_smoke", "life/test_reuse", "life/test_kill_calls", "super/test_chaos")},
}
LINES, COLUMNS = 40, 240

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # tests that abort on purpose leave no files behind


Result = collections.namedtuple("Result", "status output seconds processor")


def run(command, environment=None, limit=600):
    """A Result, with seconds by the clock and of processor time; a command that cannot start or does not end is a failed one."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(command, cwd=root, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT)
        except OSError as error:
            return Result(127, f"FAIL: {error}\n", 0.0, 0.0)
        late = threading.Event()
        watchdog = threading.Timer(limit, lambda: (late.set(), process.kill()))
        watchdog.start()
        _, status, usage = os.wait4(process.pid, 0)
        watchdog.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace") + (f"\nFAIL: not done after {limit} s, killed\n" if late.is_set() else "")
    return Result(124 if late.is_set() else process.returncode, text, time.monotonic() - start, usage.ru_utime + usage.ru_stime)


told = 0.0  # when progress was last told


def progress(text):
    """How far it is: a line that is written over, "" wipes it; where there is no terminal, a line of its own every half minute."""
    global told
    if sys.stdout.isatty():
        print(f"\r\033[K{text[:COLUMNS]}", end="", flush=True)
    elif text and time.monotonic() - told > 30:
        print(f"     {text}", flush=True)
        told = time.monotonic()


def counts(status, output):
    """(passed, failed) by the last `N passed, N failed`; a command that crashed or proved nothing is one failure."""
    found = [match for match in map(COUNTS.match, output.splitlines()[-3:]) if match]
    good, bad = (int(found[-1][1]), int(found[-1][2])) if found else (0, 0)
    if bad == 0 and (status != 0 or good == 0):
        bad = 1
    return good, bad


def excerpt(text, everything=False):
    """What a reader needs of a failed command's output: each FAIL with what follows it, or the end."""
    lines, keep, show = text.splitlines(), [], everything
    for line in lines:
        if line.startswith("FAIL"):
            show = True
        elif line.startswith("ok"):
            show = everything
        if show and not COUNTS.match(line):
            keep.append("    " + line[:COLUMNS])
    keep = keep or ["    " + line[:COLUMNS] for line in lines[-15:]]
    return "\n".join(keep[:LINES] + ([f"    … {len(keep) - LINES} lines more in the log"] if len(keep) > LINES else []))


def checker_groups(checker, *options):
    """The groups of scenarios that a checker knows: a group is a source file. With --short or --deep, those with something in that lane."""
    status, output, *_ = run([checker, *options, "--list"])
    return [line[:-1] for line in output.splitlines() if status == 0 and re.fullmatch(r"\w+:", line)]


def program_names(preset):
    """The test programs that a preset builds and can run, ROOM/test_NAME. The cross compiler has no C++; the simulation is built once, in release."""
    suffixes = ("c",) if preset == "aarch64" else ("c", "cpp")
    sources = sorted(path for suffix in suffixes for path in (root / "tests").glob(f"*/test_*.{suffix}"))
    names = [f"{path.parent.name}/{path.stem}" for path in sources]
    names = [name for name in names if preset == "release" or not name.startswith("sim/")]
    return [name for name in names
            if preset != "aarch64" or (name.split("/")[0] in AARCH64_ROOMS and name not in AARCH64_LEFT_OUT)]


@functools.lru_cache
def launcher(preset):
    """What stands before a program's name."""
    if preset == "aarch64":
        return ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
    # Sanitizer runtimes of this age fail at random where addresses are very random; setarch helps where it is allowed.
    if preset in ("asan", "tsan") and run(["setarch", "-R", "true"])[0] == 0:
        return ["setarch", "-R"]
    return []


def environment(preset):
    """Settings for a preset's programs: sanitizers stop at the first error. All have more patience than programs that are started by hand, because sanitizers
    and emulators are slow, and others may use the machine. The list of received messages is left out: its one lock would order what the tests race."""
    patience = {"WEFT_TEST_PATIENCE": "4", "WEFT_CHECK_MESSAGES": "0"}
    if preset == "asan":
        return {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1", **patience}
    return {"TSAN_OPTIONS": "halt_on_error=1", **patience} if preset == "tsan" else patience
