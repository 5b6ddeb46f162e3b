/* Small blocks: sizes, that a block is in one place, lists that move as a whole, and no drift between caches. */
#include "base/rng.h"
#include "mem/bundle.h"
#include "scripted.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct pool pool;
static struct pool_cache a, b;

static void begin(void) {
    sys_scripted_install();
    pool_init(&pool);
    cache_init(&a, &pool);
    cache_init(&b, &pool);
}
static void end(void) {
    pool_destroy(&pool);
    EXPECT_EQ(sys_scripted_live(), 0);
}
static uint64_t chunks(void) { return sys_scripted_live(); }

TEST(pool_classes_fit) {
    EXPECT_EQ(pool_class_of(0), 0);
    EXPECT_EQ(pool_class_of(1), 0);
    for (unsigned class = 0; class < POOL_CLASSES; class ++) {
        size_t size = pool_class_size(class);
        EXPECT_EQ(size % 16, 0);
        EXPECT_EQ(pool_class_of(size), class);
        EXPECT_EQ(pool_class_of(size + 1), class + 1);
        if (class > 0) EXPECT(size - pool_class_size(class - 1) - 1 < size / 5); /* what is not used of it, at most */
    }
    EXPECT_EQ(pool_class_size(POOL_CLASSES - 1), 2048);
    EXPECT_EQ(pool_class_of(1 << 20), POOL_CLASSES);
    EXPECT_EQ(pool_class_of(SIZE_MAX), POOL_CLASSES);
}

/* All blocks are apart from each other, aligned, and may be written to from end to end. */
TEST(pool_blocks_are_apart) {
    enum { EACH = 1000 };
    static unsigned char *blocks[POOL_CLASSES][EACH];
    begin();
    for (unsigned i = 0; i < EACH; i++)
        for (unsigned class = 0; class < POOL_CLASSES; class ++) {
            blocks[class][i] = pool_take(i % 2 ? &a : &b, class);
            EXPECT(blocks[class][i]);
            EXPECT_EQ((uintptr_t)blocks[class][i] % (pool_class_size(class) % 64 ? 16 : 64), 0);
            memset(blocks[class][i], (int)(i * POOL_CLASSES + class), pool_class_size(class));
        }
    for (unsigned i = 0; i < EACH; i++)
        for (unsigned class = 0; class < POOL_CLASSES; class ++) {
            for (size_t at = 0; at < pool_class_size(class); at++)
                EXPECT_EQ(blocks[class][i][at], (unsigned char)(i * POOL_CLASSES + class));
            pool_give(&a, class, blocks[class][i]);
        }
    end();
}

TEST(pool_the_last_one_given_is_the_next_one_taken) {
    begin();
    void *one = pool_take(&a, 2), *two = pool_take(&a, 2);
    pool_give(&a, 2, one);
    pool_give(&a, 2, two);
    EXPECT(pool_take(&a, 2) == two);
    EXPECT(pool_take(&a, 2) == one);
    end();
}

/* ---- lists move as a whole, and seldom ------------------------------------------------------------------------------------ */

static unsigned depot_lists(unsigned class) {
    unsigned count = 0;
    for (struct pool_bundle *list = pool.class[class].lists; list; list = list->next)
        count++;
    return count;
}

TEST(pool_refills_a_list_at_a_time) {
    begin();
    EXPECT(pool_take(&a, 0));
    EXPECT_EQ(pool_count(&a, 0), POOL_BATCH - 1);
    for (unsigned i = 1; i < POOL_BATCH; i++)
        EXPECT(pool_take(&a, 0));
    EXPECT_EQ(pool_count(&a, 0), 0);
    EXPECT(pool_take(&a, 0));
    EXPECT_EQ(pool_count(&a, 0), POOL_BATCH - 1);
    EXPECT_EQ(chunks(), 1);
    end();
}

