/* The three memory models as axioms over whole executions. */
#pragma once

#include "execution.hh"

enum Model { MODEL_SC, MODEL_TSO, MODEL_C11, MODELS };

/* Is this an execution of the model? If so `hb` is happens-before, for data races. */
bool consistent(Model model, const Execution &x, Relation &hb);
