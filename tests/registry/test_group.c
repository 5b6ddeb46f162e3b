/* Groups: who is a member, sending to all and to any, and members that end meanwhile. */
#include "mailbox_helpers.h"

#include "registry/registry.h"

static size_t groups_count(void) {
    struct registry *registry = registry_of((struct runtime *)rt.runtime);
    return registry ? registry->groups.count : 0;
}
static int64_t members(const char *group) { return weft_group_members_in(rt.runtime, group, NULL, 0); }

/* Joins, and counts its messages until it is cancelled or gets tag 0. */
static atom_u64 joined, heard;
static void listens(void *group) {
    weft_msg *message;
    EXPECT_EQ(weft_group_join(group), 0);
    atom_add_rel(&joined, 1);
    for (bool over = false; !over && weft_recv(&message, WEFT_FOREVER) == 0;) {
        over = weft_msg_tag(message) == 0;
        weft_msg_free(message);
        atom_add_rel(&heard, 1);
    }
}
static void joins_and_sleeps(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_group_join("full"), 0);
    atom_add_rel(&joined, 1);
    weft_sleep(WEFT_FOREVER);
}
static void begin(void) { atom_store_rlx(&joined, 0), atom_store_rlx(&heard, 0); }
static void spawn_listeners(weft_pid *pids, unsigned count, const char *group) {
    uint64_t before = atom_load_rlx(&joined);
    for (unsigned i = 0; i < count; i++)
        pids[i] = run_flags(listens, (void *)group, WEFT_SPAWN_JOINABLE);
    rt_wait(&joined, before + count);
}

/* ---- members ----------------------------------------------------------------------------------------------------------------------- */

static void member_body(void) {
    weft_pid pids[5], listed[8] = {0};
    begin();
    EXPECT_EQ(members("g"), 0);
    spawn_listeners(pids, 5, "g");
    EXPECT_EQ(members("g"), 5);
    EXPECT_EQ(members("h"), 0);
    EXPECT_EQ(weft_group_members_in(rt.runtime, "g", listed, 8), 5);
    for (unsigned i = 0; i < 5; i++) {
        unsigned times = 0;
        for (unsigned k = 0; k < 5; k++)
            times += listed[k] == pids[i];
        EXPECT_EQ(times, 1);
    }
    memset(listed, 0, sizeof listed);
    EXPECT_EQ(weft_group_members_in(rt.runtime, "g", listed, 2), 5);
    EXPECT(listed[1] != WEFT_NOBODY && listed[2] == WEFT_NOBODY);
    EXPECT_EQ(weft_group_send_in(rt.runtime, "g", 1, NULL, 0), 5);
    EXPECT_EQ(weft_group_send_in(rt.runtime, "g", 1, NULL, 0), 5);
    rt_wait(&heard, 10);
    for (unsigned i = 0; i < 5; i++) {
        EXPECT_EQ(weft_cancel(pids[i]), 0);
        EXPECT_EQ(run_join(pids[i]), 0);
        EXPECT_EQ(members("g"), 4 - i); /* before its end is told */
        EXPECT_EQ(weft_group_send_in(rt.runtime, "g", 1, NULL, 0), 4 - i);
    }
    EXPECT_EQ(groups_count(), 0);
    EXPECT_EQ(weft_group_send_any_in(rt.runtime, "g", 1, NULL, 0), WEFT_ENOPROC);
}
TEST(members_join_and_leave_by_ending) { rt_each(member_body); }

static void several_times(void *unused) {
    weft_pid pids[2];
    (void)unused;
    EXPECT_EQ(weft_group_leave("g"), WEFT_ENOENT);
    EXPECT_EQ(weft_group_join("g"), 0);
    EXPECT_EQ(weft_group_join("g"), 0);
    EXPECT_EQ(weft_group_join("h"), 0);
    EXPECT_EQ(weft_group_members("g", pids, 2), 1);
    EXPECT_EQ(pids[0], weft_self());
    EXPECT_EQ(weft_group_send("g", 7, NULL, 0), 1);
    expect_next(7);
    EXPECT_EQ(weft_group_leave("g"), 0);
    EXPECT_EQ(weft_group_members("g", pids, 2), 1);
    EXPECT_EQ(weft_group_leave("g"), 0);
    EXPECT_EQ(weft_group_leave("g"), WEFT_ENOENT);
    EXPECT_EQ(weft_group_members("g", pids, 2), 0);
    EXPECT_EQ(weft_group_send("g", 7, NULL, 0), 0);
    EXPECT_EQ(weft_group_send_any("h", 8, NULL, 0), 0);
    expect_next(8);
    EXPECT_EQ(weft_group_join("g"), 0);
    EXPECT_EQ(weft_group_join("g"), 0);
}
static void several_body(void) {
    EXPECT_EQ(run(several_times, NULL), 0);
    EXPECT_EQ(groups_count(), 0);
}
TEST(a_process_may_join_several_times) { rt_each(several_body); }