TEST(pool_spills_a_list_at_a_time) {
    static void *blocks[4 * POOL_BATCH];
    begin();
    for (unsigned i = 0; i < 4 * POOL_BATCH; i++)
        blocks[i] = pool_take(&a, 0);
    for (unsigned i = 0; i < 2 * POOL_BATCH; i++)
        pool_give(&b, 0, blocks[i]); /* so many it keeps */
    EXPECT_EQ(depot_lists(0), 0);
    EXPECT_EQ(pool_count(&b, 0), POOL_ROOM);
    for (unsigned i = 2 * POOL_BATCH; i < 3 * POOL_BATCH; i++)
        pool_give(&b, 0, blocks[i]);
    EXPECT_EQ(depot_lists(0), 1);
    pool_give(&b, 0, blocks[3 * POOL_BATCH]);
    EXPECT_EQ(depot_lists(0), 2);
    EXPECT_EQ(pool_count(&b, 0), POOL_BATCH + 1);
    /* Around the edge of a list nothing moves: one in, one out. */
    for (unsigned i = 0; i < 1000; i++)
        pool_give(&b, 0, pool_take(&b, 0));
    EXPECT_EQ(depot_lists(0), 2);
    EXPECT_EQ(chunks(), 1);
    end();
}

/* A list of any length comes out as it went in, whatever class its blocks are of; nothing but its own blocks is written to. */
TEST(pool_bundles_keep_their_blocks) {
    static _Alignas(64) unsigned char memory[POOL_BATCH][2 * POOL_LEAST];
    void *in[POOL_BATCH], *out[POOL_BATCH + 1];
    struct rng rng;
    rng_seed(&rng, test_seed(1), 0);
    for (uint32_t count = 1; count <= POOL_BATCH; count++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t at = rng_below(&rng, i + 1); /* shuffled */
            in[i] = in[at];
            in[at] = memory[i];
        }
        memset(memory, 0xee, sizeof memory);
        struct pool_bundle *bundle = bundle_make(&a, in, count);
        out[count] = &out;
        EXPECT(bundle->giver == &a);
        EXPECT_EQ(bundle_open(bundle, out, count % 2), count);
        EXPECT(out[count] == (void *)&out);
        EXPECT(memcmp(in, out, count * sizeof *in) == 0);
        uint32_t own = (BUNDLE_HEAD + count - 2) / BUNDLE_WORDS + 1; /* the list is written into so many, and there from BUNDLE_AT */
        for (uint32_t i = BUNDLE_AT ? 0 : own; i < count; i++)
            EXPECT(*(unsigned char *)in[i] == 0xee);
        for (uint32_t i = 0; i < count; i++)
            EXPECT(((unsigned char *)in[i])[POOL_LEAST] == 0xee);
        pool_mark(memory, sizeof memory, false);
    }
}

TEST(pool_flush_gives_all_to_others) {
    static void *blocks[100];
    begin();
    for (unsigned i = 0; i < 100; i++)
        blocks[i] = pool_take(&a, 1);
    for (unsigned i = 0; i < 100; i++)
        pool_give(&a, 1, blocks[i]);
    cache_flush(&a);
    EXPECT_EQ(pool_count(&a, 1), 0);
    uint64_t before = chunks();
    unsigned char *fresh = pool.class[1].fresh;
    for (unsigned i = 0; i < 100; i++) /* short lists, too, are all there */
        EXPECT(pool_take(&b, 1));
    EXPECT_EQ(chunks(), before);
    EXPECT(pool.class[1].fresh == fresh);
    end();
}

/* One only takes, the other only gives: what there is goes round, and memory does not grow. */
TEST(pool_does_not_drift) {
    enum { PENDING = 10 };
    void *pending[PENDING] = {0};
    begin();
    for (unsigned i = 0; i < 1000000; i++) {
        if (pending[i % PENDING]) pool_give(&b, 0, pending[i % PENDING]);
        pending[i % PENDING] = pool_take(&a, 0);
    }
    EXPECT_EQ(chunks(), 1); /* a chunk is 1,023 blocks */
    end();
}

/* ---- no memory ------------------------------------------------------------------------------------------------------------- */

TEST(pool_without_memory) {
    begin();
    sys_script.alloc_fail_at = 1;
    EXPECT(!pool_take(&a, 3));
    EXPECT_EQ(pool_count(&a, 3), 0);
    void *block = pool_take(&a, 3); /* the next time there is some */
    EXPECT(block);
    sys_scripted_recount();
    sys_script.alloc_fail_from = 1;
    unsigned count = 0;
    while (pool_take(&a, 3))
        count++;
    EXPECT_EQ(count, (SYS_CHUNK - 64) / pool_class_size(3) - 1); /* all of the chunk but its head, and the one above */
    pool_give(&b, 3, block);
    EXPECT(!pool_take(&a, 3)); /* that one is b's */
    cache_flush(&b);
    EXPECT(pool_take(&a, 3) == block);
    end();
}

