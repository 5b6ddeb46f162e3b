/* Signals as messages. */
#include "net_helpers.h"

#include <weft/signal.h>

#include <signal.h>

static void hears(weft_signal *signal, uint64_t tag) {
    weft_msg *message;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_tag(message), tag);
    EXPECT_EQ(weft_msg_len(message), sizeof *signal);
    memcpy(signal, weft_msg_data(message), sizeof *signal);
    weft_msg_free(message);
}
static void until_unwatched(int number) { /* its process has ended */
    while (weft_signal_watch(number, weft_self(), 9) == WEFT_EBUSY)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_signal_unwatch(number), 0);
}
static void watches(void *arg) {
    (void)arg;
    weft_signal got;
    struct sigaction now;
    EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 5), 0);
    EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 6), WEFT_EBUSY);
    EXPECT_EQ(weft_signal_watch(SIGTERM, weft_self(), 6), 0);
    for (unsigned i = 0; i < 20; i++) {
        /* To whichever thread; the thread sanitizer holds such signals back until that thread makes a call that it knows to block. */
        EXPECT_EQ(RT_SLOW == 8 ? raise(SIGUSR1) : kill(getpid(), SIGUSR1), 0);
        hears(&got, 5);
        EXPECT_EQ(got.number, SIGUSR1);
        EXPECT_EQ(got.count, 1);
    }
    EXPECT_EQ(raise(SIGTERM), 0);
    hears(&got, 6);
    EXPECT_EQ(got.number, SIGTERM);
    uint64_t count = 0;
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(raise(SIGUSR1), 0);
    while (count < 100) {
        hears(&got, 5);
        count += got.count;
    }
    EXPECT_EQ(count, 100);
    EXPECT_EQ(weft_signal_unwatch(SIGUSR1), 0);
    EXPECT_EQ(weft_signal_unwatch(SIGUSR1), WEFT_ENOENT);
    EXPECT_EQ(weft_signal_unwatch(SIGTERM), 0);
    until_unwatched(SIGUSR1);
    while (sigaction(SIGTERM, NULL, &now), now.sa_handler != SIG_DFL) /* as it was */
        weft_sleep(WEFT_MILLISECOND);
    static const int never[] = {0, -1, 65, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGURG};
    for (unsigned i = 0; i < sizeof never / sizeof never[0]; i++)
        EXPECT_EQ(weft_signal_watch(never[i], weft_self(), 1), WEFT_EINVAL);
    EXPECT_EQ(weft_signal_unwatch(-1), WEFT_ENOENT);
    net_is_done();
}
static void watches_all(void) { net_run_until(watches, 1); }
TEST(signals_are_messages) { rt_each(watches_all); }

/* The runtime stops with a signal watched, or the receiver ends: the former action is back. */
static void leaves_it(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_signal_watch(SIGUSR2, weft_self(), 1), 0);
    net_is_done();
}
static void stops(const char *policy, unsigned workers) {
    struct sigaction now;
    rt_start(policy, workers);
    net_run_until(leaves_it, 1);
    rt_stop();
    EXPECT_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    EXPECT(now.sa_handler == SIG_IGN);
}
TEST(the_former_action_comes_back) {
    signal(SIGUSR2, SIG_IGN);
    rt_cases(stops);
    EXPECT_EQ(weft_signal_watch(SIGUSR2, 1, 1), WEFT_ENOTINSIDE);
}

/* The runtime is stopped before the process that watches for it has had time to end. */
static void holds_up(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_signal_watch(SIGUSR2, weft_self(), 1), 0);
    weft_shield_begin();
    net_is_done();
    for (uint64_t until = weft_in(50 * WEFT_MILLISECOND); weft_now() < until;) {
    }
    weft_sleep(WEFT_SECOND * 1000);
}
static void stops_at_once(const char *policy, unsigned workers) {
    struct sigaction now;
    rt_start(policy, workers);
    net_run_until(holds_up, 1);
    EXPECT_EQ(weft_stop(rt.runtime, 1, NULL), WEFT_ETIMEDOUT);
    rt_watch_end();
    EXPECT_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    EXPECT(now.sa_handler == SIG_IGN);
    EXPECT_EQ(raise(SIGUSR2), 0);
    stops(policy, workers); /* and it can be watched again */
}
TEST(a_stop_by_force_gives_it_back) {
    signal(SIGUSR2, SIG_IGN);
    rt_cases(stops_at_once);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
