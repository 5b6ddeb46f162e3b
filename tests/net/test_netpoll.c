/* Which worker polls, and how workers that sleep there are woken. */
#include "net_helpers.h"

#include "fiber/fiber.h"

/* ---- nothing happens -------------------------------------------------------------------------------------------------------------- */

static weft_fd idle_pair[2];
static void idle_reader(void *arg) {
    char byte;
    (void)arg;
    EXPECT_EQ(weft_fd_read(idle_pair[0], &byte, 1, WEFT_FOREVER), 1);
    net_is_done();
}
static void idle_begin(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_net_pair(idle_pair), 0);
    EXPECT(weft_spawn(idle_reader, NULL) != WEFT_NOBODY);
    net_is_done();
}
static uint64_t calls(void) {
    return atom_load_rlx(&sys_script.counts.net[SYS_NET_POLL_WAIT]) + atom_load_rlx(&sys_script.counts.futex_wait);
}
/* With a descriptor that is not written to, no worker wakes up; and then it is heard at once. */
static void idle_runtime(void) {
    net_run_until(idle_begin, 1);
    uint64_t before;
    unsigned round = 0;
    do { /* until sysmon sleeps too, a second after the last */
        EXPECT(round++ < 20);
        before = calls();
        rt_pause(1500 * RT_MS);
    } while (calls() != before);
    EXPECT_EQ(weft_fd_write(idle_pair[1], "x", 1, WEFT_FOREVER), 1); /* by this thread, which is no worker */
    rt_wait(&net_done, 2);
}
static void idle_case(const char *policy, unsigned workers) {
    rt_start(policy, workers);
    idle_runtime();
    rt_stop();
}
TEST_WITHIN(an_idle_poll_sleeps, 100) {
    idle_case("ring", 2);
    idle_case("deque", 1);
    idle_case("line", 4);
}

/* ---- a worker in the poll is woken like any other ---------------------------------------------------------------------------------- */

static void message_waiter(void *arg) {
    weft_msg *message;
    (void)arg;
    for (unsigned i = 0; i < 200; i++) {
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
        net_is_done();
    }
}
static void messages_and_descriptors(void) {
    net_run_until(idle_begin, 1);
    weft_pid pid = net_spawn(message_waiter, NULL);
    for (unsigned i = 0; i < 200; i++) {
        EXPECT_EQ(weft_send(pid, i, NULL, 0), 0);
        if (i % 4 == 0) rt_pause(50000);
        rt_wait(&net_done, i + 2);
    }
    EXPECT_EQ(weft_fd_write(idle_pair[1], "x", 1, WEFT_FOREVER), 1);
    rt_wait(&net_done, 202);
}
TEST(messages_reach_a_worker_in_the_poll) { rt_each(messages_and_descriptors); }

/* A timer that another thread arms ends a poll that would have slept on. */
static void timer_waiter(void *arg) {
    weft_msg *message;
    (void)arg;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    net_is_done();
}
static void timers_and_descriptors(void) {
    net_run_until(idle_begin, 1);
    weft_pid pid = net_spawn(timer_waiter, NULL);
    rt_pause(20 * RT_MS);
    uint64_t before = weft_now();
    EXPECT_EQ(weft_after(5 * WEFT_MILLISECOND, pid, 1, NULL, 0, NULL), 0);
    rt_wait(&net_done, 2); /* or it hangs: the poll has no deadline of its own */
    EXPECT(weft_now() - before >= 5 * WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_write(idle_pair[1], "x", 1, WEFT_FOREVER), 1);
    rt_wait(&net_done, 3);
}
TEST(timers_end_a_poll) { rt_each(timers_and_descriptors); }

/* Sleepers and echoes together: deadlines in the poll are kept to well under a millisecond where the machine is free. */
static void sleeper(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 20; i++) {
        uint64_t until = weft_in(300 * WEFT_MICROSECOND);
        EXPECT_EQ(weft_sleep_until(until), 0);
        EXPECT(weft_now() >= until);
    }
    net_is_done();
}
static void sleepers_and_descriptors(void) {
    net_run_until(idle_begin, 1);
    for (unsigned i = 0; i < 5; i++)
        net_spawn(sleeper, NULL);
    rt_wait(&net_done, 6);
    EXPECT_EQ(weft_fd_write(idle_pair[1], "x", 1, WEFT_FOREVER), 1);
    rt_wait(&net_done, 7);
}
TEST(sleepers_beside_a_poll) { rt_each(sleepers_and_descriptors); }

/* ---- ready processes are spread ------------------------------------------------------------------------------------------------------ */

