/* The rest of the simulated network: datagrams, pipes, descriptors, machines; and faults. */
#include "net_programs.h"
#include "world/fd.h"
#include "world/net.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>

enum { SEEDS = 100, DATAGRAMS = 50 };

static void faults(const char *list) { setenv("WEFT_SIM_FAULTS", list, 1); }

/* ---- datagrams ----------------------------------------------------------------------------------------------------------------- */

static void udp_pair(weft_fd two[2], weft_addr names[2]) {
    for (int i = 0; i < 2; i++)
        NEED((two[i] = weft_net_udp("127.0.0.1:0", NULL)) > 0 && weft_net_name(two[i], &names[i]) == 0);
}

/* Without faults none is lost while there is room, and they come in order, whole, with their sender's address. */
static void datagrams_in_order(void) {
    weft_fd two[2];
    weft_addr names[2], from;
    char sent[100] = {0}, got[100];
    udp_pair(two, names);
    for (int i = 0; i < DATAGRAMS; i++) {
        sent[0] = (char)i;
        NEED(weft_net_send_to(two[0], sent, (size_t)i + 1, &names[1], WEFT_FOREVER) == i + 1);
    }
    for (int i = 0; i < DATAGRAMS; i++) {
        NEED(weft_net_recv_from(two[1], got, sizeof got, &from, WEFT_FOREVER) == i + 1 && got[0] == i);
        NEED(from.size == names[0].size && memcmp(&from.place, &names[0].place, from.size) == 0);
    }
    NEED(weft_net_send_to(two[0], sent, 50, &names[1], WEFT_FOREVER) == 50);
    NEED(weft_net_recv_from(two[1], got, 10, NULL, WEFT_FOREVER) == 10); /* cut */
    NEED(weft_net_recv_from(two[1], got, 10, NULL, weft_in(SECOND)) == WEFT_ETIMEDOUT);
}
PROGRAM(datagrams_in_order)
TEST_WITHIN(datagrams_come_in_order_without_faults, 120) { seeds_pass(1, SEEDS, datagrams_in_order_body); }

static bool answering;

static void answers(void *arg) {
    weft_fd fd = *(weft_fd *)arg;
    weft_addr from;
    int number;
    while (answering) {
        ssize_t n = weft_net_recv_from(fd, &number, sizeof number, &from, weft_in(SECOND / 10));
        if (n == sizeof number) NEED(weft_net_send_to(fd, &number, sizeof number, &from, WEFT_FOREVER) == n);
    }
}

/* Asks again until the right answer comes; older answers come twice, or late. */
static void ask_until(weft_fd fd, const weft_addr *to, int number) {
    int got = -1;
    while (got != number) {
        NEED(weft_net_send_to(fd, &number, sizeof number, to, WEFT_FOREVER) == sizeof number);
        while (weft_net_recv_from(fd, &got, sizeof got, NULL, weft_in(SECOND / 5)) == sizeof got && got != number) {}
    }
}

static void asks_with_loss(void) {
    weft_fd two[2];
    weft_addr names[2];
    udp_pair(two, names);
    answering = true;
    weft_pid server = weft_spawn_joinable(answers, &two[1]);
    for (int i = 0; i < DATAGRAMS; i++)
        ask_until(two[0], &names[1], i);
    answering = false;
    NEED(weft_join(server, NULL, WEFT_FOREVER) == 0);
}
PROGRAM(asks_with_loss)
TEST_WITHIN(a_client_that_asks_again_gets_an_answer_in_spite_of_losses, 120) {
    faults("wake,short,net");
    seeds_pass(1, SEEDS, asks_with_loss_body);
}

/* What happened to datagrams of one sender: bits of the program's exit status, beside one that says that it came to its end. */
enum { LOST = 1, TWICE = 2, OVERTAKEN = 4, WAS_DONE = 8 };
static unsigned happened;

