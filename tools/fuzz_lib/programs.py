"""Random litmus programs: two to four threads, about ten accesses, as scenarios in C.

What a thread reads is mixed into a number of its own, and at the end these numbers and the final values are handed to
fuzz_outcome: two tools that explore the same executions end with the same sum.

  plain   everything but asymmetric fences: loads, stores, read-modify-writes, fences, branches on what was read
  sc      mostly seq_cst accesses and fences: the corners of psc
  light   asymmetric fences among the rest
  race    plain data, published more or less well
  wait    waiting loops, locks"""
import random

KINDS = ("plain", "sc", "light", "race", "wait")
LOADS, STORES, UPDATES = ("rlx", "acq", "sc"), ("rlx", "rel", "sc"), ("rlx", "acq", "rel", "acqrel", "sc")
SWAPS = ("rlx_rlx", "acq_rlx", "acq_acq", "rel_rlx", "rel_acq", "acqrel_rlx", "acqrel_acq", "sc_rlx", "sc_acq", "sc_sc")
FENCES = ("sc", "acq", "rel", "acqrel")

PRELUDE = """#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"

SHARED atom_u32 c[4];
SHARED uint32_t d[2], seen[4];
SHARED struct chk_mutex m[2];
void fuzz_outcome(unsigned program, uint64_t value);

#define SEE(value) (r = (value), h = h * 31 + r + 1)
#define WAIT_FOR(load, condition)                                                                                      \\
    do {                                                                                                               \\
        struct spin spin = spin_begin();                                                                               \\
        while (SEE(load), !(condition))                                                                                \\
            spin_wait(&spin);                                                                                          \\
    } while (0)
#define TRY_UNTIL_0(cas, cell, value)                                                                                  \\
    do {                                                                                                               \\
        struct spin spin = spin_begin();                                                                               \\
        uint32_t expected = 0;                                                                                         \\
        while (!cas(cell, &expected, value)) {                                                                         \\
            expected = 0;                                                                                              \\
            spin_wait(&spin);                                                                                          \\
        }                                                                                                              \\
    } while (0)

static inline void outcome(unsigned program) {
    uint64_t sum = 7;
    for (unsigned i = 0; i < 4; i++)
        sum = sum * 1000003 + atom_load_rlx(&c[i]) * 31 + seen[i];
    fuzz_outcome(program, (sum + d[0] * 5 + d[1]) * UINT64_C(0x9e3779b97f4a7c15));
}
"""


