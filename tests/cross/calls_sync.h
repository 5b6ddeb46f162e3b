/* Channels, select, locks, and functions that block. */
#ifndef WEFT_TESTS_CROSS_CALLS_SYNC_H
#define WEFT_TESTS_CROSS_CALLS_SYNC_H

#include "trial.h"

/* 0 from a call that must not wait: it has been done. */
static inline bool at_once(int error) {
    EXPECT(error == 0 || error == WEFT_ETIMEDOUT);
    return error == 0;
}

/* ---- channels ------------------------------------------------------------------------------------------------------- */

static inline void chan_make_of(struct trial *trial, size_t capacity) {
    EXPECT_EQ(weft_chan_new(sizeof trial->delay, capacity, &trial->things.chan), 0);
    EXPECT_EQ(weft_chan_new(sizeof trial->delay, 1, &trial->things.spare), 0);
}
static inline void chan_make_empty(struct trial *trial) { chan_make_of(trial, 1); }
static inline void chan_make_bare(struct trial *trial) { chan_make_of(trial, 0); }
static inline void chan_make_full(struct trial *trial) {
    chan_make_of(trial, 1);
    EXPECT_EQ(weft_chan_send(trial->things.chan, &trial->delay, 0), 0);
}
static inline void chan_clean(struct trial *trial) {
    EXPECT_EQ(weft_chan_len(trial->things.spare), 0);
    weft_chan_free(trial->things.chan);
    weft_chan_free(trial->things.spare);
}
static inline void chan_clean_empty(struct trial *trial) {
    EXPECT_EQ(weft_chan_len(trial->things.chan), 0);
    chan_clean(trial);
}
static inline void chan_clean_full(struct trial *trial) {
    EXPECT_EQ(weft_chan_len(trial->things.chan), 1);
    chan_clean(trial);
}
static inline bool chan_put(struct trial *trial) { return at_once(weft_chan_send(trial->things.chan, &trial->delay, 0)); }
static inline bool chan_get(struct trial *trial) {
    uint64_t value = 0;
    if (!at_once(weft_chan_recv(trial->things.chan, &value, 0))) return false;
    EXPECT_EQ(value, trial->delay);
    return true;
}
static inline int chan_judge(struct trial *trial, uint64_t value, int error) {
    if (!error) EXPECT_EQ(value, trial->delay);
    return error;
}
static inline int chan_wait_recv(struct trial *trial, uint64_t deadline) {
    uint64_t value = 0;
    int error = weft_chan_recv(trial->things.chan, &value, deadline);
    return chan_judge(trial, value, error);
}
static inline int chan_wait_send(struct trial *trial, uint64_t deadline) {
    return weft_chan_send(trial->things.chan, &trial->delay, deadline);
}
static inline bool chan_complete_close(struct trial *trial) {
    EXPECT_EQ(weft_chan_close(trial->things.chan), 0);
    return true;
}
static inline int chan_wait_closed(struct trial *trial, uint64_t deadline) {
    int error = weft_chan_recv(trial->things.chan, NULL, deadline);
    EXPECT(error != 0);
    return error == WEFT_ECLOSED ? 0 : error;
}

