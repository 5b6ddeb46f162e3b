/* File commands of step processes: results, errors, many at once, and processes that end before theirs are completed. */
#include "command/built_in.h"
#include "io_helpers.h"

#include <fcntl.h>

/* A process that does what the test says, step by step: `script` is called with every completion. */
struct order {
    void (*yield)(weft_out *out);
    bool end; /* in the same step */
};
static atom_u64 completed, ended;
static int last_error;
static uint64_t last_tag;
static size_t last_size;
static unsigned char last_data[300000];

static int player_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool over = false;
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) over = true;
        if (events[i].type == WEFT_EVENT_MESSAGE) {
            const struct order *order = events[i].data;
            order->yield(out);
            if (order->end) over = true;
        }
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        last_error = events[i].error;
        last_tag = events[i].tag;
        last_size = events[i].size;
        EXPECT(last_size <= sizeof last_data);
        if (last_size > 0) memcpy(last_data, events[i].data, last_size);
        atom_add_rel(&completed, 1);
    }
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static void player_close(void *self) {
    (void)self;
    atom_add_rel(&ended, 1);
}
static const weft_behavior player = {.name = "player", .step = player_step, .close = player_close};

static weft_pid pid;
static void give(void (*yield)(weft_out *out), bool end) {
    EXPECT_EQ(weft_send(pid, 0, &(struct order){yield, end}, sizeof(struct order)), 0);
}
/* One command; its completion's error. */
static int play(void (*yield)(weft_out *out)) {
    uint64_t before = atom_load_rlx(&completed);
    give(yield, false);
    rt_wait(&completed, before + 1);
    return last_error;
}

static char path[64];
static int fd;
static void begin(void) {
    atom_store_rlx(&completed, 0);
    atom_store_rlx(&ended, 0);
    strcpy(path, "/tmp/weft-command-XXXXXX");
    int made = mkstemp(path);
    EXPECT(made >= 0);
    close(made);
    pid = rt_spawn(&player);
}
static void end(void) { unlink(path); }

/* ---- each ----------------------------------------------------------------------------------------------------------------- */

static char text[200000];
static void opens(weft_out *out) { EXPECT_EQ(weft_out_open(out, 1, path, O_RDWR, 0), 0); }
static void opens_nothing(weft_out *out) { EXPECT_EQ(weft_out_open(out, 2, "/nowhere/at/all", O_RDWR, 0), 0); }
static void opens_no_name(weft_out *out) { EXPECT_EQ(weft_out_open(out, 2, "", O_RDWR, 0), 0); }
static void writes(weft_out *out) { EXPECT_EQ(weft_out_write_all(out, 3, fd, text, sizeof text, -1, WEFT_FOREVER), 0); }
static void writes_at(weft_out *out) { EXPECT_EQ(weft_out_write_all(out, 4, fd, "HELLO", 5, 100, WEFT_FOREVER), 0); }
static void writes_much_at(weft_out *out) { EXPECT_EQ(weft_out_write_all(out, 4, fd, text, sizeof text, 100, WEFT_FOREVER), 0); }
static void writes_nothing(weft_out *out) { EXPECT_EQ(weft_out_write_all(out, 4, fd, NULL, 0, -1, WEFT_FOREVER), 0); }
static void reads_at(weft_out *out) { EXPECT_EQ(weft_out_read(out, 5, fd, 10, 98, WEFT_FOREVER), 0); }
static void reads_much(weft_out *out) { EXPECT_EQ(weft_out_read(out, 6, fd, sizeof text + 50, 0, WEFT_FOREVER), 0); }
static void reads_end(weft_out *out) { EXPECT_EQ(weft_out_read(out, 7, fd, 10, -1, WEFT_FOREVER), 0); }
static void reads_too_much(weft_out *out) { EXPECT_EQ(weft_out_read(out, 7, fd, SIZE_MAX / 2, -1, WEFT_FOREVER), 0); }
static void syncs(weft_out *out) { EXPECT_EQ(weft_out_sync(out, 8, fd), 0); }
static void closes(weft_out *out) { EXPECT_EQ(weft_out_close(out, 9, fd), 0); }
static void sleeps(weft_out *out) { EXPECT_EQ(weft_out_sleep(out, 10, RT_MS), 0); }
static void odd_read(weft_out *out) { EXPECT_EQ(weft_out_yield(out, COMMAND_READ, 11, "x", 1), 0); }
static void odd_write(weft_out *out) { EXPECT_EQ(weft_out_yield(out, COMMAND_WRITE, 11, "x", 1), 0); }
static void odd_open(weft_out *out) { EXPECT_EQ(weft_out_yield(out, COMMAND_OPEN, 11, "x", 1), 0); }
static void odd_close(weft_out *out) { EXPECT_EQ(weft_out_yield(out, COMMAND_CLOSE, 11, "x", 1), 0); }

