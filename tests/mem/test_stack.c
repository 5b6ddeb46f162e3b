/* Stacks: that they are apart, guarded, recycled and trimmed; what memory they cost. */
#include "base/rng.h"
#include "mem_stage.h"

#include <pthread.h>
#include <stdio.h>

/* Pages of memory, and lines in the list of mappings. */
static size_t memory_pages(void) {
    size_t size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    EXPECT(file && fscanf(file, "%zu %zu", &size, &pages) == 2);
    fclose(file);
    return pages;
}
static size_t mappings(void) {
    size_t lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    for (int c; (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

/* ---- taking and giving ------------------------------------------------------------------------------------------- */

TEST(stack_classes_fit) {
    EXPECT_EQ(stack_class_of(0), 0);
    EXPECT_EQ(stack_class_of(64 << 10), CLASS);
    EXPECT_EQ(stack_class_of(SIZE_MAX), STACK_CLASSES);
    EXPECT_EQ(stack_class_size(STACK_CLASSES - 1), 8 << 20);
    for (unsigned class = 0; class < STACK_CLASSES; class ++) {
        size_t size = stack_class_size(class);
        EXPECT_EQ(stack_class_of(size), class);
        EXPECT_EQ(stack_class_of(size + 1), class + 1);
        EXPECT_EQ(stack_class_of(size / 2 + 1), class);
        EXPECT(stack_batch(class) >= 2);
    }
}

TEST(stack_usable_from_end_to_end) {
    enum { EACH = 5 };
    static struct stack *taken[STACK_CLASSES][EACH];
    begin();
    for (unsigned class = 0; class < STACK_CLASSES; class ++)
        for (unsigned i = 0; i < EACH; i++) {
            struct stack *stack = taken[class][i] = stack_take(i % 2 ? &a : &b, class);
            EXPECT(stack && stack->class == class);
            unsigned char *top = stack_top(stack);
            EXPECT_EQ((uintptr_t)top % 64, 0);
            EXPECT((size_t)(top - stack->low) <= stack_class_size(class));
            EXPECT((size_t)(top - stack->low) > stack_class_size(class) - PAGE);
            use(stack, (size_t)(top - stack->low), (int)(class * EACH + i));
            EXPECT(there(stack->low));
            EXPECT(!there(stack->low - 1));
            EXPECT(!there(stack->low - STACK_GUARD));
        }
    for (unsigned class = 0; class < STACK_CLASSES; class ++)
        for (unsigned i = 0; i < EACH; i++) {
            struct stack *stack = taken[class][i];
            for (unsigned char *at = stack->low; at < (unsigned char *)stack_top(stack); at += 509)
                EXPECT_EQ(*at, class * EACH + i);
            stack_give(&a, stack);
        }
    end();
}

TEST(stack_last_given_is_next_taken) {
    begin();
    struct stack *one = stack_take(&a, CLASS), *two = stack_take(&a, CLASS);
    EXPECT(one != two);
    stack_give(&a, one);
    stack_give(&a, two);
    EXPECT(stack_take(&a, CLASS) == two);
    EXPECT(stack_take(&a, CLASS) == one);
    EXPECT_EQ(guards(), guards_for(2)); /* once a slot, when the first of its range is taken */
    stack_give(&a, one);
    stack_give(&a, two);
    end();
}

/* Through all the places where a free stack can be: it comes out once. */
TEST(stack_is_in_one_place) {
    enum { MANY = 5 * STACK_BATCH };
    static struct stack *taken[MANY];
    begin();
    for (unsigned round = 0; round < 20; round++) {
        unsigned some = round % 5 * STACK_BATCH + 7 * (round % 3) + 1;
        for (unsigned i = 0; i < some; i++) {
            taken[i] = stack_take(&a, CLASS);
            uint64_t *mark = (uint64_t *)stack_top(taken[i]) - 1;
            EXPECT(*mark != 1);
            *mark = 1;
        }
        for (unsigned i = 0; i < some; i++) {
            *((uint64_t *)stack_top(taken[i]) - 1) = 0;
            stack_give(&a, taken[i]);
        }
        if (round % 7 == 6) stack_cache_flush(&a);
        if (round % 11 == 10) stacks_trim(&stacks, true);
    }
    EXPECT_EQ(guards(), guards_for(4 * STACK_BATCH + 15));
    end();
}

/* One only takes, the other only gives: what there is goes round. */
TEST(stack_does_not_drift) {
    enum { PENDING = 10 };
    struct stack *pending[PENDING] = {0};
    begin();
    for (unsigned i = 0; i < 100000; i++) {
        if (pending[i % PENDING]) stack_give(&b, pending[i % PENDING]);
        pending[i % PENDING] = stack_take(&a, CLASS);
    }
    EXPECT(guards() <= guards_for(PENDING + 4 * STACK_BATCH));
    EXPECT_EQ(drops(), 0); /* they stayed in their first page */
    end();
}

TEST(stack_flush_gives_all_to_others) {
    enum { MANY = 200 };
    static struct stack *taken[MANY];
    begin();
    for (unsigned i = 0; i < MANY; i++)
        taken[i] = stack_take(&a, CLASS);
    for (unsigned i = 0; i < MANY; i++)
        stack_give(&a, taken[i]);
    stack_cache_flush(&a);
    for (unsigned i = 0; i < MANY; i++)
        taken[i] = stack_take(&b, CLASS);
    EXPECT_EQ(guards(), guards_for(MANY));
    /* The slots that were taken in advance are not lost either: all of the arena can be had. */
    stack_cache_flush(&a);
    unsigned all = (64 << 20) / ((64 << 10) + STACK_GUARD);
    for (unsigned i = MANY; i < all; i++)
        EXPECT(stack_take(&b, CLASS));
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.vm_map), 1);
    EXPECT(stack_take(&b, CLASS));
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.vm_map), 2);
    end();
}