/* Among others that never happen: one without a channel, one that no process sends to, one twice. */
static inline int select_judge(int which, int wanted, int also, const weft_case *cases) {
    if (which < 0) return which;
    EXPECT(which == wanted || which == also);
    EXPECT_EQ(cases[which].error, 0);
    return 0;
}
static inline int select_wait_recv(struct trial *trial, uint64_t deadline) {
    uint64_t value = 0, other = 0;
    weft_case cases[] = {weft_case_recv(NULL, NULL), weft_case_recv(trial->things.chan, &value),
                         weft_case_recv(trial->things.spare, &other), weft_case_recv(trial->things.chan, &value)};
    int error = select_judge(weft_select(cases, 4, deadline), 1, 3, cases);
    return chan_judge(trial, value, error);
}
static inline int select_wait_send(struct trial *trial, uint64_t deadline) {
    uint64_t other = 0;
    weft_case cases[] = {weft_case_recv(trial->things.spare, &other), weft_case_send(trial->things.chan, &trial->delay)};
    return select_judge(weft_select(cases, 2, deadline), 1, 1, cases);
}
/* So many that memory has to be had for them. */
static inline int select_wait_many(struct trial *trial, uint64_t deadline) {
    enum { MANY = WEFT_SELECT_PLAIN + 4 };
    uint64_t value = 0, other = 0;
    weft_case cases[MANY];
    for (unsigned i = 0; i < MANY; i++)
        cases[i] = weft_case_recv(trial->things.spare, &other);
    cases[MANY - 1] = weft_case_recv(trial->things.chan, &value);
    int error = select_judge(weft_select(cases, MANY, deadline), MANY - 1, MANY - 1, cases);
    return chan_judge(trial, value, error);
}

/* ---- locks ---------------------------------------------------------------------------------------------------------- */

static inline void mutex_hold(struct trial *trial) { EXPECT_EQ(weft_mutex_lock(&trial->things.mutex, 0), 0); }
static inline bool mutex_complete(struct trial *trial) {
    weft_mutex_unlock(&trial->things.mutex);
    return true;
}
/* What was locked stays so until `clean`, where another process would notice. */
static inline int mutex_wait(struct trial *trial, uint64_t deadline) {
    if (trial->things.has) return 0;
    int error = weft_mutex_lock(&trial->things.mutex, deadline);
    trial->things.has = error == 0;
    return error;
}
static inline void mutex_clean(struct trial *trial) {
    weft_mutex_unlock(&trial->things.mutex);
    EXPECT_EQ(weft_mutex_lock(&trial->things.mutex, 0), 0);
    weft_mutex_unlock(&trial->things.mutex);
}

static inline bool cond_complete(struct trial *trial) {
    if (!at_once(weft_mutex_lock(&trial->things.mutex, 0))) return false;
    atom_add_rlx(&trial->things.units, 1);
    weft_cond_signal(&trial->things.cond);
    weft_mutex_unlock(&trial->things.mutex);
    return true;
}
static inline int cond_wait(struct trial *trial, uint64_t deadline) {
    int error = weft_mutex_lock(&trial->things.mutex, patient());
    if (error) return error;
    while (!error && atom_load_rlx(&trial->things.units) == 0)
        error = weft_cond_wait(&trial->things.cond, &trial->things.mutex, deadline);
    if (!error) atom_sub_rlx(&trial->things.units, 1);
    weft_mutex_unlock(&trial->things.mutex);
    return error;
}

enum { PERMITS = 3 };
static inline bool sem_complete(struct trial *trial) {
    weft_sem_release(&trial->things.sem, PERMITS);
    return true;
}
static inline int sem_wait_permits(struct trial *trial, uint64_t deadline) {
    return weft_sem_acquire(&trial->things.sem, PERMITS, deadline);
}
static inline void sem_clean(struct trial *trial) { EXPECT_EQ(weft_sem_available(&trial->things.sem), 0); }

static inline void rwlock_hold_write(struct trial *trial) { EXPECT_EQ(weft_rwlock_write(&trial->things.rwlock, 0), 0); }
static inline void rwlock_hold_read(struct trial *trial) { EXPECT_EQ(weft_rwlock_read(&trial->things.rwlock, 0), 0); }
static inline bool rwlock_end_write(struct trial *trial) {
    weft_rwlock_write_end(&trial->things.rwlock);
    return true;
}
static inline bool rwlock_end_read(struct trial *trial) {
    weft_rwlock_read_end(&trial->things.rwlock);
    return true;
}
static inline int rwlock_wait_read(struct trial *trial, uint64_t deadline) {
    int error = weft_rwlock_read(&trial->things.rwlock, deadline);
    if (!error) weft_rwlock_read_end(&trial->things.rwlock);
    return error;
}
static inline int rwlock_wait_write(struct trial *trial, uint64_t deadline) {
    int error = weft_rwlock_write(&trial->things.rwlock, deadline);
    if (!error) weft_rwlock_write_end(&trial->things.rwlock);
    return error;
}
static inline void rwlock_clean(struct trial *trial) { EXPECT_EQ(rwlock_wait_write(trial, 0), 0); } /* no process is in it */

