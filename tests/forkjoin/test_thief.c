/* Workers that take others' tasks: with a stack as large as the owner's, asleep when there is nothing, awake when there is. */
#include "forkjoin_helpers.h"

#include <time.h>

static atom_u64 begun;

/* ---- the stack ------------------------------------------------------------------------------------------------------------- */

WEFT_TASK(unsigned, uses_stack, unsigned, bytes) {
    volatile unsigned char *memory = __builtin_alloca(bytes);
    for (unsigned i = 0; i < bytes; i += 512)
        memory[i] = 1;
    atom_store_rel(&begun, 1); /* rel: pairs with rt_wait */
    return bytes;
}
WEFT_TASK(unsigned, forks_stack_user, unsigned, bytes) {
    atom_store_rlx(&begun, 0);
    WEFT_FORK(uses_stack, bytes);
    rt_wait(&begun, 1); /* elsewhere */
    return WEFT_JOIN(uses_stack);
}
static void stack_process(void *bytes) {
    unsigned n = (unsigned)(uintptr_t)bytes;
    for (int i = 0; i < 5; i++)
        EXPECT_EQ(WEFT_RUN(forks_stack_user, n), n);
}
static void stack_body(void) {
    if (rt.workers == 1) return;
    in_process_with(stack_process, (void *)(uintptr_t)(16 << 10), 64 << 10);
    in_process_with(stack_process, (void *)(uintptr_t)(700 << 10), 1 << 20);
    in_process_with(stack_process, (void *)(uintptr_t)(16 << 10), 64 << 10);
}
TEST(thief_has_the_owners_stack) { rt_each(stack_body); }

/* ---- asleep and awake ------------------------------------------------------------------------------------------------------- */

static uint64_t cpu(clockid_t clock) {
    struct timespec used;
    clock_gettime(clock, &used);
    return (uint64_t)used.tv_sec * RT_SECOND + (uint64_t)used.tv_nsec;
}

WEFT_VOID_TASK(begins) { atom_add_rel(&begun, 1); /* rel: as above */ }

/* The first fork wakes a thief, which takes it, asks for more and goes to sleep. Meanwhile the owner computes, alone. */
WEFT_VOID_TASK(computes_alone) {
    atom_store_rlx(&begun, 0);
    WEFT_FORK(begins);
    rt_wait(&begun, 1);
    uint64_t own = cpu(CLOCK_THREAD_CPUTIME_ID), all = cpu(CLOCK_PROCESS_CPUTIME_ID), now;
    while ((now = cpu(CLOCK_THREAD_CPUTIME_ID)) < own + 60 * RT_MS) {}
    int64_t others = (int64_t)(cpu(CLOCK_PROCESS_CPUTIME_ID) - all) - (int64_t)(now - own);
    EXPECT(others < (int64_t)(30 * RT_MS));
    /* Asleep or not, the next fork is heard of. */
    WEFT_FORK(begins);
    rt_wait(&begun, 2);
    WEFT_JOIN(begins);
    WEFT_JOIN(begins);
}
static void sleeps_process(void *unused) {
    (void)unused;
    WEFT_RUN(computes_alone);
}
static void sleeps_body(void) {
    if (rt.workers > 1) in_process(sleeps_process);
}
TEST(thief_sleeps_and_is_woken) { rt_each(sleeps_body); }

/* What the owner has private is opened at a join too: a loop of long tasks is shared although nothing is forked any more. */
static atom_u64 elsewhere;
static weft_pid root;
WEFT_VOID_TASK(takes_long) {
    if (weft_self() != root) atom_add_rlx(&elsewhere, 1);
    else if (atom_load_rlx(&elsewhere) < 4) rt_pause(2 * RT_MS); /* long, until that many have been taken */
}
WEFT_VOID_TASK(loops, unsigned, count) {
    for (unsigned i = 0; i < count; i++)
        WEFT_FORK(takes_long);
    for (unsigned i = 0; i < count; i++)
        WEFT_JOIN(takes_long);
}
static void loops_process(void *unused) {
    (void)unused;
    root = weft_self();
    atom_store_rlx(&elsewhere, 0);
    WEFT_RUN(loops, 2000);
    EXPECT(atom_load_rlx(&elsewhere) >= 4);
}
static void loops_body(void) {
    if (rt.workers > 1) in_process(loops_process);
}
TEST(thief_gets_what_is_left_at_joins) { rt_each(loops_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
