/* Links: one end ends the other, with the same reason; trapped, told; unlinked, and nothing; both kinds of processes, other runtimes, no memory. */
#include "mailbox_helpers.h"

#include <weft/life.h>

static void exits(void *reason) { weft_exit((int)(intptr_t)reason); }
static void exits_with_words(void *reason) { weft_exit_with((int)(intptr_t)reason, "words", 6); }
static atom_u64 ready_ones, cleaned;
static void begin(void) { atom_store_rel(&ready_ones, 0), atom_store_rel(&cleaned, 0); }
static void count_cleaned(void *unused) {
    (void)unused;
    weft_sleep(1000);
    atom_add_rel(&cleaned, 1);
}
static void expect_nothing(void) {
    weft_msg *message;
    EXPECT_EQ(weft_recv(&message, 0), WEFT_ETIMEDOUT);
}
static void expect_exit(uint64_t tag, weft_pid pid, int code) {
    weft_msg *message;
    EXPECT_EQ(weft_recv_tag(tag, &message, WEFT_FOREVER), 0);
    const weft_notice *notice = weft_msg_notice(message);
    EXPECT(notice && notice->kind == WEFT_NOTICE_EXIT && notice->reference == 0 && notice->pid == pid && weft_msg_from(message) == pid);
    EXPECT_EQ(notice->reason.code, code);
    weft_msg_free(message);
}
static int join_code(weft_pid pid) {
    int reason = 1;
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    return reason;
}

/* ---- ends -------------------------------------------------------------------------------------------------------------------- */

/* Links itself to a process, and waits. */
static void links_and_waits(void *pid) {
    EXPECT_EQ(weft_defer(count_cleaned, NULL), 0);
    EXPECT_EQ(weft_link(*(weft_pid *)pid), 0);
    EXPECT_EQ(weft_link(*(weft_pid *)pid), 0); /* once is enough */
    atom_add_rel(&ready_ones, 1);
    for (;;)
        EXPECT_EQ(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}
/* Ends with the code that comes as a tag. */
static void ends_when_told(void *unused) {
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    int code = (int)weft_msg_tag(message);
    weft_msg_free(message);
    weft_exit_with(code, "words", 6);
}
static int step_ends_when_told(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_MESSAGE && events[i].tag) return -(int)events[i].tag;
    }
    return 0;
}
static const weft_behavior mortal = {.name = "mortal", .step = step_ends_when_told};

static void one_ends_the_others(void *unused) {
    enum { N = 4 };
    (void)unused;
    for (unsigned round = 0; round < 4; round++) {
        weft_pid centre, others[N];
        begin();
        if (round % 2) EXPECT_EQ(weft_spawn_step(&mortal, NULL, &centre), 0);
        else centre = weft_spawn(ends_when_told, NULL);
        for (unsigned i = 0; i < N; i++)
            others[i] = weft_spawn_joinable(links_and_waits, &centre);
        while (atom_load_acq(&ready_ones) < N)
            weft_yield();
        EXPECT_EQ(weft_send(centre, 7, NULL, 0), 0);
        for (unsigned i = 0; i < N; i++) {
            weft_reason reason;
            EXPECT_EQ(weft_join_reason(others[i], &reason, WEFT_FOREVER), 0);
            EXPECT_EQ(reason.code, round % 2 ? -7 : 7);
            EXPECT(round % 2 ? !reason.data : reason.size == 6 && strcmp(reason.data, "words") == 0);
            weft_reason_free(&reason);
        }
        EXPECT_EQ(atom_load_acq(&cleaned), N);
    }
}
static void one_ends_the_others_body(void) { EXPECT_EQ(run(one_ends_the_others, NULL), 0); }
TEST(link_ends_the_other_with_the_same_reason) { rt_each(one_ends_the_others_body); }

