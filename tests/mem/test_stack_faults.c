/* Stacks that overflow, and what happens when the system refuses. */
#include "ctx/ctx.h"
#include "mem_stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* ---- overflow ---------------------------------------------------------------------------------------------------- */

static struct stack *running;
static struct ctx home, flow;
static char alternate[64 << 10];

static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    struct stack_place place;
    enum stack_part part = stacks_find(&stacks, info->si_addr, &place);
    _exit(part == STACK_IN_GUARD && place.stack == running ? 42 : 43);
}

static void catch_faults(void) {
    stack_t on = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&on, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* Out of the sanitizers' sight: they are not told of this stack. */
__attribute__((noinline, no_sanitize("address", "thread", "undefined"))) static unsigned recurse(unsigned depth) {
    volatile unsigned bytes[100];
    bytes[depth % 100] = depth;
    return depth == UINT32_MAX ? 0 : recurse(depth + 1) + bytes[depth % 100];
}
__attribute__((no_sanitize("address", "thread", "undefined"))) static void overflows(void *gift) {
    (void)gift;
    recurse(0);
    abort();
}

static int exit_of_child(void (*body)(void)) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        catch_faults();
        body();
        _exit(0);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void run_over(void) {
    ctx_make(&flow, stack_top(running), overflows);
    ctx_switch(&home, &flow, NULL);
}
static void step_over(void) { *(volatile char *)(running->low - 1) = 1; }
static void step_below(void) { *(volatile char *)(running->low - STACK_GUARD) = 1; }
static void stay_within(void) { *(volatile char *)running->low = 1; }

static void expect_guarded(void) {
    for (unsigned class = 0; class < STACK_CLASSES; class += 3) {
        EXPECT(stack_take(&a, class));
        EXPECT((running = stack_take(&a, class)));
        EXPECT_EQ(exit_of_child(step_over), 42);
        EXPECT_EQ(exit_of_child(step_below), 42);
        EXPECT_EQ(exit_of_child(stay_within), 0);
        EXPECT_EQ(exit_of_child(run_over), 42);
    }
}

TEST(stack_overflow_faults_in_its_guard) {
    begin();
    expect_guarded();
    end();
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* Where the kernel takes only one at a time. */
TEST(stack_guards_one_by_one) {
    begin();
    sys_script.guards_error = -EBADF;
    expect_guarded();
    EXPECT_EQ(guards(), 2 * 4);                /* of the stacks that were taken, no others */
    EXPECT(atom_load_rlx(&stacks.one_by_one)); /* and it is not asked for more again */

    struct stack *stack = stack_take(&b, CLASS);
    uint64_t before = guards();
    stack_give(&b, stack);
    stack_cache_flush(&b);
    EXPECT_EQ(stacks_trim(&stacks, true), 1);
    EXPECT(stack_take(&b, CLASS) == stack);
    EXPECT_EQ(guards(), before); /* once a stack, for good */
    end();
}

/* Before there were guards without mappings. */
TEST(stack_guards_by_protection) {
    begin();
    sys_script.advise_error[SYS_VM_GUARD] = -EINVAL;
    expect_guarded();
    EXPECT_EQ(guards(), 1); /* asked once, then never again */
    end();
}

TEST(stack_protection_runs_out) {
    begin();
    sys_script.advise_error[SYS_VM_GUARD] = -EINVAL;
    sys_script.advise_error[SYS_VM_DENY] = -ENOMEM;
    sys_script.advise_allowed[SYS_VM_DENY] = 3;
    struct stack *taken[3];
    for (unsigned i = 0; i < 3; i++)
        EXPECT((taken[i] = stack_take(&a, CLASS)));
    EXPECT(!stack_take(&a, CLASS)); /* never one without a guard */
    EXPECT(!stack_take(&b, CLASS));
    EXPECT(!stack_take(&b, CLASS + 1));
    stack_give(&a, taken[0]);
    EXPECT(stack_take(&a, CLASS) == taken[0]);       /* those that have theirs keep it */
    for (unsigned i = 0; i < STACK_DENIED_MOST; i++) /* what was refused does not count */
        EXPECT(!stack_take(&a, CLASS));
    sys_script.advise_error[SYS_VM_DENY] = 0;
    struct stack *late = stack_take(&a, CLASS);
    EXPECT(late && !there(late->low - 1));
    end();
}

TEST(stack_leaves_mappings_for_others) {
    if (SANITIZED) return; /* the shadow of so many is large */
    begin();
    sys_script.advise_error[SYS_VM_GUARD] = -EINVAL;
    unsigned got = 0;
    while (got < 2 * STACK_DENIED_MOST && stack_take(&a, 0))
        got++;
    EXPECT_EQ(got, STACK_DENIED_MOST);
    EXPECT(sys_linux.vm_map(PAGE)); /* others can still map */
    stacks_destroy(&stacks);
}

TEST(stack_guard_fails_for_want_of_memory) {
    begin();
    sys_script.advise_error[SYS_VM_GUARD] = -ENOMEM;
    EXPECT(!stack_take(&a, CLASS));
    EXPECT(!stack_take(&a, CLASS));
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.vm_advise[SYS_VM_DENY]), 0); /* no reason to split mappings */
    sys_script.advise_error[SYS_VM_GUARD] = 0;
    EXPECT(stack_take(&a, CLASS));
    end();
}

TEST(stack_without_address_space) {
    begin();
    sys_script.map_fail_from = 1;
    for (unsigned class = 0; class < STACK_CLASSES; class ++)
        EXPECT(!stack_take(&a, class));
    sys_script.map_fail_from = 0;
    struct stack *stack = stack_take(&a, CLASS);
    EXPECT(stack);
    stack_give(&a, stack);
    end();
}

/* Where only little is to be had, it takes little. */
TEST(stack_with_little_address_space) {
    begin();
    sys_script.map_most = 1 << 20;
    for (unsigned i = 0; i < 100; i++)
        EXPECT(stack_take(&a, CLASS));
    EXPECT(!stack_take(&a, STACK_CLASSES - 1));
    EXPECT(sys_scripted_mapped() < (100 * 80 << 10) + (2 << 20));
    sys_script.map_most = (64 << 10) + STACK_GUARD; /* a single one */
    while (stack_take(&a, CLASS) && sys_scripted_mapped() < 20 << 20)
        ;
    EXPECT(sys_scripted_mapped() >= 20 << 20);
    end();
}

TEST(stack_without_memory_for_records) {
    begin();
    sys_script.alloc_fail_from = 1;
    EXPECT(!stack_take(&a, CLASS));
    EXPECT_EQ(sys_scripted_mapped(), 0);
    sys_script.alloc_fail_from = 0;
    EXPECT(stack_take(&a, CLASS));
    end();
}

TEST(stack_advice_is_only_advice) {
    begin();
    sys_script.advise_error[SYS_VM_SMALL] = -EINVAL;
    sys_script.advise_error[SYS_VM_DROP] = -EINVAL;
    struct stack *stack = stack_take(&a, CLASS);
    use(stack, 40000, 1);
    stack_clear(stack);
    stack_give(&a, stack);
    stack_cache_flush(&a);
    EXPECT_EQ(stacks_trim(&stacks, true), 1);
    EXPECT(stack_take(&b, CLASS) == stack);
    use(stack, 60000, 2);
    stack_give(&b, stack);
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
