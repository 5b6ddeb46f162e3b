/* Fork and join in real runtimes: the results are right whichever worker ran what, on every policy and number of workers. */
#include "forkjoin_helpers.h"

#include <errno.h>

static atom_u64 elsewhere; /* tasks that ran in another process than the root */
static weft_pid root;
static void note_where(void) {
    if (weft_self() != root) atom_add_rlx(&elsewhere, 1);
}

/* ---- fib ------------------------------------------------------------------------------------------------------------ */

WEFT_TASK(uint64_t, fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_FORK(fib, n - 1);
    uint64_t b = WEFT_CALL(fib, n - 2);
    return WEFT_JOIN(fib) + b;
}
static void fib_process(void *unused) {
    (void)unused;
    EXPECT_EQ(WEFT_RUN(fib, 0), 0);
    EXPECT_EQ(WEFT_RUN(fib, 2), 1);
    if (RT_SLOW == 1) EXPECT_EQ(WEFT_RUN(fib, 27), 196418);
    EXPECT_EQ(WEFT_RUN(fib, 20), 6765);
}
static void fib_body(void) { in_process(fib_process); }
TEST(fork_fib) { rt_each(fib_body); }

/* ---- queens: a task reads its parent's frame --------------------------------------------------------------------------- */

struct board {
    const struct board *above;
    int column;
};

static bool board_allows(const struct board *board, int column) {
    for (int distance = 1; board; board = board->above, distance++)
        if (board->column == column || board->column == column + distance || board->column == column - distance) return false;
    return true;
}

WEFT_TASK(uint64_t, queens, const struct board *, board, int, row, int, size) {
    if (row == size) return 1;
    struct board next[16];
    int forked = 0;
    uint64_t solutions = 0;
    for (int column = 0; column < size; column++) {
        if (!board_allows(board, column)) continue;
        next[forked] = (struct board){board, column};
        WEFT_FORK(queens, &next[forked], row + 1, size);
        forked++;
    }
    while (forked-- > 0)
        solutions += WEFT_JOIN(queens);
    return solutions;
}
static void queens_process(void *unused) {
    (void)unused;
    EXPECT_EQ(WEFT_RUN(queens, NULL, 0, 6), 4);
    EXPECT_EQ(WEFT_RUN(queens, NULL, 0, 8), 92);
}
static void queens_body(void) { in_process(queens_process); }
TEST(fork_queens) { rt_each(queens_body); }

/* ---- skewed: one long arm, at each of its joints a small tree ------------------------------------------------------------ */

WEFT_VOID_TASK(small, atom_u64 *, sum, unsigned, depth) {
    if (depth == 0) {
        atom_add_rlx(sum, 1);
        return;
    }
    WEFT_FORK(small, sum, depth - 1);
    WEFT_CALL(small, sum, depth - 1);
    WEFT_JOIN(small);
}
WEFT_VOID_TASK(arm, atom_u64 *, sum, unsigned, length) {
    if (length == 0) return;
    WEFT_FORK(arm, sum, length - 1);
    WEFT_CALL(small, sum, length % 6);
    WEFT_JOIN(arm);
}
/* The other way round: the long arm is called, the small trees wait to be joined. */
WEFT_VOID_TASK(arm_called, atom_u64 *, sum, unsigned, length) {
    if (length == 0) return;
    WEFT_FORK(small, sum, length % 6);
    WEFT_CALL(arm_called, sum, length - 1);
    WEFT_JOIN(small);
}
static void skewed_process(void *unused) {
    (void)unused;
    enum { LENGTH = 600 };
    uint64_t right = LENGTH / 6 * (1 + 2 + 4 + 8 + 16 + 32);
    atom_u64 sum;
    atom_store_rlx(&sum, 0);
    WEFT_RUN(arm, &sum, LENGTH);
    EXPECT_EQ(atom_load_rlx(&sum), right);
    WEFT_RUN(arm_called, &sum, LENGTH);
    EXPECT_EQ(atom_load_rlx(&sum), 2 * right);
}
static void skewed_body(void) { in_process_with(skewed_process, NULL, 1 << 20); }
TEST(fork_skewed) { rt_each(skewed_body); }

/* ---- steals, forced ------------------------------------------------------------------------------------------------------ */

static atom_u64 begun;