/* The one that was linked to ends when the linker does; a normal end is none. */
static void links_and_ends(void *arg) {
    weft_pid other = *(weft_pid *)arg;
    EXPECT_EQ(weft_link(other), 0);
    weft_exit(0);
}
static void links_and_fails(void *arg) {
    weft_pid other = *(weft_pid *)arg;
    EXPECT_EQ(weft_link(other), 0);
    weft_exit(-9);
}
static int sleepy_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    return 0;
}
static const weft_behavior deaf_step = {.name = "deaf", .step = sleepy_step};
static void deaf(void *unused) {
    (void)unused;
    for (;;)
        EXPECT_EQ(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}
static void the_other_way(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 4; round++) {
        weft_pid pid;
        weft_spawn_options step = {.flags = WEFT_SPAWN_JOINABLE};
        if (round % 2) EXPECT_EQ(weft_spawn_step(&deaf_step, &step, &pid), 0);
        else pid = weft_spawn_joinable(deaf, NULL);
        EXPECT_EQ(join_code(weft_spawn_joinable(links_and_ends, &pid)), 0);
        EXPECT_EQ(weft_join(pid, NULL, 0), WEFT_ETIMEDOUT);
        EXPECT_EQ(join_code(weft_spawn_joinable(links_and_fails, &pid)), -9);
        EXPECT_EQ(join_code(pid), -9);
    }
}
static void the_other_way_body(void) { EXPECT_EQ(run(the_other_way, NULL), 0); }
TEST(link_works_both_ways) { rt_each(the_other_way_body); }

/* A chain: one end ends all. */
static void link_of_a_chain(void *left) {
    if ((uintptr_t)left == 0) {
        atom_store_rel(&ready_ones, 1);
        while (atom_load_acq(&cleaned) == 0)
            weft_yield();
        weft_exit(13);
    }
    EXPECT(weft_spawn_link(link_of_a_chain, (void *)((uintptr_t)left - 1)) != WEFT_NOBODY);
    for (;;)
        EXPECT_EQ(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}
static void chain_body(void) {
    begin();
    weft_pid first = run_flags(link_of_a_chain, (void *)50, WEFT_SPAWN_JOINABLE);
    rt_wait(&ready_ones, 1);
    atom_store_rel(&cleaned, 1);
    EXPECT_EQ(join_code(first), 13);
    rt_wait_until_none_lives();
}
TEST(link_by_link) { rt_each(chain_body); }

/* ---- trapping -------------------------------------------------------------------------------------------------------------------- */

static void traps(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_trap_exit(true, 77), 0);
    for (intptr_t i = 0; i < 30; i++) {
        weft_pid pid = weft_spawn_link(exits, (void *)i);
        expect_exit(77, pid, (int)i);
        pid = weft_spawn_link(deaf, NULL);
        EXPECT_EQ(weft_kill(pid), 0);
        expect_exit(77, pid, WEFT_EKILLED);
        EXPECT_EQ(weft_link(pid), WEFT_ENOPROC);
        EXPECT_EQ(weft_unlink(pid), WEFT_ENOENT);
    }
    weft_spawn_link(exits_with_words, (void *)3);
    weft_msg *message;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    EXPECT(weft_msg_notice(message)->reason.size == 6);
    weft_msg_free(message);
    expect_nothing();
    EXPECT_EQ(weft_trap_exit(false, 0), 0);
    weft_spawn_link(exits, NULL); /* a normal end is not told now, and ends nobody */
    weft_sleep(WEFT_MILLISECOND);
    expect_nothing();
    weft_spawn_link(exits, (void *)21);
    for (;;)
        weft_sleep(WEFT_FOREVER);
}
static void traps_body(void) { EXPECT_EQ(run(traps, NULL), 21); }
TEST(link_trapped) { rt_each(traps_body); }

/* A step process that traps, and one that does not. */
static atom_u64 step_told;
static int trapping_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    weft_pid pid;
    weft_spawn_options options = {.flags = WEFT_SPAWN_LINK};
    (void)self;
    if (count == 0) {
        EXPECT_EQ(weft_trap_exit(true, 5), 0);
        EXPECT_EQ(weft_spawn_step(&mortal, &options, &pid), 0);
        EXPECT_EQ(weft_send(pid, 3, NULL, 0), 0);
    }
    for (size_t i = 0; i < count; i++) {
        const weft_notice *notice = weft_event_notice(&events[i]);
        if (!notice) continue;
        EXPECT(notice->kind == WEFT_NOTICE_EXIT && events[i].tag == 5 && notice->reason.code == -3);
        atom_add_rel(&step_told, 1);
        weft_out_status(out, WEFT_STEP_DONE);
    }
    return 0;
}
static const weft_behavior trapping = {.name = "trapping", .step = trapping_step};
static void step_traps(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 10; i++) {
        weft_spawn_options options = {.flags = WEFT_SPAWN_JOINABLE};
        weft_pid pid;
        atom_store_rel(&step_told, 0);
        EXPECT_EQ(weft_spawn_step(&trapping, &options, &pid), 0);
        EXPECT_EQ(join_code(pid), 0);
        EXPECT_EQ(atom_load_acq(&step_told), 1);
    }
}
static void step_traps_body(void) { EXPECT_EQ(run(step_traps, NULL), 0); }
TEST(link_trapped_by_a_step_process) { rt_each(step_traps_body); }

