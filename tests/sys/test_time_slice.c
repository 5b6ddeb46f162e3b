/* How long a thread may compute before it is another's turn, and how exactly it is woken: what new threads have, and what their creator has
 * afterwards. A kernel without slices (before Linux 6.12) is left as it is. */
#include "slices.h"
#include "sys/sys.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>

enum { USUAL = 100000, CHOSEN = 3000000, SLACK_CHOSEN = 40000 };

static void choose(uint32_t policy, uint64_t slice) {
    struct sched sched = {.size = sizeof sched, .policy = policy, .runtime = slice};
    EXPECT_EQ(syscall(SYS_sched_setattr, 0, &sched, 0), 0);
}
static bool has_slices(void) {
    bool has = slice_of(0) != 0;
    if (!has) printf("note: this kernel has no slices\n");
    return has;
}

static struct {
    uint64_t slice;
    int slack;
} newborn;
static void *looks(void *arg) {
    newborn.slice = slice_of(0);
    newborn.slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    return arg;
}
static void start_one(void) {
    sys_thread thread;
    EXPECT_EQ(sys->thread_start(&thread, looks, NULL), 0);
    EXPECT_EQ(sys->thread_join(thread), 0);
}

TEST(slice_of_a_new_thread_and_of_its_creator) {
    EXPECT_EQ(prctl(PR_SET_TIMERSLACK, SLACK_CHOSEN, 0, 0, 0), 0);
    bool has = has_slices();
    if (has) choose(SCHED_OTHER, CHOSEN);
    start_one();
    EXPECT_EQ(newborn.slack, 1);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), SLACK_CHOSEN);
    if (!has) return;
    EXPECT_EQ(newborn.slice, USUAL);
    EXPECT_EQ(slice_of(0), CHOSEN);
}

/* Another policy has been chosen, and new threads have it too. */
TEST(slice_of_another_policy_is_left_alone) {
    if (!has_slices()) return;
    choose(SCHED_BATCH, CHOSEN);
    start_one();
    EXPECT_EQ(newborn.slice, CHOSEN);
    sys->thread_patient(sys->thread_id(), true);
    EXPECT_EQ(slice_of(0), CHOSEN);
    EXPECT_EQ(sched_of(0).policy, SCHED_BATCH);
}

static void *is_patient(void *arg) {
    uint32_t self = sys->thread_id();
    EXPECT_EQ(slice_of(0), USUAL);
    sys->thread_patient(self, true);
    sys->thread_patient(self, true);
    EXPECT(slice_of(0) > 100 * USUAL);
    sys->thread_patient(self, false);
    sys->thread_patient(self, false);
    EXPECT_EQ(slice_of(0), USUAL);
    /* It makes a thread: neither is patient then. A thread that takes patience back while it does must not find that it has come back. */
    sys->thread_patient(self, true);
    start_one();
    EXPECT_EQ(newborn.slice, USUAL);
    EXPECT_EQ(slice_of(0), USUAL);
    return arg;
}
TEST(slice_of_the_patient) {
    if (!has_slices()) return;
    sys_thread thread;
    EXPECT_EQ(sys->thread_start(&thread, is_patient, NULL), 0);
    EXPECT_EQ(sys->thread_join(thread), 0);
}

/* The program has chosen another slice for a thread of the runtime, before it was a hog's or while it was. */
static void *chooses(void *arg) {
    uint32_t self = sys->thread_id();
    sys->thread_patient(self, true);
    choose(SCHED_OTHER, CHOSEN);
    sys->thread_patient(self, false);
    EXPECT_EQ(slice_of(0), CHOSEN);
    sys->thread_patient(self, true);
    EXPECT_EQ(slice_of(0), CHOSEN);
    return arg;
}
TEST(slice_that_was_chosen_is_left_alone) {
    if (!has_slices()) return;
    sys_thread thread;
    EXPECT_EQ(sys->thread_start(&thread, chooses, NULL), 0);
    EXPECT_EQ(sys->thread_join(thread), 0);
}

TEST(slice_of_no_thread) {
    errno = 77;
    sys->thread_patient(UINT32_MAX / 2, true);
    EXPECT_EQ(errno, 77);
}

/* Refused: a process that makes a blocking call comes by, and keeps its errno; and the slice and the slack are as they were. */
TEST(slice_and_errno_when_a_thread_is_refused) {
    pthread_attr_t huge;
    sys_thread thread;
    uint64_t slice = slice_of(0);
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    EXPECT_EQ(pthread_attr_init(&huge), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, (size_t)1 << 62), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    errno = 77;
    EXPECT(sys->thread_start(&thread, looks, NULL) < 0);
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(slice_of(0), slice);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), slack);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
