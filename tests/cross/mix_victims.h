/* Processes that are killed while they wait for what others use too. A victim defers giving back what it has; what its call has not done when it ends there it has not
 * done at all. So the books of the other parts are right. */
#ifndef WEFT_TESTS_CROSS_MIX_VICTIMS_H
#define WEFT_TESTS_CROSS_MIX_VICTIMS_H

#include "mix_fd.h"
#include "mix_mail.h"
#include "mix_pack.h"
#include "mix_sync.h"
#include "mix_ties.h"
#include "mix_work.h"

static struct { atom_u64 doomed, over, ended_with; } victims;

/* In memory of its own: its stack may be gone, or packed. */
struct doomed {
    struct member member; /* its numbers, and no more */
    bool packs;
    void (*give_back)(struct doomed *doomed); /* what it has now; NULL: nothing */
    uint32_t permits;
    weft_fd fd;
    struct errand *errand;
};

/* ---- what they wait in ---------------------------------------------------------------------------------------------- */

static inline void give_back_permits(struct doomed *doomed) {
    atom_sub_rlx(&shared.taken, doomed->permits);
    weft_sem_release(&shared.sem, doomed->permits);
}
static inline void doomed_sem(struct doomed *doomed) {
    doomed->permits = 1 + mix_below(&doomed->member, PERMITS);
    if (weft_sem_acquire(&shared.sem, doomed->permits, WEFT_FOREVER)) return;
    doomed->give_back = give_back_permits;
    EXPECT(atom_add_rlx(&shared.taken, doomed->permits) + doomed->permits <= PERMITS);
}
static inline void give_back_mutex(struct doomed *doomed) {
    (void)doomed;
    shared.locked++;
    atom_add_rlx(&shared.locks, 1);
    weft_mutex_unlock(&shared.mutex);
}
static inline void doomed_mutex(struct doomed *doomed) {
    if (weft_mutex_lock(&shared.mutex, WEFT_FOREVER) == 0) doomed->give_back = give_back_mutex;
}
static inline void give_back_read(struct doomed *doomed) {
    (void)doomed;
    EXPECT_EQ(shared.left, shared.right);
    weft_rwlock_read_end(&shared.rwlock);
}
static inline void doomed_read(struct doomed *doomed) {
    if (weft_rwlock_read(&shared.rwlock, WEFT_FOREVER) == 0) doomed->give_back = give_back_read;
}
static inline void give_back_write(struct doomed *doomed) {
    (void)doomed;
    shared.left++;
    shared.right++;
    weft_rwlock_write_end(&shared.rwlock);
}
static inline void doomed_write(struct doomed *doomed) {
    if (weft_rwlock_write(&shared.rwlock, WEFT_FOREVER) == 0) doomed->give_back = give_back_write;
}
/* One that ends while it waits for a condition has the mutex again. */
static inline void give_back_queue(struct doomed *doomed) {
    (void)doomed;
    weft_cond_signal(&shared.queue_full); /* what it was woken for, perhaps */
    weft_mutex_unlock(&shared.queue_mutex);
}
static inline void doomed_cond(struct doomed *doomed) {
    int error = weft_mutex_lock(&shared.queue_mutex, WEFT_FOREVER);
    if (error) return;
    doomed->give_back = give_back_queue;
    while (!error && shared.queued == 0)
        error = weft_cond_wait(&shared.queue_full, &shared.queue_mutex, WEFT_FOREVER);
    if (error) return;
    shared.queued--;
    atom_add_rlx(&shared.got, 1);
    doomed->give_back = NULL;
    weft_mutex_unlock(&shared.queue_mutex);
    weft_cond_signal(&shared.queue_room);
}
static inline void doomed_chan_send(struct doomed *doomed) {
    uint64_t value = 1 + mix_below(&doomed->member, 1000000);
    if (weft_chan_send(shared.chans[mix_below(&doomed->member, CHANNELS)], &value, WEFT_FOREVER) == 0) chan_has_sent(value);
}
static inline void doomed_chan_recv(struct doomed *doomed) {
    uint64_t value = 0;
    if (weft_chan_recv(shared.chans[mix_below(&doomed->member, CHANNELS)], &value, WEFT_FOREVER) == 0) chan_has_received(value);
}
static inline void doomed_select(struct doomed *doomed) { act_select(&doomed->member); }
static inline void doomed_once(struct doomed *doomed) { act_once(&doomed->member); }
static inline void doomed_write_pipe(struct doomed *doomed) {
    unsigned char data[CHUNK];
    size_t size = 1 + mix_below(&doomed->member, CHUNK);
    memset(data, 7, size);
    if (weft_fd_write(flow.pipe[1], data, size, WEFT_FOREVER) != (ssize_t)size) return;
    atom_add_rlx(&flow.sum_written, bytes_sum(data, size));
    atom_add_rel(&flow.written, size);
}
static inline void give_back_fd(struct doomed *doomed) { EXPECT_EQ(weft_fd_close(doomed->fd), 0); }
static inline void doomed_connect(struct doomed *doomed) {
    char data[16];
    weft_fd fd = weft_net_connect(flow.where, WEFT_FOREVER);
    if (fd < 0) return;
    doomed->fd = fd;
    doomed->give_back = give_back_fd;
    atom_add_rlx(&flow.connected, 1);
    weft_fd_read(fd, data, sizeof data, WEFT_FOREVER); /* nothing comes */
}
static inline void doomed_call(struct doomed *doomed) {
    weft_msg *reply;
    (void)doomed;
    atom_add_rlx(&mail.asked, 1);
    atom_add_rel(&mail.unsure, 1);
    if (weft_call(mix.server, TAGS + 1, NULL, 0, &reply, WEFT_FOREVER)) return;
    atom_sub_rlx(&mail.unsure, 1);
    reply_check(reply, TAGS + 1);
}
/* If it has not been done, `abandoned` is told. */
static inline void give_back_errand(struct doomed *doomed) {
    free(doomed->errand);
    atom_add_rel(&work.finished, 1);
}
static inline void doomed_blocking_until(struct doomed *doomed) {
    struct errand *errand = malloc(sizeof *errand);
    *errand = (struct errand){.span = mix_below(&doomed->member, 300)};
    doomed->errand = errand;
    atom_add_rlx(&work.given, 1);
    if (weft_blocking_until(errand_run, errand, errand_abandoned, WEFT_FOREVER)) return;
    doomed->give_back = give_back_errand;
}
static inline void doomed_recv(struct doomed *doomed) {
    weft_msg *message;
    (void)doomed;
    if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
}
static inline void doomed_scope(struct doomed *doomed) {
    weft_scope scope;
    (void)doomed;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (unsigned i = 0; i < 2; i++)
        weft_scope_spawn(&scope, victim, (void *)(uintptr_t)i);
    weft_scope_end(&scope);
}