static void file_opened(void) {
    EXPECT_EQ(play(opens), 0);
    EXPECT_EQ(last_tag, 1);
    EXPECT_EQ(last_size, sizeof fd);
    memcpy(&fd, last_data, sizeof fd);
    EXPECT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}
static void each(void) {
    size_t count;
    begin();
    unsigned before = io_descriptors();
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7 >> 4);
    file_opened();
    EXPECT_EQ(play(writes), 0);
    memcpy(&count, last_data, sizeof count);
    EXPECT(last_size == sizeof count && count == sizeof text);
    EXPECT_EQ(play(writes_at), 0);
    EXPECT_EQ(play(writes_nothing), 0);
    memcpy(&count, last_data, sizeof count);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(play(reads_at), 0);
    EXPECT_EQ(last_size, 10);
    EXPECT(memcmp(last_data + 2, "HELLO", 5) == 0);
    memcpy(text + 100, "HELLO", 5);
    EXPECT_EQ(play(reads_much), 0);
    EXPECT(last_size == sizeof text && memcmp(last_data, text, last_size) == 0);
    EXPECT_EQ(play(reads_end), 0);
    EXPECT_EQ(last_size, 0);
    EXPECT_EQ(play(reads_too_much), WEFT_ENOMEM);
    EXPECT_EQ(play(syncs), 0);
    EXPECT_EQ(play(sleeps), 0);
    EXPECT_EQ(play(closes), 0);
    EXPECT_EQ(play(closes), WEFT_EBADF);
    EXPECT_EQ(play(reads_at), WEFT_EBADF);
    EXPECT_EQ(play(writes), WEFT_EBADF);
    EXPECT_EQ(play(opens_nothing), WEFT_ENOENT);
    EXPECT_EQ(last_size, 0);
    EXPECT_EQ(play(opens_no_name), WEFT_EINVAL);
    EXPECT_EQ(play(odd_read), WEFT_EINVAL);
    EXPECT_EQ(play(odd_write), WEFT_EINVAL);
    EXPECT_EQ(play(odd_open), WEFT_EINVAL);
    EXPECT_EQ(play(odd_close), WEFT_EINVAL);
    io_expect_descriptors(before);
    EXPECT_EQ(rt_stats().late_completions, 0);
    end();
}
TEST(command_files) { rt_each(each); }

/* Every error of the system reaches the process as it is. */
static void all_errors(void) {
    static const struct {
        void (*yield)(weft_out *out);
        enum sys_file_call fails;
    } failing[] = {{opens, SYS_FILE_OPEN},      {closes, SYS_FILE_CLOSE}, {reads_at, SYS_FILE_READ},
                   {writes_at, SYS_FILE_WRITE}, {syncs, SYS_FILE_SYNC},   {reads_end, SYS_FILE_STAT}};
    begin();
    for (unsigned i = 0; i < sizeof failing / sizeof failing[0]; i++)
        for (int code = 1; code < 134; code++) {
            if (code == EINTR || (code == ETIMEDOUT && i == 5)) continue;
            fd = open(path, O_RDWR);
            sys_script.file[failing[i].fails].error = -code;
            EXPECT_EQ(play(failing[i].yield), -code);
            sys_script.file[failing[i].fails].error = 0;
            close(fd);
        }
    end();
}
TEST(command_every_error) { rt_each(all_errors); }

/* How much was written is told with an error too. */
static void no_space(void) {
    enum { MOST = 1000 };
    size_t count;
    begin();
    fd = open(path, O_RDWR);
    sys_script.file_most = MOST;
    sys_script.file[SYS_FILE_WRITE].error = -ENOSPC;
    for (unsigned at = 0; at < 2; at++) {
        sys_script.file[SYS_FILE_WRITE].at = atom_load_rlx(&sys_script.counts.file[SYS_FILE_WRITE]) + 4;
        EXPECT_EQ(play(at ? writes_much_at : writes), WEFT_ENOSPC);
        memcpy(&count, last_data, sizeof count);
        EXPECT(last_size == sizeof count && count == 3 * MOST);
    }
    sys_script.file_most = 0;
    sys_script.file[SYS_FILE_WRITE].error = 0;
    sys_script.file[SYS_FILE_WRITE].at = 0;
    close(fd);
    end();
}
TEST(command_counts_when_there_is_no_space) { rt_each(no_space); }

/* ---- pipes: waiting, deadlines, being given up ---------------------------------------------------------------------------- */

static int ends[2];
static uint64_t deadline;
static void reads_pipe(weft_out *out) { EXPECT_EQ(weft_out_read(out, 20, ends[0], 100, -1, deadline), 0); }
static void writes_pipe(weft_out *out) { EXPECT_EQ(weft_out_write_all(out, 21, ends[1], text, sizeof text, -1, deadline), 0); }

