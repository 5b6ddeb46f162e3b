/* What processes cost in memory: a million that wait fit into 4.4 GB, a million that have not run yet into 300 MB. Measured with fewer,
 * unless tests are scaled up; `weft bench parked` and `parked.unborn` have the whole million. */
#include "sched_stage.h"
#include "victim.h"

enum { PARKED_BYTES = 4400, UNBORN_BYTES = 300 };

static uint64_t resident(void) {
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long all = 0, pages = 0;
    EXPECT(statm && fscanf(statm, "%lu %lu", &all, &pages) == 2);
    fclose(statm);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
static unsigned crowd_size(void) {
    unsigned scale = test_scale();
    return scale >= 20 ? 1000000 : 50000 * scale;
}
/* What a sanitizer or an emulator adds is not ours; and a runtime has some memory of its own. */
static bool is_measured(void) { return !SANITIZED && !test_emulated(); }
static void expect_each(const char *what, uint64_t before, unsigned n, unsigned most) {
    EXPECT(n > 0);
    uint64_t now = resident(), each = now > before ? (now - before) / n : 0;
    printf("%u %s: %lu bytes each\n", n, what, (unsigned long)each);
    EXPECT(each <= most);
}

static atom_u64 have_had;
static void sits(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_msg_free(message);
        atom_add_rlx(&have_had, 1);
    }
}
static void parks_many(void *arg) {
    unsigned n = *(const unsigned *)arg;
    for (unsigned i = 0; i < n; i++) {
        EXPECT_EQ(weft_send(weft_spawn(sits, NULL), i, NULL, 0), 0);
        if (i % 32 == 0) weft_yield();
    }
}
static void parked(void) {
    unsigned n = crowd_size();
    atom_store_rlx(&have_had, 0);
    uint64_t before = resident();
    victim_spawn(parks_many, &n, 0, NULL);
    rt_wait(&have_had, n);
    expect_each("that wait", before, n, PARKED_BYTES);
}
static void parked_one(const char *policy, unsigned workers) {
    rt_body = parked;
    if (workers == 2) rt_one(policy, workers);
}
TEST_WITHIN(memory_of_those_that_wait, 120) {
    if (is_measured()) rt_cases(parked_one);
}

/* Without threads, so that they do not run. */
TEST_WITHIN(memory_of_those_that_have_not_run, 120) {
    if (!is_measured()) return;
    stage_for_each_policy(policy) {
        unsigned n = crowd_size();
        stage_begin(policy, 1);
        stage_play(0);
        uint64_t before = resident();
        for (unsigned i = 0; i < n; i++)
            EXPECT(weft_spawn(sits, NULL) != WEFT_NOBODY);
        expect_each("that have not run", before, n, UNBORN_BYTES);
        stage_end();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
