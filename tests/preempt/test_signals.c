/* Signals of the program's own beside weft's: the call that they interrupt hears of it, their handlers run where they would without weft,
 * and SIGURG still goes to the handler that had it before. */
#include "preempt/loops.h"

#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/socket.h>

static void signal_self(int number) { EXPECT_EQ(sys->thread_signal(thread_number(), number), 0); }

/* One process, and nothing that asks for it to be interrupted: what the handler does is done on purpose. */
static void alone(weft_entry entry) {
    pre_start("ring", 1, 10000);
    forget();
    victim_spawn(entry, NULL, 0, "alone");
    rt_wait(&done, 1);
    rt_stop();
}

/* ---- calls that the program wants to be interrupted --------------------------------------------------------------------------------- */

/* Our signal comes while a handler of the program's has it blocked, so it is delivered just when that returns. */
static atom_u64 handled;
static void handler_with_ours_behind(int number) {
    (void)number;
    atom_add_rlx(&handled, 1);
    signal_self(SIGURG);
}
static void plain_handler(int number) {
    (void)number;
    atom_add_rlx(&handled, 1);
}
static void install(int number, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigfillset(&action.sa_mask);
    EXPECT_EQ(sigaction(number, &action, NULL), 0);
}
static sigset_t only(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return set;
}

