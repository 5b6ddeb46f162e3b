/* Every call that waits: keeps its deadline, never too early; does not wait at all when that has passed; notices a cancellation, before
 * and while it waits, and not within a shield. One table, so that a new call has one line to add. */
#include "mailbox_helpers.h"

#include <weft/weft.h>

/* ---- things that are not to be had ------------------------------------------------------------------------------------------------ */

static weft_pid never_ends, never_answers;
static weft_chan *empty, *full;
static weft_mutex held = WEFT_MUTEX_INIT;
static weft_cond never = WEFT_COND_INIT;
static weft_sem none_left;
static weft_rwlock written = WEFT_RWLOCK_INIT;
static weft_rwlock read_only = WEFT_RWLOCK_INIT;
static weft_once busy = WEFT_ONCE_INIT;
static weft_waitgroup working = WEFT_WAITGROUP_INIT;
static weft_synch2 entered;
static weft_fd clogged[2];        /* from the first no more can be written, and nothing read */
static weft_fd unheard_of, quiet; /* nothing connects there; nothing is sent there */
static int silent[2];             /* a pipe */

static bool wants_nothing(const weft_msg *message, void *arg) {
    (void)message, (void)arg;
    return false;
}
static int does_nothing(void *arg) {
    (void)arg;
    return 0;
}

static weft_msg *message;
static int waits_recv(uint64_t deadline) { return weft_recv(&message, deadline); }
static int waits_recv_into(uint64_t deadline) { return weft_recv_into(&(int){0}, sizeof(int), NULL, deadline); }
static int waits_recv_tag(uint64_t deadline) { return weft_recv_tag(77, &message, deadline); }
static int waits_recv_match(uint64_t deadline) { return weft_recv_match(wants_nothing, NULL, &message, deadline); }
static int waits_call(uint64_t deadline) { return weft_call(never_answers, 1, NULL, 0, &message, deadline); }
static int waits_reply(uint64_t deadline) {
    uint64_t reference;
    EXPECT_EQ(weft_ask(never_answers, 1, NULL, 0, &reference), 0);
    int error = weft_recv_reply(reference, &message, deadline);
    weft_forget(reference);
    return error;
}
static int waits_join(uint64_t deadline) { return weft_join(never_ends, NULL, deadline); }
static int waits_send_chan(uint64_t deadline) { return weft_chan_send(full, &(int){1}, deadline); }
static int waits_recv_chan(uint64_t deadline) { return weft_chan_recv(empty, &(int){1}, deadline); }
static int waits_select(uint64_t deadline) {
    int element = 0;
    weft_case cases[] = {weft_case_recv(empty, &element), weft_case_send(full, &element)};
    return weft_select(cases, 2, deadline);
}
static int waits_mutex(uint64_t deadline) { return weft_mutex_lock(&held, deadline); }
static int waits_cond(uint64_t deadline) {
    weft_mutex own = WEFT_MUTEX_INIT;
    EXPECT_EQ(weft_mutex_lock(&own, WEFT_FOREVER), 0);
    int error = weft_cond_wait(&never, &own, deadline);
    weft_mutex_unlock(&own);
    return error;
}
static int waits_sem(uint64_t deadline) { return weft_sem_acquire(&none_left, 1, deadline); }
static int waits_reader(uint64_t deadline) { return weft_rwlock_read(&written, deadline); }
static int waits_writer(uint64_t deadline) { return weft_rwlock_write(&read_only, deadline); }
static int waits_once(uint64_t deadline) { return weft_once_do(&busy, does_nothing, NULL, deadline); }
static int waits_group(uint64_t deadline) { return weft_waitgroup_wait(&working, deadline); }
static int waits_synch2(uint64_t deadline) { return weft_synch2_enter_until(&entered, 1, deadline); }
static char byte;
static int waits_read(uint64_t deadline) { return (int)weft_fd_read(clogged[0], &byte, 1, deadline); }
static int waits_write(uint64_t deadline) { return (int)weft_fd_write(clogged[0], &byte, 1, deadline); }
static int waits_readable(uint64_t deadline) { return weft_fd_wait(clogged[0], WEFT_READABLE, deadline); }
static int waits_either(uint64_t deadline) { return weft_fd_wait(clogged[0], WEFT_READABLE | WEFT_WRITABLE, deadline); }
static int waits_datagram(uint64_t deadline) { return (int)weft_net_recv_from(quiet, &byte, 1, NULL, deadline); }
static int waits_file(uint64_t deadline) { return (int)weft_file_read(silent[0], &byte, 1, deadline); }
static int waits_accept(uint64_t deadline) { return (int)weft_net_accept(unheard_of, NULL, deadline); }

