"""What came out, as JSON and as tables in Markdown."""
import json

from . import figures, rows

TITLES = {"threads": "plain threads"}


def text(value):
    return json.dumps(rounded(value), ensure_ascii=False)


def rounded(value):
    """Floats to six digits that count."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


FOREIGN_LOAD = 0.10  # of the processors: more of it, and the kernel's scheduling decides


def doubts(others, quick):
    """Why the figures are not to be quoted; [] if they are. `others`: which share of the processors other programs used."""
    found = ["with a twentieth of the work"] if quick else []
    if others > FOREIGN_LOAD:
        found.append(f"other programs used {100 * others:.0f} % of the processors meanwhile (at most {100 * FOREIGN_LOAD:.0f} % for figures that hold)")
    return found


class Report:
    def __init__(self, campaign, table, series, machine, peers, missing, doubts=()):
        self.doubts = list(doubts)
        self.campaign, self.table, self.series, self.machine, self.peers, self.missing = campaign, table, series, machine, peers, missing
        self.names = [peer.name for peer in peers] + ["threads"]
        self.titles = {**TITLES, **{peer.name: peer.title for peer in peers}}

    # ---- figures

    def values(self, work, who, metric):
        """By round."""
        found = self.campaign.samples.get(work.key, {}).get(who, {})
        return {number: sample.values[metric or "ns_op"] for number, sample in found.items() if (metric or "ns_op") in sample.values}

    def figure(self, work, who, metric):
        return figures.figure(list(self.values(work, who, metric).values()))

    def ratio(self, row, who):
        return figures.ratio(self.values(row.work, who, row.metric), self.values(row.work, row.own, row.own_metric))

    def takes_part(self, work, who):
        return who in work.who or who in work.joint

    def why_not(self, work, who):
        """Of a peer that should have a figure and has none."""
        return self.missing.get(who) and "missing" or self.campaign.refused.get((work.key, who), "not measured")

    # ---- tables

    def cell(self, row, who):
        if not self.takes_part(row.work, who):
            return "–"
        found = self.ratio(row, who)
        if (row.work.key, who) in self.campaign.refused or not found:
            return self.why_not(row.work, who)
        text = figures.spread(found)
        return f"**{text}**" if found.median < 1 else text

    def own_cell(self, row):
        found = self.figure(row.work, row.own, row.own_metric)
        return f"{figures.spread(found)} {row.unit}" if found else self.why_not(row.work, row.own)

    def shown(self):
        """Who is in some line of the table."""
        return [name for name in self.names if any(self.takes_part(row.work, name) for row in self.table)]

    def ratios(self):
        names = self.shown()
        yield "| row | weft | " + " | ".join(self.titles[name] for name in names) + " |"
        yield "|---|---|" + "---|" * len(names)
        for row in self.table:
            yield f"| {row.title} | {self.own_cell(row)} | " + " | ".join(self.cell(row, name) for name in names) + " |"

    def absolute_cell(self, row, who):
        if not self.takes_part(row.work, who):
            return "–"
        found = self.figure(row.work, who, row.metric)
        return figures.short(found.median) if found else self.why_not(row.work, who)

    def absolute(self):
        names = self.shown()
        yield "| row | unit | weft | " + " | ".join(self.titles[name] for name in names) + " |"
        yield "|---|---|---|" + "---|" * len(names)
        for row in self.table:
            own = self.figure(row.work, row.own, row.own_metric)
            cells = [figures.short(own.median) if own else "–", *(self.absolute_cell(row, name) for name in names)]
            yield f"| {row.title} | {row.unit} | " + " | ".join(cells) + " |"

    def lost(self):
        """Lines with a peer that is ahead of weft."""
        for row in self.table:
            ahead = [self.titles[name] for name in self.shown() if (found := self.ratio(row, name)) and found.median < 1]
            if ahead:
                yield f"- {row.title}: {', '.join(ahead)}"

    def notes(self):
        for name, reason in self.missing.items():
            yield f"- {self.titles.get(name, name)} is missing: {reason}"
        for (key, who), reason in self.campaign.refused.items():
            yield f"- {self.titles.get(who, who)}, {key}: {reason}"

    def scaling(self, one):
        who = [name for name in one.points[0][1].who if name not in self.missing]
        yield f"| {one.axis} | " + " | ".join(self.titles.get(name, name) for name in who) + " |"
        yield "|---|" + "---|" * len(who)
        for place, work in one.points:
            found = [self.figure(work, name, None) for name in who]
            cells = [figures.spread(each) if each else self.why_not(work, name) for each, name in zip(found, who)]
            yield f"| {place:,} | " + " | ".join(cells) + " |"

    # ---- curves

    def medians(self, one, who):
        """By place, of those that were measured."""
        found = {place: self.figure(work, who, None) for place, work in one.points}
        return {place: each.median for place, each in found.items() if each}

    def flatness(self, one):
        """What should be flat, and whether it is: the highest of each curve as a multiple of its lowest."""
        spans = {name: figures.span(list(self.medians(one, name).values())) for name in one.points[0][1].who}
        told = [f"{self.titles.get(name, name)} {figures.short(value)}" + (" (flat)" if value <= figures.FLAT else "") for name, value in spans.items() if value]
        return f"Highest by lowest, flat up to {figures.FLAT:.0f}: " + ", ".join(told) + "." if told else "Not measured."

    def curve_losses(self, one):
        """Places where a peer is ahead of both of weft's kinds that take part."""
        own = [self.medians(one, name) for name in rows.WEFT if name in one.points[0][1].who]
        for place, _ in one.points:
            mine = min((curve[place] for curve in own if place in curve), default=None)
            ahead = [self.titles.get(name, name) for name in one.points[0][1].who
                     if name not in rows.WEFT and mine is not None and self.medians(one, name).get(place, mine) < mine]
            if ahead:
                yield f"- {place:,} {one.axis}: {', '.join(ahead)}"

    def markdown(self, plots):
        yield "# weft beside its peers"
        yield ""
        yield "Written by `weft compare`; [what the rows are, and how it is measured](../../comparison.md). One run, all programs in turn."
        yield ""
        if self.doubts:
            yield from [f"**Not to be quoted:** {'; '.join(self.doubts)}.", ""]
        yield from (f"- {line}" for line in self.machine)
        if self.table:
            yield from self.tables(plots)
        if self.series:
            yield from self.curves(plots)

    def tables(self, plots):
        yield from ["", "## Ratios", ""]
        yield "What a peer needs, as a multiple of what weft needs: the median of the rounds (the lowest–the highest). **Below 1 the peer is ahead.** –: it has"
        yield "no such thing. The second column is weft's own figure."
        yield from ["", *self.ratios(), ""]
        if "ratios" in plots:
            yield "![Ratios](ratios.svg)"
        yield from ["", "Where a peer is ahead:", "", *(list(self.lost()) or ["- nowhere"])]
        yield from ["", "## Figures", "", "Medians, for one operation.", "", *self.absolute()]
        notes = list(self.notes())
        if notes:
            yield from ["", "## Without a figure", "", *notes]

    def curves(self, plots):
        yield from ["", "## Scaling", "", "Nanoseconds for one operation. What should be flat is flat, or it is said."]
        for one in self.series:
            yield from ["", f"### {one.title[0].upper()}{one.title[1:]}", ""]
            if f"scale-{one.name}" in plots:
                yield from [f"![{one.title}](scale-{one.name}.svg)", ""]
            yield from self.scaling(one)
            yield from ["", self.flatness(one), "", "Where a peer is ahead:", "", *(list(self.curve_losses(one)) or ["- nowhere"])]

    # ---- everything, for programs

    def data(self):
        samples = {key: {who: {"values": [sample.values for sample in found.values()], "seconds": [round(sample.seconds, 2) for sample in found.values()]}
                         for who, found in by_name.items()} for key, by_name in self.campaign.samples.items()}
        refused = [{"work": key, "who": who, "why": why} for (key, who), why in self.campaign.refused.items()]
        ratios = [{"row": row.title, "weft": row.own, "unit": row.unit, "ratios": {name: found._asdict() for name in self.shown() if (found := self.ratio(row, name))}}
                  for row in self.table]
        spans = {one.name: {name: span for name in one.points[0][1].who if (span := figures.span(list(self.medians(one, name).values())))}
                 for one in self.series}
        return {"spans": spans, "machine": self.machine, "doubts": self.doubts, "missing": self.missing, "refused": refused, "table": ratios, "samples": samples}

    def json(self):
        """A line for each work and for each row."""
        data = self.data()
        samples = ",\n".join(f"  {text(key)}: {text(found)}" for key, found in data.pop("samples").items())
        table = ",\n".join(f"  {text(row)}" for row in data.pop("table"))
        first = "".join(f" {text(key)}: {text(value)},\n" for key, value in data.items())
        return f'{{\n{first} "table": [\n{table}\n ],\n "samples": {{\n{samples}\n }}\n}}\n'


def durations(path):
    """Seconds of every run, as the last comparison wrote them down; {} if there was none."""
    try:
        samples = json.loads(path.read_text())["samples"]
    except (OSError, ValueError, KeyError):
        return {}
    return {key: {who: max(found["seconds"] or [1.0]) for who, found in by_name.items()} for key, by_name in samples.items()}