enum { SPREAD = 64 };
static weft_fd spread_pairs[SPREAD][2];
static atom_u64 spread_on[64];
static void spread_reader(void *arg) {
    char byte;
    weft_fd *pair = arg;
    EXPECT_EQ(weft_fd_read(pair[0], &byte, 1, WEFT_FOREVER), 1);
    atom_add_rlx(&spread_on[worker_here()->index % 64], 1);
    for (uint64_t until = weft_now() + WEFT_MILLISECOND; weft_now() < until;) {}
    net_is_done();
}
static void spread_begin(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < SPREAD; i++) {
        EXPECT_EQ(weft_net_pair(spread_pairs[i]), 0);
        EXPECT(weft_spawn(spread_reader, spread_pairs[i]) != WEFT_NOBODY);
    }
    weft_sleep(20 * WEFT_MILLISECOND);
    for (unsigned i = 0; i < SPREAD; i++)
        EXPECT_EQ(weft_fd_write(spread_pairs[i][1], "x", 1, WEFT_FOREVER), 1);
    while (atom_load_acq(&net_done) < SPREAD)
        weft_sleep(WEFT_MILLISECOND);
    for (unsigned i = 0; i < 2 * SPREAD; i++)
        EXPECT_EQ(weft_fd_close(spread_pairs[i / 2][i % 2]), 0);
    net_is_done();
}
/* How many workers had some. */
static unsigned spread_once(void) {
    for (unsigned i = 0; i < 64; i++)
        atom_store_rlx(&spread_on[i], 0);
    net_run_until(spread_begin, SPREAD + 1);
    unsigned used = 0;
    for (unsigned i = 0; i < 64; i++)
        used += atom_load_rlx(&spread_on[i]) > 0;
    return used;
}
/* On a busy machine the others' threads may get no processor until all is over; not every time. */
static void spread(void) {
    unsigned used = 0;
    for (unsigned i = 0; i < 20 && used < (rt.workers > 1 ? 2 : 1); i++)
        used = spread_once();
    EXPECT(rt.workers == 1 || used > 1);
}
TEST(ready_processes_are_spread) { rt_each(spread); }

/* ---- busy workers
 * ---------------------------------------------------------------------------------------------------------------------- */

/* Every worker is busy with processes that never wait: what is ready is found all the same, by workers that come by and by sysmon. */
static atom_bool busy_over;
static atom_u64 busy_rounds;
static void busy(void *politely) {
    while (!atom_load_acq(&busy_over)) {
        if (politely) weft_yield();
        atom_add_rlx(&busy_rounds, 1);
    }
    net_is_done();
}
static void busy_echo(void *arg) {
    char byte = 0;
    weft_fd *pair = arg;
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(weft_fd_read(pair[0], &byte, 1, WEFT_FOREVER), 1);
        EXPECT_EQ(weft_fd_write(pair[0], &byte, 1, WEFT_FOREVER), 1);
    }
    net_is_done();
}
static weft_fd busy_pair[2];
static void busy_begin(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_net_pair(busy_pair), 0);
    EXPECT(weft_spawn(busy_echo, busy_pair) != WEFT_NOBODY);
    net_is_done();
}
static void beside_busy(void *politely) {
    char byte = 'b';
    atom_store_rlx(&busy_over, false);
    net_run_until(busy_begin, 1);
    unsigned count = rt.workers < 4 ? rt.workers : 4;
    for (unsigned i = 0; i < count; i++)
        net_spawn(busy, politely);
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(weft_fd_write(busy_pair[1], &byte, 1, WEFT_FOREVER), 1);
        EXPECT_EQ(weft_fd_read(busy_pair[1], &byte, 1, WEFT_FOREVER), 1);
    }
    atom_store_rel(&busy_over, true);
    rt_wait(&net_done, count + 2);
}
static void beside_yielding(void) { beside_busy((void *)1); }
static void beside_hogs(void) { beside_busy(NULL); }
TEST(events_beside_busy_processes) { rt_each(beside_yielding); }
TEST(events_beside_hogs) { rt_each(beside_hogs); }

/* In a blocking call a process holds its worker; others take over the poll. */
static void blocks(void *arg) {
    (void)arg;
    rt_pause(150 * RT_MS);
}
static void blocker(void *arg) {
    weft_blocking(blocks, arg);
    net_is_done();
}
static void beside_blocking(void) {
    char byte = 'b';
    net_run_until(busy_begin, 1);
    net_spawn(blocker, NULL);
    rt_pause(5 * RT_MS);
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(weft_fd_write(busy_pair[1], &byte, 1, WEFT_FOREVER), 1);
        EXPECT_EQ(weft_fd_read(busy_pair[1], &byte, 1, WEFT_FOREVER), 1);
    }
    rt_wait(&net_done, 3);
}
TEST(events_beside_blocking_calls) { rt_each(beside_blocking); }