static inline void synch2_hold(struct trial *trial) { EXPECT_EQ(weft_synch2_try(&trial->things.synch2, 1), 0); }
static inline bool synch2_complete(struct trial *trial) {
    weft_synch2_leave(&trial->things.synch2, 1);
    return true;
}
static inline int synch2_wait(struct trial *trial, uint64_t deadline) {
    int error = weft_synch2_enter_until(&trial->things.synch2, 0, deadline);
    if (!error) weft_synch2_leave(&trial->things.synch2, 0);
    return error;
}

/* Neither role is inside. */
static inline void synch2_clean(struct trial *trial) {
    for (unsigned role = 0; role < 2; role++) {
        EXPECT_EQ(weft_synch2_try(&trial->things.synch2, role), 0);
        weft_synch2_leave(&trial->things.synch2, role);
    }
}

/* Another process is running it. */
static inline int once_function(void *arg) {
    struct trial *trial = arg;
    atom_store_rel(&trial->things.spawned, 1);
    EXPECT_EQ(weft_sem_acquire(&trial->things.sem, 1, WEFT_FOREVER), 0);
    atom_add_rlx(&trial->things.units, 1);
    return 0;
}
static inline void once_helper(void *arg) {
    struct trial *trial = arg;
    weft_shield_begin();
    EXPECT_EQ(weft_once_do(&trial->things.once, once_function, trial, WEFT_FOREVER), 0);
    weft_shield_end();
    atom_store_rel(&trial->things.helped, 1);
}
static inline void once_make(struct trial *trial) {
    spawn_beside(once_helper, trial, 0);
    await(&trial->things.spawned);
}
static inline bool once_complete(struct trial *trial) {
    if (!atom_swap_acqrel(&trial->things.requested, 1)) weft_sem_release(&trial->things.sem, 1);
    return atom_load_acq(&trial->things.helped);
}
static inline int once_wait(struct trial *trial, uint64_t deadline) {
    int error = weft_once_do(&trial->things.once, once_function, trial, deadline);
    if (!error) EXPECT_EQ(atom_load_rlx(&trial->things.units), 1);
    return error;
}

static inline void group_make(struct trial *trial) { weft_waitgroup_add(&trial->things.group, 1); }
static inline bool group_complete(struct trial *trial) {
    weft_waitgroup_done(&trial->things.group);
    return true;
}
static inline int group_wait(struct trial *trial, uint64_t deadline) { return weft_waitgroup_wait(&trial->things.group, deadline); }

/* The other one of two, which comes when it is let. */
static inline void barrier_helper(void *arg) {
    struct trial *trial = arg;
    weft_shield_begin();
    EXPECT_EQ(weft_sem_acquire(&trial->things.sem, 1, WEFT_FOREVER), 0);
    atom_store_rel(&trial->things.requested, 1);
    EXPECT(weft_barrier_wait(&trial->things.barrier, WEFT_FOREVER) >= 0);
    weft_shield_end();
    atom_store_rel(&trial->things.helped, 1);
}
static inline void barrier_make(struct trial *trial) {
    weft_barrier_init(&trial->things.barrier, 2);
    spawn_beside(barrier_helper, trial, 0);
}
static inline bool barrier_complete(struct trial *trial) {
    if (!atom_swap_acqrel(&trial->things.spawned, 1)) weft_sem_release(&trial->things.sem, 1);
    return atom_load_acq(&trial->things.requested);
}
static inline int barrier_wait(struct trial *trial, uint64_t deadline) {
    int result = weft_barrier_wait(&trial->things.barrier, deadline);
    EXPECT(result <= 1);
    return result < 0 ? result : 0;
}
static inline void barrier_clean(struct trial *trial) { await(&trial->things.helped); }

