/* Semaphore, read-write lock, once and wait group, the real sources: what is guarded is plain data, so two at once, or one that does not
 * see what the other did, is a race; one that is forgotten is a lost wake-up; and the memory is freed by the process that is let in
 * last. */
#include "small_fiber.h"

#include <weft/sync.h>

SHARED unsigned room;                  /* plain: only under the lock */
SHARED unsigned entered[SMALL_FIBERS]; /* each written by its own thread */
SHARED int answers[SMALL_FIBERS];

/* All of these begin with a word, a small lock and a list. */
struct inside {
    atom_u32 word;
    struct lock lock;
    struct waiters waiting;
};
struct inside_wide {
    atom_u64 word;
    struct lock lock;
    struct waiters waiting;
};

/* ---- semaphore ------------------------------------------------------------------------------------------------------- */

static weft_sem *sem;
static void setup_sem(void) {
    small_fibers(3);
    sem = sys->alloc(sizeof *sem);
    weft_sem_init(sem, 0);
    chk_name(sem, "sem");
    chk_name((uint32_t *)(void *)sem + 2, "sem.lock");
}
static void release_0(void) {
    small_process(0);
    entered[0] = 1;
    weft_sem_release(sem, 1);
}
static void release_1(void) {
    small_process(1);
    entered[1] = 1;
    weft_sem_release(sem, 1);
}
static void release_twice(void) {
    release_0();
    entered[1] = 1;
    weft_sem_release(sem, 1);
}
static void acquire_two(uint64_t deadline) {
    weft_sem *mine = sem;
    int error = weft_sem_acquire(mine, 2, deadline);
    if (error) error = weft_sem_acquire(mine, 2, WEFT_FOREVER);
    chk_assert(error == 0, "acquired");
    chk_assert(entered[0] + entered[1] == 2, "with what the others did before");
    sys->free(mine, sizeof *mine);
}
static void acquire_2(void) {
    small_process(2);
    acquire_two(WEFT_FOREVER);
}
static void acquire_2_one_by_one(void) {
    small_process(2);
    weft_sem *mine = sem;
    chk_assert(weft_sem_acquire(mine, 1, WEFT_FOREVER) == 0 && weft_sem_acquire(mine, 1, WEFT_FOREVER) == 0, "acquired");
    chk_assert(entered[0] + entered[1] == 2, "with what the others did before");
    sys->free(mine, sizeof *mine);
}
static void thread_acquires_soon(void) {
    small_thread();
    acquire_two(SMALL_SOON);
}
SCENARIO(sem_two, .about = "one releases twice || one acquires two and frees it (Q1-Q3)", .setup = setup_sem,
         .threads = {release_twice, acquire_2})
SCENARIO(sem_one_by_one, .about = "the same, one by one", .setup = setup_sem, .threads = {release_twice, acquire_2_one_by_one})
SCENARIO(sem_timeout, .about = "the same, by a thread that gives up and comes again", .setup = setup_sem,
         .threads = {release_twice, thread_acquires_soon}, .deep_in = CHK_SC | CHK_TSO)

static void setup_sem_queued(void) {
    setup_sem();
    struct inside_wide *inside = (struct inside_wide *)(void *)sem;
    atom_store_rlx(&inside->word, 1);
    small_queue(2, &inside->waiting, 2);
}
static void sem_queued_2(void) {
    weft_sem *mine = sem;
    small_queued(2);
    chk_assert(entered[0] + entered[1] == 2, "with what the others did before");
    sys->free(mine, sizeof *mine);
}
SCENARIO(sem_queued, .about = "two release one each || one waits for two, and frees it", .setup = setup_sem_queued,
         .threads = {release_0, release_1, sem_queued_2})
static void sem_freed(void) { sys->free(sem, sizeof *sem); }
static void acquire_one(unsigned number) {
    small_process(number);
    chk_assert(weft_sem_acquire(sem, 1, WEFT_FOREVER) == 0, "acquired");
    chk_assert(entered[0] == 1, "with what was done before");
}
static void acquire_one_1(void) { acquire_one(1); }
static void release_two_0(void) {
    small_process(0);
    entered[0] = 1;
    weft_sem_release(sem, 2);
}
SCENARIO(sem_both, .about = "one releases two || one acquires one: the other stays", .setup = setup_sem,
         .threads = {release_two_0, acquire_one_1}, .finish = sem_freed)

