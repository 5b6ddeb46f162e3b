/* Standard input and output, pipes, terminals: what is not there yet is waited for, by this process alone, until its deadline comes or it
 * is cancelled. */
#include "io_helpers.h"

#include "life/interrupt.h"
#include "sched/sched.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>

static int feed; /* the other end of standard input */

static void pipes_begin(void) {
    int in[2];
    EXPECT_EQ(pipe(in), 0);
    dup2(in[0], STDIN_FILENO);
    close(in[0]);
    feed = in[1];
    atom_store_rlx(&io_done, 0);
}
static void pipes_end(void) {
    if (feed >= 0) close(feed);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    close(null);
}

static void give(const char *text) { EXPECT_EQ(write(feed, text, strlen(text)), (ssize_t)strlen(text)); }

/* The scripted world as it is; or one in which nothing can be asked not to block, as with old kernels; or in which the poller cannot hold
 * what is waited for, so that a thread does; or in which, besides, no descriptors are left for telling a process that it was cancelled. */
enum { WORLD_PLAIN, WORLD_OLD, WORLD_UNHELD, WORLD_POOR, WORLDS };
static void world_begin(int world) {
    sys_script.nowait_refused = world == WORLD_OLD;
    sys_script.net[SYS_NET_POLL_CHANGE].error = world >= WORLD_UNHELD ? -ENOSPC : 0;
    sys_script.file[SYS_FILE_EVENT_OPEN].error = world == WORLD_POOR ? -EMFILE : 0;
    sys_script.file_eintr_every = world == WORLD_OLD ? 3 : 0;
}
static void worlds(void (*body)(void)) {
    io_make_poll();
    for (int world = 0; world < WORLDS; world++) {
        pipes_begin();
        world_begin(world);
        body();
        world_begin(WORLD_PLAIN);
        pipes_end();
    }
}

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

static weft_pid reader_pid;
static int64_t reader_result;
static uint64_t reader_deadline, reader_began, reader_ended;
static char reader_got[64];

static void reads_once(void *arg) {
    (void)arg;
    memset(reader_got, 0, sizeof reader_got);
    atom_add_rel(&io_done, 1);
    reader_began = weft_now();
    reader_result = weft_file_read(STDIN_FILENO, reader_got, sizeof reader_got - 1, reader_deadline);
    reader_ended = weft_now();
    atom_add_rel(&io_done, 1);
}
static void begin_reading(uint64_t deadline) {
    reader_deadline = deadline;
    atom_store_rlx(&io_done, 0);
    reader_pid = io_spawn(reads_once, NULL);
    rt_wait(&io_done, 1);
}
static int64_t end_reading(void) {
    rt_wait(&io_done, 2);
    return reader_result;
}

static void reads_plain(void) {
    give("there");
    begin_reading(WEFT_FOREVER);
    EXPECT_EQ(end_reading(), 5);
    EXPECT(strcmp(reader_got, "there") == 0);
    begin_reading(WEFT_FOREVER);
    rt_pause(3 * RT_MS);
    EXPECT_EQ(atom_load_acq(&io_done), 1);
    give("later");
    EXPECT_EQ(end_reading(), 5);
    EXPECT(strcmp(reader_got, "later") == 0);
    begin_reading(0);
    EXPECT_EQ(end_reading(), WEFT_ETIMEDOUT);
    give("now");
    begin_reading(0);
    EXPECT_EQ(end_reading(), 3);
    begin_reading(weft_in(5 * WEFT_MILLISECOND));
    EXPECT_EQ(end_reading(), WEFT_ETIMEDOUT);
    EXPECT(reader_ended >= reader_deadline);
    begin_reading(weft_in(20 * WEFT_SECOND));
    rt_pause(RT_MS);
    close(feed);
    feed = -1;
    EXPECT_EQ(end_reading(), 0); /* the end */
    begin_reading(WEFT_FOREVER);
    EXPECT_EQ(end_reading(), 0);
}
static void reads_in_all_worlds(void) { worlds(reads_plain); }
TEST(stdin_waits_for_what_is_not_there) { rt_each(reads_in_all_worlds); }

