/* Processes that are killed in the middle of calls which hold something for a while (a descriptor, memory, a borrowed place): nothing of it is left. */
#include "mailbox_helpers.h"
#include "net_helpers.h"

#include <weft/child.h>
#include <weft/file.h>

#include <signal.h>
#include <sys/wait.h>

static char path[] = "/tmp/weft-killed-XXXXXX", address[WEFT_ADDR_TEXT];
static int ends[2];
static pid_t child;
static weft_fd listener;

static atom_u64 turns;
static void done_one(void) {
    atom_add_rel(&turns, 1);
    weft_checkpoint();
}

/* ---- victims: each repeats its call until it is killed -------------------------------------------------------------------------------- */

static void loads(const char *file) {
    char *data;
    size_t size;
    if (weft_file_load(file, &data, &size) == 0) weft_file_free(data, size);
}
static void loads_files(void *unused) {
    (void)unused;
    for (;; done_one()) {
        loads(path);
        loads("/dev/null"); /* not on a disk: it goes another way */
    }
}
static void saves_a_file(void *unused) {
    (void)unused;
    for (;; done_one())
        weft_file_save(path, "some text", 9, 0600);
}
static void opens_a_file(void *unused) {
    (void)unused;
    for (;; done_one()) {
        int descriptor = weft_file_open(path, O_RDONLY, 0);
        if (descriptor >= 0) weft_file_close(descriptor);
    }
}
static void waits_for_a_child(void *unused) {
    (void)unused;
    for (;; done_one())
        weft_waitpid(child, NULL, weft_in(20 * WEFT_MICROSECOND));
}
static void waits_for_a_pipe(void *unused) {
    (void)unused;
    for (;; done_one())
        weft_fd_wait_raw(ends[0], WEFT_READABLE, weft_in(20 * WEFT_MICROSECOND));
}
static void connects(void *unused) {
    (void)unused;
    for (;; done_one()) {
        weft_fd fd = weft_net_connect(address, weft_in(WEFT_MILLISECOND));
        if (fd > 0) weft_fd_close(fd);
    }
}

/* ---- killing them ---------------------------------------------------------------------------------------------------------------------- */

static void accepts(void *unused) {
    weft_fd fd;
    (void)unused;
    while ((fd = weft_net_accept(listener, NULL, WEFT_FOREVER)) > 0)
        weft_fd_close(fd);
}
static void listens(void *unused) {
    (void)unused;
    listener = net_listen_any(address, NULL);
}
static void stops_listening(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_fd_close(listener), 0);
}

/* The other end of a connection may be closed, or accepted and closed, a little later: no more than `count` at one moment. */
static void expect_descriptors(unsigned count) {
    unsigned found = rt_descriptors();
    for (unsigned i = 0; i < 3000 && found > count; i++, found = rt_descriptors())
        rt_pause(RT_MS);
    EXPECT(found <= count);
}
static unsigned settled_descriptors(void) {
    rt_pause(20 * RT_MS);
    return rt_descriptors();
}
static void kill_some(weft_entry entry, uint64_t seed) {
    struct rng rng;
    unsigned before = 0;
    atom_store_rlx(&turns, 0);
    rng_seed(&rng, test_seed(seed), 0);
    for (unsigned i = 0; i < 60 * test_scale() / RT_SLOW; i++) {
        weft_pid pid = run_flags(entry, NULL, WEFT_SPAWN_JOINABLE);
        if (i == 0) rt_wait(&turns, 3); /* the runtime opens what it needs itself */
        else rt_pause(rng_below(&rng, RT_MS));
        EXPECT_EQ(weft_kill(pid), 0);
        EXPECT_EQ(run_join(pid), WEFT_EKILLED);
        if (i == 0) before = settled_descriptors();
        expect_descriptors(before);
    }
}

TEST_WITHIN(killed_in_a_call_of_files, 60) {
    int file = mkstemp(path);
    EXPECT(file >= 0 && close(file) == 0);
    rt_start("ring", 2);
    kill_some(loads_files, 1);
    kill_some(saves_a_file, 2);
    kill_some(opens_a_file, 3);
    rt_wait_until_none_lives();
    rt_stop(); /* and all memory is back */
    EXPECT_EQ(unlink(path), 0);
}
TEST_WITHIN(killed_in_a_wait_for_what_is_not_wefts, 60) {
    EXPECT_EQ(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    rt_start("ring", 2);
    kill_some(waits_for_a_child, 1);
    kill_some(waits_for_a_pipe, 2);
    rt_wait_until_none_lives();
    rt_stop();
    EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0);
    EXPECT(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}
TEST_WITHIN(killed_while_it_connects, 60) {
    rt_start("ring", 2);
    EXPECT_EQ(run(listens, NULL), 0);
    weft_pid server = run_flags(accepts, NULL, 0);
    kill_some(connects, 1);
    EXPECT_EQ(run(stops_listening, NULL), 0);
    EXPECT(weft_cancel(server) == 0 || !weft_alive(server));
    rt_wait_until_none_lives();
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
