/* Files in memory behave as files do: the same random operations, on the real table in a temporary directory and on the simulated one, give
 * the same results, errors included. */
#include "world/file.h"

#include "base/rng.h"
#include "sys/sys_file.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN_MOST = 5, DATA_MOST = 1500, ROUNDS = 2000, RUNS = 10, NAMES_MOST = 512 };

/* One world: a table, and where its tree is. */
struct world {
    const struct sys_file *file;
    char root[64];
    int open[OPEN_MOST];
    char path[2][256];
    unsigned char data[DATA_MOST];
    char names[NAMES_MOST];
};
static struct world worlds[2];
static struct rng rng;

static const char *const paths[] = {"a",     "b",  "d",  "d/a", "d/b", "d/e",  "d/e/a", "d/e/f",  "e",    "e/a", ".",      "d/.", "d/..",
                                    "d/./a", "a/", "d/", "b/x", "",    "d//a", "d/e/",  "e/../a", "d/..", "x/y", "d/e/..", "//a", "new/"};

static unsigned pick(unsigned bound) { return rng_below(&rng, bound); }

static const char *path_in(struct world *world, unsigned which, unsigned number) {
    strcpy(stpcpy(stpcpy(world->path[which], world->root), "/"), paths[number]);
    return world->path[which];
}

static void same(const char *what, int64_t real, int64_t simulated) {
    if (real == simulated) return;
    test_fail(__FILE__, __LINE__, "%s (%s, %s): really %lld, simulated %lld", what, worlds[1].path[0], worlds[1].path[1], (long long)real,
              (long long)simulated);
}

/* Both worlds; `expression` speaks of `world`. */
#define BOTH(what, expression)                                                                                                             \
    ({                                                                                                                                     \
        int64_t both[2];                                                                                                                   \
        for (unsigned w = 0; w < 2; w++) {                                                                                                 \
            struct world *world = &worlds[w];                                                                                              \
            (void)world;                                                                                                                   \
            both[w] = (expression);                                                                                                        \
        }                                                                                                                                  \
        same(what, both[0], both[1]);                                                                                                      \
        both[0];                                                                                                                           \
    })

/* ---- operations ----------------------------------------------------------------------------------------------------------------- */

static int64_t open_one(struct world *world, unsigned slot, unsigned path, int flags, unsigned mode) {
    if (world->open[slot] >= 0) world->file->close(world->open[slot]);
    world->open[slot] = world->file->open(path_in(world, 0, path), flags, mode);
    return world->open[slot] < 0 ? world->open[slot] : 0;
}

static void do_open(void) {
    static const int flags[] = {0,          O_CREAT, O_CREAT, O_CREAT, O_CREAT | O_EXCL, O_TRUNC, O_CREAT | O_TRUNC, O_CREAT | O_APPEND,
                                O_DIRECTORY};
    static const int access[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR};
    unsigned slot = pick(OPEN_MOST), path = pick(sizeof paths / sizeof paths[0]), mode = pick(2) ? 0644 : 0666;
    int how = flags[pick(sizeof flags / sizeof flags[0])] | access[pick(4)];
    BOTH("open", open_one(world, slot, path, how, mode));
}

static void do_close(void) {
    unsigned slot = pick(OPEN_MOST);
    BOTH("close", world->open[slot] < 0 ? 0 : world->file->close(world->open[slot]));
    worlds[0].open[slot] = worlds[1].open[slot] = -1;
}

static int64_t move(struct world *world, unsigned slot, bool writes, size_t size, size_t first, int64_t offset) {
    struct iovec parts[2] = {{world->data, first}, {world->data + first, size - first}};
    if (world->open[slot] < 0) return 0;
    return writes ? world->file->write(world->open[slot], parts, 2, offset, false)
                  : world->file->read(world->open[slot], parts, 2, offset, false);
}

static void do_move(void) {
    unsigned slot = pick(OPEN_MOST);
    bool writes = pick(2);
    size_t size = pick(DATA_MOST), first = size ? pick((unsigned)size) : 0;
    int64_t offset = pick(2) ? -1 : (int64_t)pick(3000);
    for (size_t i = 0; i < size; i++)
        worlds[0].data[i] = worlds[1].data[i] = (unsigned char)(writes ? pick(256) : 0);
    BOTH(writes ? "write" : "read", move(world, slot, writes, size, first, offset));
    EXPECT(memcmp(worlds[0].data, worlds[1].data, size) == 0);
}

static void do_truncate(void) {
    unsigned slot = pick(OPEN_MOST);
    int64_t size = pick(10) ? (int64_t)pick(4000) : -1;
    BOTH("truncate", world->open[slot] < 0 ? 0 : world->file->truncate(world->open[slot], size));
}

static void do_sync(void) {
    unsigned slot = pick(OPEN_MOST);
    BOTH("sync", world->open[slot] < 0 ? 0 : world->file->sync(world->open[slot], pick(1)));
}