static void cancels(void) {
    unsigned descriptors = io_descriptors();
    begin_reading(WEFT_FOREVER);
    rt_pause(3 * RT_MS);
    uint64_t asked = weft_now();
    EXPECT_EQ(weft_cancel(reader_pid), 0);
    EXPECT_EQ(end_reading(), WEFT_ECANCELED);
    printf("cancelled after %llu us\n", (unsigned long long)(reader_ended - asked) / 1000);
    for (unsigned i = 0; i < 30; i++) { /* at any moment */
        begin_reading(i % 2 ? WEFT_FOREVER : weft_in(20 * WEFT_SECOND));
        for (volatile unsigned k = 0; k < i * 400; k++) {}
        EXPECT_EQ(weft_cancel(reader_pid), 0);
        EXPECT_EQ(end_reading(), WEFT_ECANCELED);
    }
    give("x"); /* nothing was lost on the way */
    begin_reading(WEFT_FOREVER);
    EXPECT_EQ(end_reading(), 1);
    io_expect_descriptors(descriptors);
}
static void cancels_in_all_worlds(void) { worlds(cancels); }
TEST(stdin_read_is_given_up_when_cancelled) { rt_each(cancels_in_all_worlds); }

/* Cancelled by a scope whose deadline passes. */
static void reads_in_vain(void *arg) {
    char byte;
    (void)arg;
    EXPECT_EQ(weft_file_read(STDIN_FILENO, &byte, 1, WEFT_FOREVER), WEFT_ECANCELED);
}
static void in_a_scope(void) {
    weft_scope scope;
    weft_scope_begin(&scope, weft_in(5 * WEFT_MILLISECOND));
    for (unsigned i = 0; i < 2; i++) {
        int error = weft_scope_spawn(&scope, reads_in_vain, NULL);
        EXPECT(error == 0 || error == WEFT_ECANCELED); /* on a busy machine the time may be over already */
    }
    EXPECT_EQ(weft_scope_end(&scope), WEFT_ETIMEDOUT);
}
static void scopes(void) {
    pipes_begin();
    io_run(in_a_scope);
    pipes_end();
}
TEST(stdin_read_in_a_scope_with_a_deadline) { rt_each(scopes); }

/* Cancelled by a stop of the runtime: rt_stop expects that no process is left. */
static void left_reading(void) {
    pipes_begin();
    for (unsigned i = 0; i < 10; i++)
        io_spawn(reads_in_vain, NULL);
    rt_pause(2 * RT_MS);
}
TEST(stdin_readers_end_when_the_runtime_stops) { rt_each(left_reading); }

/* Shielded: goes on, until there is something. */
static void reads_shielded(void *arg) {
    weft_shield_begin();
    reads_once(arg);
    weft_shield_end();
}
static void shielded(void) {
    pipes_begin();
    reader_deadline = WEFT_FOREVER;
    weft_pid pid = io_spawn(reads_shielded, NULL);
    rt_wait(&io_done, 1);
    rt_pause(RT_MS);
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_pause(5 * RT_MS);
    EXPECT_EQ(atom_load_acq(&io_done), 1);
    give("y");
    rt_wait(&io_done, 2);
    EXPECT_EQ(reader_result, 1);
    pipes_end();
}
TEST(stdin_read_behind_a_shield) { rt_each(shielded); }

/* More readers than workers, one pipe: each byte goes to one of them, and all can still be cancelled. */
static atom_u64 bytes_read;
static void reads_bytes(void *arg) {
    char byte;
    int64_t n;
    (void)arg;
    while ((n = weft_file_read(STDIN_FILENO, &byte, 1, WEFT_FOREVER)) == 1)
        atom_add_rel(&bytes_read, 1);
    EXPECT_EQ(n, WEFT_ECANCELED);
    atom_add_rel(&io_done, 1);
}
static void crowd(void) {
    enum { CROWD = 12, BYTES = 200 };
    weft_pid pids[CROWD];
    char byte;
    pipes_begin();
    if (sys->file->read(STDIN_FILENO, &(struct iovec){&byte, 1}, 1, -1, true) != -EAGAIN) { /* then it is a place where readers get stuck */
        printf("this kernel does not know RWF_NOWAIT for pipes\n");
        pipes_end();
        return;
    }
    atom_store_rlx(&bytes_read, 0);
    for (unsigned i = 0; i < CROWD; i++)
        pids[i] = io_spawn(reads_bytes, NULL);
    for (unsigned i = 0; i < BYTES; i++) {
        give("z");
        if (i % 10 == 0) rt_pause(RT_MS / 4);
    }
    rt_wait(&bytes_read, BYTES);
    for (unsigned i = 0; i < CROWD; i++)
        EXPECT_EQ(weft_cancel(pids[i]), 0);
    rt_wait(&io_done, CROWD);
    EXPECT_EQ(atom_load_rlx(&bytes_read), BYTES);
    pipes_end();
}
TEST(stdin_many_readers_of_one_pipe) { rt_each(crowd); }

