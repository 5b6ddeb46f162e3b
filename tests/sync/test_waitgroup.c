/* The wait group: the waiter goes on when everything is done, sees what was done, and may take the memory away. */
#include "crowd.h"

#include <weft/sync.h>

static atom_u64 over, canceled, late, fine;

static void forget(void) {
    atom_u64 *const all[] = {&over, &canceled, &late, &fine};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        atom_store_rlx(all[i], 0);
}

TEST(waitgroup_alone) {
    weft_waitgroup group = WEFT_WAITGROUP_INIT;
    EXPECT_EQ(weft_waitgroup_wait(&group, 0), 0);
    EXPECT_EQ(weft_waitgroup_wait(&group, WEFT_FOREVER), 0);
    weft_waitgroup_add(&group, 2);
    EXPECT_EQ(weft_waitgroup_wait(&group, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_waitgroup_wait(&group, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    weft_waitgroup_done(&group);
    EXPECT_EQ(weft_waitgroup_wait(&group, 0), WEFT_ETIMEDOUT);
    weft_waitgroup_done(&group);
    EXPECT_EQ(weft_waitgroup_wait(&group, WEFT_FOREVER), 0);
}

/* ---- work handed out, and the group freed as soon as it is done ------------------------------------------------------ */

enum { CROWD = 8, PARTS = 6 };
struct job {
    weft_waitgroup group;
    uint64_t result[PARTS]; /* plain */
};
struct part {
    struct job *job;
    unsigned number;
};
static void works(void *arg) {
    struct part *part = arg;
    if (part->number % 2) weft_yield();
    part->job->result[part->number] = part->number + 1;
    struct job *job = part->job;
    free(part);
    weft_waitgroup_done(&job->group);
}
static void hands_out(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 100 / RT_SLOW; round++) {
        struct job *job = calloc(1, sizeof *job);
        weft_waitgroup_add(&job->group, PARTS);
        for (unsigned i = 0; i < PARTS; i++) {
            struct part *part = malloc(sizeof *part);
            *part = (struct part){job, i};
            EXPECT(weft_spawn(works, part) != WEFT_NOBODY);
        }
        EXPECT_EQ(weft_waitgroup_wait(&job->group, WEFT_FOREVER), 0);
        for (unsigned i = 0; i < PARTS; i++)
            EXPECT_EQ(job->result[i], i + 1);
        free(job);
    }
    atom_add_rel(&over, 1);
}
static void sees_and_frees(void) {
    forget();
    for (unsigned i = 0; i < CROWD; i++)
        crowd_spawn(hands_out, NULL);
    rt_wait(&over, CROWD);
    rt_wait_until_none_lives();
}
TEST_WITHIN(waitgroup_sees_and_frees, 60) { rt_each(sees_and_frees); }

/* ---- many wait, some give up, threads too ---------------------------------------------------------------------------- */

static weft_waitgroup shared;
static uint64_t patience, plain;
static void waits(void *unused) {
    (void)unused;
    int error = weft_waitgroup_wait(&shared, patience);
    if (error == 0) EXPECT_EQ(plain, 5);
    atom_add_rel(error == 0 ? &fine : error == WEFT_ECANCELED ? &canceled : &late, 1);
}
static void *thread_waits(void *unused) {
    waits(unused);
    return NULL;
}
static void wakes_all(void) {
    weft_pid pids[CROWD];
    forget();
    memset(&shared, 0, sizeof shared);
    plain = 0;
    patience = WEFT_FOREVER;
    weft_waitgroup_add(&shared, 1);
    for (unsigned i = 0; i < CROWD; i++)
        pids[i] = crowd_spawn(waits, NULL);
    pthread_t thread = crowd_thread(thread_waits, NULL);
    weft_cancel(pids[1]);
    weft_cancel(pids[2]);
    rt_wait(&canceled, 2);
    EXPECT_EQ(weft_waitgroup_wait(&shared, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    weft_waitgroup_add(&shared, 1);
    weft_waitgroup_done(&shared);
    EXPECT_EQ(atom_load_acq(&fine), 0);
    plain = 5;
    weft_waitgroup_done(&shared);
    rt_wait(&fine, CROWD - 2 + 1);
    crowd_gather(thread);
    rt_wait_until_none_lives();

    weft_waitgroup_add(&shared, 1); /* again */
    patience = weft_in(2 * WEFT_MILLISECOND);
    for (unsigned i = 0; i < CROWD; i++)
        crowd_spawn(waits, NULL);
    rt_wait(&late, CROWD);
    weft_waitgroup_done(&shared);
    EXPECT_EQ(weft_waitgroup_wait(&shared, 0), 0);
    rt_wait_until_none_lives();
}
TEST(waitgroup_wakes_all) { rt_each(wakes_all); }

static void done_too_often(void) {
    weft_waitgroup group = WEFT_WAITGROUP_INIT;
    weft_waitgroup_done(&group);
}
static void adds_too_many(void) {
    weft_waitgroup group = WEFT_WAITGROUP_INIT;
    weft_waitgroup_add(&group, WEFT_WAITGROUP_MAX);
    weft_waitgroup_add(&group, 1);
}
TEST(waitgroup_misuse_aborts) {
    EXPECT_ABORT(done_too_often, "weft_waitgroup_done", "the count is 0");
    EXPECT_ABORT(adds_too_many, "weft_waitgroup_add", "WEFT_WAITGROUP_MAX");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
