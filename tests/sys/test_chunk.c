/* Chunks: aligned, apart, used again, and without memory once they are given back. */
#include "sys/chunk.h"
#include "sys/sys.h"
#include "test.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNKS = 1500 }; /* more than an arena has */

static unsigned char *chunk[CHUNKS];

static void take_all(void) {
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunk[i] = chunk_take();
        EXPECT(chunk[i] && (uintptr_t)chunk[i] % SYS_CHUNK == 0);
        chunk[i][0] = (unsigned char)i;
        chunk[i][SYS_CHUNK - 1] = (unsigned char)(i / 256);
    }
}
static void give_all(void) {
    for (unsigned i = 0; i < CHUNKS; i++)
        chunk_give(chunk[i]);
}

TEST(chunks_are_aligned_and_apart) {
    take_all();
    for (unsigned i = 0; i < CHUNKS; i++)
        EXPECT(chunk[i][0] == (unsigned char)i && chunk[i][SYS_CHUNK - 1] == (unsigned char)(i / 256));
    give_all();
}

TEST(chunks_that_were_given_back_are_taken_again) {
    take_all();
    unsigned char *lowest = chunk[0], *highest = chunk[0];
    for (unsigned i = 0; i < CHUNKS; i++) {
        if (chunk[i] < lowest) lowest = chunk[i];
        if (chunk[i] > highest) highest = chunk[i];
    }
    give_all();
    take_all();
    for (unsigned i = 0; i < CHUNKS; i++)
        EXPECT(chunk[i] >= lowest && chunk[i] <= highest);
    give_all();
}

TEST(chunks_that_were_given_back_have_no_memory) {
    unsigned char pages[SYS_CHUNK / 4096];
    unsigned char *one = chunk_take();
    memset(one, 1, SYS_CHUNK);
    EXPECT(mincore(one, SYS_CHUNK, pages) == 0);
    EXPECT(pages[0] & 1);
    chunk_give(one);
    EXPECT(mincore(one, SYS_CHUNK, pages) == 0);
    for (unsigned i = 0; i < sizeof pages; i++)
        EXPECT(!(pages[i] & 1));
}

/* Each thread writes its number all over its chunks; another thread's would be seen. */
static void *takes_and_gives(void *number) {
    unsigned char own = (unsigned char)(uintptr_t)number;
    for (unsigned round = 0; round < 2000; round++) {
        unsigned char *one = chunk_take();
        EXPECT(one);
        memset(one, own, 4096);
        for (unsigned i = 0; i < 4096; i++)
            EXPECT(one[i] == own);
        chunk_give(one);
    }
    return NULL;
}
TEST(chunks_by_many_threads) {
    pthread_t thread[4];
    for (uintptr_t i = 0; i < 4; i++)
        EXPECT(pthread_create(&thread[i], NULL, takes_and_gives, (void *)(i + 1)) == 0);
    for (unsigned i = 0; i < 4; i++)
        EXPECT(pthread_join(thread[i], NULL) == 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
