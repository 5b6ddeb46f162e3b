/* Connections in the simulated world behave as those of Linux do, by every seed. */
#include "net_programs.h"

enum { CLIENTS = 20, BYTES = 1000, SEEDS = 100 };

/* ---- echo ---------------------------------------------------------------------------------------------------------------------- */

static char address[128];
static int unfinished;

static void asks(void *arg) {
    unsigned char sent[BYTES], got[BYTES];
    weft_fd fd = weft_net_connect(address, WEFT_FOREVER);
    (void)arg;
    NEED(fd > 0);
    for (int i = 0; i < BYTES; i++)
        sent[i] = (unsigned char)weft_sim_random(256);
    for (int from = 0; from < BYTES; from += BYTES / 10) {
        NEED(weft_fd_write_all(fd, sent + from, BYTES / 10, NULL, WEFT_FOREVER) == 0);
        NEED(weft_fd_read_all(fd, got + from, BYTES / 10, NULL, WEFT_FOREVER) == 0);
    }
    NEED(memcmp(sent, got, BYTES) == 0 && weft_fd_close(fd) == 0);
    unfinished--;
}

static void echoes_at(const char *where) {
    static struct net_server server = {.connections = CLIENTS};
    weft_pid pids[CLIENTS], serving;
    server.listener = net_listen_at(where, 4, address, sizeof address);
    serving = weft_spawn_joinable(net_serve, &server);
    unfinished = CLIENTS;
    for (int i = 0; i < CLIENTS; i++)
        NEED((pids[i] = weft_spawn_joinable(asks, NULL)));
    for (int i = 0; i < CLIENTS; i++)
        NEED(weft_join(pids[i], NULL, WEFT_FOREVER) == 0);
    NEED(weft_join(serving, NULL, WEFT_FOREVER) == 0 && unfinished == 0);
}

static void echoes_tcp(void) { echoes_at("127.0.0.1:0"); }
static void echoes_tcp_6(void) { echoes_at("[::1]:0"); }
static void echoes_unix(void) { echoes_at("unix:/run/echo"); }
static void echoes_abstract(void) { echoes_at("unix:@echo"); }
PROGRAM(echoes_tcp)
PROGRAM(echoes_tcp_6)
PROGRAM(echoes_unix)
PROGRAM(echoes_abstract)

TEST_WITHIN(twenty_clients_get_their_echo_over_tcp, 120) { seeds_pass(1, SEEDS, echoes_tcp_body); }
TEST_WITHIN(twenty_clients_get_their_echo_over_tcp_of_ipv6, 120) { seeds_pass(1, SEEDS / 4, echoes_tcp_6_body); }
TEST_WITHIN(twenty_clients_get_their_echo_over_unix_sockets, 120) { seeds_pass(1, SEEDS, echoes_unix_body); }
TEST_WITHIN(twenty_clients_get_their_echo_over_abstract_sockets, 120) { seeds_pass(1, SEEDS / 4, echoes_abstract_body); }

/* ---- ends ---------------------------------------------------------------------------------------------------------------------- */

/* Each side ends its own direction; the other one goes on. */
static void half_closes(void) {
    weft_fd client, server;
    char data[16];
    net_connected("127.0.0.1:0", &client, &server);
    NEED(weft_fd_write_all(client, "ask", 3, NULL, WEFT_FOREVER) == 0 && weft_net_shutdown(client, WEFT_SIDE_WRITE) == 0);
    NEED(weft_fd_write(client, "x", 1, WEFT_FOREVER) == WEFT_EPIPE);
    NEED(net_read_to_end(server, data, sizeof data) == 3);
    NEED(weft_fd_read(server, data, sizeof data, WEFT_FOREVER) == 0);
    NEED(weft_fd_write_all(server, "answer", 6, NULL, WEFT_FOREVER) == 0 && weft_fd_close(server) == 0);
    NEED(net_read_to_end(client, data, sizeof data) == 6);
    NEED(weft_fd_read(client, data, sizeof data, WEFT_FOREVER) == 0 && weft_fd_close(client) == 0);
}
PROGRAM(half_closes)
TEST_WITHIN(a_direction_ends_and_the_other_goes_on, 120) { seeds_pass(1, SEEDS, half_closes_body); }

