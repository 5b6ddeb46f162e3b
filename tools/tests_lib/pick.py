"""The jobs that a name selects: `make test NAME=ring`, `NAME='tsan ring'`, `NAME=ring_stress`."""
import difflib, re

from testing import root
from . import plan

# A name alone does not select what runs the same programs again.
ONLY_IF_NAMED = ("asan", "tsan", "clang", "valgrind", "aarch64")
TESTS = re.compile(r"^\s*TEST(?:_WITHIN)?\((\w+)", re.M)


class NoSuchName(Exception):
    pass


def pick(text):
    """Words: names of sections, and a part of a name of a program, a checker's group, another job or a single test."""
    words = text.split()
    sections = [word for word in words if word in plan.SECTIONS]
    name = " ".join(word for word in words if word not in sections)
    candidates = [job for job in known() if job.section in sections or not sections and job.section not in ONLY_IF_NAMED]
    return called(candidates, name) or having_test(candidates, name) or refuse(name, candidates)


def known():
    """Every job, every program in every build, and the groups that the checker may have. What both lanes have is taken as the short one has it."""
    groups = sorted(path.stem for part in ("scenarios", "litmus", "flaws") for path in (root / "check" / part).glob("*.c"))
    jobs = plan.every_job() + plan.programs("clang") + [plan.group(name, name) for name in groups]
    return list({job.name: job for job in reversed(jobs)}.values())[::-1]


def short_name(job):
    """queue/test_ring → ring; check ring → ring."""
    return job.name.split("/")[-1].removeprefix("check ").removeprefix("test_")


def called(jobs, name):
    """Those whose name is this; else those that have it in their name."""
    return [job for job in jobs if name in (short_name(job), f"test_{short_name(job)}")] or [job for job in jobs if name in job.name]


def source(job):
    """A test program's, or None."""
    found = [root / "tests" / f"{job.name.split()[-1]}.{suffix}" for suffix in ("c", "cpp")] if "/test_" in job.name else []
    return next((path for path in found if path.exists()), None)


def tests_of(job):
    path = source(job)
    return TESTS.findall(path.read_text()) if path else []


def having_test(jobs, name):
    """The programs with a test that has this in its name, which run such tests alone."""
    found = [job for job in jobs if any(name in test for test in tests_of(job))]
    for job in found:
        job.command.append(name)
    return found


def refuse(name, jobs):
    names = {short_name(job) for job in jobs} | {test for job in jobs for test in tests_of(job)}
    near = difflib.get_close_matches(name, sorted(names), 8, 0.5)
    told = f"; near: {', '.join(near)}" if near else ""
    raise NoSuchName(f"no test, program or group of scenarios has {name!r} in its name{told}\n`tools/run-tests --list` names them all")