/* ---- giving back ------------------------------------------------------------------------------------------------------------ */

enum { BURST = 100000 };
static void *burst[BURST];

static void take_burst(unsigned class) {
    for (unsigned i = 0; i < BURST; i++)
        burst[i] = pool_take(&a, class);
}
static void give_burst(unsigned class) {
    for (unsigned i = 0; i < BURST; i++)
        pool_give(&b, class, burst[i]);
}
static unsigned trim_slices(void) {
    unsigned slices = 1;
    while (pool_trim(&pool))
        slices++;
    return slices;
}

/* What was not needed between two surveys goes; what the caches have stays, and so do the chunks it is from. */
TEST(pool_gives_a_burst_back) {
    for (unsigned class = 0; class < POOL_CLASSES; class += 10) {
        begin();
        take_burst(class);
        uint64_t most = chunks();
        EXPECT(most >= BURST / (SYS_CHUNK / pool_class_size(class)));
        give_burst(class);
        pool_survey(&pool, false);
        trim_slices(); /* they were given a moment ago */
        EXPECT_EQ(chunks(), most);
        pool_survey(&pool, false);
        EXPECT(trim_slices() >= BURST / POOL_BATCH / POOL_SLICE - 1); /* each does little */
        EXPECT(chunks() <= 1 + 2 * POOL_BATCH * pool_class_size(class) / SYS_CHUNK + 4);
        take_burst(class); /* and all over again */
        EXPECT(chunks() <= most + 1 + 2 * POOL_BATCH * pool_class_size(class) / SYS_CHUNK);
        give_burst(class);
        end();
    }
}

/* What goes round stays, however long it takes. */
TEST(pool_keeps_what_is_needed) {
    enum { LISTS = 20 };
    begin();
    take_burst(0);
    give_burst(0);
    unsigned before = depot_lists(0);
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < LISTS * POOL_BATCH; i++)
            burst[i] = pool_take(&a, 0);
        for (unsigned i = 0; i < LISTS * POOL_BATCH; i++)
            pool_give(&a, 0, burst[i]);
        pool_survey(&pool, false);
        trim_slices();
    }
    EXPECT(depot_lists(0) >= LISTS - 4 && depot_lists(0) <= LISTS + 4);
    EXPECT(before > 10 * LISTS);
    uint64_t now = chunks();
    for (unsigned i = 0; i < LISTS * POOL_BATCH; i++)
        burst[i] = pool_take(&a, 0);
    EXPECT_EQ(chunks(), now);
    end();
}

/* One block of each chunk is in use: nothing can go, but all the others are used again before there is a new chunk. */
TEST(pool_uses_again_what_it_cannot_give_back) {
    begin();
    take_burst(0);
    uint64_t most = chunks();
    unsigned each = (SYS_CHUNK - 64) / POOL_LEAST, kept = 0;
    for (unsigned i = 0; i < BURST; i++)
        if (i % each == 0) kept++;
        else pool_give(&b, 0, burst[i]);
    cache_flush(&a);
    cache_flush(&b);
    pool_survey(&pool, true);
    trim_slices();
    EXPECT_EQ(chunks(), most);
    EXPECT_EQ(depot_lists(0), 0);
    for (unsigned i = 0; i < BURST; i++)
        if (i % each != 0) burst[i] = pool_take(&a, 0);
    EXPECT(chunks() <= most + 1);
    for (unsigned i = 0; i < BURST; i++)
        *(void **)burst[i] = burst[i];
    for (unsigned i = 0; i < BURST; i++)
        EXPECT(*(void **)burst[i] == burst[i]); /* each once */
    give_burst(0);
    cache_flush(&a);
    cache_flush(&b);
    pool_trim_all(&pool);
    EXPECT_EQ(chunks(), 0);
    EXPECT(kept > 50);
    end();
}

TEST(pool_takes_blocks_back_without_a_cache) {
    begin();
    take_burst(7);
    for (unsigned i = 0; i < BURST; i++)
        pool_give_back(&pool, 7, burst[i]);
    EXPECT(chunks() <= 2); /* those the cache has some of, and the newest */
    cache_flush(&a);
    pool_trim_all(&pool);
    EXPECT_EQ(chunks(), 0);
    void *block = pool_take(&a, 7);
    EXPECT(block);
    pool_give_back(&pool, 7, block);
    end();
}