/* Data that was never read: the writer learns that it is lost. */
static void resets_at(const char *where) {
    weft_fd client, server;
    char data[16];
    net_connected(where, &client, &server);
    NEED(weft_fd_write_all(client, "unread", 6, NULL, WEFT_FOREVER) == 0);
    NEED(weft_fd_wait(server, WEFT_READABLE, WEFT_FOREVER) == WEFT_READABLE && weft_fd_close(server) == 0);
    NEED(weft_fd_read(client, data, sizeof data, WEFT_FOREVER) == WEFT_ECONNRESET);
    NEED(weft_fd_read(client, data, sizeof data, WEFT_FOREVER) == 0);
    NEED(weft_fd_write(client, "x", 1, WEFT_FOREVER) == WEFT_EPIPE && weft_fd_close(client) == 0);
}
static void resets_tcp(void) { resets_at("127.0.0.1:0"); }
static void resets_unix(void) { resets_at("unix:@reset"); }
PROGRAM(resets_tcp)
PROGRAM(resets_unix)
TEST_WITHIN(closing_with_unread_data_resets_tcp, 120) { seeds_pass(1, SEEDS, resets_tcp_body); }
TEST_WITHIN(closing_with_unread_data_resets_unix_sockets, 120) { seeds_pass(1, SEEDS, resets_unix_body); }

/* The writer goes on until the other side's reset has come. */
static void breaks(void) {
    weft_fd client, server;
    char data[100] = {0};
    ssize_t n;
    net_connected("127.0.0.1:0", &client, &server);
    NEED(weft_fd_close(server) == 0);
    while ((n = weft_fd_write(client, data, sizeof data, WEFT_FOREVER)) > 0) {}
    NEED(n == WEFT_EPIPE || n == WEFT_ECONNRESET);
    NEED(weft_fd_write(client, data, 1, WEFT_FOREVER) == WEFT_EPIPE && weft_fd_close(client) == 0);
}
PROGRAM(breaks)
TEST_WITHIN(writing_to_a_closed_connection_fails_in_the_end, 120) { seeds_pass(1, SEEDS, breaks_body); }

/* ---- connecting ------------------------------------------------------------------------------------------------------------------ */

static void is_refused(void) {
    char text[128];
    weft_fd listener = net_listen_at("127.0.0.1:0", 0, text, sizeof text);
    NEED(weft_net_listen(text, NULL) == WEFT_EADDRINUSE);
    NEED(weft_fd_close(listener) == 0 && weft_net_connect(text, WEFT_FOREVER) == WEFT_ECONNREFUSED);
    NEED(weft_net_connect("unix:/no/such", WEFT_FOREVER) == WEFT_ENOENT);
    NEED(weft_net_connect("unix:@nobody", WEFT_FOREVER) == WEFT_ECONNREFUSED);
    listener = weft_net_listen("unix:/run/once", NULL);
    NEED(weft_fd_close(listener) == 0 && weft_net_connect("unix:/run/once", WEFT_FOREVER) == WEFT_ECONNREFUSED);
    NEED(weft_net_listen("unix:/run/once", NULL) == WEFT_EADDRINUSE);
}
PROGRAM(is_refused)
TEST_WITHIN(without_a_listener_a_connection_is_refused, 120) { seeds_pass(1, SEEDS, is_refused_body); }

