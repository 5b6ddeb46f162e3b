"""Medians, spreads and ratios of what the rounds gave."""
import collections, statistics

# The median, and the lowest and the highest of the rounds.
Figure = collections.namedtuple("Figure", "median low high")


def figure(values):
    return Figure(statistics.median(values), min(values), max(values)) if values else None


def ratio(theirs, ours):
    """Of each round that both have, so that what the machine did to both at the time cancels out. None where there is none."""
    return figure([theirs[i] / ours[i] for i in theirs.keys() & ours.keys() if ours[i] > 0])


FLAT = 2.0  # how far the highest of a curve may be above its lowest: caches and pages are in it, a walk over all members is not


def span(medians):
    """How many times the lowest of a curve its highest is."""
    return max(medians) / min(medians) if medians and min(medians) > 0 else None


def short(value):
    """Three digits that count."""
    if value >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def spread(found):
    return f"{short(found.median)} ({short(found.low)}–{short(found.high)})"
