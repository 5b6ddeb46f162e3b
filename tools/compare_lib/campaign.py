"""All rounds: every work by all peers that do it, in turn."""
import time

from . import measure, peers, rows
from .measure import Refused


class Campaign:
    """Measures. `samples[work.key][who][round]` is a Sample; `refused[work.key, who]` says why a peer has none (more)."""

    def __init__(self, works, missing, weft, rounds, quick=False, show=lambda text: None, expected=None, programs=None):
        self.works, self.missing, self.weft, self.rounds, self.quick = works, missing, weft, rounds, quick
        self.show, self.expected = show, expected or {}
        self.programs = {peer.name: peer for peer in peers.every()} if programs is None else programs
        self.samples, self.refused, self.done, self.start = {}, {}, 0, time.monotonic()

    def all(self):
        """Runs every round; returns how many were whole when it was interrupted."""
        for number in range(self.rounds):
            try:
                self.round(number)
            except KeyboardInterrupt:
                return number
        return self.rounds

    def round(self, number):
        measure.read_anew([self.weft, *(peers.product(peer) for peer in self.programs.values())])
        for work in self.works:
            who = [name for name in work.who if name not in self.missing]
            turn = number % len(who) if who else 0
            for name in who[turn:] + who[:turn]:  # nobody is always the first
                self.one(number, work, name)

    def one(self, number, work, name):
        self.show(f"round {number + 1} of {self.rounds}, {work.name} on {work.workers} by {name}; {self.left()}")
        self.done += 1
        if (work.key, name) in self.refused:
            return
        try:
            for who, sample in self.run(work, name).items():
                self.samples.setdefault(work.key, {}).setdefault(who, {})[number] = sample
        except Refused as reason:
            self.refused[work.key, name] = str(reason)

    def run(self, work, name):
        n = work.count(self.quick)
        if name in rows.OWN:
            return measure.run_weft(self.weft, name, work, n)
        return {name: measure.run_peer(peers.commands(self.programs[name], work, n), work, n)}

    def take(self, other):
        """The samples of another campaign beside one's own. None has the same key, else one would replace the other."""
        both = {work.key for work in self.works} & {work.key for work in other.works}
        if both:
            raise ValueError(f"measured by two campaigns: {', '.join(sorted(both))}")
        self.samples.update(other.samples)
        self.refused.update(other.refused)

    # ---- how long

    def runs(self):
        """The runs of a round."""
        return [(work, name) for work in self.works for name in work.who if name not in self.missing]

    def seconds(self, work, name):
        """What a run takes: by this campaign, else as it was written down, else a guess."""
        mine = self.samples.get(work.key, {}).get(name)
        if mine:
            return next(iter(mine.values())).seconds
        known = self.expected.get(work.key, {}).get(name, 1.0)
        return 0.5 * known if self.quick else known

    def planned(self):
        return self.rounds * sum(self.seconds(*run) for run in self.runs())

    def left(self):
        round_of = self.runs()
        whole, part = divmod(self.done, len(round_of))
        of_round = [self.seconds(*run) for run in round_of]
        return "about " + spoken((self.rounds - whole) * sum(of_round) - sum(of_round[:part])) + " left"


def spoken(seconds):
    return f"{seconds / 60:.0f} min" if seconds >= 100 else f"{max(seconds, 1):.0f} s"
