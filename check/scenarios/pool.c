/* Pools: a block is in one place (mem/pool.h, P1), whatever caches, those without a cache and the trimmer do at once; and in the end all
 * memory goes back. */
#include "mem/pool.h"
#include "chk.h"
#include "sys/sys.h"

enum { BLOCKS = 4, OTHER = 2 };

static struct pool pool;
static struct pool_cache caches[2];
static unsigned *block[BLOCKS], *other[OTHER];

static void take(struct pool_cache *cache, unsigned **blocks, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = pool_take(cache, 0);
        chk_assert(blocks[i], "there is memory");
        *blocks[i] = i; /* plain: two threads that have it would race */
    }
}
static void give(struct pool_cache *cache, unsigned **blocks, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        chk_assert(*blocks[i] == i, "no other thread had it");
        pool_give(cache, 0, blocks[i]);
    }
}

/* Two lists in the depot, and one more that is not full. */
static void setup(void) {
    pool_init(&pool);
    for (unsigned i = 0; i < 2; i++)
        cache_init(&caches[i], &pool);
    take(&caches[0], block, BLOCKS);
    give(&caches[0], block, BLOCKS);
    cache_flush(&caches[0]);
}
static void finish(void) {
    for (unsigned i = 0; i < 2; i++)
        cache_flush(&caches[i]);
    pool_trim_all(&pool);
    chk_assert(!pool.chunks, "every chunk has all of its blocks back");
}

static void use(void) {
    take(&caches[0], block, 1);
    give(&caches[0], block, 1);
}
static void use_too(void) {
    take(&caches[1], other, OTHER);
    give(&caches[1], other, OTHER);
}
static void setup_surplus(void) {
    setup();
    pool_survey(&pool, true);
}
static void trim(void) { pool_trim(&pool); }
SCENARIO(pool_trim_beside_use, .about = "one takes and gives || a list is taken apart", .setup = setup_surplus, .threads = {use, trim},
         .finish = finish)
SCENARIO(pool_trim_beside_two, .about = "two take and give || a list is taken apart; few preemptions, for it is only about the lock",
         .setup = setup_surplus, .threads = {use_too, use, trim}, .finish = finish, .preemptions = 1)

/* Blocks in use come back to their chunk one by one, from threads without a cache. */
static void setup_in_use(void) {
    setup();
    take(&caches[0], block, 2);
    pool_survey(&pool, true);
}
static void give_back_0(void) { pool_give_back(&pool, 0, block[0]); }
static void give_back_1(void) { pool_give_back(&pool, 0, block[1]); }
static void give_back_1_and_finish(void) {
    give_back_1();
    finish();
}
SCENARIO(pool_given_back_by_two, .about = "two without a cache give blocks of one chunk back", .setup = setup_in_use,
         .threads = {give_back_0, give_back_1}, .finish = finish)
SCENARIO(pool_given_back_and_trimmed, .about = "one without a cache gives back || a list is taken apart", .setup = setup_in_use,
         .threads = {give_back_0, trim}, .finish = give_back_1_and_finish)
SCENARIO(pool_given_back_beside_use, .about = "one without a cache gives back || one takes and gives", .setup = setup_in_use,
         .threads = {give_back_0, use_too}, .finish = give_back_1_and_finish)
static void trim_all(void) { pool_trim_all(&pool); }
SCENARIO(pool_left_by_a_runtime, .about = "a runtime ends || another takes and gives; at random, for there are the locks of all sizes",
         .setup = setup, .threads = {trim_all, use_too}, .finish = finish, .random_runs = 3000)

/* Both caches have a list that they hand in. */
static void setup_full(void) {
    setup();
    for (unsigned i = 0; i < 2; i++) {
        take(&caches[i], other, 1);
        give(&caches[i], other, 1);
    }
    pool_survey(&pool, true);
}
static void flush(void) { cache_flush(&caches[0]); }
static void flush_too(void) { cache_flush(&caches[1]); }
/* More than its own list. */
static void use_more(void) {
    take(&caches[1], block, 3);
    give(&caches[1], block, 3);
}
SCENARIO(pool_flushed_by_two, .about = "two hand in what they have", .setup = setup_full, .threads = {flush, flush_too}, .finish = finish)
SCENARIO(pool_flushed_beside_use, .about = "one hands in what it has || one takes and gives", .setup = setup_full,
         .threads = {flush, use_more}, .finish = finish)
SCENARIO(pool_flushed_and_trimmed, .about = "one hands in what it has || a list is taken apart", .setup = setup_full,
         .threads = {flush, trim}, .finish = finish)

/* A pool with a limit counts what is taken from it (pool_charge), whichever threads do it at once. */
enum { CHARGE = 10 };
static void setup_limited(void) {
    pool_init(&pool);
    atom_store_rlx(&pool.most, 3 * CHARGE);
}
static void charge(void) { chk_assert(pool_charge(&pool, CHARGE), "within the limit"); }
static void charge_and_not(void) {
    charge();
    pool_uncharge(&pool, CHARGE);
}
static void counted_once(void) {
    chk_assert(atom_load_rlx(&pool.used) == CHARGE, "what is in use is counted");
    chk_assert(!pool_charge(&pool, 3 * CHARGE) && atom_load_rlx(&pool.used) == CHARGE, "what is refused is not");
}
SCENARIO(pool_charged_by_two, .about = "memory is counted || counted and given back", .setup = setup_limited,
         .threads = {charge, charge_and_not}, .finish = counted_once)
