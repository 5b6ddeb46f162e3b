/* A second opinion on the model checker: all executions of small scenarios, found by the axioms alone.
 *
 * Linked with scenario files compiled as for the checker; prints a line a scenario and model, or why there is none:
 *
 *     c11 NAME 4 executions, outcomes 1c, flaws: data-race
 *     NAME not judged: a futex
 *
 * tools/check-fuzz compares these with what the checker says. No code is shared with check/engine. Everything is tried, so
 * scenarios must be tiny: about ten accesses.
 *
 *   hooks.cc      what the instrumented code calls
 *   program.cc    what each thread may do by itself, with every value it reads guessed
 *   enumerate.cc  all ways to put that together: which read reads from which write, in what order cells are written
 *   axioms.cc     which of these a memory model has
 *
 * What it cannot judge, and says so: futexes and the heap; loops that neither wait with base/spin.h nor end soon; data that is not
 * SHARED; cells used in several sizes, or both plainly and atomically. Of the flaws it knows failed assertions, data races and
 * deadlock; lost wake-ups, livelock and what concerns the heap are not for it.
 *
 * Where it would be wrong together with the checker, because both follow the same documented view: load buffering is
 * left out; a compare-and-swap does not fail for no reason; a round of a waiting loop that only reads has no effect,
 * and one that writes is followed four times; a light fence counts next to a heavy one only; plain accesses play no part
 * in psc (in RC11 the access to another cell may be plain, which forbids a little more); in TSO and SC all atomic
 * accesses order plain data. */
#include "enumerate.hh"

#include <cstdio>
#include <cstring>

static std::vector<const chk_scenario *> &scenarios() {
    static std::vector<const chk_scenario *> all;
    return all;
}

extern "C" void chk_register(const chk_scenario *scenario) { scenarios().push_back(scenario); }

static const struct {
    const char *name;
    unsigned bit;
} models[MODELS] = {{"sc", CHK_SC}, {"tso", CHK_TSO}, {"c11", CHK_C11}};

static void print(const chk_scenario *s, Model model, const Verdict &v) {
    printf("%s %s %llu executions, outcomes %llx", models[model].name, s->name, (unsigned long long)v.executions,
           (unsigned long long)v.outcomes);
    if (v.assertion || v.race || v.deadlock)
        printf(", flaws:%s%s%s", v.assertion ? " assertion" : "", v.race ? " data-race" : "",
               v.deadlock ? " deadlock" : "");
    printf("\n");
}

static void judge(const chk_scenario *s) {
    Verdict verdict[MODELS];
    std::string refused;
    if (!enumerate(s, verdict, refused)) {
        printf("%s not judged: %s\n", s->name, refused.c_str());
        return;
    }
    for (int m = 0; m < MODELS; m++)
        if ((s->models ? s->models : unsigned(CHK_ALL)) & models[m].bit) print(s, Model(m), verdict[m]);
}

/* NAME...: only these. */
int main(int argc, char **argv) {
    for (const chk_scenario *s : scenarios()) {
        bool wanted = argc == 1;
        for (int i = 1; i < argc; i++)
            wanted |= strcmp(argv[i], s->name) == 0;
        if (wanted) judge(s);
        fflush(stdout);
    }
    return 0;
}