#define CALLS_SYNC(CALL)                                                                                                                   \
    CALL(chan_recv, .is = CALL_ANYWHERE, .make = chan_make_empty, .wait = chan_wait_recv, .complete = chan_put, .clean = chan_clean_empty) \
    CALL(chan_recv_bare, .is = CALL_ANYWHERE | CALL_NOT_BEFORE, .make = chan_make_bare, .wait = chan_wait_recv, .complete = chan_put,      \
         .clean = chan_clean_empty)                                                                                                        \
    CALL(chan_recv_closed, .is = CALL_ANYWHERE | CALL_LEVEL, .make = chan_make_empty, .wait = chan_wait_closed,                            \
         .complete = chan_complete_close, .clean = chan_clean_empty)                                                                       \
    CALL(chan_send, .is = CALL_ANYWHERE, .make = chan_make_full, .wait = chan_wait_send, .complete = chan_get, .clean = chan_clean_full)   \
    CALL(chan_send_bare, .is = CALL_ANYWHERE | CALL_NOT_BEFORE, .make = chan_make_bare, .wait = chan_wait_send, .complete = chan_get,      \
         .clean = chan_clean_empty)                                                                                                        \
    CALL(select_recv, .is = CALL_ANYWHERE, .make = chan_make_empty, .wait = select_wait_recv, .complete = chan_put,                        \
         .clean = chan_clean_empty)                                                                                                        \
    CALL(select_send, .is = CALL_ANYWHERE, .make = chan_make_full, .wait = select_wait_send, .complete = chan_get,                         \
         .clean = chan_clean_full)                                                                                                         \
    CALL(select_many, .is = CALL_ANYWHERE, .make = chan_make_empty, .wait = select_wait_many, .complete = chan_put,                        \
         .clean = chan_clean_empty)                                                                                                        \
    CALL(mutex, .is = CALL_LEVEL, .hold = mutex_hold, .wait = mutex_wait, .complete = mutex_complete, .clean = mutex_clean)                \
    CALL(cond, .is = CALL_ANYWHERE, .wait = cond_wait, .complete = cond_complete)                                                          \
    CALL(sem, .is = CALL_ANYWHERE, .wait = sem_wait_permits, .complete = sem_complete, .clean = sem_clean)                                 \
    CALL(rwlock_read, .is = CALL_ANYWHERE | CALL_LEVEL, .hold = rwlock_hold_write, .wait = rwlock_wait_read, .complete = rwlock_end_write, \
         .clean = rwlock_clean)                                                                                                            \
    CALL(rwlock_write, .is = CALL_ANYWHERE | CALL_LEVEL, .hold = rwlock_hold_read, .wait = rwlock_wait_write, .complete = rwlock_end_read, \
         .clean = rwlock_clean)                                                                                                            \
    CALL(synch2, .is = CALL_ANYWHERE | CALL_LEVEL, .hold = synch2_hold, .wait = synch2_wait, .complete = synch2_complete,                  \
         .clean = synch2_clean)                                                                                                            \
    CALL(once, .is = CALL_ANYWHERE | CALL_LEVEL, .make = once_make, .wait = once_wait, .complete = once_complete)                          \
    CALL(waitgroup, .is = CALL_ANYWHERE | CALL_LEVEL, .make = group_make, .wait = group_wait, .complete = group_complete)                  \
    CALL(barrier, .is = CALL_ANYWHERE | CALL_NOT_BEFORE, .make = barrier_make, .wait = barrier_wait, .complete = barrier_complete,         \
         .clean = barrier_clean)

#endif
