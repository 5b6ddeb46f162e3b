/* The read-write lock: many readers or one writer, in order, and neither side starves. */
#include "crowd.h"

#include <weft/sync.h>

static weft_rwlock rwlock;
static atom_u64 readers, writers, over, got, late, canceled;
static uint64_t plain; /* under the lock */

static void forget(void) {
    memset(&rwlock, 0, sizeof rwlock);
    atom_u64 *const all[] = {&readers, &writers, &over, &got, &late, &canceled};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        atom_store_rlx(all[i], 0);
    plain = 0;
}

TEST(rwlock_alone) {
    forget();
    EXPECT_EQ(weft_rwlock_read(&rwlock, 0), 0);
    EXPECT_EQ(weft_rwlock_read(&rwlock, 0), 0);
    EXPECT_EQ(weft_rwlock_write(&rwlock, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_rwlock_write(&rwlock, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    weft_rwlock_read_end(&rwlock);
    weft_rwlock_read_end(&rwlock);
    EXPECT_EQ(weft_rwlock_write(&rwlock, 0), 0);
    EXPECT_EQ(weft_rwlock_read(&rwlock, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_rwlock_read(&rwlock, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    weft_rwlock_write_end(&rwlock);
    EXPECT_EQ(weft_rwlock_read(&rwlock, 0), 0);
    weft_rwlock_read_end(&rwlock);
}

/* ---- one writer or many readers -------------------------------------------------------------------------------------- */

enum { CROWD = 12 };
static uint64_t rounds;
static bool hurried;

static void reads_or_writes(void *number) {
    struct rng rng;
    rng_seed(&rng, crowd_seed, (uintptr_t)number);
    bool process = weft_self() != WEFT_NOBODY;
    crowd_begin();
    for (uint64_t i = 0; i < rounds; i++) {
        bool write = rng_below(&rng, 4) == 0;
        uint32_t kind = hurried ? rng_below(&rng, 4) : 3;
        uint64_t deadline = kind == 0 ? 0 : kind == 1 ? weft_now() : kind == 2 ? weft_in(rng_below(&rng, 20000)) : WEFT_FOREVER;
        int error = write ? weft_rwlock_write(&rwlock, deadline) : weft_rwlock_read(&rwlock, deadline);
        if (error) {
            EXPECT_EQ(error, WEFT_ETIMEDOUT);
            atom_add_rlx(&late, 1);
            continue;
        }
        uint64_t before = plain;
        uint64_t others = atom_add_rlx(write ? &writers : &readers, 1);
        EXPECT_EQ(atom_load_rlx(write ? &readers : &writers), 0);
        if (write) EXPECT_EQ(others, 0);
        if (process && rng_below(&rng, 3) == 0) weft_yield();
        EXPECT_EQ(plain, before);
        if (write) plain = before + 1;
        atom_sub_rlx(write ? &writers : &readers, 1);
        if (write) atom_add_rlx(&got, 1);
        if (write) weft_rwlock_write_end(&rwlock);
        else weft_rwlock_read_end(&rwlock);
    }
    atom_add_rel(&over, 1);
}
static void *thread_reads_or_writes(void *number) {
    reads_or_writes(number);
    return NULL;
}
static void excludes(void) {
    for (unsigned threads = 0; threads <= 2; threads += 2) {
        pthread_t thread[2];
        crowd_close(8);
        forget();
        rounds = (threads ? 300 : 1000) * test_scale() / RT_SLOW;
        for (uintptr_t i = 0; i < CROWD; i++)
            crowd_spawn(reads_or_writes, (void *)i);
        for (uintptr_t i = 0; i < threads; i++)
            thread[i] = crowd_thread(thread_reads_or_writes, (void *)(CROWD + i));
        crowd_open();
        rt_wait(&over, CROWD + threads);
        for (unsigned i = 0; i < threads; i++)
            crowd_gather(thread[i]);
        EXPECT_EQ(plain, atom_load_rlx(&got));
        EXPECT_EQ(weft_rwlock_write(&rwlock, 0), 0);
        weft_rwlock_write_end(&rwlock);
        rt_wait_until_none_lives();
    }
}
TEST_WITHIN(rwlock_excludes, 120) { rt_each(excludes); }
TEST_WITHIN(rwlock_excludes_with_deadlines, 120) {
    hurried = true;
    rt_each(excludes);
}

/* ---- order ----------------------------------------------------------------------------------------------------------- */

/* It looks like this inside; for waiting until a process waits. */
struct rwlock_inside {
    atom_u32 word;
    struct lock lock;
    struct waiters waiting;
};
static void queue(size_t count) {
    struct rwlock_inside *inner = (struct rwlock_inside *)(void *)&rwlock;
    crowd_queue(&inner->lock, &inner->waiting, count);
}
static atom_u64 gate;
static void reads(void *unused) {
    (void)unused;
    int error = weft_rwlock_read(&rwlock, WEFT_FOREVER);
    if (error) {
        atom_add_rel(&canceled, 1);
        return;
    }
    atom_add_rel(&readers, 1);
    while (!atom_load_acq(&gate))
        weft_yield();
    weft_rwlock_read_end(&rwlock);
    atom_add_rel(&over, 1);
}
static void writes(void *unused) {
    (void)unused;
    int error = weft_rwlock_write(&rwlock, WEFT_FOREVER);
    if (error) {
        atom_add_rel(&canceled, 1);
        return;
    }
    atom_add_rel(&writers, 1);
    weft_rwlock_write_end(&rwlock);
    atom_add_rel(&over, 1);
}
static void in_order(void) {
    forget();
    atom_store_rlx(&gate, 0);
    EXPECT_EQ(weft_rwlock_read(&rwlock, 0), 0);
    weft_pid writer = crowd_spawn(writes, NULL);
    queue(1);
    crowd_spawn(reads, NULL);
    crowd_spawn(reads, NULL);
    queue(3);
    EXPECT_EQ(weft_rwlock_read(&rwlock, 0), WEFT_ETIMEDOUT); /* not past the writer */
    /* The writer gives up: the readers come in beside the one that is there. */
    weft_cancel(writer);
    rt_wait(&canceled, 1);
    rt_wait(&readers, 2);
    crowd_spawn(writes, NULL);
    queue(1);
    crowd_spawn(reads, NULL);
    queue(2);
    atom_store_rel(&gate, 1);
    rt_wait(&over, 2);
    EXPECT_EQ(atom_load_acq(&writers), 0);
    weft_rwlock_read_end(&rwlock); /* the last */
    rt_wait(&writers, 1);
    rt_wait(&over, 4);
    rt_wait_until_none_lives();
    EXPECT_EQ(weft_rwlock_write(&rwlock, 0), 0);
    weft_rwlock_write_end(&rwlock);
}
TEST(rwlock_in_order) { rt_each(in_order); }

/* ---- the last user frees it ------------------------------------------------------------------------------------------ */

struct shared {
    weft_rwlock rwlock;
    atom_u32 users;
};
static void uses_and_leaves(void *arg) {
    struct shared *shared = arg;
    EXPECT_EQ(weft_rwlock_read(&shared->rwlock, WEFT_FOREVER), 0);
    weft_rwlock_read_end(&shared->rwlock);
    EXPECT_EQ(weft_rwlock_write(&shared->rwlock, WEFT_FOREVER), 0);
    bool last = atom_sub_rlx(&shared->users, 1) == 1;
    weft_rwlock_write_end(&shared->rwlock);
    if (last) free(shared);
    atom_add_rel(&over, 1);
}
static void is_freed(void) {
    unsigned times = 200 * test_scale() / RT_SLOW;
    forget();
    for (unsigned i = 0; i < times; i++) {
        struct shared *shared = calloc(1, sizeof *shared);
        atom_store_rlx(&shared->users, 4);
        for (unsigned user = 0; user < 4; user++)
            crowd_spawn(uses_and_leaves, shared);
    }
    rt_wait(&over, 4 * times);
    rt_wait_until_none_lives();
}
TEST(rwlock_freed_by_the_last) { rt_each(is_freed); }

static void ends_nothing(void) {
    forget();
    weft_rwlock_read_end(&rwlock);
}
static void ends_the_other_half(void) {
    forget();
    EXPECT_EQ(weft_rwlock_read(&rwlock, 0), 0);
    weft_rwlock_write_end(&rwlock);
}
TEST(rwlock_misuse_aborts) {
    EXPECT_ABORT(ends_nothing, "weft_rwlock_read_end", "not locked in this way");
    EXPECT_ABORT(ends_the_other_half, "weft_rwlock_write_end", "not locked in this way");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