static int step_member(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (count == 0) {
        EXPECT_EQ(weft_group_join("steps"), 0);
        EXPECT_EQ(weft_group_send("steps", 5, NULL, 0), 1);
    } else {
        EXPECT_EQ(events[0].tag, 5);
        weft_out_status(out, WEFT_STEP_DONE);
    }
    return 0;
}
static void step_body(void) {
    static const weft_behavior behavior = {.name = "member", .step = step_member};
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(&behavior, &(weft_spawn_options){.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid), 0);
    EXPECT_EQ(run_join(pid), 0);
    EXPECT_EQ(groups_count(), 0);
}
TEST(step_processes_are_members_too) { rt_each(step_body); }

TEST(names_of_groups_and_runtimes_are_checked) {
    rt_start("ring", 1);
    static const char too_long[] = "123456789012345678901234567890123456789012345678";
    EXPECT_EQ(weft_group_join("g"), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_group_leave("g"), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_group_send("g", 1, NULL, 0), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_group_send_any("g", 1, NULL, 0), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_group_members("g", NULL, 0), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_group_send_in(rt.runtime, "", 1, NULL, 0), WEFT_EINVAL);
    EXPECT_EQ(weft_group_send_any_in(rt.runtime, too_long, 1, NULL, 0), WEFT_EINVAL);
    EXPECT_EQ(weft_group_members_in(rt.runtime, too_long, NULL, 0), WEFT_EINVAL);
    EXPECT_EQ(weft_group_send_in(rt.runtime, "g", 1, NULL, 0), 0);
    rt_stop();
}

/* ---- any one ------------------------------------------------------------------------------------------------------------------------- */

static weft_pid ring[3];
static atom_u64 each_heard[3];
static void counts(void *number) {
    weft_msg *message;
    EXPECT_EQ(weft_group_join("any"), 0);
    atom_add_rel(&joined, 1);
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_msg_free(message);
        atom_add_rel(&each_heard[(uintptr_t)number], 1);
    }
}
static void any_body(void) {
    begin();
    for (uintptr_t i = 0; i < 3; i++) {
        atom_store_rlx(&each_heard[i], 0);
        ring[i] = run_flags(counts, (void *)i, WEFT_SPAWN_JOINABLE);
    }
    rt_wait(&joined, 3);
    for (unsigned i = 0; i < 30; i++)
        EXPECT_EQ(weft_group_send_any_in(rt.runtime, "any", 1, NULL, 0), 0);
    for (unsigned i = 0; i < 3; i++)
        rt_wait(&each_heard[i], 10);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(atom_load_acq(&each_heard[i]), 10);
    EXPECT_EQ(weft_cancel(ring[1]), 0);
    while (weft_alive(ring[1])) /* it may still be a member */
        usleep(50);
    for (unsigned i = 0; i < 20; i++)
        EXPECT_EQ(weft_group_send_any_in(rt.runtime, "any", 1, NULL, 0), 0);
    while (atom_load_acq(&each_heard[0]) + atom_load_acq(&each_heard[2]) < 40) /* none was lost on the one that has ended */
        usleep(50);
}
TEST(any_one_is_each_in_turn_and_never_one_that_has_ended) { rt_each(any_body); }

/* A member that has no room is passed over; if none has, that is the answer. */
static void full_body(void) {
    weft_pid pids[2];
    weft_mailbox mailbox = {.messages = 1, .when_full = WEFT_FULL_FAIL};
    begin();
    for (unsigned i = 0; i < 2; i++) {
        weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE, .mailbox = i ? NULL : &mailbox};
        EXPECT_EQ(weft_spawn_with(joins_and_sleeps, NULL, &options, &pids[i]), 0);
        rt_wait(&joined, i + 1);
        for (unsigned n = 0; n < 5; n++)
            EXPECT_EQ(weft_group_send_any_in(rt.runtime, "full", 1, NULL, 0), i == 0 && n > 0 ? WEFT_ENOBUFS : 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        weft_cancel(pids[i]);
        run_join(pids[i]);
    }
}
TEST(any_one_with_room) { rt_each(full_body); }

/* ---- many ----------------------------------------------------------------------------------------------------------------------------- */

enum { CROWD = 10000 / RT_SLOW };
static weft_pid crowd[CROWD];
static atom_u64 sending;
static void sends_to_all(void *unused) {
    int64_t sent;
    (void)unused;
    for (unsigned i = 0; i < 20; i++) {
        EXPECT((sent = weft_group_send("crowd", 1, &i, sizeof i)) >= 0);
        EXPECT(sent <= CROWD);
        atom_add_rlx(&sending, 1);
        weft_yield();
    }
}
/* Some send to all while members end, one after the other. */
static void crowd_body(void) {
    begin();
    atom_store_rlx(&sending, 0);
    spawn_listeners(crowd, CROWD, "crowd");
    EXPECT_EQ(members("crowd"), CROWD);
    EXPECT_EQ(weft_group_send_in(rt.runtime, "crowd", 1, NULL, 0), CROWD);
    rt_wait(&heard, CROWD);
    weft_pid senders[2] = {run_flags(sends_to_all, NULL, WEFT_SPAWN_JOINABLE), run_flags(sends_to_all, NULL, WEFT_SPAWN_JOINABLE)};
    for (unsigned i = 0; i < CROWD; i += 2)
        EXPECT_EQ(weft_cancel(crowd[i]), 0);
    for (unsigned i = 0; i < CROWD; i += 2)
        EXPECT_EQ(run_join(crowd[i]), 0);
    EXPECT_EQ(members("crowd"), CROWD / 2);
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(run_join(senders[i]), 0);
    EXPECT_EQ(weft_group_send_in(rt.runtime, "crowd", 0, NULL, 0), CROWD / 2);
    for (unsigned i = 1; i < CROWD; i += 2)
        EXPECT_EQ(run_join(crowd[i]), 0);
    EXPECT_EQ(groups_count(), 0);
}
TEST_WITHIN(a_crowd_is_sent_to_while_members_end, 60) {
    rt_start("ring", 2);
    crowd_body();
    rt_stop();
}