/* What of a stat has to be the same: a number made from type, permissions, and of a file its size and links. */
static int64_t stat_sum(int error, const struct stat *info) {
    if (error) return error;
    int64_t sum = info->st_mode;
    return S_ISREG(info->st_mode) ? sum | (int64_t)info->st_size << 20 | (int64_t)info->st_nlink << 40 : sum;
}

static int64_t stat_path(struct world *world, unsigned path) {
    struct stat info;
    int error = world->file->stat_path(path_in(world, 0, path), &info, true);
    return stat_sum(error, &info);
}
static int64_t stat_open(struct world *world, unsigned slot) {
    struct stat info;
    if (world->open[slot] < 0) return 0;
    int error = world->file->stat(world->open[slot], &info);
    return stat_sum(error, &info);
}

static void do_stat(void) {
    unsigned path = pick(sizeof paths / sizeof paths[0]), slot = pick(OPEN_MOST);
    BOTH("stat", stat_path(world, path));
    BOTH("fstat", stat_open(world, slot));
}

static void do_mkdir(void) {
    unsigned path = pick(sizeof paths / sizeof paths[0]);
    BOTH("mkdir", world->file->mkdir(path_in(world, 0, path), 0777));
}
static void do_unlink(void) {
    unsigned path = pick(sizeof paths / sizeof paths[0]), directory = pick(2);
    BOTH("unlink", world->file->unlink(path_in(world, 0, path), directory));
}
static void do_rename(void) {
    unsigned from = pick(sizeof paths / sizeof paths[0]), to = pick(sizeof paths / sizeof paths[0]);
    BOTH("rename", world->file->rename(path_in(world, 0, from), path_in(world, 1, to)));
}

/* ---- listing -------------------------------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

/* All names and types, sorted. */
static int64_t list_open(struct world *world, int descriptor, size_t size) {
    _Alignas(8) char entries[512];
    char names[32][16];
    unsigned count = 0;
    int64_t filled;
    while ((filled = world->file->list(descriptor, entries, size)) > 0)
        for (int64_t at = 0; at < filled; at += ((struct sys_entry *)(entries + at))->size) {
            struct sys_entry *entry = (struct sys_entry *)(entries + at);
            snprintf(names[count++], sizeof names[0], "%.10s %d", entry->name, entry->type);
        }
    qsort(names, count, sizeof names[0], by_text);
    world->names[0] = '\0';
    for (unsigned i = 0; i < count; i++)
        strcat(strcat(world->names, names[i]), "\n");
    return filled < 0 ? filled : count;
}

static int64_t list_path(struct world *world, unsigned path, size_t size) {
    int descriptor = world->file->open(path_in(world, 0, path), O_RDONLY, 0);
    int64_t result = descriptor < 0 ? descriptor : list_open(world, descriptor, size);
    if (descriptor >= 0) world->file->close(descriptor);
    return result;
}

static void do_list(void) {
    unsigned path = pick(sizeof paths / sizeof paths[0]);
    size_t size = pick(2) ? 64 : 512;
    if (BOTH("list", list_path(world, path, size)) < 0) return;
    EXPECT(strcmp(worlds[0].names, worlds[1].names) == 0);
}

/* ---- the test ------------------------------------------------------------------------------------------------------------------- */

static void (*const operations[])(void) = {do_open, do_open,  do_close, do_move,   do_move,   do_move,   do_truncate, do_sync,
                                           do_stat, do_mkdir, do_mkdir, do_unlink, do_rename, do_rename, do_list};

static void begin(unsigned run) {
    worlds[0].file = &sys_linux_file;
    worlds[1].file = &sim_file;
    snprintf(worlds[0].root, sizeof worlds[0].root, "/tmp/weft-oracle-XXXXXX");
    EXPECT(mkdtemp(worlds[0].root));
    snprintf(worlds[1].root, sizeof worlds[1].root, "/weft-oracle-%u", run);
    EXPECT_EQ(sim_file.mkdir(worlds[1].root, 0700), 0);
    for (unsigned i = 0; i < OPEN_MOST; i++)
        worlds[0].open[i] = worlds[1].open[i] = -1;
}

static void end(void) {
    char command[128];
    for (unsigned i = 0; i < OPEN_MOST; i++)
        if (worlds[0].open[i] >= 0) sys_linux_file.close(worlds[0].open[i]), sim_file.close(worlds[1].open[i]);
    snprintf(command, sizeof command, "rm -rf %s", worlds[0].root);
    EXPECT_EQ(system(command), 0);
}

TEST_WITHIN(the_same_operations_give_the_same_results, 120) {
    umask(022);
    setenv("WEFT_SIM_FAULTS", "", 1);
    sim_draw_setup(1);
    uint64_t seed = test_seed(1);
    for (unsigned run = 0; run < RUNS * test_scale(); run++) {
        rng_seed(&rng, seed, run);
        begin(run);
        for (unsigned i = 0; i < ROUNDS; i++)
            operations[pick(sizeof operations / sizeof operations[0])]();
        end();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
