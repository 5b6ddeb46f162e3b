"""weft compare --self-test: the driver beside peers that are small scripts. Needs no peer and no build."""
import json, pathlib, tempfile

from . import figures, measure, peers, rows
from .campaign import Campaign
from .measure import Refused
from .report import Report, doubts, rounded

passed = failed = 0


def expect(what, got, wanted):
    global passed, failed
    if got == wanted:
        passed += 1
        return
    failed += 1
    print(f"FAIL {what}: {got!r} instead of {wanted!r}")


def refused(function, *arguments):
    """What it is refused for; "" if it is not."""
    try:
        function(*arguments)
    except Refused as reason:
        return str(reason)
    return ""


RING = rows.work("ring", 1, 100, 10, (), size=7)


def parsing():
    expect("a line", measure.parse_line("noise\nops=100 ns=2500 check=3 late_ms=1.5\n"), {"ops": 100, "ns": 2500, "check": 3, "late_ms": 1.5})
    expect("numbers of 64 bits stay whole", measure.parse_line("ops=1 ns=1 check=18446744073709551615")["check"], 2**64 - 1)
    expect("no line", refused(measure.parse_line, ""), "did not say ops, ns and check but ``")
    expect("half a line", refused(measure.parse_line, "ops=1 ns=2"), "did not say ops, ns and check but `ops=1 ns=2`")
    expect("no number", refused(measure.parse_line, "ops=1 ns=two check=3"), "said ns=two, which is no number")
    expect("one that gave up", refused(measure.parse_line, "failed=starves"), "starves")
    said = '[{"name": "ring", "n": 100, "s": 2.5e-06, "kind": "step", "check": 3, "uv_cpu_us": 7}]'
    expect("weft's JSON", measure.parse_weft(RING, 100, said)["ns"], 2500)
    expect("weft's two results", refused(measure.parse_weft, RING, 100, "[{}, {}]"), "weft bench gave 2 results")
    expect("weft without JSON", refused(measure.parse_weft, RING, 100, "oh"), "weft bench gave no JSON")
    expect("measured along with weft", measure.joint_values({"uv_cpu_us": 7, "cpu_us": 6}, "uv_"), {"cpu_us": 7})


def checking():
    good = {"ops": 100, "ns": 10, "check": 3}
    expect("a right result", measure.verified(RING, 100, good), good)
    expect("a wrong checksum", refused(measure.verified, RING, 100, {**good, "check": 4}), "wrong result: 4 instead of 3")
    expect("less work", refused(measure.verified, RING, 100, {**good, "ops": 99}), "did 99 operations instead of 100")
    expect("no time", refused(measure.verified, RING, 100, {**good, "ns": 0}), "took 0 ns")
    expect("tasks of fib(5)", rows.OPERATIONS["fib"](5, 1), 7)
    expect("fib(10)", rows.CHECKS["fib"](10, 1), 55)
    expect("places of three tokens", rows.places(7, 5, 3), sum(((0 + 3) % 5 + 1, (1 + 2) % 5 + 1, (2 + 2) % 5 + 1)))
    expect("sum of the leaves", rows.CHECKS["skynet"](1000, 1), sum(range(1000)))
    expect("pairs of one trip", rows.CHECKS["pairs"](1000, 1), 1000)
    expect("batches", (rows.batches(10, 4), rows.batches(3, 4)), (8, 4))


def arithmetic():
    expect("a median and its spread", figures.figure([3, 1, 2]), figures.Figure(2, 1, 3))
    expect("of nothing", figures.figure([]), None)
    expect("ratios round by round", figures.ratio({0: 20, 1: 90, 2: 40}, {0: 10, 1: 30, 2: 10}), figures.Figure(3, 2, 4))
    expect("a round that one lacks", figures.ratio({0: 20, 2: 40}, {0: 10, 1: 5}), figures.Figure(2, 2, 2))
    expect("no common round", figures.ratio({0: 20}, {1: 10}), None)
    expect("digits", [figures.short(value) for value in (0.256, 9.949, 9.95, 99.6, 1234.5)], ["0.26", "9.95", "9.9", "100", "1,234"])


