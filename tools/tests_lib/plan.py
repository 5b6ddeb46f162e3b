"""Every job there is, and its lane: `make test` runs the short one, `make test-deep` the deep one. Together they guard the main branch.

The short lane runs every test program in the release build, and the sanitizers over what each can find in the time. What the tables below name
is in the deep lane. A name in a table that matches nothing is an error, so that no table outlives what it speaks of."""
import fnmatch, shutil

from testing import checker_groups, environment, launcher, program_names, root
from .job import Build, Job, wanted

CHECKER = root / "build" / "check" / "weft-check"
COMMAND = ("weft", "weft_static", "weft_shared", "weft_sim", "weft_sim_shared")
# Only in the deep lane: ROOM/PROGRAM, or a pattern.
DEEP = {
    # Bounds, lifetimes and undefined behaviour show in one run of each kind. The short lane has the rooms that allocate, hand on and give back; what is left
    # out repeats for the sake of timing, measures, or is small and asked by the model checker.
    "asan": ("base/*", "cross/*", "examples/*", "fiber/test_burst", "fiber/test_errno*", "fiber/test_migrate*", "fiber/test_turns", "flaws/*", "forkjoin/*",
             "io/test_file", "io/test_stdin", "life/test_interrupt", "life/test_kill", "life/test_reuse", "life/test_zombie", "mail/test_bounds_flood", "name/test_name_ares",
             "net/test_net_fair", "net/test_netpoll", "os/*", "preempt/*", "proc/test_table", "queue/*", "runtime/test_deadlock", "runtime/test_grace",
             "runtime/test_identity", "runtime/test_main", "runtime/test_start", "runtime/test_stop", "sched/*", "sync/*", "sys/*", "thread/*", "time/*", "wait/*"),
    # Races show where threads share something. The short lane has the rooms whose structures workers share; left out is what has one thread, the preempted
    # programs, which this sanitizer cannot bear and which do nothing there, those that wait for a message before they abort, the kernel's side, and stress
    # tests of single parts of which the checker explores every interleaving in the short lane.
    "tsan": ("base/*", "command/*", "cross/*", "ctx/*", "cxx/*", "examples/*", "fiber/test_bigstack", "fiber/test_birth*", "fiber/test_burst", "fiber/test_errno*",
             "fiber/test_memory", "fiber/test_migrate*", "fiber/test_overflow", "fiber/test_pin_calls", "fiber/test_stack_usage", "fiber/test_switch",
             "fiber/test_turns", "fiber/test_upcall", "flaws/*", "io/*", "life/test_reuse", "life/test_zombie", "mail/test_bounds_flood", "mem/test_pool", "mem/test_stack*",
             "name/*", "net/*", "os/*", "preempt/*", "proc/test_state", "proc/test_table", "queue/test_deque", "queue/test_line", "queue/test_ring",
             "runtime/test_deadlock", "runtime/test_freed", "runtime/test_grace",
             "runtime/test_identity", "runtime/test_main", "runtime/test_quit", "runtime/test_start", "runtime/test_start_faults", "runtime/test_stop",
             "sched/test_fair", "sched/test_find", "sched/test_idle_cost", "sched/test_reentry", "sync/test_synch2", "sys/*", "thread/test_give_way", "thread/test_hogs",
             "thread/test_worker", "time/test_wheel*", "wait/test_blocking*", "wait/test_lasting"),
}
# Multiplied by so much in the deep lane.
SCALED = {"cross/test_mixture": 2, "preempt/test_hammer": 3, "preempt/test_registers": 10, "preempt/test_steps": 4, "fiber/test_burst": 4, "sync/test_synch2": 10}
# Groups of the checker whose long scenarios take ten minutes of a processor together: the deep lane tries SAMPLED random executions of each, `make
# test-full` exhausts them. Their short ones are in the short lane. To be run by hand (build/check/weft-check --deep NAME) when these parts change.
SAMPLED = 3000
LONG_GROUPS = ("compensate", "handoff", "idle", "resize", "shutdown")
# What depends on the compiler.
CLANG = ("fiber/test_errno*", "fiber/test_migrate*")
# Valgrind is told of every switch: else it takes one for a stack of megabytes, and what lies on it for unused.
VALGRIND = ("mail/test_receive", "mail/test_move")


class PlanError(Exception):
    pass


