/* Ties: monitors, links and kills among members. Each monitor is told once or was given up, each link likewise; and nothing comes afterwards. Members do not kill
 * each other, because what they hold would be lost: victims have nothing. */
#ifndef WEFT_TESTS_CROSS_MIX_TIES_H
#define WEFT_TESTS_CROSS_MIX_TIES_H

#include "mix.h"

#include <weft/life.h>

enum { TAG_DOWN = 1 << 28, TAG_EXIT };

static struct {
    atom_u64 monitored, down; /* monitors; notices, and monitors that were given up in time */
    atom_u64 linked, parted;  /* likewise */
    atom_u64 victims, killed;
} ties;

/* Waits a while for the notice. False: it did not come. */
static inline bool ties_told(struct member *member, uint64_t tag, weft_pid pid, uint64_t reference) {
    weft_msg *message;
    uint64_t deadline = mix_deadline(member); /* two may wait for each other */
    int error = weft_recv_tag(tag, &message, deadline);
    mix_expect(error, deadline);
    if (error) return false;
    const weft_notice *notice = weft_msg_notice(message);
    EXPECT(notice && notice->pid == pid && notice->reference == reference);
    weft_msg_free(message);
    return true;
}
static inline void ties_quiet(uint64_t tag) {
    weft_msg *message;
    int error = weft_recv_tag(tag, &message, 0);
    EXPECT(error == WEFT_ETIMEDOUT || error == WEFT_ECANCELED);
}

static inline void act_monitor(struct member *member) {
    weft_pid pid = mix_any_member(member);
    uint64_t reference;
    if (pid == WEFT_NOBODY) return;
    int error = weft_monitor(pid, TAG_DOWN, &reference);
    EXPECT(error == 0 || error == WEFT_EFOREIGN);
    if (error) return;
    atom_add_rlx(&ties.monitored, 1);
    if (mix_below(member, 2) == 0 || !ties_told(member, TAG_DOWN, pid, reference)) {
        error = weft_demonitor(reference, true);
        EXPECT(error == 0 || error == WEFT_ENOENT);
    }
    atom_add_rlx(&ties.down, 1);
    ties_quiet(TAG_DOWN);
}

static inline void victim(void *arg) {
    uint32_t how = (uint32_t)(uintptr_t)arg;
    weft_msg *message;
    if (how % 2) weft_shield_begin();
    for (;;)
        if (how % 4 < 2) weft_sleep(20000);
        else if (how % 3) weft_yield();
        else EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), WEFT_ECANCELED);
}
static inline void act_kill(struct member *member) {
    uint64_t reference;
    weft_stackful_options options = {.flags = WEFT_SPAWN_MONITOR, .monitor = {TAG_DOWN, &reference}};
    weft_pid pid;
    EXPECT_EQ(weft_spawn_with(victim, (void *)(uintptr_t)mix_below(member, 12), &options, &pid), 0);
    atom_add_rlx(&ties.victims, 1);
    if (mix_below(member, 2)) weft_sleep(mix_below(member, 20000));
    EXPECT_EQ(weft_kill(pid), 0);
    weft_shield_begin();
    weft_msg *message;
    EXPECT_EQ(weft_recv_tag(TAG_DOWN, &message, WEFT_FOREVER), 0);
    EXPECT(weft_msg_notice(message)->reference == reference && weft_msg_notice(message)->reason.code == WEFT_EKILLED);
    weft_msg_free(message);
    weft_shield_end();
    atom_add_rlx(&ties.killed, 1);
}

/* The other ends by itself, or is killed, or they part. */
static inline void linked_child(void *arg) {
    uint32_t how = (uint32_t)(uintptr_t)arg;
    if (how % 3 == 0) weft_sleep(how * 1000);
    if (how % 3 == 1) weft_sleep(WEFT_FOREVER);
    weft_exit((int)how);
}
static inline void act_link(struct member *member) {
    uint32_t how = mix_below(member, 30);
    weft_stackful_options options = {.flags = mix_below(member, 2) ? WEFT_SPAWN_LINK : 0};
    weft_pid pid;
    EXPECT_EQ(weft_trap_exit(true, TAG_EXIT), 0);
    EXPECT_EQ(weft_spawn_with(linked_child, (void *)(uintptr_t)how, &options, &pid), 0);
    int error = options.flags ? 0 : weft_link(pid);
    EXPECT(error == 0 || (error == WEFT_ENOPROC && (how % 3 != 1 || weft_own_context()))); /* a context's deadline may have ended it */
    if (mix_below(member, 2)) weft_kill(pid);
    if (!error) {
        atom_add_rlx(&ties.linked, 1);
        if (mix_below(member, 2) == 0 || !ties_told(member, TAG_EXIT, pid, 0)) {
            bool parted = weft_unlink(pid) == 0;
            if (!parted) EXPECT(ties_told(member, TAG_EXIT, pid, 0)); /* it is in the mailbox */
        }
        atom_add_rlx(&ties.parted, 1);
    }
    ties_quiet(TAG_EXIT);
    EXPECT_EQ(weft_trap_exit(false, 0), 0);
    weft_kill(pid);
}

static inline void ties_open(void) { memset(&ties, 0, sizeof ties); }
static inline void ties_close(void) {
    mix_balance("monitors", &ties.monitored, &ties.down);
    mix_balance("links", &ties.linked, &ties.parted);
    mix_balance("victims", &ties.victims, &ties.killed);
}

#endif