def script(folder, name, text):
    path = pathlib.Path(folder) / name
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(0o755)
    return peers.Peer(name, name.capitalize(), "none", "sh", (), folder, (), (str(path),), {})


def rounds():
    """A weft, and peers that are right, wrong, too slow to start, crash and are not there."""
    with tempfile.TemporaryDirectory() as folder:
        weft = script(folder, "weft", 'echo \'[{"n": 100, "s": 1e-05, "check": 3}]\'')
        made = {peer.name: peer for peer in (
            script(folder, "twice", "echo ops=$3 ns=20000 check=3"), script(folder, "wrong", "echo ops=$3 ns=1 check=5"),
            script(folder, "ahead", "echo ops=$3 ns=5000 check=3"), script(folder, "crash", "echo oh no >&2; exit 3"),
            peers.Peer("gone", "Gone", "none", "none", (), folder, (), (folder + "/nowhere",), {}))}
        job = rows.work("ring", 1, 100, 10, (rows.STACKFUL, *made, "absent"), size=7)
        campaign = Campaign([job], {"absent": "is not installed"}, weft.run[0], 2, programs=made)
        expect("whole rounds", campaign.all(), 2)
        titled = [*made.values(), peers.Peer("absent", "Absent", "none", "none", (), folder, (), (), {})]
        row = rows.lines("ring", job)[0]
        report = Report(campaign, [row], [], ["here"], titled, campaign.missing)
        table(report, row)
        planned(campaign)


def several_forms():
    with tempfile.TemporaryDirectory() as folder:
        peer = script(folder, "tbb", 'test "$5" != 2 || exit 1; echo ops=$3 ns=$((30 - 10 * $5)) check=$3')
        job = rows.work("spawn", 1, 100, 10, ("tbb",))
        expect("three forms", [command[-1] for command in peers.commands(peer, job, 100)], ["0", "1", "2"])
        expect("the fastest counts", {**measure.run_peer(peers.commands(peer, job, 100), job, 100).values, "ms": 0},
               {"ops": 100, "ns": 20, "check": 100, "form": 1, "ns_op": 0.2, "ms": 0})
        expect("none gives a figure", refused(measure.run_peer, [["false"], ["false"]], job, 100), "ended with status 1: without a word")
    one, two = rows.work("ring", 1, 100, 10, ()), rows.work("ring", 2, 100, 10, ())
    expect("Boost's forms", (rows.forms("boost", one), rows.forms("boost", two), rows.forms("go", two)), (1, 2, 1))


def table(report, row):
    expect("twice as long", report.cell(row, "twice"), "2.00 (2.00–2.00)")
    expect("a peer that is ahead is bold", report.cell(row, "ahead"), "**0.50 (0.50–0.50)**")
    expect("a wrong result has no figure", report.cell(row, "wrong"), "wrong result: 5 instead of 3")
    expect("a crash", report.cell(row, "crash"), "ended with status 3: oh no")
    expect("a program that is not there", report.cell(row, "gone"), "does not start: No such file or directory")
    expect("a missing peer", report.cell(row, "absent"), "missing")
    expect("one that does not take part", report.cell(row, "threads"), "–")
    expect("weft's own", report.own_cell(row), "100 (100–100) ns")
    text = "\n".join(report.markdown([]))
    expect("the losing line is named", "- ring, stackful, 1 worker: Ahead" in text, True)
    expect("the reason is told", "- Absent is missing: is not installed" in text, True)
    expect("JSON reads back", json.loads(report.json()), rounded(report.data()))
    expect("no figure of a wrong result", report.data()["table"][0]["ratios"].keys(), {"twice", "ahead"})


def doubtful():
    expect("a quiet machine", doubts(0.10, False), [])
    expect("a loaded one", doubts(0.11, False), ["other programs used 11 % of the processors meanwhile (at most 10 % for figures that hold)"])
    expect("a quick one", doubts(0.0, True), ["with a twentieth of the work"])
    report = Report(Campaign([], {}, "", 1, programs={}), [], [], ["here"], [], {}, doubts(0.5, True))
    expect("the doubts come first", [line for line in report.markdown([]) if line][2][:45], "**Not to be quoted:** with a twentieth of the")