/* A permit lies there with QUEUE (sem.h, Q3): one takes both away while another releases. */
static void setup_sem_left(void) {
    setup_sem();
    atom_store_rlx(&((struct inside_wide *)(void *)sem)->word, 1 << 1 | 1);
}
static void acquire_left_1(void) {
    small_process(1);
    chk_assert(weft_sem_acquire(sem, 1, WEFT_FOREVER) == 0, "acquired");
    weft_sem_release(sem, 1);
}
static void two_left(void) {
    chk_assert(weft_sem_acquire(sem, 2, 0) == 0 && weft_sem_acquire(sem, 1, 0) == WEFT_ETIMEDOUT, "two are left");
    sys->free(sem, sizeof *sem);
}
SCENARIO(sem_left, .about = "one releases || one acquires, takes QUEUE away, and releases", .setup = setup_sem_left,
         .threads = {release_0, acquire_left_1}, .finish = two_left)

/* ---- read-write lock ------------------------------------------------------------------------------------------------- */

static weft_rwlock rwlock;
static void setup_rwlock(void) {
    small_fibers(3);
    atom_store_rlx((atom_u32 *)(void *)&rwlock, 0);
    atom_store_rlx((atom_u32 *)(void *)&rwlock + 1, LOCK_FREE);
    rwlock.opaque[1] = rwlock.opaque[2] = 0;
    chk_name(&rwlock, "rwlock");
    chk_name((atom_u32 *)(void *)&rwlock + 1, "rwlock.lock");
}
static void read_once(unsigned number) {
    small_process(number);
    chk_assert(weft_rwlock_read(&rwlock, WEFT_FOREVER) == 0, "in");
    chk_assert(room % 2 == 0, "no writer is inside");
    weft_rwlock_read_end(&rwlock);
}
static void read_0(void) { read_once(0); }
static void read_1(void) { read_once(1); }
static void write_once(unsigned number) {
    small_process(number);
    chk_assert(weft_rwlock_write(&rwlock, WEFT_FOREVER) == 0, "in");
    room++;
    room++;
    weft_rwlock_write_end(&rwlock);
}
static void write_1(void) { write_once(1); }
static void write_2(void) { write_once(2); }
SCENARIO(rwlock_reader_writer, .about = "a reader || a writer", .setup = setup_rwlock, .threads = {read_0, write_2})
SCENARIO(rwlock_writers, .about = "two writers", .setup = setup_rwlock, .threads = {write_1, write_2})
SCENARIO(rwlock_readers, .about = "two readers", .setup = setup_rwlock, .threads = {read_0, read_1})

/* Two readers are in it, and a writer waits. */
static void setup_rwlock_read(void) {
    setup_rwlock();
    struct inside *inside = (struct inside *)(void *)&rwlock;
    atom_store_rlx(&inside->word, 2 * 4 | 2);
    small_queue(2, &inside->waiting, 1);
}
static void end_reading(unsigned number) {
    small_process(number);
    chk_assert(room == 0, "no writer was inside");
    weft_rwlock_read_end(&rwlock);
}
static void end_reading_0(void) { end_reading(0); }
static void end_reading_1(void) { end_reading(1); }
static void queued_writer(void) {
    small_queued(2);
    room++;
    room++;
    weft_rwlock_write_end(&rwlock);
}
SCENARIO(rwlock_queued_writer, .about = "two readers end || a writer waits (R1-R3)", .setup = setup_rwlock_read,
         .threads = {end_reading_0, end_reading_1, queued_writer})

/* A writer is in it, and a reader waits. */
static void setup_rwlock_written(void) {
    setup_rwlock();
    struct inside *inside = (struct inside *)(void *)&rwlock;
    atom_store_rlx(&inside->word, 1 | 2);
    small_queue(2, &inside->waiting, 4);
}
static void end_writing_0(void) {
    small_process(0);
    room += 2;
    weft_rwlock_write_end(&rwlock);
}
static void queued_reader(void) {
    small_queued(2);
    chk_assert(room == 2, "what the writer did is seen");
    weft_rwlock_read_end(&rwlock);
}
SCENARIO(rwlock_queued_reader, .about = "a writer ends || a reader waits || a reader comes", .setup = setup_rwlock_written,
         .threads = {end_writing_0, queued_reader, read_1})

