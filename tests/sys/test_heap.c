/* Memory apart from the C library's. */
#include "test.h"

#include "sys/heap.h"
#include "sys/sys.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(heap_is_off_until_asked) {
    EXPECT(!heap_is_on());
    EXPECT(!heap_has(&heap_has));
    void *before = sys->alloc(100); /* the C library's */
    EXPECT_EQ(heap_begin(), 0);
    EXPECT_EQ(heap_begin(), 0);
    EXPECT(heap_is_on());
    EXPECT(before && !heap_has(before));
    void *after = sys->alloc(100);
    EXPECT(heap_has(after));
    sys->free(after, 100);
    sys->free(before, 100); /* stays, and is not lost */
    sys->free(NULL, 100);
}

TEST(heap_blocks_are_zero_and_apart) {
    enum { BLOCKS = 200 };
    unsigned char *blocks[BLOCKS];
    size_t sizes[BLOCKS];
    EXPECT_EQ(heap_begin(), 0);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            sizes[i] = 1 + (size_t)i * i * 6 % (256 << 10);
            blocks[i] = heap_take(sizes[i]);
            EXPECT(blocks[i] && heap_has(blocks[i]) && (uintptr_t)blocks[i] % 64 == 0);
            for (size_t at = 0; at < sizes[i]; at++)
                EXPECT(blocks[i][at] == 0);
            memset(blocks[i], (int)i + 1, sizes[i]);
        }
        for (unsigned i = 0; i < BLOCKS; i++) {
            EXPECT(blocks[i][0] == (unsigned char)(i + 1) && blocks[i][sizes[i] - 1] == (unsigned char)(i + 1));
            heap_give(blocks[i], sizes[i]);
        }
    }
    EXPECT(heap_take((256 << 10) + 1) == NULL);
    void *first = heap_take(1000);
    heap_give(first, 1000);
    EXPECT(heap_take(600) == first); /* of the same class */
}

/* Larger ones come from the kernel, as before. */
TEST(heap_is_for_small_blocks) {
    EXPECT_EQ(sys->alloc_apart(), 0);
    void *large = sys->alloc(1 << 20);
    EXPECT(large && !heap_has(large));
    sys->free(large, 1 << 20);
}

static void *takes_and_gives(void *arg) {
    uint64_t *kept[32] = {0};
    for (unsigned i = 0; i < 100000; i++) {
        unsigned which = (i * 7 + (unsigned)(uintptr_t)arg) % 32;
        size_t size = 64u << which % 5;
        if (kept[which]) {
            if (kept[which][1] != (uintptr_t)arg || kept[which][2] != which) abort();
            heap_give(kept[which], size);
            kept[which] = NULL;
        } else {
            kept[which] = heap_take(size);
            kept[which][1] = (uintptr_t)arg;
            kept[which][2] = which;
        }
    }
    return NULL;
}
TEST(heap_by_many_threads) {
    pthread_t threads[4];
    EXPECT_EQ(heap_begin(), 0);
    for (uintptr_t i = 0; i < 4; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, takes_and_gives, (void *)i), 0);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