TEST(stack_large_ones_are_not_hoarded) {
    begin();
    struct stack *taken[20];
    for (unsigned i = 0; i < 20; i++)
        taken[i] = stack_take(&a, STACK_CLASSES - 1);
    for (unsigned i = 0; i < 20; i++) {
        use(taken[i], 4 << 20, 1);
        EXPECT(resident(taken[i]) >= 1024);
        stack_give(&a, taken[i]);
    }
    unsigned deep = 0;
    for (unsigned i = 0; i < 20; i++)
        deep += resident(taken[i]) > STACK_KEEP / PAGE;
    EXPECT_EQ(deep, 4); /* two lists of two */
    end();
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

TEST_WITHIN(stack_hundred_thousand, 120) {
    enum { MANY = SANITIZED ? 10000 : 100000 };
    static struct stack *taken[MANY];
    begin();
    memset(taken, 1, sizeof taken);
    size_t before = memory_pages(), maps = mappings();
    for (unsigned i = 0; i < MANY; i++)
        EXPECT((taken[i] = stack_take(&a, CLASS)));
    if (!SANITIZED) EXPECT(memory_pages() - before < MANY + MANY / 50);
    EXPECT(mappings() < maps + 40);
    EXPECT(guards() >= MANY && guards() < MANY + STACK_RANGE);
    for (unsigned i = 0; i < MANY; i += 997) {
        EXPECT(stack_high_water(taken[i]) <= PAGE);
        EXPECT(there(taken[i]->low) && !there(taken[i]->low - 1));
    }
    for (unsigned i = 0; i < MANY; i++)
        stack_give(&b, taken[i]);
    stack_cache_flush(&b);
    EXPECT_EQ(stacks_trim(&stacks, true), MANY);
    if (!SANITIZED) EXPECT(memory_pages() < before + MANY / 50);
    end();
}

TEST(stack_is_new_once) {
    begin();
    struct stack *stack = stack_take(&a, CLASS), *other = stack_take(&a, CLASS);
    EXPECT(stack_is_new(stack) && stack_is_new(other));
    stack_give(&a, stack);
    stack_give(&a, other);
    other = stack_take(&a, CLASS);
    stack = stack_take(&a, CLASS);
    EXPECT(!stack_is_new(stack) && !stack_is_new(other));
    stack_give(&a, stack);
    stack_give(&a, other);
    end();
}

TEST(stack_high_water_is_exact_to_a_page) {
    begin();
    struct stack *stack = stack_take(&a, CLASS);
    unsigned char *top = stack_top(stack);
    size_t first = (uintptr_t)top % PAGE; /* of the uppermost page */
    EXPECT_EQ(stack_high_water(stack), first);
    EXPECT_EQ(resident(stack), 1);
    for (size_t depth = 100; depth < (size_t)(top - stack->low); depth += 3000) {
        use(stack, depth, 1);
        size_t high = stack_high_water(stack);
        EXPECT(high >= depth && high < depth + PAGE);
        EXPECT_EQ(resident(stack), (high - first) / PAGE + 1); /* looking did not touch */
    }
    stack_clear(stack);
    EXPECT_EQ(stack_high_water(stack), first);
    EXPECT_EQ(resident(stack), 1);
    stack->low[0] = 1; /* one page far down */
    EXPECT_EQ(stack_high_water(stack), top - stack->low);
    sys_script.resident_error = -ENOMEM;
    EXPECT_EQ(stack_high_water(stack), first);
    stack_give(&a, stack);

    stack = stack_take(&a, STACK_CLASSES - 1); /* more pages than are asked for at once */
    use(stack, 3 << 20, 1);
    sys_script.resident_error = 0;
    EXPECT(stack_high_water(stack) >= 3 << 20 && stack_high_water(stack) < (3 << 20) + PAGE);
    end();
}

/* In a cache a stack keeps what it has; in the depot only the uppermost pages. */
TEST(stack_deep_ones_are_trimmed_in_the_depot) {
    begin();
    struct stack *deep = stack_take(&a, CLASS), *shallow = stack_take(&a, CLASS);
    use(deep, 50000, 1);
    use(shallow, 1500, 1);
    stack_give(&a, deep);
    stack_give(&a, shallow);
    EXPECT_EQ(drops(), 0);
    EXPECT(resident(deep) >= 50000 / PAGE);
    stack_cache_flush(&a);
    EXPECT_EQ(drops(), 1);
    EXPECT(resident(deep) <= STACK_KEEP / PAGE);
    stack_cache_flush(&a);
    /* And again: it is noticed each time. */
    struct stack *again = stack_take(&b, CLASS), *other = stack_take(&b, CLASS);
    EXPECT(again == shallow && other == deep);
    use(deep, 50000, 1);
    stack_give(&b, again);
    stack_give(&b, other);
    stack_cache_flush(&b);
    EXPECT_EQ(drops(), 2);
    EXPECT(resident(deep) <= STACK_KEEP / PAGE);
    /* One that is not deep any more is left alone. */
    again = stack_take(&b, CLASS);
    use(again, 1500, 1);
    stack_give(&b, again);
    stack_cache_flush(&b);
    EXPECT_EQ(drops(), 2);
    end();
}

/* A trim takes what lay unused since the last one. */
TEST(stack_trim_takes_what_was_not_needed) {
    enum { MANY = 10 * STACK_BATCH };
    static struct stack *taken[MANY];
    begin();
    EXPECT_EQ(stacks_trim(&stacks, false), 0);
    for (unsigned i = 0; i < MANY; i++)
        taken[i] = stack_take(&a, CLASS);
    for (unsigned i = 0; i < MANY; i++)
        stack_give(&a, taken[i]);
    stack_cache_flush(&a);                     /* ten lists */
    EXPECT_EQ(stacks_trim(&stacks, false), 0); /* just come */
    for (unsigned i = 0; i < 3 * STACK_BATCH; i++)
        taken[i] = stack_take(&a, CLASS);
    for (unsigned i = 0; i < 3 * STACK_BATCH; i++)
        stack_give(&a, taken[i]);
    stack_cache_flush(&a);
    uint64_t before = drops();
    EXPECT_EQ(stacks_trim(&stacks, false), 7 * STACK_BATCH); /* three were in use in between */
    EXPECT(drops() - before <= 8);                           /* neighbours together */
    EXPECT_EQ(stacks_trim(&stacks, false), 3 * STACK_BATCH);
    EXPECT_EQ(stacks_trim(&stacks, true), 0);
    for (unsigned i = 0; i < MANY; i++) /* all are still there, and guarded */
        taken[i] = stack_take(&b, CLASS);
    EXPECT_EQ(guards(), guards_for(MANY));
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_EQ(resident(taken[i]), 1);
        EXPECT(!there(taken[i]->low - 1));
        use(taken[i], 60000, (int)i);
        stack_give(&b, taken[i]);
    }
    end();
}

