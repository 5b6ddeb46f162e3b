"""The self-test: the text alone, then a toy part (tools/mutants_toy) whose verdicts are known, in a real campaign."""
import shutil

from . import build, campaign, report, source
from .parts import TOY, TOY_UNITS

ATOM = "#define atom_cas_rlx_rlx(\n#define atom_cas_acq_rlx(\n#define atom_cas_acq_acq(\n#define atom_cas_sc_acq(\n" \
       "#define atom_cas_acqrel_acq(\n#define atom_cas_sc_rlx(\n"

TEXT = r'''
/* atom_load_acq(&in_a_comment) */
#define MACRO(x) atom_load_acq(x)
void prototype(void);
static inline bool one(struct s *s) {
    puts("atom_load_acq(&in_a_string)");
    atom_fence_light(); /* B */
    if (atom_load_sc(&s->a) != 0) return false; /* recheck */
    return atom_cas_sc_acq(&s->b,
                           &s->c, 1);
}
__attribute__((noinline)) void two(void) {
    atom_store_sc(&x, atom_load_acq(&y));
    atom_add_acqrel(&x, 1), atom_add_acqrel(&x, 1);
    atom_load_rlx(&x);
    bool good = f() && g(); /* recheck */
    return h(); /* recheck, without: return 0; */
}
void three(void) {
    if (!lock_try(&s->a)) return;
    lock_take(&s->b), x++;
    if (x) lock_drop(&s->b);
    lock_drop(&s->a);
    lock_take(&elsewhere);
}
'''
EXPECTED = [
    ("one", "atom_fence_light()", "removed"),
    ("one", "atom_load_sc(&s->a)", "acq"),
    ("one", "if (atom_load_sc(&s->a) != 0)", "0"),
    ("one", "if (atom_load_sc(&s->a) != 0)", "1"),
    ("one", "atom_cas_sc_acq(&s->b, &s->c, 1)", "acqrel_acq"),
    ("one", "atom_cas_sc_acq(&s->b, &s->c, 1)", "sc_rlx"),
    ("one", "atom_cas_sc_acq(&s->b, &s->c, 1)", "split"),
    ("two", "atom_store_sc(&x, atom_load_acq(&y))", "rel"),
    ("two", "atom_load_acq(&y)", "rlx"),
    ("two", "atom_add_acqrel(&x, 1)", "acq"),
    ("two", "atom_add_acqrel(&x, 1)", "rel"),
    ("two", "atom_add_acqrel(&x, 1)", "split"),
    ("two", "bool good = f() && g();", "0"),
    ("two", "bool good = f() && g();", "1"),
    ("two", "return h();", "return 0;"),
    ("three", "lock_try(&s->a)", "removed"),
    ("three", "lock_take(&s->b)", "removed"),
]
CHANGED = {  # change: a line of the mutated text
    ("if (atom_load_sc(&s->a) != 0)", "0"): "    if (((atom_load_sc(&s->a) != 0), 0)) return false; /* recheck */",
    ("atom_add_acqrel(&x, 1)", "split"): "    mutant_add(&x, 1), atom_add_acqrel(&x, 1);",
    ("atom_load_acq(&y)", "rlx"): "    atom_store_sc(&x, atom_load_rlx(&y));",
    ("bool good = f() && g();", "1"): "    bool good = ((f() && g()), 1); /* recheck */",
    ("return h();", "return 0;"): "    return 0; /* recheck, without: return 0; */",
    ("lock_try(&s->a)", "removed"): "    if (!((void)(&s->a), 1)) return;",
    ("lock_take(&s->b)", "removed"): "    if (x) (void)(&s->b);",
}
# The toy's verdicts. The survivors are stronger than they need be; the condition of toy_consume may not be ignored as
# false (then it reads too early), but as true it only never consumes.
VERDICTS = {
    "tools/mutants_toy/toy.h toy_publish: atom_store_rel(&toy->ready, 1) -> rlx": "killed",
    "tools/mutants_toy/toy.c toy_consume: if (atom_load_acq(&toy->ready) == 0) -> 0": "killed",
    "tools/mutants_toy/toy.c toy_consume: if (atom_load_acq(&toy->ready) == 0) -> 1": "survived",
    "tools/mutants_toy/toy.c toy_consume: atom_load_acq(&toy->ready) -> rlx": "killed",
    "tools/mutants_toy/toy.c toy_hit: atom_add_acqrel(&toy->hits, 1) -> acq": "survived",
    "tools/mutants_toy/toy.c toy_hit: atom_add_acqrel(&toy->hits, 1) -> rel": "survived",
    "tools/mutants_toy/toy.c toy_hit: atom_add_acqrel(&toy->hits, 1) -> split": "killed",
    "tools/mutants_toy/toy.c toy_enter: atom_store_sc(&toy->busy[me], 1) -> rel": "killed",
    "tools/mutants_toy/toy.c toy_enter: atom_load_sc(&toy->busy[1 - me]) -> acq": "killed",
    "tools/mutants_toy/toy.c toy_see_often: atom_fence_light() -> removed": "killed",
    "tools/mutants_toy/toy.c toy_see_rarely: sys_fence_heavy() -> removed": "killed",
    "tools/mutants_toy/toy.c toy_hits: atom_load_acq(&toy->hits) -> rlx": "outside",
    "tools/mutants_toy/toy.c toy_score: lock_take(&toy->lock) -> removed": "killed",
    "tools/mutants_toy/toy.c toy_peek: lock_take(&toy->lock) -> removed": "survived",
}


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, what, good, detail=""):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f"FAIL {what}: {detail}")