/* ---- their lives ---------------------------------------------------------------------------------------------------- */

static void (*const doomed_waits[])(struct doomed *) = {
    doomed_sem,    doomed_sem,        doomed_mutex,   doomed_read, doomed_write, doomed_cond, doomed_chan_send,      doomed_chan_recv,
    doomed_select, doomed_write_pipe, doomed_connect, doomed_call, doomed_once,  doomed_recv, doomed_blocking_until, doomed_scope};

static inline void doomed_leaves(void *arg) {
    struct doomed *doomed = arg;
    if (doomed->give_back) doomed->give_back(doomed);
    atom_add_rlx(&victims.ended_with, doomed->give_back != NULL);
}
static inline void doomed_main(void *arg) {
    struct doomed *doomed = arg;
    EXPECT_EQ(weft_defer(doomed_leaves, doomed), 0);
    if (doomed->packs && weft_own_runtime() == rt.runtime) pack_note(weft_self());
    doomed_waits[mix_below(&doomed->member, sizeof doomed_waits / sizeof doomed_waits[0])](doomed);
    for (;;)
        if (weft_sleep(WEFT_FOREVER)) weft_yield();
}
static inline void act_victim(struct member *member) {
    int reason = 0;
    weft_pid pid = WEFT_NOBODY;
    struct doomed *doomed = calloc(1, sizeof *doomed);
    doomed->packs = mix_below(member, 2);
    rng_seed(&doomed->member.rng, mix.seed, (uint64_t)1 << 40 | (uint64_t)member->id << 20 | mix_below(member, 1 << 20));
    atom_add_rlx(&victims.doomed, 1);
    weft_stackful_options options = {.flags = WEFT_SPAWN_JOINABLE | (doomed->packs ? WEFT_SPAWN_PACK : 0), .name = "victim"};
    EXPECT_EQ(weft_spawn_with(doomed_main, doomed, &options, &pid), 0);
    if (mix_below(member, 4)) weft_sleep(mix_below(member, 300000));
    EXPECT_EQ(weft_kill(pid), 0);
    weft_shield_begin();
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    weft_shield_end();
    EXPECT_EQ(reason, WEFT_EKILLED);
    free(doomed);
    atom_add_rel(&victims.over, 1);
}

static inline void victims_open(void) { memset(&victims, 0, sizeof victims); }
static inline void victims_close(void) {
    mix_balance("victims that waited", &victims.doomed, &victims.over);
    printf("  %llu killed while they waited, %llu of them had something\n", (unsigned long long)atom_load_acq(&victims.doomed),
           (unsigned long long)atom_load_acq(&victims.ended_with));
}

#endif