/* With gaps: nothing of them stays behind, nothing of their neighbours goes, and no slot is lost. */
TEST(stack_trim_with_neighbours_in_use) {
    enum { MANY = 130 };
    static struct stack *taken[MANY];
    static unsigned char *lows[MANY];
    begin();
    for (unsigned i = 0; i < MANY; i++) {
        taken[i] = stack_take(&a, CLASS);
        lows[i] = taken[i]->low;
        use(taken[i], 50000, (int)i);
    }
    for (unsigned i = 0; i < MANY; i++)
        if (i % 2 || i % 5 == 0) stack_give(&a, taken[i]);
    stack_cache_flush(&a);
    stacks_trim(&stacks, true);
    for (unsigned i = 0; i < MANY; i++) {
        unsigned char pages[16];
        bool free = i % 2 || i % 5 == 0;
        EXPECT(sys_linux.vm_resident(lows[i], sizeof pages * PAGE, pages) == 0);
        for (unsigned page = 4; page < 16; page++)
            EXPECT_EQ(pages[page] & 1, !free);
        if (!free) EXPECT_EQ(lows[i][20000], (unsigned char)i);
    }
    unsigned slots = (64 << 20) / ((64 << 10) + STACK_GUARD), held = 0;
    for (unsigned i = 0; i < MANY; i++)
        held += !(i % 2 || i % 5 == 0);
    for (unsigned i = held; i < slots; i++)
        EXPECT(stack_take(&b, CLASS));
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.vm_map), 1);
    end();
}