def curves():
    jobs = [(size, rows.work("ring", 1, 100, 10, (rows.STACKFUL, "go"), size=size)) for size in (10, 1000)]
    campaign = Campaign([job for _, job in jobs], {}, "", 1, programs={})
    for (_, job), mine, theirs in zip(jobs, (10, 19), (11, 18)):
        campaign.samples[job.key] = {name: {0: measure.Sample({"ns_op": took}, 1.0)} for name, took in ((rows.STACKFUL, mine), ("go", theirs))}
    one = rows.Series("processes", "a hop", "processes", jobs)
    report = Report(campaign, [], [one], [], [peer for peer in peers.every() if peer.name == "go"], {})
    expect("a flat curve", report.flatness(one), "Highest by lowest, flat up to 2: weft 1.90 (flat), Go 1.64 (flat).")
    expect("a place where a peer is ahead", list(report.curve_losses(one)), ["- 1,000 processes: Go"])
    campaign.samples[jobs[1][1].key][rows.STACKFUL][0].values["ns_op"] = 30
    expect("one that is not flat", report.flatness(one), "Highest by lowest, flat up to 2: weft 3.00, Go 1.64 (flat).")
    expect("in the report", "- 1,000 processes: Go" in list(report.markdown([])), True)
    expect("for programs", report.data()["spans"]["processes"], {rows.STACKFUL: 3.0, "go": 18 / 11})
    expect("a lap at least", [job.n >= job.size for _, job in rows.scaling()[0].points], [True] * 6)


def apart():
    """A plot's figures do not replace the table's, though both measure `pairs` on two workers."""
    few, many = rows.work("pairs", 2, 300, 10, (rows.STACKFUL,)), rows.work("pairs", 2, 500, 10, (rows.STACKFUL,))
    first, second = Campaign([many], {}, "", 1, programs={}), Campaign([few], {}, "", 1, programs={})
    for campaign, took in ((first, 5), (second, 3)):
        campaign.samples = {campaign.works[0].key: {rows.STACKFUL: {0: measure.Sample({"ns_op": took}, 1.0)}}}
    first.take(second)
    report = Report(first, [], [], [], [], {})
    expect("the table's figure", report.figure(many, rows.STACKFUL, None).median, 5)
    expect("the plot's figure", report.figure(few, rows.STACKFUL, None).median, 3)
    try:
        first.take(Campaign([many], {}, "", 1, programs={}))
    except ValueError as error:
        expect("a key that both have is refused", str(error), f"measured by two campaigns: {many.key}")
    else:
        expect("a key that both have is refused", "", "an error")


def planned(campaign):
    expect("runs of a round", len(campaign.runs()), 6)
    campaign.samples, campaign.done = {}, 0
    campaign.expected = {campaign.works[0].key: {name: 2.0 for name in campaign.works[0].who}}
    expect("how long it takes", campaign.planned(), 24.0)
    expect("how long it still takes", campaign.left(), "about 24 s left")


def slow():
    expect("one that hangs is ended", refused(measure.execute, ["sh", "-c", "sleep 60 & sleep 60"], 0.2), "not done after 0.2 s")


def works():
    table_rows = rows.table()
    names = {peer.name for peer in peers.every()}
    for job in [row.work for row in table_rows] + [work for one in rows.scaling() for _, work in one.points]:
        expect(f"{job.key}: peers that exist", [name for name in job.who if name not in names | set(rows.OWN)], [])
    keys = {}
    for row in table_rows:
        keys.setdefault(row.work.key, set()).add(row.work.n)
    expect("one work, one key", [key for key, counts in keys.items() if len(counts) > 1], [])
    plotted = {work.key for one in rows.scaling() for _, work in one.points}
    expect("no key in the table and in a plot", sorted(keys.keys() & plotted), [])


def run():
    for part in (parsing, checking, arithmetic, rounds, several_forms, curves, doubtful, apart, slow, works):
        part()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