class Program:
    def __init__(self, kind, seed, number):
        self.name = f"{kind}_{seed}_{number}"
        self.kind = kind
        self.random = random.Random(self.name)
        self.cells = self.random.choice((2, 2, 3))
        self.written = [0] * 4   # stores a cell, so that there are not too many orders of them
        self.threads = []
        shapes = {"plain": (self.mixture, self.mixture, self.cycle), "sc": (self.mixture, self.cycle, self.relay),
                  "light": (self.mixture, self.cycle), "race": (self.publication, self.publication, self.mixture),
                  "wait": (self.mixture,)}
        self.random.choice(shapes[kind])()
        self.random.shuffle(self.threads)

    def chance(self, probability):
        return self.random.random() < probability

    def order(self, orders):
        if self.kind == "sc" and self.chance(.6):
            return "sc"
        if self.kind == "light" and self.chance(.6):
            return "rlx"
        return self.random.choice(orders)

    def value(self, cell):
        """A new value for a cell; now and then one it already has had, so that values do not tell writes apart."""
        self.written[cell] += 1
        return max(1, self.written[cell] - self.chance(.1))

    # ---- statements ----

    def load(self, cell):
        return f"SEE(atom_load_{self.order(LOADS)}(&c[{cell}]));"

    def store(self, cell):
        return f"atom_store_{self.order(STORES)}(&c[{cell}], {self.value(cell)});"

    def update(self, cell):
        how = self.random.choice(("swap", "swap", "add", "cas", "cas"))
        if how == "swap":
            return f"SEE(atom_swap_{self.order(UPDATES)}(&c[{cell}], {self.value(cell)}));"
        if how == "add":
            self.written[cell] += 1
            return f"SEE(atom_add_{self.order(UPDATES)}(&c[{cell}], 10));"
        orders = "sc_sc" if self.kind == "sc" and self.chance(.5) else self.random.choice(SWAPS)
        return (f"{{ uint32_t e = {self.random.randrange(2)}; (void)atom_cas_{orders}(&c[{cell}], &e, "
                f"{self.value(cell)}); SEE(e); }}")

    def fence(self):
        if self.kind == "light":
            return f"chk_fence_{self.random.choice(('light', 'light', 'heavy', 'heavy', 'sc', 'acqrel'))}();"
        return f"chk_fence_{'sc' if self.kind == 'sc' and self.chance(.8) else self.random.choice(FENCES)}();"

    def plain(self, data=None):
        data = self.random.randrange(2) if data is None else data
        return self.random.choice((f"d[{data}]++;", f"SEE(d[{data}]);", f"d[{data}] = {self.random.randrange(1, 4)};"))

    def waiting(self, cell):
        how = self.random.choice(("wait", "lock", "cas"))
        if how == "lock":
            lock = self.random.randrange(2)
            return f"chk_lock(&m[{lock}]); {self.plain(lock ^ self.chance(.05))} chk_unlock(&m[{lock}]);"
        if how == "cas":
            return f"TRY_UNTIL_0(atom_cas_{self.random.choice(SWAPS)}, &c[{cell}], {self.value(cell)});"
        condition = self.random.choice(("r == 0", "r == 1", "r < 3")) if self.chance(.3) else "r != 0"
        if condition != "r == 0" and self.written[cell] == 0:
            return self.store(cell)  # nothing would end the wait
        return f"WAIT_FOR(atom_load_{self.order(LOADS)}(&c[{cell}]), {condition});"

    def access(self, cell, stores, updates):
        """A statement on a cell; no more than three writes to each."""
        if self.written[cell] >= 3 or not self.chance(stores + updates):
            return self.load(cell)
        return self.update(cell) if self.chance(updates / (stores + updates)) else self.store(cell)

    # ---- shapes ----

    def mixture(self):
        """Threads of random statements."""
        count = self.random.choice((2, 2, 3, 3, 3, 4))
        lengths = [1] * count
        for _ in range(self.random.choice((6, 7, 8, 9)) - count):
            lengths[self.random.randrange(count)] += 1
        fences = self.random.choice((.04, .12, .5)) if self.kind in ("plain", "sc") else .5 if self.kind == "light" else .1
        updates = self.random.choice((.08, .08, .35))
        for length in lengths:
            body = []
            for k in range(length):
                if k and self.chance(fences):
                    body.append(self.fence())
                if self.kind == "race" and self.chance(.2):
                    body.append(f"if (r % 4 == {self.random.randrange(4)}) {self.plain()}")
                cell = self.random.randrange(self.cells)
                if self.kind == "wait" and self.chance(.25):
                    body.append(self.waiting(cell))
                else:
                    branch = f"if (r % 2 == {self.random.randrange(2)}) " if k and self.chance(.12) else ""
                    body.append(branch + self.access(cell, .5, updates))
            self.threads.append(body)

    def cycle(self):
        """Thread i accesses cell i, then cell i + 1: store buffering, message passing, IRIW and their relatives in a ring."""
        count = self.random.choice((2, 3, 3, 4, 4))
        first, second = self.random.choice(((1, 0), (.65, .35), (.65, .35)))  # the first: store buffering
        for t in range(count):
            body = [self.access(t, first, .06)]
            if self.chance(.15):
                body.append(self.access(t, .4, .2))
            if self.chance({"plain": .3, "sc": .4, "light": .8}[self.kind]):
                body.append(self.fence())
            body.append(self.access((t + 1) % count, second, .06))
            self.threads.append(body)

    def relay(self):
        """seq_cst accesses at both ends of a release and an acquire, perhaps to the very cell that hands over, and a
        thread that goes the other way round: what psc makes of happens-before."""
        def end(cell, stores):
            order = "sc" if self.chance(.85) else "rlx"
            return (f"atom_store_{order}(&c[{cell}], {self.value(cell)});" if self.chance(stores) else
                    f"SEE(atom_load_{order}(&c[{cell}]));")
        flag = self.random.choice((0, 1, 2, 2))
        release = f"atom_store_{self.random.choice(('rel', 'rel', 'sc', 'rlx'))}(&c[{flag}], 3);"
        acquire = f"SEE(atom_load_{self.random.choice(('acq', 'acq', 'sc', 'rlx'))}(&c[{flag}]));"
        fences = [self.fence() if self.chance(.15) else "" for _ in range(3)]
        self.threads = [[end(0, .9), fences[0], release if self.chance(.8) else self.update(flag)],
                        [acquire, fences[1], end(1, .2)], [end(1, .9), fences[2], end(0, .1)]]

    def publication(self):
        """Plain data behind a flag, perhaps passed on by a third thread, with whatever orders come."""
        flag, data = self.random.randrange(2), self.random.randrange(2)
        good = self.chance(.6)
        release, acquire = ("rel", "acq") if good else (self.random.choice(STORES), self.random.choice(LOADS))
        fence = not good and self.chance(.4)
        writer = [f"d[{data}] = 2;", "chk_fence_rel();" if fence else "", f"atom_store_{release}(&c[{flag}], 1);"]
        if self.chance(.3):
            writer.append(f"atom_store_{self.order(STORES)}(&c[{flag}], 2);")
        look = (f"SEE(atom_load_{acquire}(&c[{flag}]));" if self.chance(.75) else
                f"{{ uint32_t e = 7; (void)atom_cas_{self.random.choice(SWAPS)}(&c[{flag}], &e, 9); SEE(e); }}")
        reader = [look, f"if (r {self.random.choice(('== 1', '!= 0', '> 1'))}) {{",
                  "chk_fence_acq();" if fence else "", self.random.choice((f"SEE(d[{data}]);", f"d[{data}]++;")), "}"]
        self.threads = [writer, reader]
        if self.chance(.2):
            self.threads.append([look, f"if (r == 1) SEE(d[{data}]);"])
        elif self.chance(.5):
            middle = [f"SEE(atom_add_{self.random.choice(('rlx', *UPDATES))}(&c[{flag}], {self.random.choice((1, 4))}));"]
            if self.chance(.4):
                middle.append(f"if (r == 1) {self.plain()}")
            self.threads.append(middle)
        for body in self.threads:
            if self.chance(.4):
                body.insert(self.random.choice((0, len(body))), self.access(1 - flag, .5, .2))

    # ---- text ----

    def text(self, number):
        """The scenario. It expects a flaw, so that the checker does not stop to print traces; tools/check-fuzz compares
        what was found, not whether it was expected."""
        out = []
        for t, body in enumerate(self.threads):
            lines = "".join(f"    {line}\n" for line in body if line)
            out.append(f"static void {self.name}_t{t}(void) {{\n    uint32_t r = 0, h = 0;\n    (void)r;\n{lines}"
                       f"    seen[{t}] = h;\n}}\n")
        threads = ", ".join(f"{self.name}_t{t}" for t in range(len(self.threads)))
        out.append(f"static void {self.name}_end(void) {{ outcome({number}); }}\n"
                   f'SCENARIO({self.name}, .about = "random", .threads = {{{threads}}}, .finish = {self.name}_end,\n'
                   f"         .flawed_in = CHK_ALL)\n")
        return "".join(out)


def source(programs):
    """A file of programs; each has the number of its place."""
    return PRELUDE + "\n" + "\n".join(program.text(i) for i, program in enumerate(programs))
