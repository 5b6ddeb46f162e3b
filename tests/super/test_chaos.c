/* A supervision tree under random kills, exits, faults, floods and restarts, by seed. What must hold meanwhile and afterwards:
 *
 *   every monitor is told exactly once, or was taken back
 *   a supervisor has not restarted its children more often than it may
 *   a name means one process: the one that was given it
 *   every message that a blocking mailbox accepted is handled or released, once
 *   nothing is left in the end: processes, memory, names */
#include "super_helpers.h"
#include "victim.h"

enum { TREES = 4, INTENSITY = 6, FLOODERS = 3, WATCHERS = 3, KILLERS = 2, NAMED = 2 };

static struct {
    unsigned workers; /* of each tree */
    unsigned rounds;  /* of each killer */
    atom_u64 accepted, released, refused, monitors, told, taken_back, kills, begun;
    atom_bool over;
    bool faults;
    uint64_t seed;
} chaos;

static uint64_t noise(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* ---- workers: handle messages; some end now and then -------------------------------------------------------------------------- */

static void release(void *buffer, size_t size, void *user) {
    (void)size, (void)user;
    free(buffer);
    atom_add_rlx(&chaos.released, 1);
}

/* One of two: a null pointer, or abort. */
static int *volatile null_pointer = (int *)16;
static __attribute__((noinline)) void fault(uint64_t which) {
    if (which % 2) *(volatile int *)null_pointer = 1;
    abort();
}

static void worker(void *unused) {
    uint64_t state = chaos.seed + atom_add_rlx(&chaos.begun, 1);
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_msg_free(message);
        uint64_t what = noise(&state) % 64;
        if (what == 0) weft_exit((int)(noise(&state) % 3) - 1);
        if (what == 1 && chaos.faults) fault(noise(&state));
        if (what < 8) weft_yield();
    }
    weft_exit(WEFT_ECANCELED);
}

/* One with a name: it has it from before it runs, and it is the only one. */
static void named(void *name) {
    EXPECT_EQ(weft_whereis(name), weft_self());
    weft_ready(0);
    worker(NULL);
}

/* ---- those that disturb them -------------------------------------------------------------------------------------------------------- */

/* A process of the tree: any. */
static weft_pid anyone(uint64_t *state, bool supers) {
    char name[32];
    weft_child_info *children;
    snprintf(name, sizeof name, "tree%u", (unsigned)(noise(state) % TREES));
    weft_pid tree = weft_whereis(name), pid = WEFT_NOBODY;
    if (supers && noise(state) % 16 == 0) return tree;
    size_t most = chaos.workers + NAMED;
    if (!(children = malloc(most * sizeof *children))) return pid;
    ssize_t count = weft_super_children(tree, children, most, weft_in(10 * WEFT_SECOND));
    if (count > 0) pid = children[noise(state) % ((size_t)count < most ? (size_t)count : most)].pid;
    uint64_t restarts = 0;
    for (ssize_t i = 0; i < count && i < (ssize_t)most; i++)
        restarts += children[i].restarts;
    EXPECT(restarts <= INTENSITY);
    free(children);
    return pid;
}

static void killer(void *number) {
    uint64_t state = chaos.seed * 31 + (uintptr_t)number;
    for (unsigned i = 0; i < chaos.rounds; i++) {
        weft_pid pid = anyone(&state, true);
        if (pid && noise(&state) % 2 && weft_kill(pid) == 0) atom_add_rlx(&chaos.kills, 1);
        else if (pid) weft_cancel(pid);
        weft_sleep(noise(&state) % 300 * WEFT_MICROSECOND);
    }
}

static void flooder(void *number) {
    uint64_t state = chaos.seed * 37 + (uintptr_t)number;
    while (!atom_load_rlx(&chaos.over)) {
        weft_pid pid = anyone(&state, false);
        for (unsigned i = 0; pid && i < 50; i++) {
            char *buffer = malloc(64);
            EXPECT(buffer != NULL);
            if (weft_send_move(pid, 1, buffer, 64, release, NULL) == 0) {
                atom_add_rlx(&chaos.accepted, 1);
                continue;
            }
            free(buffer);
            atom_add_rlx(&chaos.refused, 1);
            break;
        }
        weft_yield();
    }
}