WEFT_TASK(int, begin_elsewhere, int, level) {
    EXPECT(weft_self() != root);
    atom_store_rel(&begun, 1); /* rel: pairs with rt_wait */
    return level * 3;
}
/* Waits, as compute work would not, until a thief has taken its task. */
WEFT_TASK(int, force_one, int, level) {
    atom_store_rlx(&begun, 0);
    WEFT_FORK(begin_elsewhere, level);
    rt_wait(&begun, 1);
    return WEFT_JOIN(begin_elsewhere);
}
static void forced_process(void *unused) {
    (void)unused;
    root = weft_self();
    for (int i = 0; i < 200 / RT_SLOW; i++)
        EXPECT_EQ(WEFT_RUN(force_one, i), i * 3);
}
static void forced_body(void) {
    if (rt.workers > 1) in_process(forced_process);
}
TEST(fork_steals) { rt_each(forced_body); }

/* The owner of a region within a region parks. */
WEFT_TASK(int, begin_late, int, level) {
    atom_store_rel(&begun, 1); /* rel: as above */
    rt_pause(RT_MS / 10);
    return level;
}
WEFT_TASK(int, force_parked, int, level) {
    atom_store_rlx(&begun, 0);
    WEFT_FORK(begin_late, level);
    rt_wait(&begun, 1);
    return WEFT_JOIN(begin_late);
}
WEFT_TASK(int, force_inside, int, level) {
    WEFT_FORK(begin_late, 1);
    int inside = WEFT_RUN(force_parked, level);
    return inside + WEFT_JOIN(begin_late);
}
static void forced_inside_process(void *unused) {
    (void)unused;
    for (int i = 0; i < 10; i++)
        EXPECT_EQ(WEFT_RUN(force_inside, i), i + 1);
}
static void forced_inside_body(void) {
    if (rt.workers > 1) in_process(forced_inside_process);
}
TEST(fork_parks_within) { rt_each(forced_inside_body); }

/* A whole tree of them: each level's task is stolen, and its thief's in turn. The owner parks in the join meanwhile. */
static atom_u64 levels;
WEFT_TASK(int, chain, int, level) {
    atom_add_rlx(&levels, 1);
    if (level == 0) return 1;
    uint64_t before = atom_load_rlx(&levels);
    WEFT_FORK(chain, level - 1);
    rt_wait(&levels, before + 1);
    return WEFT_JOIN(chain) + 1;
}
static void chain_process(void *unused) {
    (void)unused;
    atom_store_rlx(&levels, 0);
    EXPECT_EQ(WEFT_RUN(chain, (int)rt.workers - 1), rt.workers);
}
static void chain_body(void) { in_process(chain_process); }
TEST(fork_chain_of_thieves) { rt_each(chain_body); }