static void pipes(void) {
    size_t count;
    begin();
    EXPECT_EQ(pipe(ends), 0);
    deadline = 0;
    EXPECT_EQ(play(reads_pipe), WEFT_ETIMEDOUT);
    deadline = weft_in(2 * WEFT_MILLISECOND);
    EXPECT_EQ(play(reads_pipe), WEFT_ETIMEDOUT);
    EXPECT(weft_now() >= deadline);
    deadline = WEFT_FOREVER;
    give(reads_pipe, false);
    uint64_t before = atom_load_rlx(&completed);
    rt_pause(2 * RT_MS);
    EXPECT_EQ(write(ends[1], "xyz", 3), 3);
    rt_wait(&completed, before + 1);
    EXPECT(last_error == 0 && last_size == 3 && memcmp(last_data, "xyz", 3) == 0);
    deadline = weft_in(5 * WEFT_MILLISECOND);
    EXPECT_EQ(play(writes_pipe), WEFT_ETIMEDOUT); /* part of it, and how much */
    memcpy(&count, last_data, sizeof count);
    EXPECT(last_size == sizeof count && count >= 4096 && count < sizeof text);
    close(ends[0]);
    close(ends[1]);
    end();
}
TEST(command_pipes) { rt_each(pipes); }

/* A process that has ended is not waited for: its helpers give up, without anything being read. */
static void gives_up(const char *policy, unsigned workers) {
    rt_start(policy, workers);
    begin();
    EXPECT_EQ(pipe(ends), 0);
    deadline = WEFT_FOREVER;
    for (unsigned i = 0; i < 10; i++)
        give(reads_pipe, false);
    if (rt.workers % 2) rt_pause(2 * RT_MS);
    give(reads_pipe, true); /* and the last in its last step */
    rt_wait(&ended, 1);
    while (rt_stats().late_completions < 11)
        usleep(100);
    rt_wait_until_none_lives(); /* helpers are processes too */
    EXPECT_EQ(write(ends[1], "q", 1), 1);
    char byte;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    rt_stop();
    close(ends[0]);
    close(ends[1]);
    end();
}
TEST(command_reads_of_one_that_has_ended) { rt_cases(gives_up); }

/* A runtime that stops: readers are told, and end (rt_stop sees to it). */
static void stops(void) {
    begin();
    EXPECT_EQ(pipe(ends), 0);
    deadline = WEFT_FOREVER;
    for (unsigned i = 0; i < 5; i++)
        give(reads_pipe, false);
    rt_pause(RT_MS);
    end();
}
TEST(command_reads_when_the_runtime_stops) { rt_each(stops); }

/* What was yielded is done, even by one that ends in that step; and by one that is asked to end because the runtime stops. */
static int farewell_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) EXPECT_EQ(weft_out_write_all(out, 1, fd, "farewell", 8, 0, WEFT_FOREVER), 0);
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        EXPECT_EQ(events[i].error, 0);
        if (events[i].tag == 1) EXPECT_EQ(weft_out_close(out, 2, fd), 0);
        else weft_out_status(out, WEFT_STEP_DONE);
    }
    return 0;
}
static const weft_behavior farewell = {.name = "farewell", .step = farewell_step};
static void last_words(const char *policy, unsigned workers) {
    char said[16] = {0};
    rt_start(policy, workers);
    begin();
    fd = open(path, O_RDWR);
    give(writes_at, true);
    rt_wait_until_none_lives();
    EXPECT_EQ(pread(fd, said, 5, 100), 5);
    EXPECT(strcmp(said, "HELLO") == 0);
    rt_spawn(&farewell);
    rt_stop();
    EXPECT_EQ(fcntl(fd, F_GETFD), -1);
    fd = open(path, O_RDONLY);
    EXPECT_EQ(read(fd, said, 8), 8);
    EXPECT(strcmp(said, "farewell") == 0);
    close(fd);
    end();
}
TEST(command_last_words) { rt_cases(last_words); }

/* Descriptors that no process has seen are closed, whenever the process ends. */
static void opens_and_ends(void) {
    begin();
    unsigned before = io_descriptors();
    for (unsigned i = 0; i < 50; i++) {
        pid = rt_spawn(&player);
        give(opens, i % 2);
        if (i % 4 == 0) weft_cancel(pid);
        if (i % 2 == 0) weft_cancel(pid);
    }
    weft_cancel(pid);
    rt_wait(&ended, 50);
    while (rt_stats().processes > 1)
        usleep(100);
    while (io_descriptors() > before + atom_load_rlx(&completed)) /* those that were seen are the process's to close */
        usleep(100);
    end();
}
TEST(command_opened_for_no_process) { rt_each(opens_and_ends); }