def text_tests(tally):
    found = source.mutants_of("x.c", TEXT, ATOM)
    listed = [(m.function, m.operation, m.change) for m in found]
    tally.expect("every place is found", sorted(set(listed)) == sorted(EXPECTED),
                 sorted(set(listed) ^ set(EXPECTED)))
    numbers = [m.ordinal for m in found if m.change == "rel" and "add" in m.operation]
    tally.expect("equal operations are numbered", numbers == [1, 2], numbers)
    for (operation, change), line in CHANGED.items():
        text = next(m.apply(TEXT) for m in found if (m.operation, m.change) == (operation, change))
        lines = text.splitlines()
        tally.expect(f"{operation} -> {change}", line in lines and len(lines) == len(TEXT.splitlines()), text)
    tally.expect("a failure order never exceeds the success order",
                 source.weaker_cas("acq", "acq", source.cas_names(ATOM)) == ["rlx_rlx", "acq_rlx"])
    try:
        source.mutants_of("x.c", "void f(void) { g(); /* recheck */ }\n", ATOM)
        tally.expect("a marker without a condition is refused", False)
    except source.SourceError as error:
        tally.expect("a marker without a condition is refused", "x.c:1" in str(error), error)


def report_tests(tally):
    written = report.arguments("# T\ntext\n### `a`\n### `b`\nboth\n### `c`\n\n## U\n### `d`\nbecause\n")
    tally.expect("arguments are read", written == {"a": "both", "b": "both", "c": "", "d": "because"}, written)
    def result(key, verdict):
        return {"key": key, "verdict": verdict, "file": "f", "line": 1}
    many = [result(f"k{i}", "killed") for i in range(95)]
    four = [result(f"a{i}", "survived") for i in range(4)]
    why = {f"a{i}": "because" for i in range(4)}
    def good(results, arguments):
        return report.judge(results, arguments, lambda key: True)[1]
    tally.expect("95 % with arguments is enough", good(many + four, why))
    tally.expect("a survivor needs an argument", not good(many + four, {**why, "a1": ""}))
    tally.expect("undecided counts as survived", not good(many + four + [result("u", "undecided")], why))
    tally.expect("fewer than 95 % is not enough", not good(many[:50] + four, why))
    tally.expect("what is outside does not count", good(many + four + [result("o", "outside")] * 50, why))
    tally.expect("an argument about nothing is refused", not good(many + four, {**why, "gone": "x"}))
    tally.expect("no mutants is not good", not good([], {}))
    tally.expect("nor are only those outside", not good([result("o", "outside")], {}))
    tally.expect("a part may have nothing but locks", good([result("f g: lock_take(&l) -> removed", "killed")], {}))
    kinds = {key: report.kind(result(key, "killed")) for key in ("f g: lock_try(&l) -> removed #2", "f g: atom_fence_light() -> removed",
                                                                 "f g: atom_or_rlx(&a, 1) -> split #2")}
    tally.expect("kinds are told apart", list(kinds.values()) == ["lock", "order", "split"], kinds)


def toy_tests(tally, root):
    run = campaign.Campaign(root, say=lambda line: None)
    run.work = root / "build" / "mutants" / "self-test"
    shutil.rmtree(run.work, ignore_errors=True)
    run.memory, run.known = run.work / "verdicts.jsonl", {}
    run.tree.add(TOY_UNITS, run.work / "units")
    results = {r["key"]: r for r in run.part("toy", TOY)}
    verdicts = {key: r["verdict"] for key, r in results.items()}
    for key in sorted(VERDICTS.keys() | verdicts.keys()):
        tally.expect(key, verdicts.get(key) == VERDICTS.get(key),
                     f"expected {VERDICTS.get(key)}, found {verdicts.get(key)} {results.get(key, {}).get('detail')}")
    names = {model: set(times) for record in run.known.values() if isinstance(record["seconds"], dict)
             for model, times in record["seconds"].items()}
    tally.expect("a scenario is run in the models that it is meant for",
                 [name for name in ("toy_elsewhere", "toy_one_model", "toy_count") for model in ("c11", "tso")
                  if name in names[model]] == ["toy_one_model", "toy_count", "toy_count"], names)
    before = run.memory.read_text()
    run.part("toy", TOY)
    tally.expect("a second run has nothing to do", run.memory.read_text() == before)


def run(root):
    tally = Tally()
    text_tests(tally)
    report_tests(tally)
    try:
        toy_tests(tally, root)
    except (build.BuildError, campaign.CampaignError) as error:
        tally.expect("the toy part", False, error)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0
