/* The table of names against a plain list: what it finds, how it grows, and that removals leave nothing behind. */
#include "registry/name_table.h"

#include "base/rng.h"
#include "scripted.h"
#include "test.h"

#include <weft/errors.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct name_table table;
static uint64_t seed = 99;

static struct name_key key_of(const char *name) {
    struct name_key key;
    EXPECT(name_key_make(&key, name, seed));
    return key;
}
static void add(const char *name, uint64_t value) {
    struct name_key key = key_of(name);
    EXPECT_EQ(name_table_add(&table, &key, value, &table), 0);
}
static void drop(const char *name) {
    struct name_key key = key_of(name);
    name_table_remove(&table, &key);
}
static uint64_t find(const char *name) {
    struct name_key key = key_of(name);
    return name_table_find(&table, &key);
}

TEST(a_name_has_1_to_47_bytes) {
    struct name_key key;
    char name[64];
    EXPECT(!name_key_make(&key, "", seed));
    for (size_t size = 1; size < sizeof name; size++) {
        memset(name, 'x', size);
        name[size] = '\0';
        EXPECT_EQ(name_key_make(&key, name, seed), size <= WEFT_NAME_MOST);
    }
}

/* Every name of up to 47 bytes that is another name's beginning, or ends differently, is another name. */
TEST(names_that_begin_alike_are_different) {
    sys_scripted_install();
    char name[WEFT_NAME_MOST + 1];
    for (size_t size = 1; size <= WEFT_NAME_MOST; size++)
        for (int last = 'a'; last <= 'c'; last++) {
            memset(name, 'x', size - 1);
            name[size - 1] = (char)last;
            name[size] = '\0';
            EXPECT_EQ(find(name), 0);
            add(name, size * 10 + (unsigned)(last - 'a') + 1);
        }
    EXPECT_EQ(table.count, 3 * WEFT_NAME_MOST);
    for (size_t size = 1; size <= WEFT_NAME_MOST; size++)
        for (int last = 'a'; last <= 'c'; last++) {
            memset(name, 'x', size - 1);
            name[size - 1] = (char)last;
            name[size] = '\0';
            EXPECT_EQ(find(name), size * 10 + (unsigned)(last - 'a') + 1);
        }
    name_table_destroy(&table);
    EXPECT_EQ(sys_scripted_live(), 0);
}

/* ---- against a list ------------------------------------------------------------------------------------------------------------- */

enum { NAMES = 300 };
static uint64_t expected[NAMES];

static void expect_all(void) {
    char name[WEFT_NAME_MOST + 1];
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "process/%u", i);
        EXPECT_EQ(find(name), expected[i]);
    }
}

TEST(a_random_history_is_that_of_a_list) {
    sys_scripted_install();
    seed = test_seed(7);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    char name[WEFT_NAME_MOST + 1];
    size_t count = 0;
    for (unsigned step = 0; step < 40000 * test_scale(); step++) {
        unsigned i = (unsigned)rng_below(&rng, NAMES);
        snprintf(name, sizeof name, "process/%u", i);
        if (expected[i]) drop(name), expected[i] = 0, count--;
        else add(name, expected[i] = step + 1), count++;
        EXPECT_EQ(table.count, count);
        if (step % 997 == 0) expect_all();
    }
    expect_all();
    name_table_destroy(&table);
    EXPECT_EQ(sys_scripted_live(), 0);
}

/* ---- removals leave nothing behind ------------------------------------------------------------------------------------------------ */

/* The longest run of slots that a search may have to pass. */
static size_t longest_run(void) {
    struct name_array *array = atom_load_rlx(&table.array);
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < 2 * (array->mask + 1); i++) {
        bool used = (atom_load_rlx(&array->slots[i & array->mask].head) & NAME_TAG) != NAME_EMPTY;
        run = used ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    return longest;
}

/* Names that are never the same: a table with marks for removed names would be full of them. */
TEST_WITHIN(a_million_names_that_come_and_go_leave_the_table_as_it_was, 60) {
    sys_scripted_install();
    char name[WEFT_NAME_MOST + 1];
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "stays/%u", i);
        add(name, i + 1);
    }
    for (unsigned i = 0; i < 1000000; i++) {
        snprintf(name, sizeof name, "passes/%u", i);
        add(name, 7);
        drop(name);
    }
    EXPECT_EQ(table.count, 20);
    EXPECT_EQ(atom_load_rlx(&table.array)->mask, NAME_TABLE_LEAST - 1);
    EXPECT(longest_run() <= 20);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "stays/%u", i);
        EXPECT_EQ(find(name), i + 1);
        drop(name);
    }
    EXPECT_EQ(longest_run(), 0);
    name_table_destroy(&table);
    EXPECT_EQ(sys_scripted_live(), 0);
}

TEST(without_memory_to_grow_all_stays_as_it_was) {
    sys_scripted_install();
    char name[WEFT_NAME_MOST + 1];
    unsigned added = 0;
    add("first", 1);
    sys_script.alloc_fail_from = 1;
    for (int error = 0; !error; added += !error) {
        snprintf(name, sizeof name, "n%u", added);
        struct name_key key = key_of(name);
        error = name_table_add(&table, &key, added + 2, &table);
        EXPECT(error == 0 || error == WEFT_ENOMEM);
    }
    EXPECT_EQ(added, NAME_TABLE_LEAST / 2 - 1);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(find(name), 0);
    EXPECT_EQ(find("first"), 1);
    add(name, 5);
    EXPECT_EQ(find(name), 5);
    name_table_destroy(&table);
    EXPECT_EQ(sys_scripted_live(), 0);
}

/* ---- readers beside the writer --------------------------------------------------------------------------------------------------------- */

enum { STAY = 40, READERS = 3 };
static atom_bool over;

/* Those that stay are found at every moment, with their own values; another is found with its own value or not at all. */
static void *reads(void *unused) {
    char name[WEFT_NAME_MOST + 1];
    (void)unused;
    for (unsigned i = 0; !atom_load_rlx(&over); i++) {
        snprintf(name, sizeof name, "stays/%u", i % STAY);
        EXPECT_EQ(find(name), i % STAY + 1);
        snprintf(name, sizeof name, "passes/%u", i % NAMES);
        uint64_t value = find(name);
        EXPECT(value == 0 || value == i % NAMES + 1000);
    }
    return NULL;
}

TEST(readers_find_what_stays_while_others_come_and_go) {
    sys_scripted_install();
    pthread_t readers[READERS];
    struct rng rng;
    rng_seed(&rng, test_seed(3), 0);
    char name[WEFT_NAME_MOST + 1];
    bool there[NAMES] = {false};
    for (unsigned i = 0; i < STAY; i++) {
        snprintf(name, sizeof name, "stays/%u", i);
        add(name, i + 1);
    }
    for (unsigned i = 0; i < READERS; i++)
        EXPECT_EQ(pthread_create(&readers[i], NULL, reads, NULL), 0);
    for (unsigned step = 0; step < 30000 * test_scale(); step++) { /* at first few names, later more: the table grows meanwhile */
        unsigned i = (unsigned)rng_below(&rng, step < 5000 ? NAMES / 10 : NAMES);
        snprintf(name, sizeof name, "passes/%u", i);
        if (there[i]) drop(name);
        else add(name, i + 1000);
        there[i] = !there[i];
    }
    atom_store_rlx(&over, true);
    for (unsigned i = 0; i < READERS; i++)
        EXPECT_EQ(pthread_join(readers[i], NULL), 0);
    name_table_destroy(&table);
    EXPECT_EQ(sys_scripted_live(), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
