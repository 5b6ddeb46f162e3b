/* Records beside the table: made when they are asked for, zeroed, where they were, and one for each slot, whichever thread is first. */
#include "proc/side.h"

#include "base/atom.h"
#include "scripted.h"
#include "test.h"

#include <pthread.h>
#include <string.h>

enum { SIZE = 24 };
static struct side side;

TEST(side_records_are_made_when_asked_for) {
    static const uint32_t slots[] = {0, 1, TABLE_CHUNK - 1, TABLE_CHUNK, 3 * TABLE_CHUNK + 7};
    enum { SLOTS = sizeof slots / sizeof slots[0] };
    unsigned char *made[SLOTS], zeros[SIZE] = {0};
    sys_scripted_install();
    for (unsigned i = 0; i < SLOTS; i++) {
        if (slots[i] % TABLE_CHUNK == 0 || i == SLOTS - 1) EXPECT(!side_of(&side, slots[i], SIZE, false));
        made[i] = side_of(&side, slots[i], SIZE, true);
        EXPECT(made[i] && memcmp(made[i], zeros, SIZE) == 0);
        memset(made[i], (int)i + 1, SIZE);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        EXPECT(side_of(&side, slots[i], SIZE, i % 2) == made[i]);
        EXPECT(made[i][0] == i + 1 && made[i][SIZE - 1] == i + 1);
    }
    side_destroy(&side, SIZE);
    EXPECT(!side_of(&side, 1, SIZE, false));
    EXPECT_EQ(sys_scripted_live(), 0);
    sys_scripted_reset();
}

TEST(side_without_memory) {
    sys_scripted_install();
    sys_script.alloc_fail_at = 1;
    EXPECT(!side_of(&side, 1, SIZE, true));
    EXPECT(side_of(&side, 1, SIZE, true));
    side_destroy(&side, SIZE);
    EXPECT_EQ(sys_scripted_live(), 0);
    sys_scripted_reset();
}

/* Several threads want the first record of a chunk: all get the same, and nothing is lost. */
enum { THREADS = 4, ROUNDS = 200 };
static atom_u64 at_round;
static void *first_seen[THREADS];
static void *asks(void *number) {
    for (uint64_t i = 0; i < ROUNDS; i++) {
        atom_add_acqrel(&at_round, 1);
        while (atom_load_acq(&at_round) < (i + 1) * THREADS) {}
        void *record = side_of(&side, (uint32_t)(i * TABLE_CHUNK), SIZE, true);
        if (i == 0) first_seen[(uintptr_t)number] = record;
        EXPECT(record == side_of(&side, (uint32_t)(i * TABLE_CHUNK), SIZE, false));
    }
    return NULL;
}
TEST(side_is_made_by_one_of_several_threads) {
    pthread_t threads[THREADS];
    sys_scripted_install();
    for (uintptr_t i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, asks, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 1; i < THREADS; i++)
        EXPECT(first_seen[i] == first_seen[0]);
    side_destroy(&side, SIZE);
    EXPECT_EQ(sys_scripted_live(), 0);
    sys_scripted_reset();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