/* A full line delays TCP, and -EAGAIN (which weft waits out) a UNIX socket. */
static void waits_in_line_at(const char *where) {
    weft_fd clients[3];
    char text[128];
    weft_fd listener = net_listen_at(where, 1, text, sizeof text);
    for (int i = 0; i < 2; i++)
        NEED((clients[i] = weft_net_connect(text, WEFT_FOREVER)) > 0);
    uint64_t before = weft_now();
    NEED(weft_net_connect(text, before + SECOND / 2) == WEFT_ETIMEDOUT && weft_now() - before >= SECOND / 2);
    NEED(weft_net_accept(listener, NULL, WEFT_FOREVER) > 0);
    NEED((clients[2] = weft_net_connect(text, weft_in(30 * SECOND))) > 0);
}
static void waits_in_line_tcp(void) { waits_in_line_at("127.0.0.1:0"); }
static void waits_in_line_unix(void) { waits_in_line_at("unix:@line"); }
PROGRAM(waits_in_line_tcp)
PROGRAM(waits_in_line_unix)
TEST_WITHIN(a_full_backlog_delays_tcp, 120) { seeds_pass(1, SEEDS, waits_in_line_tcp_body); }
TEST_WITHIN(a_full_backlog_delays_unix_sockets, 120) { seeds_pass(1, SEEDS, waits_in_line_unix_body); }

/* An address that no machine has: Linux gives up after two minutes. */
static void reaches_no_process(void) {
    uint64_t before = weft_now();
    NEED(weft_net_connect("192.0.2.1:9", WEFT_FOREVER) == WEFT_ETIMEDOUT);
    NEED(weft_now() - before > 100 * SECOND && weft_now() - before < 200 * SECOND);
}
PROGRAM(reaches_no_process)
TEST_WITHIN(an_address_without_a_machine_times_out, 120) { seeds_pass(1, SEEDS / 4, reaches_no_process_body); }

/* ---- a slow reader ------------------------------------------------------------------------------------------------------------------ */

enum { MUCH = 1 << 20 };

static void reads_slowly(void *arg) {
    weft_fd fd = *(weft_fd *)arg;
    static unsigned char data[1 << 16];
    uint64_t total = 0, rounds = 0;
    ssize_t n;
    while ((n = weft_fd_read(fd, data, sizeof data, WEFT_FOREVER)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            NEED(data[i] == (unsigned char)(total++ % 251));
        if (rounds++ < 3) NEED(weft_sleep(SECOND) == 0); /* not always: a small buffer means many rounds */
    }
    NEED(n == 0 && total == MUCH && weft_fd_close(fd) == 0);
}

static void is_held_back(void) {
    static unsigned char data[MUCH];
    weft_fd client, server;
    for (int i = 0; i < MUCH; i++)
        data[i] = (unsigned char)(i % 251);
    net_connected("127.0.0.1:0", &client, &server);
    weft_pid reader = weft_spawn_joinable(reads_slowly, &server);
    uint64_t before = weft_now();
    NEED(weft_fd_write_all(client, data, MUCH, NULL, WEFT_FOREVER) == 0);
    NEED(weft_now() - before >= SECOND && weft_fd_close(client) == 0); /* it does not fit */
    NEED(weft_join(reader, NULL, WEFT_FOREVER) == 0);
}
PROGRAM(is_held_back)
TEST_WITHIN(a_slow_reader_holds_the_writer_back, 120) { seeds_pass(1, SEEDS / 4, is_held_back_body); }

/* ---- time --------------------------------------------------------------------------------------------------------------------------- */

static void waits_for_an_hour(void) {
    weft_fd client, server;
    char data[8];
    uint64_t before = weft_now(), hour = 3600 * SECOND;
    net_connected("127.0.0.1:0", &client, &server);
    NEED(weft_fd_read(client, data, sizeof data, weft_in(hour)) == WEFT_ETIMEDOUT);
    NEED(weft_fd_wait(server, WEFT_READABLE, weft_in(hour)) == WEFT_ETIMEDOUT);
    NEED(weft_now() - before >= 2 * hour && weft_now() - before < 2 * hour + 60 * SECOND);
}
PROGRAM(waits_for_an_hour)
TEST_WITHIN(time_outs_of_an_hour_take_no_time, 120) { seeds_pass(1, SEEDS, waits_for_an_hour_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