/* More thieves than tasks, and tasks of very different sizes; errno stays what it was. */
WEFT_TASK(uint64_t, uneven, unsigned, depth, unsigned, seed) {
    note_where();
    if (depth == 0) {
        uint64_t x = seed;
        for (unsigned i = 0; i < seed % 1000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" ::"r"(x));
        return seed;
    }
    uint64_t sum = 0;
    unsigned width = 1 + seed % 4;
    for (unsigned i = 0; i < width; i++)
        WEFT_FORK(uneven, depth - 1, seed * 5 + i);
    for (unsigned i = 0; i < width; i++)
        sum += WEFT_JOIN(uneven);
    return sum;
}
static uint64_t uneven_right(unsigned depth, unsigned seed) {
    if (depth == 0) return seed;
    uint64_t sum = 0;
    for (unsigned i = 0; i < 1 + seed % 4; i++)
        sum += uneven_right(depth - 1, seed * 5 + i);
    return sum;
}
static void uneven_process(void *unused) {
    (void)unused;
    root = weft_self();
    for (unsigned seed = 0; seed < 40u / RT_SLOW; seed++) {
        errno = (int)seed;
        EXPECT_EQ(WEFT_RUN(uneven, 7, seed), uneven_right(7, seed));
        EXPECT_EQ(errno, seed);
    }
}
static void uneven_body(void) { in_process(uneven_process); }
TEST(fork_uneven) { rt_each(uneven_body); }

/* ---- many regions at once, and regions within tasks ----------------------------------------------------------------------- */

enum { CROWD = 64 };
static atom_u64 crowd_done;
static void crowd_process(void *number) {
    unsigned n = (unsigned)(uintptr_t)number;
    EXPECT_EQ(WEFT_RUN(uneven, 6, n), uneven_right(6, n));
    atom_add_rel(&crowd_done, 1); /* rel: pairs with rt_wait */
}
static void crowd_body(void) {
    atom_store_rlx(&crowd_done, 0);
    for (unsigned i = 0; i < CROWD; i++) {
        weft_pid pid;
        EXPECT_EQ(weft_spawn_with(crowd_process, (void *)(uintptr_t)i, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    }
    rt_wait(&crowd_done, CROWD);
}
TEST(fork_crowd) { rt_each(crowd_body); }

WEFT_TASK(uint64_t, nested, unsigned, depth) {
    if (depth == 0) return WEFT_RUN(fib, 10);
    WEFT_FORK(nested, depth - 1);
    uint64_t b = WEFT_RUN(nested, depth - 1);
    return WEFT_JOIN(nested) + b;
}
static void nested_process(void *unused) {
    (void)unused;
    EXPECT_EQ(WEFT_RUN(nested, 5), 32 * 55);
}
static void nested_body(void) { in_process_with(nested_process, NULL, 256 << 10); }
TEST(fork_nested) { rt_each(nested_body); }

/* ---- results and arguments of all sorts ------------------------------------------------------------------------------------ */

struct triple {
    double a;
    uint64_t b, c;
};
WEFT_TASK(struct triple, make_triple, double, a, uint64_t, b, uint8_t, c) { return (struct triple){a, b, c}; }
WEFT_TASK(long double, add_long, long double, a, long double, b) { return a + b; }
WEFT_TASK(int, seven) { return 7; }
WEFT_VOID_TASK(set, int *, where, int, a, int, b, int, c, int, d, int, e) { *where = a + b + c + d + e; }
WEFT_VOID_TASK_DECLARE(odd, unsigned, n, bool *, is);
WEFT_VOID_TASK(even, unsigned, n, bool *, is) {
    *is = true;
    if (n == 0) return;
    WEFT_FORK(odd, n - 1, is);
    WEFT_JOIN(odd);
}
WEFT_VOID_TASK_DEFINE(odd, unsigned, n, bool *, is) {
    *is = false;
    if (n == 0) return;
    WEFT_CALL(even, n - 1, is);
}
WEFT_VOID_TASK(sorts) {
    int sum = 0;
    bool is;
    WEFT_FORK(make_triple, 0.5, 1, 255);
    WEFT_FORK(add_long, 1.25L, 2.5L);
    WEFT_FORK(seven);
    WEFT_FORK(set, &sum, 1, 2, 3, 4, 5);
    weft_yield(); /* not waiting: allowed */
    WEFT_JOIN(set);
    EXPECT_EQ(sum, 15);
    EXPECT_EQ(WEFT_JOIN(seven), 7);
    EXPECT(WEFT_JOIN(add_long) == 3.75L);
    struct triple t = WEFT_JOIN(make_triple);
    EXPECT(t.a == 0.5 && t.b == 1 && t.c == 255);
    WEFT_CALL(even, 10, &is);
    EXPECT(is);
    WEFT_CALL(odd, 10, &is);
    EXPECT(!is);
}
static void sorts_process(void *unused) {
    (void)unused;
    for (int i = 0; i < 100; i++)
        WEFT_RUN(sorts);
}
static void sorts_body(void) { in_process(sorts_process); }
TEST(fork_sorts) { rt_each(sorts_body); }

/* ---- very many at once: memory comes back ----------------------------------------------------------------------------------- */

WEFT_TASK(uint64_t, wide, unsigned, count) {
    uint64_t sum = 0;
    if (count == 0) return 1;
    for (unsigned i = 0; i < count; i++)
        WEFT_FORK(wide, 0);
    for (unsigned i = 0; i < count; i++)
        sum += WEFT_JOIN(wide);
    return sum;
}
static uint64_t resident(void) {
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long all = 0, pages = 0;
    EXPECT(statm && fscanf(statm, "%lu %lu", &all, &pages) == 2);
    fclose(statm);
    return (uint64_t)pages * 4096;
}
static void wide_process(void *unused) {
    (void)unused;
    unsigned count = RT_SLOW == 1 ? 300000 : 100000;
    uint64_t before = resident();
    EXPECT_EQ(WEFT_RUN(wide, count), count);
    EXPECT_EQ(WEFT_RUN(wide, count / 10), count / 10);
    if (RT_SLOW == 1 && !test_emulated()) EXPECT(resident() < before + (8 << 20)); /* 19 MB while it ran */
}
static void wide_body(void) { in_process(wide_process); }
TEST(fork_wide) { rt_each(wide_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
