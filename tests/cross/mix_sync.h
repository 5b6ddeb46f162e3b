/* Channels, select, locks. */
#ifndef WEFT_TESTS_CROSS_MIX_SYNC_H
#define WEFT_TESTS_CROSS_MIX_SYNC_H

#include "mix.h"

enum { CHANNELS = 4, PERMITS = 5, QUEUE = 3 };

static struct {
    weft_chan *chans[CHANNELS];
    atom_u64 in, out, sum_in, sum_out; /* elements, and what they add up to */
    weft_sem sem;
    atom_u64 taken; /* of its permits */
    weft_mutex mutex;
    uint64_t locked; /* times, counted under the mutex */
    atom_u64 locks;  /* and without */
    weft_rwlock rwlock;
    uint64_t left, right; /* the same, under the lock */
    weft_mutex queue_mutex;
    weft_cond queue_room, queue_full;
    unsigned queued;
    atom_u64 put, got;
    weft_once once;
    atom_u64 made;
} shared;

/* ---- channels ------------------------------------------------------------------------------------------------------- */

static inline void chan_has_sent(uint64_t value) {
    atom_add_rlx(&shared.in, 1);
    atom_add_rlx(&shared.sum_in, value);
}
static inline void chan_has_received(uint64_t value) {
    atom_add_rlx(&shared.out, 1);
    atom_add_rlx(&shared.sum_out, value);
}
static inline void act_chan_send(struct member *member) {
    uint64_t value = 1 + mix_below(member, 1000000);
    weft_chan *chan = shared.chans[mix_below(member, CHANNELS)];
    uint64_t deadline = mix_deadline(member);
    int error = weft_chan_send(chan, &value, deadline);
    mix_expect(error, deadline);
    if (!error) chan_has_sent(value);
}
static inline void act_chan_recv(struct member *member) {
    uint64_t value = 0;
    weft_chan *chan = shared.chans[mix_below(member, CHANNELS)];
    uint64_t deadline = mix_deadline(member);
    int error = weft_chan_recv(chan, &value, deadline);
    mix_expect(error, deadline);
    if (!error) chan_has_received(value);
}
static inline void act_select(struct member *member) {
    uint64_t values[4];
    weft_case cases[4];
    for (unsigned i = 0; i < 4; i++) {
        weft_chan *chan = mix_below(member, 8) ? shared.chans[mix_below(member, CHANNELS)] : NULL;
        values[i] = 1 + mix_below(member, 1000000);
        cases[i] = i % 2 ? weft_case_send(chan, &values[i]) : weft_case_recv(chan, &values[i]);
    }
    uint64_t deadline = mix_deadline(member);
    int which = weft_select(cases, 4, deadline);
    if (which < 0) return mix_expect(which, deadline);
    EXPECT_EQ(cases[which].error, 0);
    if (which % 2) chan_has_sent(values[which]);
    else chan_has_received(values[which]);
}
/* Closing: what is in it is received first. */
static inline void act_chan_close(struct member *member) {
    weft_chan *chan;
    uint32_t count = mix_below(member, 4), got = 0;
    EXPECT_EQ(weft_chan_new(1, 4, &chan), 0);
    for (uint32_t i = 0; i < count; i++)
        EXPECT_EQ(weft_chan_send(chan, "x", 0), 0);
    EXPECT_EQ(weft_chan_close(chan), 0);
    while (weft_chan_recv(chan, NULL, WEFT_FOREVER) == 0)
        got++;
    EXPECT_EQ(got, count);
    weft_chan_free(chan);
}

/* ---- locks ---------------------------------------------------------------------------------------------------------- */