/* A reader is in it and no process waits, but QUEUE was left set: the next one that comes takes it away. */
static void setup_rwlock_left(void) {
    setup_rwlock();
    atom_store_rlx(&((struct inside *)(void *)&rwlock)->word, 4 | 2);
}
static void rwlock_is_free(void) { chk_assert(weft_rwlock_write(&rwlock, 0) == 0, "no process is left in it"); }
static void read_and_write_1(void) {
    read_once(1);
    write_once(1);
}
SCENARIO(rwlock_left, .about = "a reader ends || a reader comes and takes QUEUE away", .setup = setup_rwlock_left,
         .threads = {end_reading_0, read_1}, .finish = rwlock_is_free)
SCENARIO(rwlock_left_write, .about = "a reader ends || a reader comes, takes QUEUE away, and writes", .setup = setup_rwlock_left,
         .threads = {end_reading_0, read_and_write_1}, .finish = rwlock_is_free)

/* ---- once ------------------------------------------------------------------------------------------------------------ */

static weft_once once;
SHARED unsigned runs, made;
static void setup_once(void) {
    small_fibers(3);
    atom_store_rlx((atom_u32 *)(void *)&once, 0);
    atom_store_rlx((atom_u32 *)(void *)&once + 1, LOCK_FREE);
    once.opaque[1] = once.opaque[2] = 0;
    chk_name(&once, "once");
    chk_name((atom_u32 *)(void *)&once + 1, "once.lock");
}
static int make(void *unused) {
    (void)unused;
    made = 42;
    return 0;
}
static int make_second_time(void *unused) {
    (void)unused;
    if (runs++ == 0) return -7;
    made = 42;
    return 0;
}
static void do_once(unsigned number, int (*function)(void *)) {
    small_process(number);
    answers[number] = weft_once_do(&once, function, NULL, WEFT_FOREVER);
    if (answers[number] == 0) chk_assert(made == 42, "it is done");
}
static void once_0(void) { do_once(0, make); }
static void once_1(void) { do_once(1, make); }
static void once_fails_0(void) { do_once(0, make_second_time); }
static void once_fails_1(void) { do_once(1, make_second_time); }
static void one_has_failed(void) { chk_assert(answers[0] + answers[1] == -7 && runs == 2, "one failed, the other did it"); }
SCENARIO(once_two, .about = "two come at once", .setup = setup_once, .threads = {once_0, once_1})
SCENARIO(once_fails, .about = "the same, and the first run fails (O3)", .setup = setup_once, .threads = {once_fails_0, once_fails_1},
         .finish = one_has_failed)

/* Process 1 came to wait while the function ran. */
static int make_and_be_waited_for(void *unused) {
    struct inside *inside = (struct inside *)(void *)&once;
    (void)unused;
    made = 42;
    lock_take(&inside->lock);
    small_join(&inside->waiting);
    atom_or_rlx(&inside->word, 2);
    lock_drop(&inside->lock);
    return 0;
}
static void setup_once_queued(void) {
    setup_once();
    small_queue(1, NULL, 0);
}
static void once_waited_for_0(void) { do_once(0, make_and_be_waited_for); }
static void once_queued_1(void) {
    small_queued(1);
    chk_assert(made == 42, "it is done");
}
static void once_2(void) {
    small_process(2);
    answers[2] = weft_once_do(&once, make, NULL, 0);
    chk_assert(answers[2] == WEFT_ETIMEDOUT || made == 42, "it is done, or not yet");
}
/* Only those in which process 0 is first. */
static void once_2_later(void) {
    chk_assume(atom_load_rlx(&((struct inside *)(void *)&once)->word) != 0);
    once_2();
}
SCENARIO(once_queued, .about = "one runs it || one waits || one comes by", .setup = setup_once_queued,
         .threads = {once_waited_for_0, once_queued_1, once_2_later})