static void numbered_datagrams(void) {
    weft_fd two[2];
    weft_addr names[2];
    unsigned times[DATAGRAMS] = {0};
    int got, last = -1;
    udp_pair(two, names);
    for (int i = 0; i < DATAGRAMS; i++)
        NEED(weft_net_send_to(two[0], &i, sizeof i, &names[1], WEFT_FOREVER) == sizeof i);
    while (weft_net_recv_from(two[1], &got, sizeof got, NULL, weft_in(SECOND)) == sizeof got) {
        NEED(got >= 0 && got < DATAGRAMS);
        if (times[got]++ == 0 && got < last) happened |= OVERTAKEN; /* this one comes after one that was sent later */
        if (got > last) last = got;
    }
    for (int i = 0; i < DATAGRAMS; i++)
        happened |= times[i] == 0 ? LOST : times[i] == 2 ? TWICE : 0;
}
PROGRAM(numbered_datagrams)
static int numbered_datagrams_told(void) {
    int status = numbered_datagrams_body();
    return status ? status : (int)(WAS_DONE | happened);
}
/* How many of the first seeds let each happen: LOST, TWICE, OVERTAKEN. */
static void happens(unsigned counts[3]) {
    static struct seed_result result;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        seed_run(seed, numbered_datagrams_told, &result);
        if (!WIFEXITED(result.status) || !(WEXITSTATUS(result.status) & WAS_DONE)) seed_failed(seed, &result, "fails");
        for (unsigned bit = 0; bit < 3; bit++)
            counts[bit] += WEXITSTATUS(result.status) >> bit & 1;
    }
}
TEST_WITHIN(datagrams_are_lost_doubled_and_overtaken_by_the_fault_net_alone, 120) {
    unsigned with[3] = {0}, without[3] = {0};
    faults("net");
    happens(with);
    for (unsigned bit = 0; bit < 3; bit++)
        EXPECT(with[bit] > 0 && with[bit] < SEEDS);
    faults("wake,short");
    happens(without);
    for (unsigned bit = 0; bit < 3; bit++)
        EXPECT_EQ(without[bit], 0);
}

/* Up to ten wait at a UNIX socket; the sender is held back. */
static void takes_datagrams(void *arg) {
    weft_fd fd = *(weft_fd *)arg;
    int number;
    NEED(weft_sleep(SECOND) == 0);
    for (int i = 0; i < DATAGRAMS; i++)
        NEED(weft_net_recv_from(fd, &number, sizeof number, NULL, WEFT_FOREVER) == sizeof number && number == i);
}
static void datagrams_of_unix(void) {
    weft_addr to;
    weft_fd sender = weft_net_udp("unix:@sender", NULL), receiver = weft_net_udp("unix:@receiver", NULL);
    NEED(sender > 0 && receiver > 0 && weft_net_name(receiver, &to) == 0);
    weft_pid taker = weft_spawn_joinable(takes_datagrams, &receiver);
    uint64_t before = weft_now();
    for (int i = 0; i < DATAGRAMS; i++)
        NEED(weft_net_send_to(sender, &i, sizeof i, &to, WEFT_FOREVER) == sizeof i);
    NEED(weft_now() - before >= SECOND / 2 && weft_join(taker, NULL, WEFT_FOREVER) == 0);
    NEED(weft_fd_close(receiver) == 0 && weft_net_send_to(sender, "x", 1, &to, WEFT_FOREVER) == WEFT_ECONNREFUSED);
}
PROGRAM(datagrams_of_unix)
TEST_WITHIN(a_unix_socket_holds_ten_datagrams, 120) { seeds_pass(1, SEEDS, datagrams_of_unix_body); }

/* ---- pipes and descriptors ---------------------------------------------------------------------------------------------------------- */

enum { PIPED = 200000 };

static void fills(void *arg) {
    weft_fd fd = *(weft_fd *)arg;
    static unsigned char data[PIPED];
    for (int i = 0; i < PIPED; i++)
        data[i] = (unsigned char)(i % 253);
    NEED(weft_fd_write_all(fd, data, PIPED, NULL, WEFT_FOREVER) == 0 && weft_fd_close(fd) == 0);
}
static void pipes(void) {
    weft_fd pair[2];
    static unsigned char data[PIPED + 1];
    NEED(weft_pipe(pair) == 0);
    weft_pid filler = weft_spawn_joinable(fills, &pair[1]);
    NEED(net_read_to_end(pair[0], data, sizeof data) == PIPED);
    for (int i = 0; i < PIPED; i++)
        NEED(data[i] == i % 253);
    NEED(weft_join(filler, NULL, WEFT_FOREVER) == 0 && weft_fd_close(pair[0]) == 0);
    NEED(weft_pipe(pair) == 0 && weft_fd_close(pair[0]) == 0);
    NEED(weft_fd_write(pair[1], "x", 1, WEFT_FOREVER) == WEFT_EPIPE);
}
PROGRAM(pipes)
TEST_WITHIN(a_pipe_carries_all_and_breaks, 120) { seeds_pass(1, SEEDS, pipes_body); }