/* ---- many at once ------------------------------------------------------------------------------------------------------------ */

enum { MANY = 300 / RT_SLOW, BLOCK = 64 };
struct copier {
    unsigned outstanding, next;
    bool seen[MANY];
};
static int copy_from, copy_to;
/* Reads all blocks at once, and writes each where it belongs as it comes. */
static int copier_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct copier *self = state;
    weft_out_status(out, WEFT_STEP_BLOCKED);
    if (self->outstanding == 0)
        for (unsigned i = 0; i < MANY; i++, self->outstanding++)
            EXPECT_EQ(weft_out_read(out, i, copy_from, BLOCK, i * BLOCK, WEFT_FOREVER), 0);
    for (size_t i = 0; i < count; i++) {
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        EXPECT_EQ(events[i].error, 0);
        uint64_t number = events[i].tag % MANY;
        if (events[i].tag < MANY) {
            EXPECT(events[i].size == BLOCK && !self->seen[number]);
            self->seen[number] = true;
            EXPECT_EQ(weft_out_write_all(out, MANY + number, copy_to, events[i].data, BLOCK, (int64_t)number * BLOCK, WEFT_FOREVER), 0);
        } else {
            self->outstanding--;
        }
    }
    if (self->outstanding == 0) {
        atom_add_rel(&completed, 1);
        weft_out_status(out, WEFT_STEP_DONE);
    }
    return 0;
}
static const weft_behavior copier = {.name = "copier", .state_size = sizeof(struct copier), .step = copier_step};
static void many(void) {
    static unsigned char from[MANY * BLOCK], to[MANY * BLOCK];
    begin();
    char other[64] = "/tmp/weft-command-XXXXXX";
    copy_from = open(path, O_RDWR);
    copy_to = mkstemp(other);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 13 >> 2);
    EXPECT_EQ(write(copy_from, from, sizeof from), (ssize_t)sizeof from);
    rt_spawn(&copier);
    rt_wait(&completed, 1);
    EXPECT_EQ(read(copy_to, to, sizeof to), (ssize_t)sizeof to);
    EXPECT(memcmp(from, to, sizeof to) == 0);
    close(copy_from);
    close(copy_to);
    unlink(other);
    end();
}
TEST(command_many_files_at_once) { rt_each(many); }

/* ---- things run out ------------------------------------------------------------------------------------------------------------ */

/* The Nth allocation fails: the yield says so, or the completion, or nothing is noticed. Nothing is lost: rt_stop counts. */
static int yield_error;
static uint64_t fail_at;
static void tries_to_read(weft_out *out) {
    sys_scripted_recount();
    sys_script.alloc_fail_at = fail_at;
    yield_error = weft_out_read(out, 1, ends[0], 100000, -1, deadline);
    if (yield_error) atom_add_rel(&completed, 1);
}
static void without_memory(const char *policy, unsigned workers) {
    rt_start(policy, workers);
    begin();
    EXPECT_EQ(pipe(ends), 0);
    deadline = 0;
    fail_at = 0;
    for (uint64_t refused = 0;;) {
        fail_at++;
        int error = play(tries_to_read);
        bool all = atom_load_rlx(&sys_script.counts.alloc_failed) == 0;
        sys_script.alloc_fail_at = 0;
        if (yield_error) EXPECT_EQ(yield_error, WEFT_ENOMEM);
        else EXPECT(error == WEFT_ETIMEDOUT || error == WEFT_ENOMEM || error == WEFT_ENOSTACK);
        refused += yield_error || error == WEFT_ENOMEM;
        while (rt_stats().processes > 1)
            usleep(20);
        if (!all) continue;
        EXPECT(refused > 0);
        break;
    }
    sys_script.map_fail_from = 1; /* no stack */
    fail_at = 0;
    deadline = WEFT_FOREVER;
    for (unsigned i = 0; i < 200; i++) /* until those that lie ready are used up */
        give(tries_to_read, false);
    uint64_t before = atom_load_rlx(&completed);
    EXPECT(before < 200);
    rt_pause(RT_MS);
    sys_script.map_fail_from = 0;
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_stop();
    close(ends[0]);
    close(ends[1]);
    end();
}
TEST(command_nth_allocation_fails) { rt_cases(without_memory); }

static void without_descriptors(void) {
    struct rlimit before, none;
    begin();
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_EQ(play(opens), WEFT_EMFILE);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    file_opened();
    EXPECT_EQ(play(closes), 0);
    end();
}
TEST(command_descriptors_run_out) { rt_each(without_descriptors); }

int main(int argc, char **argv) { return test_main(argc, argv); }