/* ---- unlinking, shields -------------------------------------------------------------------------------------------------------------- */

static void unlinks(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 50; i++) {
        weft_pid pid = weft_spawn_link(deaf, NULL);
        EXPECT_EQ(weft_unlink(pid), 0);
        EXPECT_EQ(weft_unlink(pid), WEFT_ENOENT);
        if (i % 2) EXPECT_EQ(weft_link(pid) + weft_unlink(pid), 0);
        EXPECT_EQ(weft_kill(pid), 0);
        run_join(pid);
    }
    EXPECT_EQ(weft_link(weft_self()), 0);
    EXPECT_EQ(weft_unlink(weft_self()), WEFT_ENOENT);
    weft_yield();
}
static void unlinks_body(void) {
    EXPECT_EQ(run(unlinks, NULL), 0);
    EXPECT_EQ(weft_link(1), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_unlink(1), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_trap_exit(true, 1), WEFT_ENOTINSIDE);
}
TEST(link_undone) { rt_each(unlinks_body); }

/* A shield holds off what comes from a link, until it ends. */
static void shielded(void *unused) {
    (void)unused;
    weft_shield_begin();
    weft_pid pid = weft_spawn_link(exits, (void *)4);
    run_join(pid);
    for (unsigned i = 0; i < 100; i++) {
        EXPECT_EQ(weft_sleep(1000), 0);
        EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
    }
    atom_add_rel(&cleaned, 1);
    weft_shield_end();
    expect_the_end();
}
static void shielded_body(void) {
    begin();
    EXPECT_EQ(run(shielded, NULL), 4);
    EXPECT_EQ(atom_load_acq(&cleaned), 1);
}
TEST(link_waits_for_shields) { rt_each(shielded_body); }

/* ---- everything at once -------------------------------------------------------------------------------------------------------------- */

/* Pairs that link, unlink and end at the same time: all end, and nothing is left. */
static void frays(void *arg) {
    weft_pid other = *(weft_pid *)arg;
    unsigned turns = (unsigned)(other % 5);
    for (unsigned i = 0; i < turns; i++) {
        int error = weft_link(other);
        EXPECT(error == 0 || error == WEFT_ENOPROC);
        if (i % 2) weft_unlink(other);
        weft_yield();
    }
    weft_exit(other % 3 ? 5 : 0);
}
static void waits_a_little(void *turns) {
    for (uintptr_t i = 0; i < (uintptr_t)turns; i++)
        weft_yield();
    weft_exit((uintptr_t)turns % 2 ? 6 : 0);
}
static void frays_all(void *unused) {
    enum { N = 100 };
    static weft_pid centres[N];
    (void)unused;
    for (unsigned round = 0; round < 20 / RT_SLOW + 1; round++) {
        weft_pid ends[2 * N];
        for (unsigned i = 0; i < N; i++) {
            centres[i] = weft_spawn(waits_a_little, (void *)(uintptr_t)(i % 7));
            ends[i] = weft_spawn(frays, &centres[i]);
            ends[N + i] = weft_spawn(frays, &centres[i]);
        }
        for (unsigned i = 0; i < N; i++)
            run_join(centres[i]), run_join(ends[i]), run_join(ends[N + i]);
    }
}
static void frays_body(void) {
    EXPECT_EQ(run(frays_all, NULL), 0);
    rt_wait_until_none_lives();
}
TEST(link_unlink_and_end_at_once) { rt_each(frays_body); }