/* Dumps tell which call a process is in, soon; in vain, the watchdog ends it, with a dump. */
static void wait_for_dump(const char *text) {
    while (!strstr(rt_dump_text(), text))
        usleep(1000);
}
static void blocks_until_told(void *arg) {
    weft_blocking_enter();
    atom_add_rel(&io_done, 1);
    while (!atom_load_acq((atom_bool *)arg))
        usleep(100);
    weft_blocking_leave();
    atom_add_rel(&io_done, 1);
}
static void dumped(void) {
    static atom_bool told;
    pipes_begin();
    begin_reading(WEFT_FOREVER);
    wait_for_dump(", in weft_file_read, ");
    give("x");
    EXPECT_EQ(end_reading(), 1);
    atom_store_rlx(&told, false);
    io_spawn(blocks_until_told, &told);
    rt_wait(&io_done, 3);
    wait_for_dump(", in a blocking call (weft_blocking_enter), for ");
    atom_store_rel(&told, true);
    rt_wait(&io_done, 4);
    pipes_end();
}
TEST(stdin_reader_in_a_dump) { rt_each(dumped); }

/* ---- writing ---------------------------------------------------------------------------------------------------------------- */

static int drain, write_end; /* of a pipe: standard output is the test's own */
static size_t writer_written;
static char large[300000];
static void writes_all(void *arg) {
    (void)arg;
    atom_add_rel(&io_done, 1);
    reader_result = weft_file_write_all(write_end, large, sizeof large, &writer_written, reader_deadline);
    atom_add_rel(&io_done, 1);
}
static void begin_writing(uint64_t deadline) {
    reader_deadline = deadline;
    atom_store_rlx(&io_done, 0);
    reader_pid = io_spawn(writes_all, NULL);
    rt_wait(&io_done, 1);
}
/* Takes so many bytes out, which must be the next ones. */
static size_t taken;
static void take(size_t bytes) {
    while (bytes > 0) {
        char block[5000];
        ssize_t n = read(drain, block, bytes < sizeof block ? bytes : sizeof block);
        EXPECT(n > 0);
        EXPECT(memcmp(block, large + taken % sizeof large, (size_t)n) == 0);
        taken += (size_t)n;
        bytes -= (size_t)n;
    }
}
static void writes(void) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    drain = ends[0];
    write_end = ends[1];
    taken = 0;
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i % 251);
    begin_writing(WEFT_FOREVER);
    take(sizeof large);
    EXPECT_EQ(end_reading(), 0);
    EXPECT_EQ(writer_written, sizeof large);
    taken = 0;
    begin_writing(weft_in(10 * WEFT_MILLISECOND));
    EXPECT_EQ(end_reading(), WEFT_ETIMEDOUT);
    EXPECT(writer_written >= 4096 && writer_written < sizeof large);
    take(writer_written); /* what it said it wrote, and no more */
    taken = 0;
    begin_writing(WEFT_FOREVER);
    rt_pause(3 * RT_MS);
    EXPECT_EQ(weft_cancel(reader_pid), 0);
    EXPECT_EQ(end_reading(), WEFT_ECANCELED);
    take(writer_written);
    int left;
    EXPECT_EQ(ioctl(drain, FIONREAD, &left), 0);
    EXPECT_EQ(left, 0);
    close(drain);
    begin_writing(WEFT_FOREVER);
    EXPECT_EQ(end_reading(), WEFT_EPIPE);
    EXPECT_EQ(writer_written, 0);
    close(write_end);
}
static void writes_in_all_worlds(void) {
    signal(SIGPIPE, SIG_IGN);
    worlds(writes);
}
TEST(stdout_waits_for_room) { rt_each(writes_in_all_worlds); }

/* ---- what else a descriptor can be ------------------------------------------------------------------------------------------ */

static void non_blocking(void) {
    EXPECT_EQ(fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK), 0);
    reads_plain();
}
static void non_blocking_in_all_worlds(void) { worlds(non_blocking); }
TEST(stdin_that_does_not_block) { rt_each(non_blocking_in_all_worlds); }

static void socket_body(void) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(feed);
    feed = ends[1];
    reads_plain();
}
static void sockets_in_all_worlds(void) { worlds(socket_body); }
TEST(stdin_that_is_a_socket) { rt_each(sockets_in_all_worlds); }

