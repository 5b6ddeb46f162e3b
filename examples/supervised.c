/* A server that is killed and crashed while its clients count: no request that it has acknowledged is lost.
 *
 *     app
 *     ├── ledger        keeps what was acknowledged: a generic server with a name
 *     ├── connections   a supervisor with a child for each connection
 *     └── acceptor      accepts, and gives each connection to a new child
 *
 * One connection in some requests crashes by a null pointer, before or after it has told the ledger; a process without mercy kills
 * connections and the acceptor all the while. Clients that lose their connection connect again and repeat the request. */
#include <weft/weft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 4, REQUESTS = 500, KILL_EVERY_MS = 3, CRASH_ONE_IN = 60 };
enum { RECORD = 1, COUNT };

/* ---- the ledger ----------------------------------------------------------------------------------------------------------------- */

struct ledger {
    unsigned times[CLIENTS * REQUESTS]; /* how often each request was recorded: more than once when its answer was lost */
};

static int ledger_call(void *state, const weft_incoming *in) {
    struct ledger *ledger = state;
    uint64_t number = *(const uint64_t *)in->data;
    if (number >= CLIENTS * REQUESTS) return weft_reply(in->request, NULL, 0);
    if (in->request.tag == RECORD) ledger->times[number]++;
    return weft_reply(in->request, &ledger->times[number], sizeof ledger->times[number]);
}
static const weft_server_spec ledger = {.name = "ledger", .state_size = sizeof(struct ledger), .call = ledger_call};
static void ledger_child(void *unused) {
    (void)unused;
    weft_exit(weft_server_run(&ledger, NULL));
}

static int ledger_ask(uint64_t tag, uint64_t number, unsigned *times) {
    weft_msg *reply;
    int error = weft_call_name("ledger", tag, &number, sizeof number, &reply, weft_in(10 * WEFT_SECOND));
    if (error) return error;
    *times = *(const unsigned *)weft_msg_data(reply);
    weft_msg_free(reply);
    return 0;
}

/* ---- the server ------------------------------------------------------------------------------------------------------------------ */

static unsigned crashes, kills; /* counted atomically */

