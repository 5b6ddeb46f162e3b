/* Descriptors of others that are waited for: shared by the processes that wait, and never weft's to close. */
#include "net_helpers.h"

#include <sys/eventfd.h>

static int await_bell;
static void await_for_ever(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_fd_wait_raw(await_bell, WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
    net_is_done();
}
static void await_a_while(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_fd_wait_raw(await_bell, WEFT_READABLE, weft_in(20 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    net_is_done();
}

/* The first of many leaves: the others wait on, undisturbed, and all are told when there is something. */
static void await_many(void *arg) {
    enum { MANY = 40 };
    (void)arg;
    await_bell = eventfd(0, EFD_CLOEXEC);
    uint64_t before = net_calls(SYS_NET_READY);
    EXPECT(weft_spawn(await_a_while, NULL) != WEFT_NOBODY);
    net_wait_calls(SYS_NET_READY, before + 1);
    for (unsigned i = 0; i < MANY; i++)
        EXPECT(weft_spawn(await_for_ever, NULL) != WEFT_NOBODY);
    while (atom_load_acq(&net_done) < 1)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    net_wait_calls(SYS_NET_READY, before + 2 + MANY); /* each has looked, and the first once more at its end */
    EXPECT_EQ(weft_sleep(20 * WEFT_MILLISECOND), 0);
    EXPECT_EQ(net_calls(SYS_NET_READY), before + 2 + MANY);
    EXPECT_EQ(eventfd_write(await_bell, 1), 0);
    while (atom_load_acq(&net_done) < 1 + MANY)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    close(await_bell);
    net_is_done();
}
static void awaits_many(void) { net_run_until(await_many, 42); }
TEST(await_the_first_may_leave) { rt_each(awaits_many); }

/* A process is ended by force while it waits: the descriptor is the program's. */
static void await_stubbornly(void *arg) {
    (void)arg;
    weft_shield_begin();
    weft_fd_wait_raw(await_bell, WEFT_READABLE, WEFT_FOREVER);
    weft_shield_end();
}
static void await_force(const char *policy, unsigned workers) {
    weft_stop_report report;
    await_bell = eventfd(0, EFD_CLOEXEC);
    rt_start(policy, workers);
    uint64_t before = net_calls(SYS_NET_READY);
    net_spawn(await_stubbornly, NULL);
    while (net_calls(SYS_NET_READY) == before)
        usleep(100);
    usleep(2000);
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_in(5 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 1);
    rt_watch_end();
    EXPECT_EQ(eventfd_write(await_bell, 1), 0); /* it is still there */
    close(await_bell);
}
TEST(await_force_closes_nothing) { rt_cases(await_force); }

int main(int argc, char **argv) { return test_main(argc, argv); }