static void terminal_body(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT(master >= 0);
    EXPECT_EQ(grantpt(master), 0);
    EXPECT_EQ(unlockpt(master), 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    EXPECT(slave >= 0);
    dup2(slave, STDIN_FILENO);
    close(slave);
    close(feed);
    feed = master;
    begin_reading(WEFT_FOREVER);
    give("half a ");
    rt_pause(3 * RT_MS);
    EXPECT_EQ(atom_load_acq(&io_done), 1); /* a line is not there before its end is */
    give("line\n");
    EXPECT_EQ(end_reading(), 12);
    EXPECT(strcmp(reader_got, "half a line\n") == 0);
    begin_reading(weft_in(3 * WEFT_MILLISECOND));
    EXPECT_EQ(end_reading(), WEFT_ETIMEDOUT);
    begin_reading(WEFT_FOREVER);
    rt_pause(2 * RT_MS);
    EXPECT_EQ(weft_cancel(reader_pid), 0);
    EXPECT_EQ(end_reading(), WEFT_ECANCELED);
    give("\004"); /* the end of input, as typed */
    begin_reading(WEFT_FOREVER);
    EXPECT_EQ(end_reading(), 0);
}
/* Nothing reads what is written to a terminal: the writer is held up until its deadline, or its cancellation, and what it said it wrote is
 * there. */
static void terminal_is_full(void) {
    struct termios raw;
    drain = posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT(drain >= 0 && grantpt(drain) == 0 && unlockpt(drain) == 0);
    write_end = open(ptsname(drain), O_RDWR | O_NOCTTY);
    EXPECT_EQ(tcgetattr(write_end, &raw), 0);
    cfmakeraw(&raw);
    EXPECT_EQ(tcsetattr(write_end, TCSANOW, &raw), 0);
    for (unsigned round = 0; round < 3; round++) {
        taken = 0;
        begin_writing(round == 0 ? 0 : round == 1 ? weft_in(20 * WEFT_MILLISECOND) : WEFT_FOREVER);
        if (round == 2) {
            rt_pause(10 * RT_MS);
            EXPECT_EQ(atom_load_acq(&io_done), 1);
            EXPECT_EQ(weft_cancel(reader_pid), 0);
        }
        EXPECT_EQ(end_reading(), round == 2 ? WEFT_ECANCELED : WEFT_ETIMEDOUT);
        EXPECT(writer_written < sizeof large);
        take(writer_written);
        EXPECT_EQ(fcntl(write_end, F_GETFL) & O_NONBLOCK, 0); /* as it was, for others that have it too */
    }
    taken = 0;
    begin_writing(WEFT_FOREVER);
    take(sizeof large);
    EXPECT_EQ(end_reading(), 0);
    close(write_end);
    close(drain);
}
static void full_terminals_in_all_worlds(void) { worlds(terminal_is_full); }
TEST(stdout_that_is_a_full_terminal) { rt_each(full_terminals_in_all_worlds); }

static void terminals_in_all_worlds(void) { worlds(terminal_body); }
TEST(stdin_that_is_a_terminal) { rt_each(terminals_in_all_worlds); }

/* Others run while one waits, whatever the number of workers; and messages reach it afterwards. */
static void busy(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 1000; i++)
        weft_yield();
    EXPECT_EQ(weft_send(reader_pid, 3, NULL, 0), 0);
    give("w");
    atom_add_rel(&io_done, 1);
}
static void reads_and_receives(void *arg) {
    weft_msg *message;
    reads_once(arg);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_tag(message), 3);
    weft_msg_free(message);
    atom_add_rel(&io_done, 1);
}
static void beside(void) {
    pipes_begin();
    reader_deadline = WEFT_FOREVER;
    reader_pid = io_spawn(reads_and_receives, NULL);
    rt_wait(&io_done, 1);
    io_spawn(busy, NULL);
    rt_wait(&io_done, 4);
    EXPECT_EQ(reader_result, 1);
    pipes_end();
}
TEST(stdin_others_run_meanwhile) { rt_each(beside); }

