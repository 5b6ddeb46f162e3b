/* Every execution of a scenario, by trying everything: each combination of traces, for each read each write of the right value, for
 * each cell each order of its writes; and the axioms decide. */
#pragma once

#include "axioms.hh"
#include "program.hh"

struct Verdict {
    uint64_t executions = 0; /* in which every thread ended */
    uint64_t outcomes = 0;   /* a sum over them: see fuzz_outcome */
    bool assertion = false, race = false, deadlock = false;
};

/* verdict[model] for each model; false and `refused` if the scenario is not for this enumerator. */
bool enumerate(const chk_scenario *scenario, Verdict verdict[MODELS], std::string &refused);