/* A pipe's end goes through a socket; it works when all else is closed, and not a descriptor is left. */
static void passes_descriptors(void) {
    weft_fd sockets[2], pair[2];
    int number;
    size_t count = 1;
    char data[8];
    NEED(weft_net_pair(sockets) == 0 && weft_pipe(pair) == 0);
    unsigned before = sim_fd_count(0);
    number = weft_fd_number(pair[1]);
    NEED(weft_net_send_fds(sockets[0], "m", 1, &number, 1, WEFT_FOREVER) == 1);
    NEED(weft_fd_write(sockets[0], "n", 1, WEFT_FOREVER) == 1 && weft_fd_close(pair[1]) == 0);
    NEED(weft_net_recv_fds(sockets[1], data, sizeof data, &number, &count, WEFT_FOREVER) == 1 && count == 1 && data[0] == 'm');
    weft_fd passed = weft_fd_adopt(number);
    NEED(passed > 0 && weft_fd_write_all(passed, "hello", 5, NULL, WEFT_FOREVER) == 0 && weft_fd_close(passed) == 0);
    NEED(net_read_to_end(pair[0], data, sizeof data) == 5 && memcmp(data, "hello", 5) == 0);
    NEED(sim_fd_count(0) == before - 1);
}
PROGRAM(passes_descriptors)
TEST_WITHIN(descriptors_pass_through_unix_sockets, 120) { seeds_pass(1, SEEDS, passes_descriptors_body); }

/* At the limit opening fails, accepting waits; afterwards everything goes on. */
static void at_the_limit(void) {
    weft_fd client, server, pair[2];
    char text[128];
    weft_fd listener = net_listen_at("127.0.0.1:0", 0, text, sizeof text);
    NEED((client = weft_net_connect(text, WEFT_FOREVER)) > 0);
    sim_fd_limit(0, sim_fd_count(0) + 1);
    NEED(weft_net_pair(pair) == WEFT_EMFILE);
    weft_fd bell = weft_net_udp("127.0.0.1:0", NULL);
    NEED(bell > 0 && weft_net_connect(text, WEFT_FOREVER) == WEFT_EMFILE);
    NEED(weft_net_accept(listener, NULL, weft_in(SECOND)) == WEFT_EMFILE);
    NEED(weft_fd_close(bell) == 0 && (server = weft_net_accept(listener, NULL, WEFT_FOREVER)) > 0);
    NEED(weft_fd_write(server, "x", 1, WEFT_FOREVER) == 1 && weft_fd_read(client, text, 1, WEFT_FOREVER) == 1);
}
PROGRAM(at_the_limit)
TEST_WITHIN(descriptors_run_out_and_come_again, 120) { seeds_pass(1, SEEDS, at_the_limit_body); }

/* ---- machines ----------------------------------------------------------------------------------------------------------------------- */

/* Its last connection never ends: the client is silent. So it runs until its runtime stops. */
static void far_echo(void *arg) {
    weft_fd fd = *(weft_fd *)arg;
    char data[8];
    free(arg);
    for (ssize_t n; (n = weft_fd_read(fd, data, sizeof data, WEFT_FOREVER)) > 0;)
        NEED(weft_fd_write_all(fd, data, (size_t)n, NULL, WEFT_FOREVER) == 0);
    weft_fd_close(fd);
}

static void far_server(void *arg) {
    weft_fd listener = weft_net_listen("0.0.0.0:700", NULL);
    (void)arg;
    NEED(listener > 0);
    for (weft_fd fd; (fd = weft_net_accept(listener, NULL, WEFT_FOREVER)) > 0;) {
        weft_fd *own = malloc(sizeof *own);
        *own = fd;
        NEED(weft_spawn(far_echo, own));
    }
}

