/* A process that was interrupted goes on with every register as it was: general, flags, vectors, masks, modes, x87. */
#include "preempt_helpers.h"

#include "thread/stopped.h"

#if defined(__x86_64__)
#include "registers_x86_64.h"
#else
#include "registers_aarch64.h"
#endif

enum { PROCESSES = 6, SPINS = 30000 };
/* Where others use the machine: how long a runtime lasts at most, and all of them; long before the limits that end a test which hangs. */
enum { SECONDS_EACH = 8, SECONDS_ALL = 120, PREEMPTIONS_LEAST = PREEMPTIONS / 20 };

static atom_bool over;
static atom_u64 done, mismatches, checks;

static void fill(struct image *image, uint64_t *seed) {
    unsigned char *bytes = (unsigned char *)image;
    for (size_t i = 0; i < sizeof *image; i++)
        bytes[i] = (unsigned char)(rng_splitmix(seed) >> 40);
    image_tame(image);
}

static void holder(void *arg) {
    uint64_t seed = (uintptr_t)arg;
    struct image in, out;
    while (!atom_load_rlx(&over)) {
        fill(&in, &seed);
        image_blank(&out, &in);
        hold_registers(&in, &out, SPINS);
        if (!same(&in, &out)) atom_add_rlx(&mismatches, 1);
        atom_add_rlx(&checks, 1);
    }
    atom_add_rel(&done, 1);
}

static void hold(const char *policy, unsigned workers, uint64_t preemptions) {
    pre_start(policy, workers, 50);
    struct runtime *runtime = (struct runtime *)rt.runtime;
    atom_store_rlx(&over, false);
    atom_store_rlx(&done, 0);
    for (uintptr_t i = 1; i <= PROCESSES; i++)
        victim_spawn(holder, (void *)i, 0, "holder");
    /* More often than sysmon would. */
    for (uint64_t end = weft_in(SECONDS_EACH * RT_SECOND); rt_stats().preemptions < preemptions && weft_now() < end;) {
        for (unsigned i = 0; i < workers; i++)
            preempt_evict(atom_load_rlx(&runtime->workers[i]));
        for (volatile unsigned i = 0; i < 20000; i++) {}
    }
    atom_store_rlx(&over, true);
    rt_wait(&done, PROCESSES);
    printf("note: %s, %u workers: %lu preemptions, %lu images compared, %lu differ\n", policy, workers, rt_stats().preemptions,
           atom_load_rlx(&checks), atom_load_rlx(&mismatches));
    EXPECT_EQ(atom_load_rlx(&mismatches), 0);
    rt_stop();
}

/* A holder that was not interrupted sees the same, and one whose registers were changed sees that. */
TEST(registers_comparison_works) {
    uint64_t seed = 7;
    struct image in, out;
    fill(&in, &seed);
    image_blank(&out, &in);
    hold_registers(&in, &out, 10);
    EXPECT(same(&in, &out));
    for (size_t i = 0; i < IMAGE_PLAIN; i++) {
        ((unsigned char *)&out)[i] ^= 1;
        EXPECT(!same(&in, &out));
        ((unsigned char *)&out)[i] ^= 1;
    }
    image_last_vector(&out)[15] ^= 1;
    EXPECT(!same(&in, &out));
}

TEST_WITHIN(registers_are_kept, 180) {
    PREEMPT_TEST_APPLIES();
    uint64_t before = pre_verdict(PREEMPT_DONE), wanted = PREEMPTIONS * test_scale();
    uint64_t came = 0, end = weft_in(SECONDS_ALL * RT_SECOND);
    while (came < wanted && weft_now() < end) {
        hold("ring", 2, wanted / 8);
        hold("ring", 4, wanted / 8);
        hold("deque", 2, wanted / 8);
        hold("line", 1, wanted / 8);
        came = pre_verdict(PREEMPT_DONE) - before;
    }
    pre_note("registers");
    EXPECT(came >= PREEMPTIONS_LEAST);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
