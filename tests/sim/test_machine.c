/* Machines: each has its own runtime and disk, crashes in the middle of what it does, and starts again with what it had synced. The others go
 * on. */
#include "seeds.h"

#include <weft/weft.h>

#include <fcntl.h>

enum { RECORDS = 50 };
#define SECOND UINT64_C(1000000000)

/* As EXPECT, inside a simulation. */
#define HOLDS(condition)                                                                                                                   \
    do {                                                                                                                                   \
        if (!(condition)) sim_fail("test", "line %d: expected %s", __LINE__, #condition);                                                  \
    } while (0)

/* ---- a machine that counts in a file --------------------------------------------------------------------------------------------- */

static int synced[3]; /* what the machine has been told is on the disk. The observer's memory: it survives crashes */
static int starts[3];

static int count_of(const char *path) {
    char *data;
    size_t size;
    if (weft_file_load(path, &data, &size)) return 0;
    int count = size ? atoi(data) : 0;
    weft_file_free(data, size);
    return count;
}

/* Replaces the file: another one is written, synced and renamed. */
static void count_to(int count) {
    char text[16];
    int size = snprintf(text, sizeof text, "%d", count), file = weft_file_open("/count.new", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    HOLDS(file >= 0);
    HOLDS(weft_file_write_all(file, text, (size_t)size, NULL, WEFT_FOREVER) == 0);
    HOLDS(weft_file_sync(file) == 0);
    HOLDS(weft_file_close(file) == 0);
    HOLDS(weft_file_rename("/count.new", "/count") == 0);
}

static void sync_root(void) {
    int root = weft_file_open("/", O_RDONLY | O_DIRECTORY, 0);
    HOLDS(root >= 0);
    HOLDS(weft_file_sync(root) == 0);
    HOLDS(weft_file_close(root) == 0);
}

static int counts(int argc, char **argv) {
    (void)argc, (void)argv;
    int here = weft_sim_here(), count = count_of("/count");
    HOLDS(count >= synced[here]);
    sync_root(); /* it may have been found without having been synced */
    synced[here] = count;
    for (starts[here]++; count < RECORDS;) {
        count_to(++count);
        weft_sim_point("renamed");
        sync_root();
        synced[here] = count;
        weft_sim_point("synced");
        weft_yield();
    }
    return 0;
}
static void counts_machine(void *arg) {
    (void)arg;
    HOLDS(weft_main(0, NULL, counts) == 0);
}

/* Two machines, started again as often as they crash. */
static int machines_main(void) {
    int first = weft_sim_machine("first", counts_machine, NULL), second = weft_sim_machine("second", counts_machine, NULL);
    HOLDS(first == 1 && second == 2);
    for (int machine = first; machine <= second; machine++)
        while (weft_sim_wait(machine, WEFT_FOREVER) == WEFT_EKILLED)
            HOLDS(weft_sim_restart(machine) == 0);
    HOLDS(synced[first] == RECORDS && synced[second] == RECORDS);
    return 0;
}

TEST_WITHIN(machines_end_well, 120) { seeds_pass(1, 30, machines_main); }

TEST_WITHIN(what_a_machine_has_synced_survives_its_crashes, 300) {
    setenv("WEFT_SIM_FAULTS", "crash", 1);
    seeds_pass(1, 150, machines_main);
}

static int crashes_main(void) {
    machines_main();
    return starts[1] + starts[2] > 2 ? 3 : 0;
}

TEST_WITHIN(some_seeds_crash_machines, 120) {
    unsigned crashed = 0;
    struct seed_result result;
    setenv("WEFT_SIM_FAULTS", "crash", 1);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        seed_run(seed, crashes_main, &result);
        crashed += WIFEXITED(result.status) && WEXITSTATUS(result.status) == 3;
    }
    EXPECT(crashed > 0);
}

/* ---- a crash from outside, at any moment ----------------------------------------------------------------------------------------- */

static int busy_rounds;
static void busy_child(void *arg) {
    weft_msg *message;
    weft_pid from = *(weft_pid *)arg;
    weft_send(from, 1, "hello", 5);
    weft_recv(&message, weft_in(SECOND / 1000));
}

/* Spawns, sends, sleeps, and uses files, without end: so a crash may find its threads anywhere. */
static int busy(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_pid self = weft_self();
    while (busy_rounds >= 0) {
        weft_msg *message;
        weft_pid child = weft_spawn_joinable(busy_child, &self);
        if (weft_recv(&message, weft_in(SECOND)) == 0) weft_msg_free(message);
        weft_join(child, NULL, WEFT_FOREVER);
        busy_rounds++;
        sync_root();
    }
    return 0;
}
static void busy_machine(void *arg) {
    (void)arg;
    weft_main(0, NULL, busy);
}

static int killed_main(void) {
    int busy_one = weft_sim_machine("busy", busy_machine, NULL), steady = weft_sim_machine("steady", counts_machine, NULL);
    for (int i = 0; i < 20; i++) {
        HOLDS(weft_sim_wait(busy_one, weft_in(1 + weft_sim_random(3000000))) == WEFT_ETIMEDOUT);
        weft_sim_crash(busy_one);
        HOLDS(weft_sim_wait(busy_one, WEFT_FOREVER) == WEFT_EKILLED);
        HOLDS(weft_sim_restart(busy_one) == 0);
        HOLDS(weft_sim_restart(busy_one) == WEFT_EBUSY);
    }
    weft_sim_crash(busy_one);
    HOLDS(weft_sim_wait(busy_one, WEFT_FOREVER) == WEFT_EKILLED);
    HOLDS(weft_sim_wait(steady, WEFT_FOREVER) == 0);
    return 0;
}

TEST_WITHIN(a_machine_that_is_killed_anywhere_holds_nothing_that_others_need, 300) { seeds_pass(1, 60, killed_main); }

/* ---- what a machine must not do ------------------------------------------------------------------------------------------------------ */

static void exits(void *arg) { exit(arg != NULL); }
static int exit_main(void) {
    weft_sim_wait(weft_sim_machine("exits", exits, NULL), WEFT_FOREVER);
    return 1;
}
static int cut_main(void) {
    weft_sim_partition(0, 5, true);
    return 1;
}
TEST(a_machine_that_would_end_all_and_one_that_is_not_there_are_told) {
    struct seed_result result;
    seed_run(1, exit_main, &result);
    EXPECT(strstr(result.line, "verdict=machine") && strstr(result.said, "machine 1 has called exit"));
    seed_run(1, cut_main, &result);
    EXPECT(strstr(result.said, "weft_sim_partition: there is no machine 5"));
    EXPECT_EQ(weft_sim_machine("none", NULL, NULL), WEFT_EINVAL);
}

/* ---- many lives -------------------------------------------------------------------------------------------------------------------- */

enum { LIVES = 400 }; /* more than there are instances of runtimes, and 2,000 threads */
static int lives, ended_lives;

static void short_child(void *arg) { (void)arg; }
static int short_life(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_join(weft_spawn_joinable(short_child, NULL), NULL, WEFT_FOREVER);
    ended_lives++;
    weft_sleep(SECOND);
    return 0;
}
static void short_machine(void *arg) {
    (void)arg;
    lives++;
    weft_main(0, NULL, short_life);
}
static int many_lives_main(void) {
    int machine = weft_sim_machine("short", short_machine, NULL);
    while (lives < LIVES) {
        weft_sim_wait(machine, weft_in(SECOND / 2));
        weft_sim_crash(machine);
        HOLDS(weft_sim_wait(machine, WEFT_FOREVER) == WEFT_EKILLED);
        HOLDS(weft_sim_restart(machine) == 0);
    }
    HOLDS(weft_sim_wait(machine, WEFT_FOREVER) == 0);
    HOLDS(ended_lives >= LIVES); /* each runtime has started */
    return 0;
}

TEST_WITHIN(a_machine_can_crash_more_often_than_there_are_runtimes, 120) { seeds_pass(1, 2, many_lives_main); }

int main(int argc, char **argv) { return test_main(argc, argv); }
