/* The real table, against what the kernel promises. */
#include "sys/sys.h"
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MS = 1000 * 1000 };

TEST(linux_clock_goes_forward) {
    uint64_t before = sys->now();
    usleep(2000);
    uint64_t after = sys->now();
    EXPECT(after >= before + 2 * MS);
    EXPECT(after < before + UINT64_C(60) * 1000 * MS);
}

TEST(linux_alloc_is_zeroed_and_aligned) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 3 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int again = 0; again < 3; again++) { /* memory that was used and freed before comes back zeroed too */
            unsigned char *memory = sys->alloc(sizes[i]);
            EXPECT(memory && (uintptr_t)memory % 64 == 0);
            for (size_t k = 0; k < sizes[i]; k++)
                EXPECT(memory[k] == 0);
            memset(memory, 0xa5, sizes[i]);
            sys->free(memory, sizes[i]);
        }
    }
    sys->free(NULL, 10);
    sys->free(NULL, 10 << 20);
}

TEST(linux_alloc_says_no) {
    EXPECT(!sys->alloc(SIZE_MAX));
    EXPECT(!sys->alloc(SIZE_MAX / 4));
    EXPECT(!sys->alloc((size_t)1 << 62));
}

static atom_u32 word;
static atom_u32 slept;

TEST(linux_futex_answers_at_once_when_the_word_differs) {
    atom_store_rlx(&word, 1);
    EXPECT_EQ(sys->futex_wait(&word, 0, SYS_FOREVER), -EAGAIN);
    EXPECT_EQ(sys->futex_wake(&word, 1), 0);
}

TEST(linux_futex_deadline_is_absolute_and_monotonic) {
    atom_store_rlx(&word, 0);
    EXPECT_EQ(sys->futex_wait(&word, 0, 0), -ETIMEDOUT);
    EXPECT_EQ(sys->futex_wait(&word, 0, sys->now() - 1), -ETIMEDOUT);
    uint64_t deadline = sys->now() + 5 * MS;
    EXPECT_EQ(sys->futex_wait(&word, 0, deadline), -ETIMEDOUT);
    EXPECT(sys->now() >= deadline);
    EXPECT(sys->now() < deadline + UINT64_C(10) * 1000 * MS);
}

static void *sleeps(void *arg) {
    (void)arg;
    atom_add_rlx(&slept, 1);
    while (atom_load_acq(&word) == 0)
        sys->futex_wait(&word, 0, SYS_FOREVER);
    return NULL;
}

TEST(linux_futex_wakes_as_many_as_asked) {
    sys_thread threads[3];
    atom_store_rlx(&word, 0);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(sys->thread_start(&threads[i], sleeps, NULL), 0);
    while (atom_load_rlx(&slept) < 3)
        sys->yield();
    int woken = 0;
    for (int tries = 0; woken == 0 && tries < 1000; tries++) { /* they may not be asleep yet */
        woken = sys->futex_wake(&word, 1);
        usleep(1000);
    }
    EXPECT_EQ(woken, 1); /* it looks at the word and sleeps again */
    atom_store_rel(&word, 1);
    EXPECT(sys->futex_wake(&word, UINT32_MAX) <= 3);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(sys->thread_join(threads[i]), 0);
}

static void ignore(int signal) { (void)signal; }

static int interrupted;
static void *is_interrupted(void *arg) {
    (void)arg;
    atom_add_rlx(&slept, 1);
    interrupted = sys->futex_wait(&word, 0, SYS_FOREVER);
    atom_store_rel(&word, 1);
    return NULL;
}

TEST(linux_futex_is_interrupted_by_a_signal) {
    struct sigaction action = {.sa_handler = ignore};
    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    sys_thread thread;
    EXPECT_EQ(sys->thread_start(&thread, is_interrupted, NULL), 0);
    while (atom_load_rlx(&slept) < 1)
        sys->yield();
    while (atom_load_acq(&word) == 0) {
        pthread_kill((pthread_t)thread.handle, SIGUSR1);
        usleep(1000);
    }
    EXPECT_EQ(sys->thread_join(thread), 0);
    EXPECT_EQ(interrupted, -EINTR);
}

/* Dekker's entry with one light and one heavy fence: never do both see the other's flag unset. The two meet before
 * every round, so that they race. */
static struct {
    atom_u32 x __attribute__((aligned(64)));
    atom_u32 y __attribute__((aligned(64)));
    atom_u32 met __attribute__((aligned(64)));
} dekker;
static uint32_t rounds, *light_saw, *heavy_saw;

static void meet(uint32_t round) {
    atom_add_acqrel(&dekker.met, 1);
    for (unsigned spins = 0; atom_load_acq(&dekker.met) < 2 * round; spins++)
        if (spins > 1000) sys->yield();
}

static void *dekker_light(void *arg) {
    (void)arg;
    for (uint32_t r = 1; r <= rounds; r++) {
        meet(r);
        atom_store_rlx(&dekker.x, r);
        atom_fence_light();
        light_saw[r] = atom_load_rlx(&dekker.y);
    }
    return NULL;
}