/* ---- where is it? ------------------------------------------------------------------------------------------------ */

TEST(stack_is_found_by_address) {
    enum { MANY = 100 };
    struct stack_place place;
    begin();
    EXPECT_EQ(stacks_find(&stacks, &stacks, &place), STACK_NOT_OURS);
    unsigned char *base = stack_take(&b, CLASS)->low - STACK_GUARD, *arena_end = base + sys_scripted_mapped();
    EXPECT_EQ(stacks_find(&stacks, base - 1, &place), STACK_NOT_OURS);
    EXPECT_EQ(stacks_find(&stacks, base, &place), STACK_IN_GUARD);
    EXPECT_EQ(stacks_find(&stacks, arena_end - 1, &place), STACK_USABLE);
    EXPECT_EQ(stacks_find(&stacks, arena_end, &place), STACK_NOT_OURS);
    for (unsigned i = 0; i < MANY; i++) {
        unsigned class = i % STACK_CLASSES;
        struct stack *stack = stack_take(&a, class);
        unsigned char *top = stack_top(stack), *low = stack->low;
        const struct {
            unsigned char *at;
            enum stack_part part;
        } points[] = {{low - STACK_GUARD, STACK_IN_GUARD},
                      {low - 1, STACK_IN_GUARD},
                      {low, STACK_USABLE},
                      {top - 1, STACK_USABLE},
                      {top, STACK_USABLE},
                      {(unsigned char *)(stack + 1) - 1, STACK_USABLE}};
        for (unsigned k = 0; k < sizeof points / sizeof points[0]; k++) {
            EXPECT_EQ(stacks_find(&stacks, points[k].at, &place), points[k].part);
            EXPECT(place.stack == stack && place.low == low && place.top == top && place.class == class);
        }
    }
    EXPECT_EQ(stacks_find(&stacks, NULL, &place), STACK_NOT_OURS);
    EXPECT_EQ(stacks_find(&stacks, (void *)UINTPTR_MAX, &place), STACK_NOT_OURS);
    EXPECT_EQ(stacks_find(&stacks, probe, &place), STACK_NOT_OURS);
    end();
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { TAKERS = 4, HELD = 300 };
static struct {
    pthread_mutex_t lock;
    struct stack *stacks[HELD];
    unsigned count;
} market = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atom_u32 takers_left;
static uint64_t taker_seed;

/* Puts one on the market and takes another away, so that stacks end in other caches than they came from. */
static struct stack *market_swap(struct stack *stack, uint64_t random) {
    pthread_mutex_lock(&market.lock);
    if (market.count < HELD) {
        market.stacks[market.count++] = stack;
        stack = NULL;
    } else {
        struct stack *other = market.stacks[random % HELD];
        market.stacks[random % HELD] = stack;
        stack = other;
    }
    pthread_mutex_unlock(&market.lock);
    return stack;
}

static void *takes_and_gives(void *arg) {
    struct stack_cache cache;
    struct stack *held[HELD] = {0};
    struct rng rng;
    unsigned me = (unsigned)(uintptr_t)arg;
    rng_seed(&rng, taker_seed, me);
    stack_cache_init(&cache, &stacks);
    for (unsigned i = 0; i < 200000 / (SANITIZED ? 10 : 1) * test_scale(); i++) {
        struct stack **slot = &held[rng_next(&rng) % HELD];
        if (*slot) {
            uint64_t *word = (uint64_t *)stack_top(*slot) - 1;
            EXPECT_EQ(*word, (uintptr_t)*slot + me); /* no other thread had it */
            *slot = rng_next(&rng) % 4 ? *slot : market_swap(*slot, rng_next(&rng));
            if (*slot) {
                *((uint64_t *)stack_top(*slot) - 1) = 0;
                stack_give(&cache, *slot);
            }
            *slot = NULL;
        } else {
            EXPECT((*slot = stack_take(&cache, (unsigned)(rng_next(&rng) % 3))));
            uint64_t *word = (uint64_t *)stack_top(*slot) - 1;
            EXPECT_EQ(*word, 0);
            if (rng_next(&rng) % 64 == 0) use(*slot, 3 * PAGE, 0);
            *word = (uintptr_t)*slot + me;
        }
        if (rng_next(&rng) % 5000 == 0) stack_cache_flush(&cache);
    }
    for (unsigned i = 0; i < HELD; i++)
        if (held[i]) {
            *((uint64_t *)stack_top(held[i]) - 1) = 0;
            stack_give(&cache, held[i]);
        }
    stack_cache_flush(&cache);
    atom_sub_rel(&takers_left, 1);
    return NULL;
}

/* Takers, a trimmer, and one that looks; in the end all that were ever made are free. */
TEST_WITHIN(stack_many_threads, 120) {
    pthread_t threads[TAKERS];
    struct stack_place place;
    begin();
    atom_store_rlx(&takers_left, TAKERS);
    taker_seed = test_seed(1);
    for (unsigned i = 0; i < TAKERS; i++)
        EXPECT(pthread_create(&threads[i], NULL, takes_and_gives, (void *)(uintptr_t)i) == 0);
    size_t trimmed = 0, looked = 0;
    while (atom_load_acq(&takers_left)) {
        trimmed += stacks_trim(&stacks, trimmed % 2);
        looked += stacks_find(&stacks, &looked, &place) == STACK_NOT_OURS;
        usleep(500);
    }
    for (unsigned i = 0; i < TAKERS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < market.count; i++)
        stack_give(&a, market.stacks[i]);
    stack_cache_flush(&a);
    stacks_trim(&stacks, true);
    /* Every slot of every arena can be had again, without a new arena. */
    uint64_t maps = atom_load_rlx(&sys_script.counts.vm_map), bytes = sys_scripted_mapped(), taken = 0;
    for (unsigned class = 0; class < 3; class ++) {
        size_t stride = stack_class_size(class) + STACK_GUARD;
        for (size_t i = 0; i < (64 << 20) / stride; i++, taken += stride)
            EXPECT(stack_take(&b, class));
    }
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.vm_map), maps);
    EXPECT_EQ(taken, bytes);
    EXPECT(looked > 0);
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
