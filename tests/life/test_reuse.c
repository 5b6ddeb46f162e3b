/* One slot, a million processes: no PID comes twice, and what is sent to a former process reaches none. Without threads. */
#include "sched_stage.h"

#include "life/spawn.h"
#include "runtime/stop.h"
#include "step/step.h"
#include "thread/worker.h"

enum { FORMER = 1000 };
static weft_pid former[FORMER];
static weft_pid current;
static uint64_t heard;

static enum weft_status listens(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)out;
    EXPECT_EQ(weft_self(), current);
    for (size_t i = 0; i < count; i++) {
        EXPECT_EQ(events[i].type, WEFT_EVENT_MESSAGE);
        EXPECT_EQ(events[i].tag, current); /* never what was meant for another */
        heard++;
    }
    return count > 0 ? WEFT_STEP_DONE : WEFT_STEP_IDLE;
}

static void tenants(enum policy_name policy, unsigned count) {
    stage_begin_with(policy, 1, 1);
    memset(former, 0, sizeof former);
    heard = 0;
    for (unsigned i = 0; i < count; i++) {
        stage_play(0); /* whose magazine has the only block */
        current = stage_spawn(0, listens, WEFT_NOBODY);
        trace.count = 0;
        EXPECT_EQ(pid_slot(current), 1);
        EXPECT_EQ(pid_generation(current), 2 * i + 1); /* each once */
        stage_play(i % 2 ? 0 : -1);
        weft_pid pids[] = {former[i % FORMER], former[(i + FORMER - 1) % FORMER], former[i * 7919 % FORMER]};
        for (unsigned k = 0; k < 3; k++) {
            if (!pids[k]) continue;
            EXPECT_EQ(weft_send(pids[k], pids[k], NULL, 0), WEFT_ENOPROC);
            EXPECT(!weft_alive(pids[k]));
            EXPECT_EQ(weft_cancel(pids[k]), WEFT_ENOPROC);
        }
        weft_pid one_more;
        if (i % 1000 == 0)
            EXPECT_EQ(weft_spawn_step(&part_behavior, &(weft_spawn_options){.runtime = rt.runtime}, &one_more), WEFT_ENOBUFS);
        EXPECT_EQ(weft_send(current, current, NULL, 0), 0);
        EXPECT(stage_step(0));
        EXPECT(!weft_alive(current));
        former[i % FORMER] = current;
    }
    EXPECT_EQ(heard, count);
    stage_end();
}

/* Slow builds: often enough for tickets to come round. */
enum { TENANTS = RT_SLOW > 1 ? 70000 : 1000000 };
TEST(reuse_a_slot_a_million_times_ring) { tenants(POLICY_RING, TENANTS); }
TEST(reuse_a_slot_a_million_times_deque) { tenants(POLICY_DEQUE, TENANTS); }
TEST(reuse_a_slot_a_million_times_line) { tenants(POLICY_LINE, TENANTS); }

int main(int argc, char **argv) { return test_main(argc, argv); }