/* ---- wait group ------------------------------------------------------------------------------------------------------ */

static weft_waitgroup *group;
static void setup_group(void) {
    small_fibers(3);
    group = sys->alloc(sizeof *group);
    atom_store_rlx((atom_u32 *)(void *)group, 0);
    atom_store_rlx((atom_u32 *)(void *)group + 1, LOCK_FREE);
    group->opaque[1] = group->opaque[2] = 0;
    chk_name(group, "group");
    chk_name((atom_u32 *)(void *)group + 1, "group.lock");
    weft_waitgroup_add(group, 2);
}
static void done(unsigned number) {
    small_process(number);
    entered[number] = 1;
    weft_waitgroup_done(group);
}
static void done_0(void) { done(0); }
static void done_1(void) { done(1); }
static void await_group(void) {
    small_process(2);
    weft_waitgroup *mine = group;
    chk_assert(weft_waitgroup_wait(mine, WEFT_FOREVER) == 0, "all are done");
    chk_assert(entered[0] + entered[1] == 2, "and what they did is seen");
    sys->free(mine, sizeof *mine);
}
static void done_twice(void) {
    done(0);
    entered[1] = 1;
    weft_waitgroup_done(group);
}
SCENARIO(waitgroup_wait, .about = "done twice || one waits, and frees it (G1-G3)", .setup = setup_group,
         .threads = {done_twice, await_group})
static void setup_group_queued(void) {
    setup_group();
    struct inside *inside = (struct inside *)(void *)group;
    atom_or_rlx(&inside->word, 1);
    small_queue(2, &inside->waiting, 0);
}
static void group_queued(void) {
    weft_waitgroup *mine = group;
    small_queued(2);
    chk_assert(entered[0] + entered[1] == 2, "what they did is seen");
    sys->free(mine, sizeof *mine);
}
SCENARIO(waitgroup_queued, .about = "two are done || one waits, and frees it", .setup = setup_group_queued,
         .threads = {done_0, done_1, group_queued})

/* Adding goes on while something is under way. */
static void setup_group_one(void) {
    setup_group_queued();
    atom_store_rlx(&((struct inside *)(void *)group)->word, 1 * 2 | 1);
}
static void add_and_done_1(void) {
    small_process(1);
    weft_waitgroup_add(group, 1);
    weft_waitgroup_done(group);
}
static void group_queued_stays(void) { small_queued(2); }
static void group_is_empty(void) {
    chk_assert(weft_waitgroup_wait(group, 0) == 0, "nothing is under way");
    sys->free(group, sizeof *group);
}
SCENARIO(waitgroup_add, .about = "one is done || one adds and is done || one waits", .setup = setup_group_one,
         .threads = {done_0, add_and_done_1, group_queued_stays}, .finish = group_is_empty)

static void thread_awaits_soon(void) {
    small_thread();
    weft_waitgroup *mine = group;
    int answer = weft_waitgroup_wait(mine, SMALL_SOON);
    if (answer) answer = weft_waitgroup_wait(mine, WEFT_FOREVER);
    chk_assert(answer == 0 && entered[0] + entered[1] == 2, "all are done, and what they did is seen");
    sys->free(mine, sizeof *mine);
}
SCENARIO(waitgroup_timeout, .about = "done twice || a thread waits, gives up, waits again", .setup = setup_group,
         .threads = {done_twice, thread_awaits_soon})

/* Wakes the waiter after the last step to 0, which the waiter may have seen by itself. */
static void twin_done_1(void) {
    small_process(1);
    entered[1] = 1;
    struct inside *inside = (struct inside *)(void *)group;
    if (atom_sub_acqrel(&inside->word, 2) >> 1 != 1) return;
    lock_take(&inside->lock);
    struct waiter *waiter = waiters_claim(&inside->waiting);
    lock_drop(&inside->lock);
    if (waiter) waiter_wake(waiter);
}
SCENARIO(waitgroup_twin, .about = "the count becomes 0 before the lock is taken: the waiter has freed the memory", .setup = setup_group,
         .threads = {done_0, twin_done_1, await_group}, .flawed_in = CHK_ALL, .flaw = CHK_NONE)