static unsigned counted(unsigned *counter) { return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

static void maybe_crash(void) {
    static unsigned turn;
    if ((counted(&turn) * 2654435761U >> 8) % CRASH_ONE_IN != 0) return;
    counted(&crashes);
    *(volatile int *)NULL = 1;
}

static void close_connection(void *fd) { weft_fd_close((weft_fd)(intptr_t)fd); }

/* Reads numbers, records each, and answers with it. A connection that is killed before it begins is closed by `discard` of the pattern. */
static void connection(void *arg) {
    weft_fd fd = (weft_fd)(intptr_t)arg;
    uint64_t number;
    unsigned times;
    if (weft_defer(close_connection, arg) != 0) return;
    while (weft_fd_read_all(fd, &number, sizeof number, NULL, WEFT_FOREVER) == 0) {
        maybe_crash();
        if (ledger_ask(RECORD, number, &times) != 0) return;
        maybe_crash();
        if (weft_fd_write_all(fd, &number, sizeof number, NULL, WEFT_FOREVER) != 0) return;
    }
}

/* The acceptor may be killed while it has a connection in hand: that one is closed then, also if a child has it by now. A descriptor's number is
 * never used again, so closing one twice does no harm. */
static void close_in_hand(void *fd) { weft_fd_close(*(weft_fd *)fd); }

static void acceptor(void *listener) {
    weft_fd fd = WEFT_NO_FD;
    weft_pid pid;
    if (weft_defer(close_in_hand, &fd) != 0) return;
    while ((fd = weft_net_accept((weft_fd)(intptr_t)listener, NULL, WEFT_FOREVER)) > 0)
        if (weft_super_spawn(weft_whereis("connections"), (void *)(intptr_t)fd, &pid, weft_in(10 * WEFT_SECOND)) != 0) weft_fd_close(fd);
    weft_exit((int)fd);
}

/* ---- its clients ------------------------------------------------------------------------------------------------------------------ */

static char address[WEFT_ADDR_TEXT];
static unsigned lost_connections, unacknowledged;

static int request(weft_fd *fd, uint64_t number) {
    uint64_t answer = 0, deadline = weft_in(10 * WEFT_SECOND);
    if (*fd <= 0) *fd = weft_net_connect(address, deadline);
    if (*fd <= 0) return (int)*fd;
    int error = weft_fd_write_all(*fd, &number, sizeof number, NULL, deadline);
    if (!error) error = weft_fd_read_all(*fd, &answer, sizeof answer, NULL, deadline);
    if (!error && answer == number) return 0;
    weft_fd_close(*fd);
    *fd = WEFT_NO_FD;
    counted(&lost_connections);
    return error ? error : WEFT_EPROTO;
}

static void client(void *first) {
    weft_fd fd = WEFT_NO_FD;
    for (uint64_t i = 0; i < REQUESTS; i++) {
        uint64_t number = (uint64_t)(uintptr_t)first + i;
        unsigned times = 0, tries = 0;
        while (request(&fd, number) != 0 && ++tries < 1000) {}
        if (ledger_ask(COUNT, number, &times) != 0 || times == 0 || tries == 1000) counted(&unacknowledged);
    }
    if (fd > 0) weft_fd_close(fd);
}

/* ---- without mercy ------------------------------------------------------------------------------------------------------------------ */

static void killer(void *super) {
    weft_child_info children[64];
    for (unsigned turn = 1; weft_sleep(KILL_EVERY_MS * WEFT_MILLISECOND) == 0; turn++) {
        weft_pid victims = turn % 8 ? weft_whereis("connections") : (weft_pid)(uintptr_t)super;
        ssize_t count = weft_super_children(victims, children, 64, weft_in(WEFT_SECOND));
        if (count <= 0) continue;
        const weft_child_info *victim = turn % 8 ? &children[turn % (unsigned)(count > 64 ? 64 : count)] : &children[count - 1];
        if (victim->pid && weft_kill(victim->pid) == 0) counted(&kills);
    }
}

static int app(int argc, char **argv) {
    weft_addr place;
    weft_fd listener = weft_net_listen("127.0.0.1:0", NULL);
    weft_pid super, pids[CLIENTS];
    (void)argc, (void)argv;
    if (listener < 0 || weft_net_name(listener, &place) != 0) return 1;
    weft_addr_text(&place, address, sizeof address);

    static const weft_child_spec each = {.entry = connection, .restart = WEFT_TEMPORARY, .discard = close_connection};
    static const weft_super_spec connections = {.name = "connections", .pattern = &each};
    const weft_child_spec children[] = {
        {.id = "ledger", .entry = ledger_child, .ready = true, .register_as = "ledger"},
        {.id = "connections", .super = &connections, .register_as = "connections"},
        {.id = "acceptor", .entry = acceptor, .arg = (void *)(intptr_t)listener},
    };
    const weft_super_spec spec = {
        .name = "app", .strategy = WEFT_REST_FOR_ONE, .intensity = 1000000, .period_ms = 1000, .children = children, .count = 3};
    int error = weft_super_start(&spec, NULL, &super, weft_in(10 * WEFT_SECOND));
    if (error) {
        fprintf(stderr, "supervised: %s\n", weft_strerror(error));
        return 1;
    }
    weft_pid merciless = weft_spawn(killer, (void *)(uintptr_t)super);
    for (size_t i = 0; i < CLIENTS; i++)
        pids[i] = weft_spawn_joinable(client, (void *)(uintptr_t)(i * REQUESTS));
    for (size_t i = 0; i < CLIENTS; i++)
        weft_join(pids[i], NULL, WEFT_FOREVER);
    weft_cancel(merciless);
    weft_super_stop(super, WEFT_FOREVER);
    fprintf(stderr, "%u crashes, %u kills, %u connections lost\n", crashes, kills, lost_connections);
    printf("%d requests acknowledged, %u of them lost\n", CLIENTS * REQUESTS, unacknowledged);
    return unacknowledged ? 1 : 0;
}

int main(int argc, char **argv) {
    setenv("WEFT_CONTAIN_FAULTS", "1", 1); /* a null pointer ends the process that has used it, and not the program */
    return weft_main(argc, argv, app);
}
/* Prints:
 * 2000 requests acknowledged, 0 of them lost
 */