/* A thread of the program's own waits as well, and so does one that is in a blocking call of its process's own. */
TEST(stdin_from_a_thread) {
    char byte;
    sys_scripted_install();
    pipes_begin();
    EXPECT_EQ(weft_file_read(STDIN_FILENO, &byte, 1, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_file_read(STDIN_FILENO, &byte, 1, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    give("x");
    EXPECT_EQ(weft_file_read(STDIN_FILENO, &byte, 1, WEFT_FOREVER), 1);
    pipes_end();
}
static void reads_nested(void *arg) {
    weft_blocking_enter();
    reads_once(arg);
    weft_blocking_leave();
    atom_add_rel(&io_done, 1);
}
static void nested(void) {
    pipes_begin();
    reader_deadline = WEFT_FOREVER;
    weft_pid pid = io_spawn(reads_nested, NULL);
    rt_wait(&io_done, 1);
    rt_pause(2 * RT_MS);
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_wait(&io_done, 3);
    EXPECT_EQ(reader_result, WEFT_ECANCELED);
    pipes_end();
}
TEST(stdin_within_a_blocking_call) { rt_each(nested); }

/* A wake-up meant the process that had this block before: nothing happens, and it does not begin to ask again and again. */
static void poked(void) {
    struct runtime *runtime = (struct runtime *)rt.runtime;
    pipes_begin();
    reader_deadline = WEFT_FOREVER;
    reader_pid = io_spawn(reads_nested, NULL);
    rt_wait(&io_done, 1);
    struct proc *proc = table_at(&runtime->table, pid_slot(reader_pid));
    while (!state_is_interruptible(&proc->state))
        usleep(100);
    interrupt_poke(runtime, proc);
    rt_pause(2 * RT_MS);
    uint64_t before = atom_load_rlx(&sys_script.counts.file[SYS_FILE_POLL]);
    rt_pause(10 * RT_MS);
    EXPECT(atom_load_rlx(&sys_script.counts.file[SYS_FILE_POLL]) <= before + 2);
    EXPECT_EQ(weft_cancel(reader_pid), 0);
    rt_wait(&io_done, 3);
    EXPECT_EQ(reader_result, WEFT_ECANCELED);
    pipes_end();
}
TEST(stdin_poked_for_another) { rt_each(poked); }

/* ---- faults ----------------------------------------------------------------------------------------------------------------- */

/* The signals are sent to the program: whichever thread gets them, poll returns early, and the caller does not notice. */
static void stormy(void) {
    if (rt.workers != 2) return; /* it is a storm */
    io_make_poll();
    io_storm_begin();
    pipes_begin();
    reads_plain();
    pipes_end();
    pipes_begin();
    cancels();
    pipes_end();
    io_storm_end();
}
TEST(stdin_in_a_storm_of_signals) { rt_each(stormy); }

/* Waiting itself fails, and no thread is to be had. */
static void broken_poll(void) {
    pipes_begin();
    sys_script.file[SYS_FILE_POLL].error = sys_script.net[SYS_NET_POLL_CHANGE].error = -ENOMEM;
    begin_reading(WEFT_FOREVER);
    EXPECT_EQ(end_reading(), WEFT_ENOMEM);
    sys_script.file[SYS_FILE_POLL].error = sys_script.net[SYS_NET_POLL_CHANGE].error = 0;
    pipes_end();
}
TEST(stdin_waiting_fails) { rt_each(broken_poll); }

/* As many threads as there may be are in calls of their own already: a process that waits for a pipe needs none. */
static int stuck[2];
static void is_stuck(void *arg) {
    char byte;
    (void)arg;
    atom_add_rel(&io_done, 1);
    EXPECT_EQ(read(stuck[0], &byte, 1), 1);
}
static void has_a_thread(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking_long(is_stuck, NULL), 0);
    atom_add_rel(&io_done, 1);
}
static void at_the_limit(const char *policy, unsigned workers) {
    enum { READERS = 12 };
    if (workers != 2) return;
    rt_start_with(&(weft_config){.policy = policy, .workers = 1, .seed = 1, .max_threads = 2});
    pipes_begin();
    EXPECT_EQ(pipe2(stuck, O_CLOEXEC), 0);
    io_spawn(has_a_thread, NULL);
    rt_wait(&io_done, 1);
    for (unsigned i = 0; i < READERS; i++)
        io_spawn(reads_in_vain, NULL);
    rt_pause(5 * RT_MS);
    begin_reading(weft_in(5 * WEFT_MILLISECOND));
    EXPECT_EQ(end_reading(), WEFT_ETIMEDOUT);
    EXPECT_EQ(write(stuck[1], "x", 1), 1);
    rt_wait(&io_done, 3);
    rt_stop();
    close(stuck[0]);
    close(stuck[1]);
    pipes_end();
}
TEST(stdin_at_the_limit_of_threads) { rt_cases(at_the_limit); }

static void without_threads(void) {
    pipes_begin();
    sys_scripted_recount();
    sys_script.threads_limited = true;
    begin_reading(WEFT_FOREVER);
    rt_pause(2 * RT_MS);
    give("v");
    EXPECT_EQ(end_reading(), 1);
    begin_reading(WEFT_FOREVER);
    rt_pause(2 * RT_MS);
    EXPECT_EQ(weft_cancel(reader_pid), 0);
    EXPECT_EQ(end_reading(), WEFT_ECANCELED);
    sys_script.threads_limited = false;
    pipes_end();
}
TEST(stdin_threads_are_refused) { rt_each(without_threads); }

int main(int argc, char **argv) { return test_main(argc, argv); }