/* The chunk that blocks were cut from last goes with its last block, and is forgotten then. */
TEST(pool_forgets_the_newest_chunk) {
    begin();
    void *block = pool_take(&a, 7);
    cache_flush(&a);
    pool_trim_all(&pool);
    EXPECT_EQ(chunks(), 1); /* a block is in use */
    pool_give_back(&pool, 7, block);
    EXPECT_EQ(chunks(), 0);
    pool_give_back(&pool, 7, pool_take(&a, 7));
    cache_flush(&a);
    for (unsigned i = 0; i < 2; i++)
        pool_trim_all(&pool);
    EXPECT_EQ(chunks(), 0);
    end();
}

/* Lists that were taken after the survey and have come back since were needed after all. */
TEST(pool_keeps_what_was_needed_after_the_survey) {
    enum { BLOCKS = 4 * POOL_BATCH };
    begin();
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < BLOCKS; i++)
            burst[i] = pool_take(&a, 0);
        for (unsigned i = 0; i < BLOCKS; i++)
            pool_give(&a, 0, burst[i]);
        cache_flush(&a);
        if (round == 0) pool_survey(&pool, true);
    }
    unsigned lists = depot_lists(0);
    pool_trim(&pool);
    EXPECT(lists > 0);
    EXPECT_EQ(depot_lists(0), lists);
    end();
}

/* ---- threads ---------------------------------------------------------------------------------------------------------------- */

/* Each thread takes a few lists' worth of blocks, changes some for others' by way of a box, and gives all back: lists go to the depot
 * and come from there all the time. A block holds its own address, front and back, while it is in use. */
enum { THREADS = 4, BOXES = 64, HELD = 3 * POOL_BATCH };
struct held {
    uint64_t *block;
    unsigned class;
};
static struct box {
    pthread_mutex_t lock;
    struct held held;
} boxes[BOXES];
static uint64_t seed;

static uint64_t *last_word(struct held held) { return &held.block[pool_class_size(held.class) / sizeof(uint64_t) - 1]; }

static void *exchanges(void *number) {
    struct pool_cache cache;
    struct rng rng;
    struct held held[HELD];
    cache_init(&cache, &pool);
    rng_seed(&rng, seed, (uintptr_t)number);
    for (unsigned round = 0; round < 5000 * test_scale(); round++) {
        unsigned class = rng_below(&rng, POOL_CLASSES);
        for (unsigned i = 0; i < HELD; i++) {
            held[i] = (struct held){pool_take(&cache, class), class};
            EXPECT(held[i].block);
            *held[i].block = (uintptr_t)held[i].block;
            *last_word(held[i]) = ~(uintptr_t)held[i].block;
        }
        for (unsigned i = 0; i < HELD; i += 8) {
            struct box *box = &boxes[rng_below(&rng, BOXES)];
            pthread_mutex_lock(&box->lock);
            struct held other = box->held;
            box->held = held[i];
            held[i] = other;
            pthread_mutex_unlock(&box->lock);
        }
        for (unsigned i = 0; i < HELD; i++) {
            if (!held[i].block) continue;
            EXPECT_EQ(*held[i].block, (uintptr_t)held[i].block); /* no other thread had it */
            EXPECT_EQ(*last_word(held[i]), ~(uintptr_t)held[i].block);
            if (i % 16 == 0) pool_give_back(&pool, held[i].class, held[i].block);
            else pool_give(&cache, held[i].class, held[i].block);
        }
        if (round % 16 == 0) pool_survey(&pool, round % 64 == 0);
        if (round % 4 == 0) pool_trim(&pool);
    }
    cache_flush(&cache);
    return NULL;
}

TEST(pool_stress) {
    pthread_t threads[THREADS];
    begin();
    seed = test_seed(1);
    for (unsigned i = 0; i < BOXES; i++)
        pthread_mutex_init(&boxes[i].lock, NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, exchanges, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* In use at once: the boxes', what each thread holds and the two lists it keeps, and what is left of the newest chunk. */
    EXPECT(chunks() <= POOL_CLASSES * (2 + (BOXES + THREADS * (HELD + 2 * POOL_BATCH)) * pool_class_size(POOL_CLASSES - 1) / SYS_CHUNK));
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