/* A message to all reaches exactly those that were members when it was sent, or a sum of them that grows and shrinks: conservation. */
static atom_u64 accepted;
static void comes_and_goes(void *unused) {
    weft_msg *message;
    (void)unused;
    for (unsigned i = 0; i < 100 / RT_SLOW; i++) {
        EXPECT_EQ(weft_group_join("busy"), 0);
        weft_yield();
        EXPECT_EQ(weft_group_leave("busy"), 0);
    }
    weft_sleep(WEFT_MILLISECOND); /* what was sent to it while it was a member may still be on its way */
    while (weft_recv(&message, 0) == 0) {
        atom_add_rlx(&heard, 1);
        weft_msg_free(message);
    }
}
static void sends_to_the_busy(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 200 / RT_SLOW; i++) {
        int64_t sent = weft_group_send("busy", 1, NULL, 0);
        EXPECT(sent >= 0 && sent <= 8);
        atom_add_rlx(&accepted, (uint64_t)sent);
        int error = weft_group_send_any("busy", 1, NULL, 0);
        EXPECT(error == 0 || error == WEFT_ENOPROC);
        atom_add_rlx(&accepted, error == 0);
        weft_yield();
    }
}
static void busy_body(void) {
    weft_pid pids[10];
    begin();
    atom_store_rlx(&accepted, 0);
    for (unsigned i = 0; i < 10; i++)
        pids[i] = run_flags(i < 8 ? comes_and_goes : sends_to_the_busy, NULL, WEFT_SPAWN_JOINABLE);
    for (unsigned i = 0; i < 10; i++)
        EXPECT_EQ(run_join(pids[i]), 0);
    EXPECT(atom_load_rlx(&heard) <= atom_load_rlx(&accepted)); /* one that has ended with a message unread has not counted it */
    EXPECT_EQ(groups_count(), 0);
}
TEST_WITHIN(members_come_and_go_while_others_send, 60) { rt_each(busy_body); }

/* ---- without memory ------------------------------------------------------------------------------------------------------------------- */

static atom_u64 failures;
static void joins_without_memory(void *nth) {
    sys_script.alloc_fail_at = atom_load_rlx(&sys_script.counts.alloc) + (uintptr_t)nth;
    int error = weft_group_join("g");
    int64_t sent = weft_group_send("g", 7, NULL, 0);
    bool refused = sys_script.alloc_fail_at <= atom_load_rlx(&sys_script.counts.alloc);
    sys_script.alloc_fail_at = 0;
    atom_store_rlx(&failures, refused);
    EXPECT(error == 0 || error == WEFT_ENOMEM);
    EXPECT(sent == WEFT_ENOMEM || sent == 0 || sent == 1);
    EXPECT_EQ(error || sent != 1, refused);
    EXPECT_EQ(weft_group_members("g", NULL, 0), error == 0);
    if (sent == 1) expect_next(7);
    EXPECT_EQ(weft_group_join("g"), 0);
    EXPECT_EQ(weft_group_send("g", 8, NULL, 0), 1);
    expect_next(8);
}
TEST(every_allocation_of_joining_and_sending_may_fail) {
    atom_store_rlx(&failures, 1);
    for (uintptr_t n = 1; atom_load_rlx(&failures); n++) {
        rt_start("ring", 1);
        EXPECT_EQ(run(joins_without_memory, (void *)n), 0);
        EXPECT_EQ(groups_count(), 0);
        rt_stop();
        EXPECT(n < 30);
    }
}

/* ---- two runtimes --------------------------------------------------------------------------------------------------------------------- */

TEST(two_runtimes_have_their_own_groups) {
    rt_start("ring", 2);
    weft_runtime *other;
    weft_pid here, there;
    begin();
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1}, &other), 0);
    here = run_spawn(listens, (void *)"g");
    EXPECT_EQ(weft_spawn_with(listens, (void *)"g", &(weft_stackful_options){.runtime = other}, &there), 0);
    rt_wait(&joined, 2);
    EXPECT_EQ(weft_group_members_in(rt.runtime, "g", &here, 1), 1);
    EXPECT_EQ(weft_group_members_in(other, "g", &there, 1), 1);
    EXPECT(here != there);
    EXPECT_EQ(weft_group_send_in(other, "g", 1, NULL, 0), 1);
    rt_wait(&heard, 1);
    EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(members("g"), 1);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
