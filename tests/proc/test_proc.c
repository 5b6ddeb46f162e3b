/* PIDs are slot, generation and instance, and a control block is small. */
#include "proc/proc.h"
#include "test.h"

TEST(proc_pids_fall_apart_as_they_were_put_together) {
    static const unsigned instances[] = {0, 1, 127, 255};
    static const uint32_t generations[] = {0, 1, 2, 0x80000000, UINT32_MAX - 1, UINT32_MAX};
    static const uint32_t slots[] = {0, 1, 4095, 4096, PID_SLOTS / 2, PID_SLOTS - 1};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned g = 0; g < 6; g++)
            for (unsigned s = 0; s < 6; s++) {
                weft_pid pid = pid_make(instances[i], generations[g], slots[s]);
                EXPECT_EQ(pid_instance(pid), instances[i]);
                EXPECT_EQ(pid_generation(pid), generations[g]);
                EXPECT_EQ(pid_slot(pid), slots[s]);
            }
}

TEST(proc_pid_0_is_no_process) {
    EXPECT_EQ(pid_slot(WEFT_NOBODY), 0); /* which is never given out */
    EXPECT_EQ(pid_generation(WEFT_NOBODY) % 2, 0);
    EXPECT(pid_make(0, 1, 1) != WEFT_NOBODY);
}

/* An idle process costs at most 192 bytes: its block, and a message's worth of room beside it. */
TEST(proc_blocks_are_small) {
    EXPECT(sizeof(struct proc) <= 128);
    EXPECT_EQ((uintptr_t) & ((struct proc *)0)->inline_state % 8, 0);
    EXPECT(PID_SLOTS - 1 >= 16000000);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
