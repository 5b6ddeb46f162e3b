/* Linked with the *checker* when tools/check-fuzz compares: sums what the programs' `finish` hands over, once for every complete
 * execution, and prints the sums at the end. The enumerator has its own fuzz_outcome (hooks.cc). */
#include <stdint.h>
#include <stdio.h>

void fuzz_outcome(unsigned program, uint64_t value);

enum { PROGRAMS = 1024 };
static uint64_t sum[PROGRAMS];
static uint64_t executions[PROGRAMS];

void fuzz_outcome(unsigned program, uint64_t value) {
    sum[program % PROGRAMS] += value;
    executions[program % PROGRAMS]++;
}

__attribute__((destructor)) static void print(void) {
    for (unsigned i = 0; i < PROGRAMS; i++)
        if (executions[i]) printf("outcomes %u %lx\n", i, (unsigned long)sum[i]);
}