static void far_client(void *arg) {
    char data[8];
    weft_fd fd;
    (void)arg;
    NEED(weft_net_connect("127.0.0.1:700", WEFT_FOREVER) == WEFT_ECONNREFUSED); /* ports are each machine's own */
    while ((fd = weft_net_connect("10.0.0.2:700", WEFT_FOREVER)) == WEFT_ECONNREFUSED)
        NEED(weft_sleep(SECOND) == 0); /* the other machine is not so far yet */
    NEED(fd > 0 && weft_fd_write_all(fd, "one", 3, NULL, WEFT_FOREVER) == 0);
    NEED(weft_fd_read_all(fd, data, 3, NULL, WEFT_FOREVER) == 0);
    sim_net_partition(0, 1, true);
    NEED(weft_fd_write_all(fd, "two", 3, NULL, WEFT_FOREVER) == 0);
    NEED(weft_fd_read(fd, data, 3, weft_in(60 * SECOND)) == WEFT_ETIMEDOUT);
    NEED(weft_net_connect("10.0.0.2:700", weft_in(60 * SECOND)) == WEFT_ETIMEDOUT);
    sim_net_partition(0, 1, false);
    NEED(weft_fd_read_all(fd, data, 3, NULL, WEFT_FOREVER) == 0 && memcmp(data, "two", 3) == 0 && weft_fd_close(fd) == 0);
    /* This one is not healed: TCP gives up at last. */
    NEED((fd = weft_net_connect("10.0.0.2:700", WEFT_FOREVER)) > 0);
    sim_net_partition(0, 1, true);
    NEED(weft_fd_write_all(fd, "lost", 4, NULL, WEFT_FOREVER) == 0);
    NEED(weft_fd_read(fd, data, 3, WEFT_FOREVER) == WEFT_ETIMEDOUT && weft_fd_close(fd) == 0);
    sim_net_heal();
}

static int machines_body(void) {
    weft_runtime *runtimes[2];
    weft_pid pids[2];
    for (unsigned i = 0; i < 2; i++) {
        sim_me()->machine = i; /* which its workers inherit */
        NEED(weft_start(&(weft_config){.workers = 2}, &runtimes[i]) == 0);
        weft_stackful_options options = {.runtime = runtimes[i], .flags = WEFT_SPAWN_JOINABLE};
        NEED(weft_spawn_with(i ? far_server : far_client, NULL, &options, &pids[i]) == 0);
    }
    sim_me()->machine = 0;
    NEED(weft_join(pids[0], NULL, WEFT_FOREVER) == 0);
    for (unsigned i = 0; i < 2; i++)
        NEED(weft_stop(runtimes[i], NULL, WEFT_FOREVER) == 0);
    return 0;
}
TEST_WITHIN(machines_are_parted_and_come_together_again, 120) { seeds_pass(1, SEEDS, machines_body); }

/* ---- by the C library's names ------------------------------------------------------------------------------------------------------------- */