static void waits_for_a_signal(void *arg) {
    sigset_t blocked = only(SIGUSR1), before;
    (void)arg;
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    for (uint64_t i = 1; i <= 3; i++) {
        signal_self(SIGUSR1);
        while (atom_load_rlx(&handled) < i)
            EXPECT(sigsuspend(&before) == -1 && errno == EINTR);
        signal_self(SIGUSR1);
        EXPECT(ppoll(NULL, 0, NULL, &before) == -1 && errno == EINTR);
        atom_sub_rlx(&handled, 1);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(signals_then_ours_in_waits_for_them, 20) {
    PREEMPT_TEST_APPLIES();
    install(SIGUSR1, handler_with_ours_behind, 0);
    atom_store_rlx(&handled, 0);
    alone(waits_for_a_signal);
}

/* Both at once. Which handler is called first, and within which, is the kernel's matter: SIGURG's number is between theirs. */
static void waits_for_both(int number) {
    sigset_t ours = only(SIGURG), blocked = only(number), before;
    sigaddset(&blocked, SIGURG);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    sigdelset(&before, SIGURG);
    signal_self(number);
    signal_self(SIGURG);
    for (uint64_t seen = atom_load_rlx(&handled); atom_load_rlx(&handled) == seen;)
        EXPECT(sigsuspend(&before) == -1 && errno == EINTR);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}
static void waits_for_ours_and_others(void *arg) {
    (void)arg;
    waits_for_both(SIGUSR1);
    waits_for_both(SIGIO);
    waits_for_both(SIGRTMIN);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(signals_together_with_ours, 20) {
    PREEMPT_TEST_APPLIES();
    install(SIGUSR1, plain_handler, 0);
    install(SIGIO, plain_handler, 0);
    install(SIGRTMIN, plain_handler, 0);
    alone(waits_for_ours_and_others);
}

/* Without a mask: called off by a signal, as with alarm(). */
static void is_called_off(void *arg) {
    (void)arg;
    atom_store_rlx(&numbers[0], thread_number());
    for (unsigned i = 0; i < 10; i++)
        EXPECT(poll(NULL, 0, -1) == -1 && errno == EINTR);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(signals_then_ours_in_poll, 20) {
    PREEMPT_TEST_APPLIES();
    install(SIGUSR1, handler_with_ours_behind, 0);
    pre_start("ring", 1, 10000);
    forget();
    victim_spawn(is_called_off, NULL, 0, "called off");
    while (atom_load_acq(&done) == 0) {
        if (atom_load_rlx(&numbers[0])) sys->thread_signal(atom_load_rlx(&numbers[0]), SIGUSR1);
        usleep(2000);
    }
    rt_stop();
}

/* A signal that is ignored, as SIGCHLD and SIGWINCH are unless the program handles them, may wait behind ours where another thread has it
 * blocked. It interrupts nothing. */
enum { NOT_CALLED_OFF = 8 };
static void is_not_called_off(void *arg) {
    struct rng rng;
    rng_seed(&rng, 1, (uintptr_t)arg);
    for (unsigned i = 0; i < 200; i++) {
        for (volatile uint64_t left = rng_below(&rng, 100000); left > 0; left--) {}
        EXPECT_EQ(poll(NULL, 0, 1), 0);
    }
    atom_add_rel(&done, 1);
}
TEST_WITHIN(signals_that_are_ignored_beside_ours_in_poll, 60) {
    PREEMPT_TEST_APPLIES();
    sigset_t blocked = only(SIGWINCH);
    pre_start("ring", 2, 50);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    forget();
    for (uintptr_t i = 0; i < NOT_CALLED_OFF; i++)
        victim_spawn(is_not_called_off, (void *)i, 0, "not called off");
    while (atom_load_acq(&done) < NOT_CALLED_OFF) {
        kill(getpid(), SIGWINCH);
        usleep(20);
    }
    rt_stop();
}

/* ---- handlers while a process is stopped
 * ----------------------------------------------------------------------------------------------- */

/* A handler that interrupts a process runs in this process: it may leave it by a jump. */
static atom_u64 in_nobody, jumps;
static sigjmp_buf *back[HOGS_MOST];
static void jumps_back(int number) {
    weft_pid self = weft_self();
    (void)number;
    if (self == WEFT_NOBODY) atom_add_rlx(&in_nobody, 1);
    for (unsigned i = 0; i < HOGS_MOST; i++)
        if (back[i] && atom_load_rlx(&numbers[i]) == thread_number()) siglongjmp(*back[i], 1);
}
static void loops_until_it_is_called_back(void *arg) {
    uintptr_t which = (uintptr_t)arg;
    sigjmp_buf here;
    sigset_t alarms = only(SIGUSR2), before;
    atom_store_rlx(&numbers[which], thread_number());
    back[which] = &here;
    if (sigsetjmp(here, 1) != 0) atom_add_rlx(&jumps, 1);
    loops_until_over(&rounds[which]);
    pthread_sigmask(SIG_BLOCK, &alarms, &before);
    back[which] = NULL;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    EXPECT_EQ(thread_number(), atom_load_rlx(&numbers[which]));
    EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    atom_add_rel(&done, 1);
}
static void case_jumps(const char *policy, unsigned workers) {
    enum { HOGS = 5 };
    pre_start(policy, workers > 2 ? 2 : workers, 500);
    forget();
    atom_store_rlx(&jumps, 0);
    for (uintptr_t i = 0; i < HOGS; i++)
        victim_spawn(loops_until_it_is_called_back, (void *)i, 0, "hog");
    for (unsigned i = 0; i < HOGS; i++)
        rt_wait(&rounds[i], 1);
    for (unsigned i = 0; atom_load_rlx(&jumps) < 100; i++) {
        sys->thread_signal(atom_load_rlx(&numbers[i % HOGS]), SIGUSR2);
        usleep(200);
    }
    atom_store_rlx(&over, true);
    rt_wait(&done, HOGS);
    printf("note: %s: %lu jumps, %lu preemptions\n", policy, atom_load_rlx(&jumps), rt_stats().preemptions);
    EXPECT_EQ(atom_load_rlx(&in_nobody), 0);
    rt_stop();
}
TEST_WITHIN(signals_that_jump_out_of_a_loop, 60) {
    PREEMPT_TEST_APPLIES();
    EXPECT_EQ(sigaction(SIGUSR2, &(struct sigaction){.sa_handler = jumps_back}, NULL), 0);
    rt_cases(case_jumps);
}

/* ---- SIGURG of the program's own
 * ---------------------------------------------------------------------------------------------------------- */

static atom_u64 urgent_heard;
static void hears_urgent(int number) {
    (void)number;
    atom_add_rlx(&urgent_heard, 1);
}
static void urges_itself(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 100; i++)
        pthread_kill(pthread_self(), SIGURG);
    EXPECT_EQ(atom_load_rlx(&urgent_heard), 100);
    for (unsigned i = 0; i < 100; i++)
        raise(SIGURG);
    EXPECT_EQ(atom_load_rlx(&urgent_heard), 200);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(signals_urgent_by_the_program_itself, 20) {
    PREEMPT_TEST_APPLIES();
    EXPECT_EQ(sigaction(SIGURG, &(struct sigaction){.sa_handler = hears_urgent}, NULL), 0);
    alone(urges_itself);
}

/* And by the kernel, for urgent data. */
static void urgent_data(void *arg) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0);
    (void)arg;
    EXPECT_EQ(bind(listener, (struct sockaddr *)&address, size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    EXPECT_EQ(connect(to, (struct sockaddr *)&address, size), 0);
    int from = accept(listener, NULL, NULL);
    EXPECT(from >= 0);
    EXPECT_EQ(fcntl(from, F_SETOWN, getpid()), 0);
    EXPECT_EQ(send(to, "!", 1, MSG_OOB), 1);
    while (atom_load_rlx(&urgent_heard) == 0) {} /* on whatever thread, and it is interrupted itself meanwhile */
    close(from);
    close(to);
    close(listener);
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(signals_urgent_by_the_kernel, 20) {
    PREEMPT_TEST_APPLIES();
    EXPECT_EQ(sigaction(SIGURG, &(struct sigaction){.sa_handler = hears_urgent}, NULL), 0);
    pre_start("ring", 1, 1000);
    forget();
    victim_spawn(urgent_data, NULL, 64 << 10, "urgent data");
    victim_spawn(ticks_on, NULL, 0, "ticker");
    rt_wait(&done, 2);
    rt_stop();
}

/* The kernel delivers them bare then, without the value that tells weft's from others. */
TEST_WITHIN(signals_that_cannot_be_queued_interrupt_all_the_same, 60) {
    PREEMPT_TEST_APPLIES();
    EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){0, 0}), 0);
    EXPECT_EQ(sigaction(SIGURG, &(struct sigaction){.sa_handler = hears_urgent}, NULL), 0);
    pre_start("ring", 1, 1000);
    forget();
    for (uintptr_t i = 0; i < 2; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    for (unsigned i = 0; i < 2; i++)
        rt_wait(&rounds[i], 1);
    victim_spawn(ticks, (void *)10, 0, "ticker");
    rt_wait(&done, 3);
    EXPECT(rt_stats().preemptions >= 2);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
