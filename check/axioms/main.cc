/* A second opinion on the model checker: all executions of small scenarios, found by the axioms alone.
 *
 * Linked with scenario files compiled as for the checker; prints a line a scenario and model,
 *
 *     c11 NAME 4 executions, outcomes 1c, flaws: race
 *     NAME not judged: REASON
 *
 * and tools/check-fuzz compares these with what the checker says. It shares no code with check/engine. It tries everything, so
 * scenarios must be tiny: about ten accesses.
 *
 * What it cannot judge, and says so: futexes, the heap, waiting loops that write or choose, loops without spin.h, data outside
 * SHARED, cells used in several sizes or both plainly and atomically.
 *
 * Where both may be wrong together, because this enumerator takes the checker's documented view: load buffering is left
 * out; a compare-and-swap does not fail for no reason; a waiting loop's round that only reads has no effect; light fences
 * count between heavy ones only; and plain accesses play no part in RC11's psc (where the paper lets an access to another
 * cell be plain: it would forbid a little more). */
#include "enumerate.hh"

#include <cstdio>
#include <cstring>

static std::vector<chk_scenario *> &scenarios() {
    static std::vector<chk_scenario *> all;
    return all;
}

extern "C" void chk_register(chk_scenario *scenario) { scenarios().push_back(scenario); }

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
