"""What tools/mutants is made of: parts (what is weakened, and what must notice), source (where a text can be weakened),
build (a checker with one text changed), campaign (the verdicts), report (the written arguments and the result page)."""