static void calls_the_c_library(void) {
    struct linger at_once = {.l_onoff = 1};
    weft_fd client, server;
    int value = 7200;
    socklen_t size = sizeof value;
    char data[8];
    net_connected("127.0.0.1:0", &client, &server);
    int number = weft_fd_number(client);
    NEED(number >= SIM_FD_FIRST && fcntl(number, F_GETFL) & O_NONBLOCK);
    NEED(setsockopt(number, IPPROTO_TCP, TCP_KEEPIDLE, &value, sizeof value) == 0);
    value = 0;
    NEED(getsockopt(number, IPPROTO_TCP, TCP_KEEPIDLE, &value, &size) == 0 && value == 7200);
    NEED(setsockopt(number, SOL_SOCKET, 9999, &value, sizeof value) == -1 && errno == ENOPROTOOPT);
    NEED(setsockopt(number, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    NEED(weft_fd_release(client) == number && write(number, "x", 1) == 1 && close(number) == 0 && close(number) == -1);
    NEED(weft_fd_read(server, data, sizeof data, WEFT_FOREVER) == 1);
    NEED(weft_fd_read(server, data, sizeof data, WEFT_FOREVER) == WEFT_ECONNRESET);
}
PROGRAM(calls_the_c_library)
TEST_WITHIN(the_c_library_knows_virtual_descriptors, 120) { seeds_pass(1, SEEDS, calls_the_c_library_body); }

/* A socket's name is among the files: it stays until it is unlinked, and needs a directory. */
static void names_among_files(void) {
    struct stat info;
    weft_fd listener = weft_net_listen("unix:/tmp/weft-sim-socket", NULL);
    NEED(listener > 0 && weft_file_stat("/tmp/weft-sim-socket", &info) == 0 && S_ISSOCK(info.st_mode));
    NEED(weft_fd_close(listener) == 0 && weft_net_listen("unix:/tmp/weft-sim-socket", NULL) == WEFT_EADDRINUSE);
    NEED(weft_file_unlink("/tmp/weft-sim-socket") == 0 && weft_file_unlink("/tmp/weft-sim-socket") == WEFT_ENOENT);
    NEED((listener = weft_net_listen("unix:/tmp/weft-sim-socket", NULL)) > 0);
    NEED(weft_net_listen("unix:/tmp/no/such/directory", NULL) == WEFT_ENOENT);
}
PROGRAM(names_among_files)
TEST_WITHIN(sockets_have_names_among_files, 120) { seeds_pass(1, SEEDS, names_among_files_body); }

/* ---- faults ------------------------------------------------------------------------------------------------------------------------- */

/* One round trip over a connection of its own; false: the network failed, in one of the ways in which it may. */
static bool tries_once(const char *text) {
    char data[4];
    weft_fd fd = weft_net_connect(text, weft_in(10 * SECOND));
    bool is_short = fd == WEFT_EMFILE || fd == WEFT_ENOSPC;
    if (fd < 0) NEED(is_short || fd == WEFT_ECONNREFUSED || fd == WEFT_ETIMEDOUT || fd == WEFT_ECONNRESET);
    if (fd < 0) return false;
    int error = weft_fd_write_all(fd, "ping", 4, NULL, WEFT_FOREVER);
    if (!error) error = weft_fd_read_all(fd, data, 4, NULL, WEFT_FOREVER);
    NEED(error == 0 || error == WEFT_EEOF || error == WEFT_ECONNRESET || error == WEFT_EPIPE);
    NEED(error || memcmp(data, "ping", 4) == 0);
    weft_fd_close(fd);
    return error == 0;
}

static void echoes_badly(void *arg) {
    weft_fd fd = *(weft_fd *)arg;
    char data[4];
    free(arg);
    if (weft_fd_read_all(fd, data, sizeof data, NULL, WEFT_FOREVER) == 0)
        (void)weft_fd_write_all(fd, data, sizeof data, NULL, WEFT_FOREVER);
    weft_fd_close(fd);
}

static void serves_on(void *arg) {
    weft_fd listener = *(weft_fd *)arg;
    for (weft_fd fd; (fd = weft_net_accept(listener, NULL, WEFT_FOREVER)) > 0;) {
        weft_fd *own = malloc(sizeof *own);
        *own = fd;
        NEED(weft_spawn(echoes_badly, own));
    }
}

static void survives(void) {
    char text[128];
    weft_fd listener;
    weft_listen_options options = {.backlog = 2};
    while ((listener = weft_net_listen("127.0.0.1:701", &options)) < 0) /* descriptors may be refused */
        NEED(weft_sleep(SECOND) == 0);
    snprintf(text, sizeof text, "127.0.0.1:701");
    weft_pid server = weft_spawn_joinable(serves_on, &listener);
    for (int done = 0; done < 10;)
        done += tries_once(text);
    NEED(weft_fd_close(listener) == 0 && weft_join(server, NULL, WEFT_FOREVER) == 0);
}
PROGRAM(survives)
TEST_WITHIN(a_client_that_tries_again_survives_a_bad_network, 120) {
    faults("wake,short,net,fd");
    seeds_pass(1, 2 * SEEDS, survives_body);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
