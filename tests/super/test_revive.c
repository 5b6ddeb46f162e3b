/* The pause before a restart: doubled up to a limit, a quarter more or less, none after a child has stayed up. */
#include "runtime_helpers.h"

#include "proc/proc.h"
#include "sched/sched.h"

#include <weft/weft.h>

#define child supervised /* tests/test.h has a struct child, too */
#include "super/super.h"
#undef child

enum { PERIOD_MS = 1000, DRAWS = 400 };
static const uint64_t begin = 1000 * RT_SECOND;

static struct {
    struct super super;
    struct supervised child;
    struct plan plan; /* last: it ends with the plans of its children */
} made;

/* A supervisor without a process, and a child that has just come up. */
static void make(unsigned backoff_ms, unsigned most_ms, uint64_t noise) {
    memset(&made, 0, sizeof made);
    made.plan.spec = (weft_super_spec){.period_ms = PERIOD_MS, .backoff_ms = backoff_ms, .backoff_most_ms = most_ms};
    made.super.plan = &made.plan;
    made.super.noise = noise;
    made.child.up_since = begin;
}
static uint64_t pause_at(uint64_t now) { return restart_pause(&made.super, &made.child, now); }

TEST(revive_pauses_double_up_to_the_limit) {
    make(8, 30, 1);
    EXPECT_EQ(pause_at(begin), 0);
    const unsigned wanted[] = {8, 16, 30, 30, 30}; /* 32 is above the limit */
    for (unsigned i = 0; i < 5; i++) {
        uint64_t pause = pause_at(begin + 1), about = wanted[i] * RT_MS;
        EXPECT(pause >= about - about / 4 && pause <= about + about / 4);
    }
}

/* Without a pause there is nothing to vary. */
TEST(revive_without_backoff_is_at_once) {
    make(0, 0, 1);
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(pause_at(begin), 0);
}

/* The whole width is used, of long pauses too, and no value is preferred: in each eighth of it about an eighth of the pauses. */
static void spread(unsigned backoff_ms) {
    unsigned eighths[8] = {0};
    uint64_t about = backoff_ms * RT_MS;
    make(backoff_ms, backoff_ms, 7);
    pause_at(begin); /* the first is at once */
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t pause = pause_at(begin + 1), place = pause - (about - about / 4);
        EXPECT(pause >= about - about / 4 && pause <= about + about / 4);
        eighths[place * 8 / (about / 2 + 1)]++;
    }
    for (unsigned i = 0; i < 8; i++)
        EXPECT(eighths[i] > DRAWS / 16 && eighths[i] < DRAWS / 4);
}
TEST(revive_jitter_is_a_quarter_more_or_less) {
    spread(8);
    spread(1000);
    spread(60000);
    spread(3600000);
}

/* Two supervisors whose children fail together do not start them together again. */
TEST(revive_jitter_differs_between_supervisors) {
    uint64_t pauses[2][8];
    unsigned same = 0;
    for (unsigned s = 0; s < 2; s++) {
        make(1000, 1000, pid_make(1, 1, 10 + s)); /* as super.c seeds it: by its PID */
        pause_at(begin);
        for (unsigned i = 0; i < 8; i++)
            pauses[s][i] = pause_at(begin + 1);
    }
    for (unsigned i = 0; i < 8; i++)
        same += pauses[0][i] == pauses[1][i];
    EXPECT_EQ(same, 0);
}

TEST(revive_a_child_that_stayed_up_begins_anew) {
    make(8, 1000, 1);
    for (unsigned i = 0; i < 4; i++)
        pause_at(begin + 1);
    EXPECT(pause_at(begin + PERIOD_MS * RT_MS) > 0); /* not longer than a period */
    made.child.up_since = begin + RT_SECOND;
    EXPECT_EQ(pause_at(made.child.up_since + PERIOD_MS * RT_MS + 1), 0);
    uint64_t pause = pause_at(made.child.up_since + 1); /* and the shortest again */
    EXPECT(pause >= 6 * RT_MS && pause <= 10 * RT_MS);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