/* Monitors one after the other, several at a time, and takes some back. */
static void watcher(void *number) {
    enum { AT_ONCE = 16 };
    uint64_t state = chaos.seed * 41 + (uintptr_t)number, references[AT_ONCE] = {0};
    weft_msg *message;
    unsigned pending = 0;
    bool over;
    do {
        over = atom_load_rlx(&chaos.over);
        unsigned at = noise(&state) % AT_ONCE;
        if (references[at]) {
            if (weft_demonitor(references[at], true) == 0) atom_add_rlx(&chaos.taken_back, 1);
            else atom_add_rlx(&chaos.told, 1); /* the notice was in the mailbox: it is not in the list any more */
            references[at] = 0;
            pending--;
        } else if (!over) {
            weft_pid pid = anyone(&state, true);
            if (pid) {
                EXPECT_EQ(weft_monitor(pid, 2, &references[at]), 0);
                atom_add_rlx(&chaos.monitors, 1);
                pending++;
            }
        }
        while (weft_recv(&message, over && pending ? WEFT_FOREVER : 0) == 0) {
            const weft_notice *notice = weft_msg_notice(message);
            EXPECT(notice && notice->kind == WEFT_NOTICE_DOWN);
            unsigned i = 0;
            while (i < AT_ONCE && references[i] != notice->reference)
                i++;
            EXPECT(i < AT_ONCE); /* none is told twice, and none that was taken back */
            references[i] = 0;
            pending--;
            atom_add_rlx(&chaos.told, 1);
            weft_msg_free(message);
            if (pending == 0) break;
        }
        weft_yield();
    } while (!over || pending);
    EXPECT_EQ(weft_recv(&message, 0), WEFT_ETIMEDOUT);
}

/* ---- the tree ---------------------------------------------------------------------------------------------------------------------------- */

static weft_pid tree_begin(char names[TREES][NAMED][16], char ids[TREES][16]) {
    static const weft_mailbox bounded = {.messages = 8, .when_full = WEFT_FULL_BLOCK};
    weft_super_spec specs[TREES];
    weft_child_spec tops[TREES], *leaves[TREES];
    weft_pid super = WEFT_NOBODY;
    size_t each = chaos.workers + NAMED;
    char(*leaf_ids)[24] = malloc(each * sizeof *leaf_ids);
    for (size_t i = 0; i < each; i++)
        snprintf(leaf_ids[i], sizeof leaf_ids[i], "w%zu", i);
    for (unsigned t = 0; t < TREES; t++) {
        leaves[t] = calloc(each, sizeof *leaves[t]);
        for (size_t i = 0; i < each; i++) {
            leaves[t][i] = (weft_child_spec){.id = leaf_ids[i], .entry = worker, .mailbox = &bounded, .stop_ms = 2000};
            if (i >= NAMED) continue;
            snprintf(names[t][i], sizeof names[t][i], "name%u.%zu", t, i);
            leaves[t][i].entry = named;
            leaves[t][i].arg = names[t][i];
            leaves[t][i].register_as = names[t][i];
            leaves[t][i].ready = true;
        }
        snprintf(ids[t], sizeof ids[t], "tree%u", t);
        specs[t] = (weft_super_spec){.name = ids[t], .children = leaves[t], .count = each, .strategy = (enum weft_strategy)(t % 3)};
        specs[t].intensity = INTENSITY;
        specs[t].period_ms = 3600000;
        tops[t] = (weft_child_spec){.id = ids[t], .super = &specs[t], .register_as = ids[t], .stop_ms = 10000};
    }
    weft_super_spec all = {.name = "all", .children = tops, .count = TREES, .intensity = 1000000, .period_ms = 1000};
    EXPECT_EQ(weft_super_start(&all, NULL, &super, WEFT_FOREVER), 0);
    for (unsigned t = 0; t < TREES; t++)
        free(leaves[t]);
    free(leaf_ids);
    return super;
}