static void run_dekker(void) {
    rounds = 20000 * test_scale();
    light_saw = calloc(rounds + 1, sizeof *light_saw);
    heavy_saw = calloc(rounds + 1, sizeof *heavy_saw);
    sys_thread thread;
    EXPECT_EQ(sys->thread_start(&thread, dekker_light, NULL), 0);
    for (uint32_t r = 1; r <= rounds; r++) {
        meet(r);
        atom_store_rlx(&dekker.y, r);
        sys_fence_heavy();
        heavy_saw[r] = atom_load_rlx(&dekker.x);
    }
    EXPECT_EQ(sys->thread_join(thread), 0);
    for (uint32_t r = 1; r <= rounds; r++)
        EXPECT(light_saw[r] >= r || heavy_saw[r] >= r);
    free(light_saw);
    free(heavy_saw);
}

TEST(linux_fences_light_and_heavy_make_dekker_right) { run_dekker(); }

TEST(linux_fences_both_full_make_dekker_right) {
    sys_fence_wish_full(true); /* as when the kernel refuses membarrier */
    EXPECT(atom_load_rlx(&atom_fence_light_is_full) && sys_fence_is_full());
    run_dekker();
    sys_fence_wish_full(true);
    sys_fence_wish_full(false);
    EXPECT(sys_fence_is_full()); /* one still wishes it */
    sys_fence_wish_full(false);
}

TEST(linux_random_fills_and_differs) {
    unsigned char a[300] = {0}, b[300] = {0};
    EXPECT_EQ(sys->random(a, sizeof a), 0);
    EXPECT_EQ(sys->random(b, sizeof b), 0);
    EXPECT(memcmp(a, b, sizeof a) != 0);
    EXPECT(memcmp(a + 200, b + 200, 100) != 0);
    EXPECT_EQ(sys->random(a, 0), 0);
}

TEST(linux_cpus_is_sane) {
    unsigned cpus = sys->cpus();
    EXPECT(cpus >= 1 && (long)cpus <= sysconf(_SC_NPROCESSORS_CONF));
}

/* ---- cgroup quotas, on a made-up tree ------------------------------------------------------------------------- */

static char root[64];

static void put(const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(full, 0700);
    }
    FILE *file = fopen(full, "w");
    EXPECT(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void begin_tree(void) {
    strcpy(root, "/tmp/weft-test-XXXXXX");
    EXPECT(mkdtemp(root));
}

static void end_tree(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    EXPECT_EQ(system(command), 0);
}

TEST(cpus_quota_of_version_2) {
    begin_tree();
    EXPECT_EQ(sys_cpus_quota(root), UINT_MAX); /* no cgroups at all */
    put("/proc/self/cgroup", "0::/user/job\n");
    EXPECT_EQ(sys_cpus_quota(root), UINT_MAX);
    put("/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
    EXPECT_EQ(sys_cpus_quota(root), UINT_MAX);
    put("/sys/fs/cgroup/user/job/cpu.max", "250000 100000\n");
    EXPECT_EQ(sys_cpus_quota(root), 3); /* rounded up */
    put("/sys/fs/cgroup/user/job/cpu.max", "1000 100000\n");
    EXPECT_EQ(sys_cpus_quota(root), 1);
    put("/sys/fs/cgroup/user/job/cpu.max", "400000 100000\n");
    EXPECT_EQ(sys_cpus_quota(root), 4);
    put("/sys/fs/cgroup/user/cpu.max", "200000 100000\n"); /* the parent allows less */
    EXPECT_EQ(sys_cpus_quota(root), 2);
    put("/sys/fs/cgroup/user/job/cpu.max", "garbage\n");
    put("/sys/fs/cgroup/user/cpu.max", "\n");
    EXPECT_EQ(sys_cpus_quota(root), UINT_MAX);
    end_tree();
}

TEST(cpus_quota_in_a_container_is_at_the_mounts_root) {
    begin_tree();
    put("/proc/self/cgroup", "0::/docker/0123456789/not/visible/here\n");
    put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    EXPECT_EQ(sys_cpus_quota(root), 2);
    end_tree();
}

TEST(cpus_quota_of_version_1) {
    begin_tree();
    put("/proc/self/cgroup", "12:cpuset:/set\n4:cpu,cpuacct:/job\n1:name=systemd:/\n0::/\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(sys_cpus_quota(root), UINT_MAX);
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
    EXPECT_EQ(sys_cpus_quota(root), 2);
    put("/sys/fs/cgroup/cpuset/set/cpu.cfs_quota_us", "1\n"); /* not the cpu controller */
    EXPECT_EQ(sys_cpus_quota(root), 2);
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "0\n");
    EXPECT_EQ(sys_cpus_quota(root), UINT_MAX);
    end_tree();
}

TEST(cpus_quota_survives_broken_files) {
    begin_tree();
    put("/proc/self/cgroup", "no colons\n::\n5:cpu\n:\n0::relative\n\n");
    EXPECT_EQ(sys_cpus_quota(root), UINT_MAX);
    char longest[9000];
    memset(longest, 'x', sizeof longest - 1);
    memcpy(longest, "0::/", 4);
    longest[sizeof longest - 1] = '\0';
    put("/proc/self/cgroup", longest);
    EXPECT_EQ(sys_cpus_quota(root), UINT_MAX);
    end_tree();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