static const struct {
    const char *name;
    int (*call)(uint64_t deadline);
} calls[] = {
    /* For processes alone. */
    {"weft_recv", waits_recv},
    {"weft_recv_into", waits_recv_into},
    {"weft_recv_tag", waits_recv_tag},
    {"weft_recv_match", waits_recv_match},
    {"weft_call", waits_call},
    {"weft_recv_reply", waits_reply},
    {"weft_net_accept", waits_accept},
    {"weft_synch2_enter_until", waits_synch2},
    /* For threads too. */
    {"weft_join", waits_join},
    {"weft_chan_send", waits_send_chan},
    {"weft_chan_recv", waits_recv_chan},
    {"weft_select", waits_select},
    {"weft_mutex_lock", waits_mutex},
    {"weft_cond_wait", waits_cond},
    {"weft_sem_acquire", waits_sem},
    {"weft_rwlock_read", waits_reader},
    {"weft_rwlock_write", waits_writer},
    {"weft_once_do", waits_once},
    {"weft_waitgroup_wait", waits_group},
    {"weft_fd_read", waits_read},
    {"weft_fd_write", waits_write},
    {"weft_fd_wait", waits_readable},
    {"weft_fd_wait, either", waits_either},
    {"weft_net_recv_from", waits_datagram},
    {"weft_file_read", waits_file},
};
enum { CALLS = sizeof calls / sizeof calls[0], FIRST_FOR_THREADS = 8 };

/* ---- the stage
 * ------------------------------------------------------------------------------------------------------------------------ */

static atom_u64 set, over;
/* Cancelled, it still holds on until the others have done. */
static int runs_on(void *arg) {
    (void)arg;
    atom_add_rel(&set, 1);
    while (!atom_load_acq(&over))
        weft_sleep(100 * WEFT_MICROSECOND);
    return 0;
}
static void runs_once(void *arg) {
    weft_shield_begin();
    EXPECT_EQ(weft_once_do(&busy, runs_on, arg, WEFT_FOREVER), 0);
    weft_shield_end();
}
static void hears_and_says_nothing(void *arg) {
    weft_msg *heard;
    (void)arg;
    while (weft_recv(&heard, WEFT_FOREVER) == 0)
        weft_msg_free(heard);
}
static void opens_descriptors(void *unused) {
    static const char much[4096];
    (void)unused;
    EXPECT_EQ(weft_net_pair(clogged), 0);
    while (weft_fd_write(clogged[0], much, sizeof much, 0) > 0) {}
    while (weft_fd_write(clogged[0], much, 1, 0) > 0) {}
    unheard_of = weft_net_listen("127.0.0.1:0", NULL);
    quiet = weft_net_udp("127.0.0.1:0", NULL);
    EXPECT(unheard_of > 0 && quiet > 0);
}
static void closes_descriptors(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_fd_close(clogged[0]) | weft_fd_close(clogged[1]) | weft_fd_close(unheard_of) | weft_fd_close(quiet), 0);
}
static void set_up(void) {
    atom_store_rlx(&set, 0);
    atom_store_rlx(&over, 0);
    busy = (weft_once)WEFT_ONCE_INIT;
    never_ends = run_spawn(sleeper, NULL);
    never_answers = run_spawn(hears_and_says_nothing, NULL);
    run_spawn(runs_once, NULL);
    EXPECT_EQ(weft_chan_new(sizeof(int), 1, &empty), 0);
    EXPECT_EQ(weft_chan_new(sizeof(int), 1, &full), 0);
    EXPECT_EQ(weft_chan_send(full, &(int){1}, 0), 0);
    EXPECT_EQ(weft_mutex_lock(&held, 0), 0);
    weft_sem_init(&none_left, 0);
    EXPECT_EQ(weft_rwlock_write(&written, 0), 0);
    EXPECT_EQ(weft_rwlock_read(&read_only, 0), 0);
    weft_waitgroup_add(&working, 1);
    weft_synch2_enter(&entered, 0);
    EXPECT_EQ(pipe(silent), 0);
    run(opens_descriptors, NULL);
    rt_wait(&set, 1);
}
static void clean_up(void) {
    atom_store_rel(&over, 1);
    weft_chan_free(empty);
    weft_chan_free(full);
    weft_mutex_unlock(&held);
    weft_rwlock_write_end(&written);
    weft_rwlock_read_end(&read_only);
    weft_waitgroup_done(&working);
    weft_synch2_leave(&entered, 0);
    run(closes_descriptors, NULL);
    EXPECT_EQ(close(silent[0]) | close(silent[1]), 0);
}