/* One that traps is told of each, exactly once. */
static void counts_exits(void *unused) {
    enum { N = 100 };
    (void)unused;
    EXPECT_EQ(weft_trap_exit(true, 3), 0);
    for (unsigned round = 0; round < 10 / RT_SLOW + 1; round++) {
        weft_pid pids[N];
        for (unsigned i = 0; i < N; i++)
            pids[i] = weft_spawn_link(waits_a_little, (void *)(uintptr_t)(i % 9));
        unsigned due = N;
        for (unsigned i = 0; i < N; i += 4)
            if (weft_unlink(pids[i]) == 0) due--;
        for (weft_msg *message; due > 0; due--) {
            EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
            EXPECT_EQ(weft_msg_notice(message)->kind, WEFT_NOTICE_EXIT);
            unsigned i = 0;
            while (i < N && pids[i] != weft_msg_from(message))
                i++;
            EXPECT(i < N);
            EXPECT_EQ(weft_msg_notice(message)->reason.code, i % 9 % 2 ? 6 : 0);
            pids[i] = WEFT_NOBODY; /* not again */
            weft_msg_free(message);
        }
        weft_sleep(WEFT_MILLISECOND);
        expect_nothing();
    }
}
static void counts_exits_body(void) { EXPECT_EQ(run(counts_exits, NULL), 0); }
TEST(link_tells_each_once) { rt_each(counts_exits_body); }

/* ---- another runtime, no memory ---------------------------------------------------------------------------------------------------------- */

static weft_runtime *other;
static weft_pid spawn_there(weft_entry entry, void *arg, unsigned flags) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = other, .flags = flags}, &pid), 0);
    return pid;
}
static void links_there(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_trap_exit(true, 9), 0);
    for (unsigned i = 0; i < 30; i++) {
        weft_pid pid = spawn_there(exits, (void *)8, WEFT_SPAWN_LINK);
        expect_exit(9, pid, 8);
        pid = spawn_there(deaf, NULL, 0);
        EXPECT_EQ(weft_link(pid), 0);
        if (i % 2) EXPECT_EQ(weft_unlink(pid), 0);
        EXPECT_EQ(weft_kill(pid), 0);
        if (i % 2 == 0) expect_exit(9, pid, WEFT_EKILLED);
    }
    for (unsigned i = 0; i < 5; i++)
        spawn_there(deaf, NULL, WEFT_SPAWN_LINK);
    weft_exit(15); /* ends them */
}
TEST(link_with_another_runtime) {
    rt_start("ring", 2);
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2}, &other), 0);
    EXPECT_EQ(run(links_there, NULL), 15);
    EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
    rt_stop();
}
static void links_many_there(void *pid) {
    EXPECT_EQ(weft_trap_exit(true, 9), 0);
    int error = weft_link(*(weft_pid *)pid);
    EXPECT(error == 0 || error == WEFT_ENOPROC);
    weft_sleep(WEFT_FOREVER);
}
TEST(link_with_a_runtime_that_goes) {
    rt_start("ring", 2);
    for (unsigned round = 0; round < 10; round++) {
        weft_pid target = run_spawn(deaf, NULL);
        EXPECT_EQ(weft_start(&(weft_config){.workers = 2}, &other), 0);
        for (unsigned i = 0; i < 10; i++)
            spawn_there(links_many_there, &target, 0);
        rt_pause(round * 100000);
        weft_kill(target);
        EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
    }
    rt_wait_until_none_lives();
    rt_stop();
}

static void without_memory(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_trap_exit(true, 9), 0);
    for (unsigned at = 1; at < 20; at++) {
        weft_pid pid = weft_spawn(deaf, NULL), born = WEFT_NOBODY;
        weft_stackful_options options = {.flags = WEFT_SPAWN_LINK | WEFT_SPAWN_MONITOR};
        sys_script.alloc_fail_at = at;
        int error = weft_link(pid), spawned = weft_spawn_with(deaf, NULL, &options, &born);
        EXPECT(error == 0 || error == WEFT_ENOMEM);
        EXPECT(spawned == 0 || spawned == WEFT_ENOMEM);
        weft_kill(pid);
        if (!error) expect_exit(9, pid, WEFT_EKILLED);
        if (!spawned) EXPECT_EQ(weft_kill(born), 0);
        if (!spawned) expect_exit(9, born, WEFT_EKILLED);
        if (!spawned) expect_tag(0);
        sys_script.alloc_fail_at = 0;
        expect_nothing();
    }
}
TEST(link_refused_for_want_of_memory) {
    rt_start("ring", 1);
    EXPECT_EQ(run(without_memory, NULL), 0);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