static void chaotic(void *unused) {
    static char names[TREES][NAMED][16], ids[TREES][16];
    weft_pid killers[KILLERS], others[FLOODERS + WATCHERS];
    (void)unused;
    weft_pid super = tree_begin(names, ids);
    for (uintptr_t i = 0; i < FLOODERS; i++)
        others[i] = weft_spawn_joinable(flooder, (void *)i);
    for (uintptr_t i = 0; i < WATCHERS; i++)
        others[FLOODERS + i] = weft_spawn_joinable(watcher, (void *)i);
    for (uintptr_t i = 0; i < KILLERS; i++)
        killers[i] = weft_spawn_joinable(killer, (void *)i);
    for (unsigned i = 0; i < KILLERS; i++)
        run_join(killers[i]);
    atom_store_rlx(&chaos.over, true);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    for (unsigned i = 0; i < FLOODERS + WATCHERS; i++)
        EXPECT_EQ(run_join(others[i]), 0);
    /* Children of a supervisor that was killed end by their links, some a little later. In vain, the watchdog ends it. */
    while (weft_names(NULL, NULL, NULL) != 0)
        weft_sleep(WEFT_MILLISECOND);
}

static void chaos_seed(uint64_t seed, const char *policy, unsigned workers) {
    test_doing("WEFT_TEST_SEED=%lu", (unsigned long)seed);
    chaos.seed = seed;
    atom_store_rlx(&chaos.over, false);
    atom_u64 *counters[] = {&chaos.accepted, &chaos.released,   &chaos.refused, &chaos.monitors,
                            &chaos.told,     &chaos.taken_back, &chaos.kills,   &chaos.begun};
    for (unsigned i = 0; i < sizeof counters / sizeof *counters; i++)
        atom_store_rlx(counters[i], 0);
    chaos.faults = !SANITIZED && seed % 4 < 2; /* a sanitizer has handlers of its own */
    setenv("WEFT_CONTAIN_FAULTS", chaos.faults ? "1" : "0", 1);
    if (chaos.faults) reports_begin();
    rt_start(policy, workers);
    EXPECT_EQ(run(chaotic, NULL), 0);
    rt_stop();
    if (chaos.faults) reports_end();
    EXPECT_EQ(atom_load_rlx(&chaos.monitors), atom_load_rlx(&chaos.told) + atom_load_rlx(&chaos.taken_back));
    EXPECT_EQ(atom_load_rlx(&chaos.accepted), atom_load_rlx(&chaos.released));
}

static void chaos_seeds(unsigned workers, unsigned rounds, unsigned seeds) {
    static const char *const policies[] = {"ring", "deque", "line"};
    uint64_t given = test_seed(0);
    chaos.workers = workers;
    chaos.rounds = rounds;
    for (uint64_t seed = given ? given : 1; seed <= (given ? given : seeds); seed++)
        chaos_seed(seed, policies[seed % 3], seed % 2 ? 2 : 1 + (unsigned)seed % 4);
}

TEST_WITHIN(chaos_in_a_small_tree, 120) { chaos_seeds(10, 60 / RT_SLOW + 10, 20); }
/* Ten thousand processes; in `make test-full`, which gives a program an hour: 200 seeds of some seconds each, and as many as fit where a build
 * is slower. */
TEST_WITHIN(chaos_in_a_large_tree, 3600) {
    unsigned scale = test_scale(), seeds = scale < 6 ? 34 * scale : 200;
    if (scale > 1 && !test_emulated()) chaos_seeds(2500, 100 / RT_SLOW + 20, RT_SLOW == 1 ? seeds : 40 / RT_SLOW + 5);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