/* ---- deadlines
 * ------------------------------------------------------------------------------------------------------------------------ */

static void expect(const char *what, unsigned i, int got, int wanted) {
    if (got != wanted) test_fail(__FILE__, __LINE__, "%s, %s: %d, not %d", calls[i].name, what, got, wanted);
}

static void keeps_deadlines(void *arg) {
    unsigned i = *(const unsigned *)arg;
    uint64_t begin = weft_now();
    expect("at once", i, calls[i].call(0), WEFT_ETIMEDOUT);
    expect("too late", i, calls[i].call(begin > 1 ? begin - 1 : 0), WEFT_ETIMEDOUT);
    uint64_t moment = weft_in(2 * WEFT_MILLISECOND);
    expect("in 2 ms", i, calls[i].call(moment), WEFT_ETIMEDOUT);
    EXPECT(weft_now() >= moment);
    EXPECT(weft_now() - moment < 20 * WEFT_SECOND);
}
static void deadlines_body(void) {
    set_up();
    for (unsigned i = 0; i < CALLS; i++)
        run(keeps_deadlines, &i);
    clean_up();
}
TEST(waits_keep_their_deadlines) { rt_each(deadlines_body); }

/* Threads that are not workers wait in the same way, where they may. */
static void *thread_waits(void *unused) {
    (void)unused;
    for (unsigned i = FIRST_FOR_THREADS; i < CALLS; i++) {
        uint64_t moment = weft_in(WEFT_MILLISECOND);
        expect("by a thread, at once", i, calls[i].call(0), WEFT_ETIMEDOUT);
        expect("by a thread", i, calls[i].call(moment), WEFT_ETIMEDOUT);
        EXPECT(weft_now() >= moment);
    }
    return NULL;
}
static void thread_body(void) {
    pthread_t thread;
    set_up();
    EXPECT_EQ(pthread_create(&thread, NULL, thread_waits, NULL), 0);
    pthread_join(thread, NULL);
    clean_up();
}
TEST(waits_of_threads_keep_their_deadlines) { rt_each(thread_body); }

/* ---- cancellation
 * --------------------------------------------------------------------------------------------------------------------- */

