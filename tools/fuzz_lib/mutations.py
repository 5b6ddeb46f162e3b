"""The axioms, broken one at a time: for tools/check-fuzz --self-test. A text must occur exactly once in its file."""
import shutil

AXIOMS = "axioms.cc"
MUTATIONS = (
    # C11
    ("C11: program order to the same cell counts in psc", AXIOMS, "Relation po_other = po - x.same_cell;",
     "Relation po_other = po;"),
    ("C11: psc without program order", AXIOMS, "Relation scb = po | seq(", "Relation scb = seq("),
    ("C11: psc without happens-before through other cells", AXIOMS, "po | seq(po_other, hb, po_other) | (hb", "po | (hb"),
    ("C11: psc without happens-before on a cell", AXIOMS, " | (hb & x.same_cell) | x.mo | rb_of(x);",
     " | x.mo | rb_of(x);"),
    ("C11: psc without modification order", AXIOMS, "x.same_cell) | x.mo | rb_of(x);", "x.same_cell) | rb_of(x);"),
    ("C11: psc without reads-before", AXIOMS, "x.same_cell) | x.mo | rb_of(x);", "x.same_cell) | x.mo;"),
    ("C11: psc of accesses only", AXIOMS, "Esc | seq(Fsc, opt(hb)), scb, Esc | seq(opt(hb), Fsc)", "Esc, scb, Esc"),
    ("C11: psc between fences without eco", AXIOMS, "hb | seq(hb, eco, hb), Fsc", "hb, Fsc"),
    ("C11: psc of fences only", AXIOMS, "return base | between_fences;", "return between_fences;"),
    ("C11: no psc at all", AXIOMS, "return acyclic(seq(strong, psc, strong) | through);", "return true;"),
    ("C11: a light fence is a full one", AXIOMS, "seq(strong, psc, strong) | through", "psc"),
    ("C11: a light fence is none", AXIOMS, "seq(strong, psc, strong) | through", "seq(strong, psc, strong)"),
    ("C11: a light fence counts between two heavy ones only", AXIOMS,
     "seq(heavy, psc, light, psc, strong) | seq(strong, psc, light, psc, heavy)", "seq(heavy, psc, light, psc, heavy)"),
    ("C11: load buffering", AXIOMS, "if (!acyclic(x.po | x.rf)) return false;", ""),
    ("C11: no coherence across threads", AXIOMS, " || !irreflexive(seq(hb, eco))) return false;", ") return false;"),
    ("C11: no atomicity of updates", AXIOMS, "if (!irreflexive(eco)) return false;", ""),
    ("C11: release sequences end with the release", AXIOMS, "star(seq(x.rf, x.on(x.U)))", "x.on(x.W)"),
    ("C11: release sequences as in C++11", AXIOMS, "Relation rs = seq(x.on(x.W & ~x.plain), star(",
     "Relation rs = seq(opt(x.po & x.same_cell), x.on(x.W & ~x.plain), star("),
    ("C11: no release fences", AXIOMS, "seq(release, opt(seq(F, x.po)), rs,", "seq(release, rs,"),
    ("C11: no acquire fences", AXIOMS, "opt(seq(x.po, F)), acquire)", "acquire)"),
    ("C11: nothing synchronises", AXIOMS, "hb = plus(x.po | sw);", "hb = x.po;"),
    ("C11: a relaxed write releases", AXIOMS, "(both || e.order == REL)", "(both || e.order == REL || e.order == RLX)"),
    ("C11: a relaxed read acquires", AXIOMS, "(both || e.order == ACQ ||", "(both || e.order == RLX || e.order == ACQ ||"),
    ("C11: the failure order of a compare-and-swap is the success order", "program.cc", "append(READ, failure,",
     "append(READ, order,"),
    # TSO
    ("TSO: no store buffer", AXIOMS, " - cross(n, x.W & ~x.U, x.R & ~x.locked);", ";"),
    ("TSO: a failed compare-and-swap is not locked", AXIOMS, "x.R & ~x.locked", "x.R & ~x.U"),
    ("TSO: an update waits in the buffer", AXIOMS, "cross(n, x.W & ~x.U,", "cross(n, x.W,"),
    ("TSO: no fences", AXIOMS, "seq(x.po, x.on((x.F & x.seq_cst) | x.heavy), x.po) | seq(", "seq("),
    ("TSO: a seq_cst store without mfence", AXIOMS, " | seq(x.on(x.W & x.seq_cst), x.po);", ";"),
    ("TSO: acquire and release fences are full", AXIOMS, "x.on((x.F & x.seq_cst) | x.heavy), x.po)", "x.on(x.F), x.po)"),
    ("TSO: no reading from the own buffer", AXIOMS, "(x.rf - same_thread)", "x.rf"),
    ("TSO: stores become visible in several orders", AXIOMS, "- same_thread) | x.mo | rb_of(x);", "- same_thread) | rb_of(x);"),
    ("TSO: no reads-before", AXIOMS, "- same_thread) | x.mo | rb_of(x);", "- same_thread) | x.mo;"),
    ("TSO: no coherence", AXIOMS, "if (!coherent_cells(x)) return false;", ""),
    ("TSO: light fences do nothing", AXIOMS, "return some_order(x, ghb, pairs, 0);", "return acyclic(ghb);"),
    ("TSO: the heavy fence is always first", AXIOMS, "return some_order(x, ghb | seq(x.po, l, between, h, x.po), pairs, from + 1) ||",
     "return"),
    # SC, happens-before, waiting
    ("SC: no reads-before", AXIOMS, "return acyclic(x.po | com_of(x));", "return acyclic(x.po | x.rf | x.mo);"),
    ("SC: no program order", AXIOMS, "return acyclic(x.po | com_of(x));", "return coherent_cells(x);"),
    ("TSO, SC: atomics do not order plain data", AXIOMS, "return plus(x.po | atomic_rf);", "return x.po;"),
    ("races: reads race too", "enumerate.cc", "(has(x.W, a) || has(x.W, b)) && ", ""),
    ("races: none", "enumerate.cc", "v.race |= races(x, hb);", ""),
    ("waiting: what waits waits for ever", "enumerate.cc", "&& waits_for_ever(x);", ";"),
    ("waiting: nothing waits for ever", "enumerate.cc", "v.deadlock |= for_ever;", ""),
    ("outcomes: the last write is not the final value", "enumerate.cc", "finals[used[cell]] = x.events[last].written;",
     "finals[used[cell]] = x.events[initial[cell]].written;"),
)


def folders(home, copy):
    """(what is broken, a copy of the enumerator with that), one after the other in the same place."""
    for name, file, old, new in MUTATIONS:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(home, copy)
        text = (copy / file).read_text()
        if text.count(old) != 1:
            raise ValueError(f"{file} has {text.count(old)} times the text that '{name}' changes: {old}")
        (copy / file).write_text(text.replace(old, new))
        yield name, copy
