/* What can go wrong outside: no descriptors, no memory, signals at every call. Every failure reaches the process that waits. */
#include "net_helpers.h"

#include <sys/eventfd.h>

#include <sys/wait.h>

/* ---- descriptors run out ---------------------------------------------------------------------------------------------------------- */

static char where[WEFT_ADDR_TEXT];
static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static atom_u64 accepted;
static void patient_acceptor(void *arg) {
    weft_fd fd = weft_net_accept(net_unbox(arg), NULL, WEFT_FOREVER);
    atom_add_rel(&accepted, 1);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
}
static void limit_descriptors(rlim_t most) {
    struct rlimit limit;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = most ? most : limit.rlim_max;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
/* How long two that wait take to accept, in milliseconds, from the moment when there are descriptors again. */
static uint64_t recovery(weft_fd door, double *cpu) {
    weft_fd client = weft_net_connect(where, WEFT_FOREVER), second = weft_net_connect(where, WEFT_FOREVER);
    EXPECT(client > 0 && second > 0);
    atom_store_rlx(&accepted, 0);
    limit_descriptors(3);
    EXPECT(weft_spawn(patient_acceptor, net_box(door)) != WEFT_NOBODY);
    EXPECT(weft_spawn(patient_acceptor, net_box(door)) != WEFT_NOBODY);
    *cpu = cpu_seconds();
    EXPECT_EQ(weft_sleep(300 * WEFT_MILLISECOND), 0);
    *cpu = cpu_seconds() - *cpu;
    EXPECT_EQ(atom_load_acq(&accepted), 0);
    limit_descriptors(0);
    uint64_t freed = weft_now();
    while (atom_load_acq(&accepted) < 2)
        weft_sleep(WEFT_MILLISECOND);
    uint64_t took = (weft_now() - freed) / WEFT_MILLISECOND;
    weft_fd_close(client);
    weft_fd_close(second);
    return took;
}
static void no_descriptors(void *arg) {
    (void)arg;
    weft_fd door = net_listen_any(where, NULL);
    weft_fd client = weft_net_connect(where, WEFT_FOREVER);
    EXPECT(client > 0);
    limit_descriptors(3);
    EXPECT_EQ(weft_net_accept(door, NULL, 0), WEFT_EMFILE);
    EXPECT_EQ(weft_net_accept(door, NULL, weft_in(5 * WEFT_MILLISECOND)), WEFT_EMFILE);
    EXPECT_EQ(weft_net_listen("127.0.0.1:0", NULL), WEFT_EMFILE);
    EXPECT_EQ(weft_net_connect(where, WEFT_FOREVER), WEFT_EMFILE);
    limit_descriptors(0);
    weft_fd guest = weft_net_accept(door, NULL, WEFT_FOREVER);
    EXPECT(guest > 0);
    /* The system may keep us from our processor for longer than that; not every time. */
    double cpu = 0;
    uint64_t took = 0;
    bool good = false;
    for (unsigned i = 0; i < 8 && !good; i++) {
        took = recovery(door, &cpu);
        good = took < (RT_SLOW > 1 ? 1000 : 100) && cpu < 0.1 * RT_SLOW;
    }
    if (!good) test_fail(__FILE__, __LINE__, "%g s of processor time in 0.3 s; accepted after %u ms", cpu, (unsigned)took);
    weft_fd_close(client);
    weft_fd_close(guest);
    weft_fd_close(door);
    net_is_done();
}
static void no_descriptors_all(void) { net_run_until(no_descriptors, 1); }
TEST(accept_waits_for_descriptors) { rt_each(no_descriptors_all); }

/* A listener that is closed while a process waits for descriptors there. */
static void closed_in_want(void *arg) {
    EXPECT_EQ(weft_net_accept(net_unbox(arg), NULL, WEFT_FOREVER), WEFT_ECLOSED);
    net_is_done();
}
static void close_in_want(void *arg) {
    (void)arg;
    weft_fd door = net_listen_any(where, NULL), client = weft_net_connect(where, WEFT_FOREVER);
    EXPECT(client > 0);
    limit_descriptors(3);
    uint64_t before = net_calls(SYS_NET_ACCEPT);
    EXPECT(weft_spawn(closed_in_want, net_box(door)) != WEFT_NOBODY);
    net_wait_calls(SYS_NET_ACCEPT, before + 4); /* it pauses by now, for 4 ms or more */
    EXPECT_EQ(weft_fd_close(door), 0);
    while (atom_load_acq(&net_done) < 1)
        weft_sleep(WEFT_MILLISECOND);
    limit_descriptors(0);
    EXPECT_EQ(weft_fd_close(client), 0);
    net_is_done();
}
static void closes_in_want(void) { net_run_until(close_in_want, 2); }
TEST(close_is_told_to_a_process_that_waits_for_descriptors) { rt_each(closes_in_want); }

/* ---- what the kernel refuses -------------------------------------------------------------------------------------------------------- */

static void script(enum sys_net_call call, int error, uint64_t times) {
    sys_script.net[call].after = atom_load_rlx(&sys_script.counts.net[call]);
    sys_script.net[call].times = times;
    sys_script.net[call].error = error;
}
static void unscript(enum sys_net_call call) { sys_script.net[call].error = 0; }

static void refused(void *arg) {
    (void)arg;
    weft_fd pair[2];
    char byte;
    static const int errors[] = {-ENOMEM, -ENOSPC};
    EXPECT_EQ(weft_pipe(pair), 0); /* the poll is there now */
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    for (unsigned i = 0; i < 2; i++) {
        weft_fd door = net_listen_any(where, NULL);
        unsigned open = net_count_open();
        script(SYS_NET_POLL_CHANGE, errors[i], 0);
        EXPECT_EQ(weft_net_listen("127.0.0.1:0", NULL), errors[i]);
        EXPECT_EQ(weft_net_connect(where, WEFT_FOREVER), errors[i]);
        EXPECT_EQ(weft_net_accept(door, NULL, weft_in(5 * WEFT_MILLISECOND)), errors[i]);
        EXPECT_EQ(weft_pipe(pair), errors[i]);
        EXPECT_EQ(weft_net_pair(pair), errors[i]);
        EXPECT_EQ(weft_net_udp(NULL, NULL), errors[i]);
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        EXPECT_EQ(weft_fd_adopt(ends[0]), errors[i]);
        EXPECT(!(fcntl(ends[0], F_GETFL) & O_NONBLOCK));
        EXPECT_EQ(weft_fd_wait_raw(ends[0], WEFT_READABLE, WEFT_FOREVER), errors[i]);
        close(ends[0]);
        close(ends[1]);
        unscript(SYS_NET_POLL_CHANGE);
        EXPECT_EQ(net_count_open(), open);
        script(SYS_NET_POLL_CHANGE, errors[i], 1); /* the second of a pair */
        sys_script.net[SYS_NET_POLL_CHANGE].after++;
        EXPECT_EQ(weft_pipe(pair), errors[i]);
        unscript(SYS_NET_POLL_CHANGE);
        EXPECT_EQ(net_count_open(), open);
        EXPECT_EQ(weft_fd_close(door), 0);
    }
    EXPECT_EQ(weft_net_pair(pair), 0);
    static const int told[] = {-ECONNRESET, -ENOMEM, -EIO};
    for (unsigned i = 0; i < 3; i++) {
        script(SYS_NET_RECV, told[i], 1);
        EXPECT_EQ(weft_fd_read(pair[0], &byte, 1, WEFT_FOREVER), told[i]);
        script(SYS_NET_SEND, told[i], 1);
        EXPECT_EQ(weft_fd_write(pair[0], &byte, 1, WEFT_FOREVER), told[i]);
    }
    unscript(SYS_NET_RECV);
    unscript(SYS_NET_SEND);
    EXPECT_EQ(weft_fd_write(pair[1], "x", 1, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_fd_read(pair[0], &byte, 1, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    net_is_done();
}
static void refused_all(void) { net_run_until(refused, 1); }
TEST(refusals_reach_the_caller) { rt_each(refused_all); }

/* A connection that cannot be registered just now is kept until it can be: the client notices nothing. */
static void registers_later(void *arg) {
    static const int errors[] = {-ENOMEM, -ENOSPC};
    char byte = 0;
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        weft_fd door = net_listen_any(where, NULL);
        weft_fd client = weft_net_connect(where, WEFT_FOREVER);
        script(SYS_NET_POLL_CHANGE, errors[i], 3);
        weft_fd guest = weft_net_accept(door, NULL, WEFT_FOREVER);
        unscript(SYS_NET_POLL_CHANGE);
        EXPECT(guest > 0);
        EXPECT_EQ(weft_fd_write(client, "r", 1, WEFT_FOREVER), 1);
        EXPECT_EQ(weft_fd_read(guest, &byte, 1, WEFT_FOREVER), 1);
        EXPECT_EQ(byte, 'r');
        EXPECT_EQ(weft_fd_close(client), 0);
        EXPECT_EQ(weft_fd_close(guest), 0);
        EXPECT_EQ(weft_fd_close(door), 0);
    }
    net_is_done();
}
static void registers_all_later(void) { net_run_until(registers_later, 1); }
TEST(accept_waits_until_it_can_register) { rt_each(registers_all_later); }

/* Connections that fail while they are accepted are passed over; shortages are waited for. */
static void passed_over(void *arg) {
    (void)arg;
    static const int errors[] = {-ECONNABORTED, -EPROTO, -ENETDOWN, -EHOSTUNREACH, -ENFILE, -EMFILE, -ENOBUFS, -ENOMEM};
    weft_fd door = net_listen_any(where, NULL);
    for (unsigned i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        script(SYS_NET_ACCEPT, errors[i], 2);
        weft_fd client = weft_net_connect(where, WEFT_FOREVER), guest = weft_net_accept(door, NULL, WEFT_FOREVER);
        EXPECT(client > 0 && guest > 0);
        EXPECT_EQ(weft_fd_close(client), 0);
        EXPECT_EQ(weft_fd_close(guest), 0);
    }
    script(SYS_NET_ACCEPT, -EINVAL, 1);
    EXPECT_EQ(weft_net_accept(door, NULL, WEFT_FOREVER), WEFT_EINVAL);
    unscript(SYS_NET_ACCEPT);
    EXPECT_EQ(weft_fd_close(door), 0);
    net_is_done();
}
static void passed_over_all(void) { net_run_until(passed_over, 1); }
TEST(failed_connections_are_passed_over) { rt_each(passed_over_all); }

/* The poll itself cannot be made; later it can. */
static void no_poll(void *arg) {
    (void)arg;
    weft_fd pair[2];
    unsigned open = net_count_open();
    static const enum sys_net_call steps[] = {SYS_NET_POLL_OPEN, SYS_NET_BELL_OPEN, SYS_NET_POLL_CHANGE};
    for (unsigned i = 0; i < 3; i++) {
        script(steps[i], -EMFILE, 1);
        EXPECT_EQ(weft_net_pair(pair), WEFT_EMFILE);
        unscript(steps[i]);
        EXPECT_EQ(net_count_open(), open);
    }
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    net_is_done();
}
static void no_poll_all(void) { net_run_until(no_poll, 1); }
TEST(the_poll_cannot_be_made) { rt_each(no_poll_all); }

/* ---- interrupted and short calls ----------------------------------------------------------------------------------------------------- */

enum { TALK = 60000 };
static void talk_server(void *arg) {
    char data[777];
    ssize_t n;
    weft_fd fd = weft_net_accept(net_unbox(arg), NULL, WEFT_FOREVER);
    EXPECT(fd > 0 && weft_fd_number(fd) > 0); /* so that weft does not take a short read for the last one */
    while ((n = weft_fd_read(fd, data, sizeof data, WEFT_FOREVER)) > 0) {
        struct iovec parts[2] = {{data, (size_t)n / 2}, {data + n / 2, (size_t)n - (size_t)n / 2}};
        EXPECT_EQ(weft_fd_writev_all(fd, parts, 2, NULL, WEFT_FOREVER), 0);
    }
    EXPECT_EQ(n, 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void talk(void *arg) {
    (void)arg;
    static unsigned char out[TALK], in[TALK];
    weft_fd door = net_listen_any(where, NULL);
    EXPECT(weft_spawn(talk_server, net_box(door)) != WEFT_NOBODY);
    weft_fd fd = weft_net_connect(where, WEFT_FOREVER);
    EXPECT(fd > 0 && weft_fd_number(fd) > 0);
    for (unsigned i = 0; i < TALK; i++)
        out[i] = (unsigned char)(i * 7);
    for (unsigned i = 0; i < TALK; i += TALK / 10) {
        EXPECT_EQ(weft_fd_write_all(fd, out + i, TALK / 10, NULL, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_fd_read_all(fd, in + i, TALK / 10, NULL, WEFT_FOREVER), 0);
    }
    EXPECT(memcmp(in, out, TALK) == 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    EXPECT_EQ(weft_fd_close(door), 0);
    net_is_done();
}
static void talks(void) {
    for (unsigned every = 1; every <= 7; every += 2) {
        sys_script.net_eintr_every = every + 1;
        sys_script.net_most = every * 50;
        net_run_until(talk, 2);
    }
    sys_script.net_eintr_every = 0;
    sys_script.net_most = 0;
}
TEST(interrupted_calls_go_on) { rt_each(talks); }

/* The other calls. */
static void kinds_datagrams(const char *place) {
    weft_fd boxes[2] = {weft_net_udp(place, NULL), weft_net_udp(place, NULL)};
    weft_addr to, from;
    char data[8];
    EXPECT(boxes[0] > 0 && boxes[1] > 0);
    EXPECT_EQ(weft_net_name(boxes[0], &to), 0);
    EXPECT_EQ(weft_net_send_to(boxes[1], "datagram", 8, &to, WEFT_FOREVER), 8);
    EXPECT_EQ(weft_net_recv_from(boxes[0], data, 8, &from, WEFT_FOREVER), 8);
    EXPECT_EQ(weft_fd_close(boxes[0]), 0);
    EXPECT_EQ(weft_fd_close(boxes[1]), 0);
}
static void kinds_passing(void) {
    weft_fd pair[2];
    int some[2] = {0, 1}, got[2];
    size_t count = 2;
    char byte;
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT_EQ(weft_net_send_fds(pair[0], "x", 1, some, 2, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_fd_wait(pair[1], WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
    EXPECT_EQ(weft_fd_wait(pair[1], WEFT_READABLE | WEFT_WRITABLE, WEFT_FOREVER), WEFT_READABLE | WEFT_WRITABLE);
    EXPECT_EQ(weft_net_recv_fds(pair[1], &byte, 1, got, &count, WEFT_FOREVER), 1);
    EXPECT_EQ(count, 2);
    close(got[0]);
    close(got[1]);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
}
enum { KINDS_FILE = 5000 };
static void kinds_file(int file) {
    weft_fd pair[2];
    char data[KINDS_FILE];
    off_t offset = 0;
    net_tcp_pair(pair);
    EXPECT_EQ(weft_fd_sendfile_all(pair[0], file, &offset, KINDS_FILE, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_fd_read_all(pair[1], data, KINDS_FILE, NULL, WEFT_FOREVER), 0);
    for (unsigned i = 0; i < KINDS_FILE; i++)
        if (data[i] != (char)(i * 3)) EXPECT_EQ(data[i], (char)(i * 3));
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
}
static void kinds_pipe(void) {
    weft_fd pair[2];
    char left[3], right[5];
    struct iovec out[2] = {{"abc", 3}, {"defgh", 5}}, in[2] = {{left, 3}, {right, 5}};
    EXPECT_EQ(weft_pipe(pair), 0);
    EXPECT_EQ(weft_fd_writev_all(pair[1], out, 2, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_fd_readv(pair[0], in, 2, WEFT_FOREVER), 8);
    EXPECT(memcmp(left, "abc", 3) == 0 && memcmp(right, "defgh", 5) == 0);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
}
static void kinds(void *arg) {
    FILE *file = tmpfile();
    (void)arg;
    for (unsigned i = 0; i < KINDS_FILE; i++)
        putc((char)(i * 3), file);
    fflush(file);
    for (unsigned round = 0; round < 20; round++) { /* so that each comes to be interrupted */
        kinds_datagrams("127.0.0.1:0");
        kinds_datagrams("unix:@");
        kinds_passing();
        kinds_file(fileno(file));
        kinds_pipe();
    }
    fclose(file);
    net_is_done();
}
static void kinds_all(void) {
    for (unsigned every = 2; every <= 5; every++) {
        sys_script.net_eintr_every = every;
        net_run_until(kinds, 1);
    }
    sys_script.net_eintr_every = 0;
}
TEST(interrupted_calls_of_every_kind_go_on) { rt_each(kinds_all); }

/* ---- memory and address space
 * ---------------------------------------------------------------------------------------------------------- */

/* The first descriptor of a program needs a table. */
static void no_table(void *arg) {
    (void)arg;
    weft_fd pair[2];
    sys_script.map_fail_from = 1;
    EXPECT_EQ(weft_net_pair(pair), WEFT_ENOMEM);
    sys_script.map_fail_from = 0;
    EXPECT_EQ(weft_net_pair(pair), 0);
    net_is_done();
}
TEST(no_memory_for_the_table) {
    rt_start("ring", 2);
    net_run_until(no_table, 1);
    rt_stop();
}

/* ---- misuse
 * ------------------------------------------------------------------------------------------------------------------------------ */

/* The number of a descriptor that was closed behind weft's back comes again: where weft meets it, it says so. */
static void behind_by_weft(weft_fd closed) {
    weft_fd other[2];
    (void)closed;
    weft_pipe(other);
}
static int behind_reused(weft_fd closed) {
    int number = (int)(closed & 0xffffff), other = eventfd(0, EFD_CLOEXEC);
    EXPECT_EQ(other, number);
    return number;
}
static void behind_by_adoption(weft_fd closed) { weft_fd_adopt(behind_reused(closed)); }
static void behind_by_waiting(weft_fd closed) { weft_fd_wait_raw(behind_reused(closed), WEFT_READABLE, 0); }
static void behind_by_closing(weft_fd closed) {
    behind_reused(closed);
    weft_fd_close(closed); /* would close the other */
}
static void (*const behinds[])(weft_fd) = {behind_by_weft, behind_by_adoption, behind_by_waiting, behind_by_closing};
static unsigned behind;
static void closes_behind(void *arg) {
    (void)arg;
    weft_fd pair[2];
    EXPECT_EQ(weft_pipe(pair), 0);
    close(weft_fd_number(pair[0]));
    behinds[behind](pair[0]);
    net_is_done();
}
static void closes_behind_body(void) {
    rt_start("ring", 1);
    net_run_until(closes_behind, 1);
}
TEST(a_close_behind_wefts_back_is_named) {
    for (behind = 0; behind < sizeof behinds / sizeof *behinds; behind++)
        EXPECT_ABORT(closes_behind_body, "closed behind weft's back", "weft_fd_close");
}

/* But what was adopted twice, or waited for beside, is not taken for that. */
static void meets_its_own(void *arg) {
    (void)arg;
    int bell = eventfd(0, EFD_CLOEXEC);
    weft_fd fd = weft_fd_adopt(bell);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_fd_adopt(bell), WEFT_EEXIST);
    EXPECT_EQ(weft_fd_wait_raw(bell, WEFT_READABLE, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void meets_all(void) { net_run_until(meets_its_own, 1); }
TEST(no_close_behind_wefts_back_is_seen) { rt_each(meets_all); }

int main(int argc, char **argv) { return test_main(argc, argv); }