struct victim {
    unsigned call;
    atom_u64 begun, ended;
};
static void is_cancelled(void *arg) {
    struct victim *victim = arg;
    unsigned i = victim->call;
    atom_store_rel(&victim->begun, 1);
    expect("cancelled while it waits", i, calls[i].call(WEFT_FOREVER), WEFT_ECANCELED);
    expect("with a deadline, cancelled before", i, calls[i].call(weft_in(3600 * WEFT_SECOND)), WEFT_ECANCELED);
    expect("at once, cancelled before", i, calls[i].call(0), WEFT_ECANCELED);
    expect("too late, cancelled before", i, calls[i].call(weft_now() - 1), WEFT_ECANCELED);
    weft_shield_begin(); /* within a shield it waits */
    expect("at once, shielded", i, calls[i].call(0), WEFT_ETIMEDOUT);
    uint64_t moment = weft_in(500 * WEFT_MICROSECOND);
    expect("shielded", i, calls[i].call(moment), WEFT_ETIMEDOUT);
    EXPECT(weft_now() >= moment);
    weft_shield_end();
    atom_store_rel(&victim->ended, 1);
}
/* One at a time for each call: a role of synch2 is one party's. */
static void cancel_body(void) {
    static struct victim victims[CALLS];
    set_up();
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < CALLS; i++) {
            victims[i].call = i;
            atom_store_rlx(&victims[i].begun, 0);
            atom_store_rlx(&victims[i].ended, 0);
            weft_pid pid = run_spawn(is_cancelled, &victims[i]);
            rt_wait(&victims[i].begun, 1);
            if (round == 0) rt_pause(300 * 1000); /* it waits by now; the others may, or not yet */
            EXPECT_EQ(weft_cancel(pid), 0);
        }
        for (unsigned i = 0; i < CALLS; i++)
            rt_wait(&victims[i].ended, 1);
    }
    clean_up();
}
TEST(waits_notice_a_cancellation) { rt_each(cancel_body); }

/* ---- those with a form of their own
 * --------------------------------------------------------------------------------------------------- */

static void does_not_run(void *unused) {
    (void)unused;
    test_fail(__FILE__, __LINE__, "a function that was not to be called");
}
static void count_abandoned(void *counter) { ++*(unsigned *)counter; }

/* Sleeps have nothing to give, and whether a name or a blocking function would be waited for cannot be known: they answer at once. */
static void cancelled_sleeps(void *unused) {
    weft_addr address;
    unsigned abandoned = 0;
    (void)unused;
    EXPECT_EQ(weft_sleep_until(0) | weft_sleep(0), 0);
    EXPECT_EQ(weft_blocking_until(does_not_run, &abandoned, count_abandoned, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_resolve("name.invalid", NULL, NULL, &address, 1, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_cancel(weft_self()), 0);
    EXPECT_EQ(weft_sleep_until(0), WEFT_ECANCELED);
    EXPECT_EQ(weft_sleep(0), WEFT_ECANCELED);
    EXPECT_EQ(weft_blocking_until(does_not_run, &abandoned, count_abandoned, 0), WEFT_ECANCELED);
    EXPECT_EQ(abandoned, 2);
    EXPECT_EQ(weft_resolve("name.invalid", NULL, NULL, &address, 1, 0), WEFT_ECANCELED);
    EXPECT_EQ(weft_resolve("127.0.0.1", "80", NULL, &address, 1, 0), 1); /* what can be had at once is */
    weft_shield_begin();
    EXPECT_EQ(weft_sleep_until(0) | weft_sleep(0), 0);
    weft_shield_end();
}
static void sleeps_body(void) { EXPECT_EQ(run(cancelled_sleeps, NULL), 0); }
TEST(waits_of_their_own_form_notice_a_cancellation) { rt_each(sleeps_body); }

/* What is there is given to a cancelled process too. */
static void cancelled_gets(void *unused) {
    int element = 0;
    weft_mutex free_mutex = WEFT_MUTEX_INIT;
    (void)unused;
    EXPECT_EQ(weft_send(weft_self(), 7, NULL, 0), 0);
    EXPECT_EQ(weft_cancel(weft_self()), 0);
    for (uint64_t deadline = 0; deadline <= 1; deadline++) { /* at once, and past */
        EXPECT_EQ(weft_chan_recv(full, &element, deadline), 0);
        EXPECT_EQ(weft_chan_send(full, &element, deadline), 0);
        EXPECT_EQ(weft_mutex_lock(&free_mutex, deadline), 0);
        weft_mutex_unlock(&free_mutex);
    }
    EXPECT_EQ(weft_recv(&message, 0), 0);
    weft_msg_free(message);
}
static void gets_body(void) {
    set_up();
    EXPECT_EQ(run(cancelled_gets, NULL), 0);
    clean_up();
}
TEST(waits_that_need_not_wait_are_served_though_cancelled) { rt_each(gets_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
