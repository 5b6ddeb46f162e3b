"""How long a job takes: tools/test-times, written by `tools/run-tests --record` on a quiet machine of two cores.

A line is a job's name behind its seconds by the clock and its seconds of processor time. What takes less than MENTIONED seconds is not in it; that, and what
is new, is taken for DEFAULT."""
import collections, re, subprocess

from .job import Build

DEFAULT = (0.7, 0.4)
MENTIONED = 1.5
LEAST_LOAD = 0.15
BELIEVED = 0.15  # of the work is done before this machine's own pace is believed


class Time(collections.namedtuple("Time", "seconds processor")):
    @property
    def load(self):
        """How many cores it keeps busy."""
        return max(LEAST_LOAD, self.processor / max(self.seconds, 0.1))


class Times:
    def __init__(self, root):
        self.root, self.path, self.known = root, root / "tools" / "test-times", {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            seconds, processor, name = line.split(None, 2)
            self.known[name] = Time(float(seconds), float(processor))

    def of(self, job):
        return self.known.get(key(job), Time(*DEFAULT))

    def to_come(self, build):
        """The jobs that a build makes known: all in the table that are called after its preset."""
        return sum(time.processor for name, time in self.known.items()
                   if build.then and name.startswith(f"{build.preset} ") and name.endswith(", deep") == build.deep)

    def record(self, measured):
        """`measured`: [(job, Time)]. What was not run keeps its line."""
        self.known.update({key(job): time for job, time in measured})
        self.path.write_text("".join(f"{time.seconds:6.1f} {time.processor:6.1f} {name}\n"
                                     for name, time in sorted(self.known.items()) if time.seconds >= MENTIONED))


def key(job):
    return f"{job.name}, deep" if job.deep else job.name


def part_to_build(root, build):
    """How much of a build is to be done, from 0 to 1, by the steps that ninja sees and those that it has made before."""
    folder = root / "build" / build.preset
    try:
        before = len((folder / ".ninja_log").read_text().splitlines())
        seen = subprocess.run(["ninja", "-C", folder, "-n", *build.targets], capture_output=True, text=True).stdout
    except OSError:
        return 1.0
    steps = re.findall(r"^\[\d+/(\d+)\]", seen, re.M)
    return int(steps[-1]) / max(before, int(steps[-1])) if steps else 0.0


class Clock:
    """Says how much time is left, from the work left and the pace so far. Work is processor time by the table."""

    def __init__(self, times, jobs, cores):
        self.times, self.cores = times, cores
        self.parts = {job: part_to_build(times.root, job) for job in jobs if isinstance(job, Build)}
        self.total = self.work(jobs)

    def work(self, jobs):
        return sum(self.of(job) for job in jobs)

    def of(self, job):
        own = self.times.of(job).processor * self.parts.get(job, 1.0)
        return own + self.times.to_come(job) if isinstance(job, Build) else own

    def left(self, waiting, running, elapsed):
        """Seconds until these are done. Jobs that run count for half."""
        work = self.work(waiting) + self.work(running) / 2
        done = max(self.total - work, 0.0)
        pace = elapsed * self.cores / done if done > BELIEVED * self.total else 1.0
        return work / self.cores * pace
