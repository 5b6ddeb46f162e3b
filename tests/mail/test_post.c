/* Messages from signal handlers. */
#include "runtime_helpers.h"

#include "sched/sched.h"

#include <weft/weft.h>

#include <signal.h>
#include <sys/syscall.h>

enum { TAG = 77, NESTED };

/* Per sending thread: how many its handler has sent, and how many were refused. */
struct sender {
    uint64_t thread, number;
};
static _Thread_local uint64_t mine, my_number;
static atom_u64 threads, accepted, refused, received, over;
static weft_pid receiver;

static void handler(int number) {
    int saved = errno;
    (void)number;
    errno = 1234;
    if (!mine) mine = atom_add_rlx(&threads, 1) + 1;
    struct sender sender = {mine, my_number + 1};
    int error = weft_signal_send(receiver, TAG, &sender, sizeof sender);
    if (error != 0 && error != WEFT_EAGAIN) abort();
    if (errno != 1234) abort();
    errno = saved;
    atom_add_rlx(error ? &refused : &accepted, 1);
    my_number += error == 0;
}

/* One that others, and itself, may interrupt: no order is promised between those. */
static void nested_handler(int number) {
    struct sender sender = {0, 0};
    (void)number;
    atom_add_rlx(weft_signal_send(receiver, NESTED, &sender, sizeof sender) ? &refused : &accepted, 1);
}

static weft_pid spawn(weft_entry entry, void *arg) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    return pid;
}
static void install(int number, int flags) {
    struct sigaction action = {.sa_handler = flags & SA_NODEFER ? nested_handler : handler, .sa_flags = SA_RESTART | flags};
    if (!(flags & SA_NODEFER)) sigfillset(&action.sa_mask);
    EXPECT_EQ(sigaction(number, &action, NULL), 0);
}

/* ---- one at a time --------------------------------------------------------------------------------------------------- */

static void hears(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        EXPECT_EQ(weft_msg_tag(message), TAG);
        EXPECT_EQ(weft_msg_len(message), sizeof(struct sender));
        EXPECT_EQ(weft_msg_from(message), WEFT_NOBODY);
        weft_msg_free(message);
        atom_add_rel(&received, 1);
    }
}
static void reset(weft_entry entry) {
    atom_store_rlx(&accepted, 0);
    atom_store_rlx(&refused, 0);
    atom_store_rlx(&received, 0);
    atom_store_rlx(&over, 0);
    receiver = spawn(entry, NULL);
}
static void raises(void *arg) {
    (void)arg;
    EXPECT_EQ(raise(SIGUSR1), 0);
}
static atom_u64 called;
static void in_a_blocking_call(void *arg) {
    EXPECT_EQ(weft_blocking(raises, arg), 0);
    atom_store_rel(&called, 1);
}
static void everywhere(void) {
    reset(hears);
    install(SIGUSR1, 0);
    EXPECT_EQ(raise(SIGUSR1), 0); /* a thread of the program's own */
    rt_wait(&received, 1);
    spawn(raises, NULL);
    rt_wait(&received, 2);
    atom_store_rlx(&called, 0);
    spawn(in_a_blocking_call, NULL);
    rt_wait(&received, 3);
    rt_wait(&called, 1); /* before the runtime stops and cancels it */
    EXPECT_EQ(atom_load_rlx(&refused), 0);
}
TEST(post_from_any_thread) { rt_each(everywhere); }

/* Sysmon sleeps when nothing happens. */
TEST(post_wakes_an_idle_runtime) {
    rt_start("ring", 2);
    reset(hears);
    install(SIGUSR1, SA_ONSTACK);
    usleep(1500000); /* longer than it lingers; if not, the test is easier, and as true */
    EXPECT_EQ(raise(SIGUSR1), 0);
    rt_wait(&received, 1);
    rt_stop();
}

