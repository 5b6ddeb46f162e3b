/* Signals that meet a process with hardly any stack left. */
#include "victim.h"

#include <sys/mman.h>
#include <sys/syscall.h>

enum { LEFT = 600 }; /* bytes of stack; no handler's frame is so small */

static atom_u64 caught;
static void counts(int number) {
    (void)number;
    atom_add_rlx(&caught, 1);
}

/* A signal to this very thread, with as little stack as can be. */
static __attribute__((noinline)) void send_here(pid_t program, pid_t thread) { syscall(SYS_tgkill, program, thread, SIGUSR1); }

static __attribute__((noinline, no_sanitize("address"))) void send_deep_down(const void *low) {
    pid_t program = getpid(), thread = (pid_t)syscall(SYS_gettid);
    char here;
    size_t spare = (size_t)((uintptr_t)&here - (uintptr_t)low) - LEFT;
    volatile char *filler = __builtin_alloca(spare);
    filler[0] = 1;
    send_here(program, thread);
    EXPECT_EQ(filler[0], 1);
}

static void deep(void *arg) {
    (void)arg;
    send_deep_down(victim_low());
    weft_yield();
    send_deep_down(victim_low());
    weft_exit(7);
}
static void in_a_call(void *low) { send_deep_down(low); }
static void deep_in_a_call(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking(in_a_call, victim_low()), 0);
    weft_exit(7);
}
static void shallow(void *arg) {
    (void)arg;
    EXPECT_EQ(raise(SIGUSR1), 0);
}
static void digs(void *arg) {
    (void)arg;
    dig_calls(0);
}

/* A handler without SA_ONSTACK: that signal is lost, and said to be; everything else goes on, overflows included. */
static void survive(void) {
    EXPECT_EQ(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = counts}, NULL), 0);
    EXPECT_EQ(victim_reason(victim_joinable(deep, NULL, 16 << 10, "deep")), 7);
    EXPECT_EQ(atom_load_rlx(&caught), 0);
    EXPECT_EQ(victim_reason(victim_joinable(deep_in_a_call, NULL, 16 << 10, "deep")), 7);
    EXPECT_EQ(victim_reason(victim_joinable(digs, NULL, 16 << 10, "digs")), WEFT_ESTACK);
    EXPECT_EQ(victim_reason(victim_joinable(shallow, NULL, 16 << 10, "shallow")), 0);
    EXPECT_EQ(atom_load_rlx(&caught), 1);
    atom_store_rlx(&caught, 0);
    EXPECT_EQ(victim_reason(victim_joinable(deep, NULL, 16 << 10, "deep")), 7);
    EXPECT_EQ(victim_reason(victim_joinable(digs, NULL, 16 << 10, "digs")), WEFT_ESTACK);
}
static void survives(void) {
    rt_start("ring", 2);
    survive();
    rt_stop();
    _exit(3);
}
TEST(lost_signal_harms_no_other_process) {
    struct child child;
    if (SANITIZED || test_emulated())
        return; /* the sanitizers' own handlers are in between; qemu leaves a signal that is lost so blocked */
    child_run(&child, survives);
    EXPECT_EXIT(&child, 3);
    EXPECT_SAID(&child, "weft: a signal is lost: process ");
    EXPECT_SAID(&child, "SA_ONSTACK");
}

/* With SA_ONSTACK none is lost. */
static void none_lost(void) {
    atom_store_rlx(&caught, 0);
    EXPECT_EQ(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = counts, .sa_flags = SA_ONSTACK}, NULL), 0);
    EXPECT_EQ(victim_reason(victim_joinable(deep, NULL, 16 << 10, "deep")), 7);
    EXPECT_EQ(victim_reason(victim_joinable(deep_in_a_call, NULL, 16 << 10, "deep")), 7);
    EXPECT_EQ(atom_load_rlx(&caught), 3);
}
TEST(lost_signal_not_with_a_stack_for_handlers) {
    if (!SANITIZED) rt_each(none_lost);
}

/* On a thread of the program's own it is as without weft: the program ends. */
static void *small_thread(void *arg) {
    (void)arg;
    char here;
    volatile char *filler =
        __builtin_alloca((uintptr_t)&here - ((uintptr_t)&here & ~(uintptr_t)0x1ffff) - LEFT); /* down to the guard, nearly */
    filler[0] = 1;
    send_here(getpid(), (pid_t)syscall(SYS_gettid));
    return NULL;
}
static void own_thread(void) {
    static _Alignas(0x20000) char stack[0x40000]; /* at least what ARM's C library demands */
    pthread_attr_t attributes;
    pthread_t thread;
    rt_start("ring", 1);
    EXPECT_EQ(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = counts}, NULL), 0);
    EXPECT_EQ(mprotect(stack, 0x20000, PROT_NONE), 0);
    pthread_attr_init(&attributes);
    EXPECT_EQ(pthread_attr_setstack(&attributes, stack, sizeof stack), 0);
    EXPECT_EQ(pthread_create(&thread, &attributes, small_thread, NULL), 0);
    pthread_join(thread, NULL);
    _exit(3);
}
TEST(lost_signal_of_another_thread_ends_the_program) {
    struct child child;
    if (SANITIZED || test_emulated()) return;
    child_run(&child, own_thread);
    EXPECT_DIED(&child, SIGSEGV);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