def matching(patterns, names):
    """The names that match; each pattern has to."""
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise PlanError(f"tools/tests_lib/plan.py: no test program is called {pattern}")
    return [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def program(preset, name, deep=False, before=(), settings=None):
    """A test program, ROOM/NAME, as its preset's programs are run."""
    return Job(preset, f"{preset} {name}", [*before, *launcher(preset), root / "build" / preset / "tests" / name],
               needs={preset: (name.replace("/", "."),)}, settings=settings or environment(preset), deep=deep)


def scaled(preset, name):
    """In the deep lane, at full size."""
    settings = {"WEFT_TEST_SCALE": str(SCALED.get(name, 1)), "WEFT_TEST_MATRIX": "0"}
    return program(preset, name, deep=True, settings={**environment(preset), **settings})


def programs(preset):
    names = program_names(preset)
    deep = matching(DEEP.get(preset, ()), names)
    return [scaled(preset, name) if name in deep else program(preset, name) for name in names]


def rules():
    yield Job("rules", "include direction", ["tools/check-includes"], counted=False)
    yield Job("rules", "include direction, self-test", ["tools/check-includes", "--self-test"])
    yield Job("rules", "call direction", ["tools/check-calls"], counted=False)
    yield Job("rules", "call direction, self-test", ["tools/check-calls", "--self-test"])
    yield Job("rules", "format", ["tools/format", "--check"], counted=False)
    yield Job("rules", "what the documents name", ["tools/check-docs"])
    yield Job("rules", "what the documents name, self-test", ["tools/check-docs", "--self-test"])
    yield Job("rules", "labels and pairings", ["tools/check-labels"])
    yield Job("rules", "labels and pairings, self-test", ["tools/check-labels", "--self-test"])
    yield Job("rules", "exported names", ["tools/check-exports"], needs={"release": ("weft_shared",)})
    yield Job("rules", "exported names, self-test", ["tools/check-exports", "--self-test"])
    yield Job("rules", "every source has a test", ["tools/check-tests"])
    yield Job("rules", "every source has a test, self-test", ["tools/check-tests", "--self-test"])
    yield Job("rules", "every lock-free source belongs to a part", ["tools/mutants", "--list"], counted=False)
    yield Job("rules", "instructions of the hot paths", ["tools/counts"], needs={"release": ("counts.counts",)})
    yield Job("rules", "instructions of the hot paths, self-test", ["tools/counts", "--self-test"])
    yield Job("rules", "comparison, self-test", ["tools/compare", "--self-test"])
    yield Job("rules", "test runner, self-test", ["tests/self/run"])
    yield Job("rules", "lanes of the tests, self-test", ["tests/self/lanes"])
    yield Job("rules", "headers compile alone", ["tools/check-headers"], deep=True)
    yield Job("rules", "clang-tidy", ["tools/tidy", "src"], needs={"clang": ("weft_static",)}, limit=1200, deep=True)
    yield Job("rules", "clang-tidy, self-test", ["tools/tidy", "--self-test"], deep=True)
    yield Job("rules", "mutants, self-test", ["tools/mutants", "--self-test"], counted=False, deep=True)


def release():
    return programs("release") + [scaled("release", name) for name in matching(SCALED, program_names("release"))]


def check():
    """Without the scenarios: the checker itself names them once it is built."""
    built = {"check": ("weft-check",)}
    litmus = sorted(path.stem for path in (root / "check" / "litmus").glob("*.c"))
    yield Job("check", "checker, its command line", ["tests/check/test_cli.sh", CHECKER], needs=built, limit=300)
    # The naive enumeration inside the checker, and the enumerator by axioms beside it.
    yield Job("check", "checker, oracle on the litmus tests", [CHECKER, "--oracle", *litmus], needs=built, limit=300, deep=True)
    yield Job("check", "checker, second opinion on the litmus tests", ["tools/check-fuzz", "--litmus"], needs=built, limit=300, deep=True)
    yield Job("check", "checker, second opinion on random programs", ["tools/check-fuzz", "--programs", "300", "--seed", "1"],
              needs=built, limit=300, deep=True)


def group(name, *words, deep=False):
    return Job("check", f"check {name}", [CHECKER, *words], needs={"check": ("weft-check",)}, limit=900, deep=deep)


def sampling(name):
    """How the long scenarios of a group are cut short in the deep lane."""
    return ("--sample", str(SAMPLED), "--only-sound") if name in LONG_GROUPS else ()


def scenarios(deep):
    """A job for each of the checker's groups that has scenarios of this lane."""
    lane = "--deep" if deep else "--short"
    found = checker_groups(CHECKER, lane) or ["scenarios"]  # a checker that knows none says so, and fails
    return [group(name, lane, *(sampling(name) if deep else ()), name, deep=deep) for name in found]


def command():
    built = {"release": COMMAND, "check": ("weft-check", "weft-check-library")}
    yield Job("command", "command", ["sh", "-c", "tools/place && tests/cli/run build/weft"], needs=built)
    yield Job("command", "checker, a user's own files", ["sh", "-c", "tools/place && tests/check/test_own.sh build/weft"], needs=built)
    yield Job("command", "simulation", ["tests/sim/run", "build/release/weft", "build/release/sim"],
              needs={"release": (*COMMAND, "sim.subject_sim", "sim.subject_shared")})
    yield Job("command", "simulation, examples", ["tests/sim/run_examples", "build/release/weft", "build/release"],
              needs={"release": ("weft", "weft_sim")}, limit=900, deep=True)
    yield Job("command", "simulation, planted faults shrunk", ["tests/sim/run_shrink", "build/release/weft", "build/release"],
              needs={"release": ("weft", "weft_sim")}, limit=900, deep=True)
    yield Job("command", "faults put back, those that are found soon", ["tools/sim-faults", "--quick", "--jobs", "1"], needs={"release": ("weft_sim",)}, limit=900,
              deep=True)
    yield Job("command", "install and use", ["tests/install/run"], needs=built)
    yield Job("command", "install and use, checking builds", ["tests/install/run_checking"],
              needs={"asan": ("weft_static",), "tsan": ("weft_static",), "debug": ("weft_static",)}, deep=True)
    yield Job("command", "programs of other versions", ["tests/abi/run"], needs={"release": COMMAND})
    yield Job("command", "life and death as in Erlang", ["tests/erlang/run"], needs={"release": ("erlang.actors",)})
    yield Job("command", "life and death as in Erlang, by Erlang", ["tests/erlang/run", "--erlang"], deep=True)
    yield Job("command", "examples", ["tests/examples/run"], needs={"release": COMMAND})
    yield Job("command", "examples in C++", ["tests/examples/run", "--cxx"], needs={"release": COMMAND}, deep=True)
    yield Job("command", "examples of the network", ["tests/net/run"], needs={"release": COMMAND})


def asan():
    return programs("asan")


def tsan():
    return programs("tsan")


def clang():
    return [program("clang", name, deep=True) for name in matching(CLANG, program_names("clang"))]


def valgrind():
    words, settings = ["valgrind", "-q", "--error-exitcode=9", "--trace-children=yes"], {"WEFT_TEST_PATIENCE": "8"}
    for name in matching(VALGRIND, program_names("release")) if shutil.which("valgrind") else ():
        job = program("release", name, deep=True, before=words, settings=settings)
        job.section, job.name = "valgrind", f"valgrind {name}"
        yield job


def aarch64():
    return [program("aarch64", name, deep=True) for name in program_names("aarch64")]


def models():
    yield Job("models", "spin models", ["tools/spin-models"], limit=1200, deep=True)


SECTIONS = {part.__name__: part for part in (rules, release, check, command, asan, tsan, clang, valgrind, aarch64, models)}


def every_job():
    return [job for part in SECTIONS.values() for job in part()]


def only_targets(preset, lanes):
    """Whether no more of a preset is built than its jobs need: for a name, in the short lane by the sanitizers, and always where few or no tests are run
    (the thread sanitizer's build compiles them all with clang)."""
    return not lanes or lanes == (False,) and preset in DEEP or preset not in SECTIONS or preset == "clang"


def builds(jobs, lanes=()):
    """What has to be built for these jobs. The scenarios of the lanes are known once the checker is there."""
    then = {"check": lambda: [job for deep in lanes for job in scenarios(deep)]} if any(job.section == "check" for job in jobs) else {}
    return [Build(preset, targets if only_targets(preset, lanes) else (), True in lanes, then.get(preset))
            for preset, targets in wanted(jobs).items()]