static atom_u64 order_errors;
static void post_slots_body(void *arg) {
    (void)arg;
    uint64_t next = 0;
    weft_msg *message;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        uint64_t number;
        memcpy(&number, weft_msg_data(message), sizeof number);
        atom_add_rlx(&order_errors, number != next);
        next = number + 1;
        weft_msg_free(message);
        atom_add_rel(&received, 1);
    }
}
/* More than there are slots: refused or in order, nothing lost. */
static void all_slots(void) {
    reset(post_slots_body);
    atom_store_rlx(&order_errors, 0);
    uint64_t number = 0;
    for (unsigned i = 0; i < 20000 / RT_SLOW; i++)
        number += weft_signal_send(receiver, TAG, &number, sizeof number) == 0;
    EXPECT(number > 0);
    rt_wait(&received, number);
    EXPECT_EQ(atom_load_rlx(&order_errors), 0);
    unsigned char much[WEFT_SIGNAL_SEND_MOST + 1] = {0};
    EXPECT_EQ(weft_signal_send(receiver, TAG, much, sizeof much), WEFT_EMSGSIZE);
}
TEST(post_in_order_or_refused) { rt_each(all_slots); }

TEST(post_after_the_end) {
    rt_start("ring", 2);
    reset(hears);
    signal(SIGUSR1, SIG_IGN);
    weft_pid gone = spawn(raises, NULL);
    rt_stop();
    EXPECT_EQ(weft_signal_send(receiver, TAG, NULL, 0), WEFT_EFOREIGN);
    EXPECT_EQ(weft_signal_send(gone, TAG, NULL, 0), WEFT_EFOREIGN);
    rt_start("ring", 2);
    EXPECT_EQ(weft_signal_send(receiver, TAG, NULL, 0), WEFT_EFOREIGN);
    rt_stop();
}

/* ---- while everything else goes on -------------------------------------------------------------------------------------- */

static void checks(void *arg) {
    static uint64_t last[4096];
    weft_msg *message;
    (void)arg;
    memset(last, 0, sizeof last);
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        struct sender sender;
        if (weft_msg_tag(message) == TAG) {
            memcpy(&sender, weft_msg_data(message), sizeof sender);
            EXPECT(sender.thread < 4096);
            /* The thread sanitizer holds signals back, and lets handlers interrupt each other whatever they block. */
            if (RT_SLOW < 8) EXPECT(sender.number == last[sender.thread] + 1 || last[sender.thread] == 0);
            last[sender.thread] = sender.number;
        }
        if (weft_msg_tag(message) >= TAG) atom_add_rel(&received, 1);
        weft_msg_free(message);
    }
}

/* Sends, receives, allocates and waits, so that every kind of call is interrupted. */
static void talks(void *arg) {
    weft_msg *message;
    (void)arg;
    while (!atom_load_rlx(&over) && !weft_cancelled()) {
        char text[40] = "to myself";
        void *memory = malloc(100);
        EXPECT_EQ(weft_send(weft_self(), 1, text, sizeof text), 0);
        weft_send(receiver, 2, text, sizeof text); /* which may have ended before, when the runtime stops */
        if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
        free(memory);
        if (weft_sleep(10 * WEFT_MICROSECOND)) break;
    }
}

static void *foreign_talks(void *arg) {
    (void)arg;
    while (!atom_load_rlx(&over))
        weft_send(receiver, 2, "x", 1);
    return NULL;
}

static void storm(void) {
    enum { TALKERS = 20 };
    pthread_t thread;
    timer_t timer;
    reset(checks);
    install(SIGUSR1, SA_ONSTACK | SA_NODEFER);
    install(SIGALRM, 0);
    install(SIGPROF, SA_ONSTACK);
    for (unsigned i = 0; i < TALKERS; i++)
        spawn(talks, NULL);
    EXPECT_EQ(pthread_create(&thread, NULL, foreign_talks, NULL), 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec often = {{0, 50000}, {0, 50000}};
    EXPECT_EQ(timer_settime(timer, 0, &often, NULL), 0);
    for (uint64_t until = weft_now() + 150 * RT_MS; weft_now() < until || atom_load_rlx(&accepted) < 50;) {
        kill(getpid(), SIGUSR1); /* to any thread */
        EXPECT_EQ(pthread_kill(thread, SIGPROF), 0);
        usleep(20);
    }
    timer_delete(timer);
    atom_store_rlx(&over, 1);
    pthread_join(thread, NULL);
    signal(SIGALRM, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    while (atom_load_rlx(&received) != atom_load_rlx(&accepted)) /* a handler may have begun before; in vain, the watchdog ends it */
        usleep(1000);
    printf("%llu sent, %llu refused\n", (unsigned long long)atom_load_rlx(&accepted), (unsigned long long)atom_load_rlx(&refused));
}
TEST_WITHIN(post_storm, 60) { rt_each(storm); }

int main(int argc, char **argv) { return test_main(argc, argv); }