/* ---- the number of workers changes
 * ------------------------------------------------------------------------------------------------------ */

static void resizing(void) {
    char byte = 'b';
    net_run_until(busy_begin, 1);
    unsigned was = weft_workers(rt.runtime);
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(weft_set_workers(rt.runtime, 1 + i % 4), 0);
        if (i % 2) rt_pause(RT_MS);
        EXPECT_EQ(weft_fd_write(busy_pair[1], &byte, 1, WEFT_FOREVER), 1);
        EXPECT_EQ(weft_fd_read(busy_pair[1], &byte, 1, WEFT_FOREVER), 1);
    }
    EXPECT_EQ(weft_set_workers(rt.runtime, was), 0);
    rt_wait(&net_done, 2);
}
TEST(workers_come_and_go) { rt_each(resizing); }

/* ---- stopping
 * ------------------------------------------------------------------------------------------------------------------------------ */

static void stays(void *arg) {
    char byte;
    weft_shield_begin(); /* will not be cancelled */
    net_is_done();
    weft_fd_read(net_unbox(arg), &byte, 1, WEFT_FOREVER);
}
static void stays_begin(void *arg) {
    (void)arg;
    weft_fd pair[2];
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT(weft_spawn(stays, net_box(pair[0])) != WEFT_NOBODY);
    net_is_done();
}
/* Until only the workers that stay are left, and that one waits: it has asked the system, and there was nothing. */
static void until_it_stays(weft_runtime *runtime, uint64_t reads) {
    weft_stats stats;
    do {
        usleep(200);
        weft_get_stats(runtime, &stats);
    } while (stats.processes > 1 || net_calls(SYS_NET_RECV) < reads + 1);
    usleep(2000);
}
static void stop_with_force(weft_runtime *runtime) {
    weft_stop_report report;
    EXPECT_EQ(weft_stop(runtime, &report, weft_in(5 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 1);
}
/* A process that would not end when it was asked to, and is closed by force while it waits for a descriptor. */
static void stop_by_force(const char *policy, unsigned workers) {
    unsigned open = net_count_open();
    rt_start(policy, workers);
    uint64_t reads = net_calls(SYS_NET_RECV);
    net_run_until(stays_begin, 2);
    until_it_stays(rt.runtime, reads);
    stop_with_force(rt.runtime);
    rt_watch_end();
    EXPECT_EQ(sys_scripted_live(), 0);
    EXPECT_EQ(net_count_open(), open); /* its descriptors are closed all the same */
    rt_start(policy, workers);         /* and the next runtime is not disturbed */
    net_run_until(idle_begin, 1);
    EXPECT_EQ(weft_fd_write(idle_pair[1], "x", 1, WEFT_FOREVER), 1);
    rt_wait(&net_done, 2);
    rt_stop();
}
TEST(stop_by_force) { rt_cases(stop_by_force); }

/* The same, but what it waits for is another runtime's, which goes on. */
static void stop_beside(void) {
    weft_runtime *other;
    weft_pid pid;
    char byte = 0;
    net_run_until(idle_begin, 1);
    EXPECT_EQ(weft_start(&(weft_config){.policy = rt.policy, .workers = 1}, &other), 0);
    weft_stackful_options there = {.runtime = other};
    rt_pause(5 * RT_MS);
    uint64_t reads = net_calls(SYS_NET_RECV);
    EXPECT_EQ(weft_spawn_with(stays, net_box(idle_pair[1]), &there, &pid), 0);
    until_it_stays(other, reads);
    stop_with_force(other);
    for (unsigned i = 0; i < 5; i++) { /* no worker is woken that is not there any more */
        EXPECT_EQ(weft_fd_write(idle_pair[0], "y", 1, WEFT_FOREVER), 1);
        EXPECT_EQ(weft_fd_read(idle_pair[1], &byte, 1, WEFT_FOREVER), 1);
        EXPECT_EQ(byte, 'y');
        rt_pause(RT_MS);
    }
    EXPECT_EQ(weft_fd_write(idle_pair[1], "x", 1, WEFT_FOREVER), 1);
    rt_wait(&net_done, 3);
}
TEST(another_runtime_stops_by_force) { rt_each(stop_beside); }

int main(int argc, char **argv) { return test_main(argc, argv); }
