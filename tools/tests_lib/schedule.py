"""Runs jobs beside each other.

Many tests sleep, others keep every core busy. A job's load is the share of a core that it keeps busy (times.py): jobs are begun, the longest first, as
long as the sum of loads is not above the number of cores. Builds go one after the other behind everything else, at low priority: they
take what the tests leave, and disturb none. A job starts once everything is built that it needs."""
import concurrent.futures, os

from .job import Build

TICK = 1.0         # seconds between two looks at the clock
CROWD = 4          # jobs for each core at most, however little they do
BUILD_NICENESS = 10


class Schedule:
    def __init__(self, jobs, cores, times, run, finished, tick):
        """`run(job, niceness)` answers a result; `finished(job, result)` and `tick(waiting, running)` are called here, one at a time."""
        self.waiting, self.cores, self.times = list(jobs), cores, times
        self.run, self.finished, self.tick = run, finished, tick
        self.running = {}  # future: job
        self.built = set()

    def all(self):
        with concurrent.futures.ThreadPoolExecutor(CROWD * self.cores + 1) as self.pool:
            while self.waiting or self.running:
                self.begin()
                done, _ = concurrent.futures.wait(self.running, TICK, concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    self.end(self.running.pop(future), future.result())
                self.tick(self.waiting, list(self.running.values()))

    def begin(self):
        if not any(isinstance(job, Build) for job in self.running.values()):
            self.start(next((job for job in self.waiting if isinstance(job, Build)), None))
        while job := self.next():
            self.start(job)

    def next(self):
        """The longest job that may start now. One job may, however large."""
        tests = [job for job in self.running.values() if not isinstance(job, Build)]
        left = self.cores - sum(self.load(job) for job in tests)
        if len(tests) >= CROWD * self.cores:
            return None
        ready = [job for job in self.waiting if self.is_ready(job) and (self.load(job) <= left or not tests)]
        return max(ready, key=lambda job: self.times.of(job).seconds, default=None)

    def load(self, job):
        return min(self.times.of(job).load, self.cores)

    def is_ready(self, job):
        return not isinstance(job, Build) and self.built.issuperset(job.needs)

    def start(self, job):
        if job:
            self.waiting.remove(job)
            self.running[self.pool.submit(self.run, job, BUILD_NICENESS if isinstance(job, Build) else 0)] = job

    def end(self, job, result):
        self.finished(job, result)
        if isinstance(job, Build):
            self.built.add(job.preset)
            self.waiting += job.then() if job.then else []