static inline void act_sem(struct member *member) {
    uint32_t permits = 1 + mix_below(member, PERMITS);
    uint64_t deadline = mix_limit(member);
    int error = weft_sem_acquire(&shared.sem, permits, deadline);
    mix_expect(error, deadline);
    if (error) return;
    EXPECT(atom_add_rlx(&shared.taken, permits) + permits <= PERMITS);
    if (mix_below(member, 2)) mix_give_way();
    atom_sub_rlx(&shared.taken, permits);
    weft_sem_release(&shared.sem, permits);
}
static inline void act_mutex(struct member *member) {
    uint64_t deadline = mix_limit(member);
    int error = weft_mutex_lock(&shared.mutex, deadline);
    mix_expect(error, deadline);
    if (error) return;
    uint64_t before = shared.locked;
    if (mix_below(member, 4) == 0) weft_sleep(1000);
    shared.locked = before + 1;
    atom_add_rlx(&shared.locks, 1);
    weft_mutex_unlock(&shared.mutex);
}
static inline void act_rwlock(struct member *member) {
    bool writes = mix_below(member, 3) == 0;
    uint64_t deadline = mix_limit(member);
    int error = writes ? weft_rwlock_write(&shared.rwlock, deadline) : weft_rwlock_read(&shared.rwlock, deadline);
    mix_expect(error, deadline);
    if (error) return;
    uint64_t left = shared.left;
    if (writes) shared.left++;
    mix_give_way();
    if (writes) shared.right++;
    EXPECT_EQ(shared.right, left + (writes ? 1 : 0));
    if (writes) weft_rwlock_write_end(&shared.rwlock);
    else weft_rwlock_read_end(&shared.rwlock);
}
/* A queue with room for QUEUE, by a mutex and two conditions. */
static inline void act_cond(struct member *member) {
    bool puts = mix_below(member, 2);
    uint64_t deadline = mix_deadline(member);
    int error = weft_mutex_lock(&shared.queue_mutex, WEFT_FOREVER);
    mix_expect(error, WEFT_FOREVER);
    if (error) return;
    while (!error && shared.queued == (puts ? QUEUE : 0))
        error = weft_cond_wait(puts ? &shared.queue_room : &shared.queue_full, &shared.queue_mutex, deadline);
    mix_expect(error, deadline);
    if (!error) {
        shared.queued += puts ? 1 : -1u;
        atom_add_rlx(puts ? &shared.put : &shared.got, 1);
        if (mix_below(member, 4)) weft_cond_signal(puts ? &shared.queue_full : &shared.queue_room);
        else weft_cond_broadcast(puts ? &shared.queue_full : &shared.queue_room);
    }
    weft_mutex_unlock(&shared.queue_mutex);
}
static inline int once_make_it(void *arg) {
    (void)arg;
    if (weft_sleep(1000)) return WEFT_ECANCELED; /* another does it then */
    atom_add_rlx(&shared.made, 1);
    return 0;
}
static inline void act_once(struct member *member) {
    uint64_t deadline = mix_deadline(member);
    int error = weft_once_do(&shared.once, once_make_it, NULL, deadline);
    mix_expect(error, deadline);
    if (!error) EXPECT_EQ(atom_load_rlx(&shared.made), 1);
}

/* Others are waited for. */
struct group_work {
    weft_waitgroup group;
    atom_u64 done;
};
static inline void group_worker(void *arg) {
    struct group_work *work = arg;
    weft_yield();
    atom_add_rlx(&work->done, 1);
    weft_waitgroup_done(&work->group);
}
static inline void act_waitgroup(struct member *member) {
    struct group_work work = {.group = WEFT_WAITGROUP_INIT};
    uint32_t count = mix_below(member, 4);
    weft_waitgroup_add(&work.group, count);
    for (uint32_t i = 0; i < count; i++)
        EXPECT(weft_spawn(group_worker, &work) != WEFT_NOBODY);
    uint64_t deadline = mix_deadline(member);
    int error = weft_waitgroup_wait(&work.group, deadline);
    mix_expect(error, deadline);
    weft_shield_begin();
    if (error) EXPECT_EQ(weft_waitgroup_wait(&work.group, WEFT_FOREVER), 0);
    weft_shield_end();
    EXPECT_EQ(atom_load_acq(&work.done), count);
}

static inline void sync_open(void) {
    static const size_t capacities[CHANNELS] = {0, 1, 4, 16};
    memset(&shared, 0, sizeof shared);
    weft_sem_init(&shared.sem, PERMITS);
    for (unsigned i = 0; i < CHANNELS; i++)
        EXPECT_EQ(weft_chan_new(sizeof(uint64_t), capacities[i], &shared.chans[i]), 0);
}
/* When no process uses them any more. */
static inline void sync_audit(void) {
    for (unsigned i = 0; i < CHANNELS; i++) {
        uint64_t value;
        while (weft_chan_recv(shared.chans[i], &value, 0) == 0)
            chan_has_received(value);
        weft_chan_free(shared.chans[i]);
    }
    EXPECT_EQ(atom_load_acq(&shared.in), atom_load_acq(&shared.out));
    EXPECT_EQ(atom_load_acq(&shared.sum_in), atom_load_acq(&shared.sum_out));
    EXPECT_EQ(weft_sem_available(&shared.sem), PERMITS);
    EXPECT_EQ(shared.locked, atom_load_acq(&shared.locks));
    EXPECT_EQ(weft_mutex_lock(&shared.mutex, 0), 0);
    weft_mutex_unlock(&shared.mutex);
    EXPECT_EQ(weft_rwlock_write(&shared.rwlock, 0), 0);
    EXPECT_EQ(shared.left, shared.right);
    weft_rwlock_write_end(&shared.rwlock);
    EXPECT_EQ(atom_load_acq(&shared.put), atom_load_acq(&shared.got) + shared.queued);
    EXPECT(atom_load_acq(&shared.made) <= 1);
    printf("  %llu elements, %llu locks, %llu writes\n", (unsigned long long)atom_load_acq(&shared.in), (unsigned long long)shared.locked,
           (unsigned long long)shared.left);
}

#endif
