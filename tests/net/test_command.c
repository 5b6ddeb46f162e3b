/* The network's commands for step processes: an echo server and its clients without a stack. */
#include "net_helpers.h"

enum { ACCEPT = 1, CONNECT, READ, WRITE, WAIT, LATE };
static atom_u64 echoed, dropped, listens;
static char where[WEFT_ADDR_TEXT];

/* ---- the server: one process for all connections ------------------------------------------------------------------------------------ */

struct server {
    weft_fd door, guest;
};
static void server_begin(struct server *server, weft_out *out) {
    weft_addr address;
    server->door = weft_net_listen("127.0.0.1:0", NULL);
    EXPECT(server->door > 0);
    EXPECT_EQ(weft_net_name(server->door, &address), 0);
    weft_addr_text(&address, where, sizeof where);
    EXPECT_EQ(weft_out_net_accept(out, ACCEPT, server->door, WEFT_FOREVER), 0);
    atom_store_rel(&listens, 1);
}
static void server_hears(struct server *server, const weft_event *event, weft_out *out) {
    switch (event->tag) {
    case ACCEPT:
        if (event->error) return;
        EXPECT_EQ(event->size, sizeof server->guest);
        memcpy(&server->guest, event->data, sizeof server->guest);
        EXPECT_EQ(weft_out_fd_read(out, READ, server->guest, 100, WEFT_FOREVER), 0);
        break;
    case READ:
        EXPECT_EQ(event->error, 0);
        if (event->size > 0) {
            EXPECT_EQ(weft_out_fd_write(out, WRITE, server->guest, event->data, event->size, WEFT_FOREVER), 0);
        } else { /* the next one */
            EXPECT_EQ(weft_fd_close(server->guest), 0);
            EXPECT_EQ(weft_out_net_accept(out, ACCEPT, server->door, WEFT_FOREVER), 0);
        }
        break;
    case WRITE:
        EXPECT_EQ(event->error, 0);
        EXPECT_EQ(weft_out_fd_read(out, READ, server->guest, 100, WEFT_FOREVER), 0);
        break;
    }
}
static int server_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool over = false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_CANCEL) over = true;
        if (events[i].type == WEFT_MESSAGE) server_begin(self, out);
        if (events[i].type == WEFT_COMPLETION) server_hears(self, &events[i], out);
    }
    weft_out_status(out, over ? WEFT_DONE : WEFT_BLOCKED);
    return 0;
}
static const weft_behavior server = {.name = "server", .state_size = sizeof(struct server), .step = server_step};

static void server_start(void) {
    atom_store_rlx(&listens, 0);
    EXPECT_EQ(weft_send(rt_spawn(&server), 0, NULL, 0), 0);
    rt_wait(&listens, 1);
}

/* ---- clients ---------------------------------------------------------------------------------------------------------------------------- */

static void client_hears(weft_fd *fd, const weft_event *event, weft_out *out) {
    switch (event->tag) {
    case CONNECT:
        EXPECT_EQ(event->error, 0);
        memcpy(fd, event->data, sizeof *fd);
        EXPECT_EQ(weft_fd_read(*fd, (char[1]){0}, 1, 0), WEFT_ETIMEDOUT); /* may be asked, does not wait */
        EXPECT_EQ(weft_out_fd_read(out, LATE, *fd, 10, weft_in(WEFT_MILLISECOND)), 0);
        break;
    case LATE:
        EXPECT_EQ(event->error, WEFT_ETIMEDOUT);
        EXPECT_EQ(weft_out_fd_write(out, WRITE, *fd, "hello", 5, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_fd_wait(out, WAIT, *fd, WEFT_READABLE, WEFT_FOREVER), 0);
        break;
    case WAIT:
        EXPECT_EQ(event->error, 0);
        EXPECT_EQ(weft_out_fd_read(out, READ, *fd, 5, WEFT_FOREVER), 0);
        break;
    case READ:
        EXPECT_EQ(event->size, 5);
        EXPECT(memcmp(event->data, "hello", 5) == 0);
        EXPECT_EQ(weft_fd_close(*fd), 0);
        atom_add_rel(&echoed, 1);
        break;
    }
}
static int client_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool over = false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_MESSAGE) EXPECT_EQ(weft_out_net_connect(out, CONNECT, where, WEFT_FOREVER), 0);
        if (events[i].type == WEFT_CANCEL) over = true;
        if (events[i].type == WEFT_COMPLETION) client_hears(self, &events[i], out);
        if (events[i].type == WEFT_COMPLETION && events[i].tag == READ) over = true;
    }
    weft_out_status(out, over ? WEFT_DONE : WEFT_BLOCKED);
    return 0;
}
static const weft_behavior client = {.name = "client", .state_size = sizeof(weft_fd), .step = client_step};

enum { CLIENTS = 20 };
static void echoes(void) {
    atom_store_rlx(&echoed, 0);
    server_start();
    for (unsigned i = 0; i < CLIENTS; i++)
        EXPECT_EQ(weft_send(rt_spawn(&client), 0, NULL, 0), 0);
    rt_wait(&echoed, CLIENTS);
}
static void echoes_case(const char *policy, unsigned workers) {
    rt_start(policy, workers);
    echoes();
    rt_stop();
}
TEST(echo_without_a_stack) { rt_cases(echoes_case); }

/* ---- those that end before ------------------------------------------------------------------------------------------------------------- */

/* Yields and ends: the wait is given up, so that the runtime can stop, and a connection that was made is closed. */
static int quitter_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    EXPECT_EQ(weft_out_net_connect(out, CONNECT, where, WEFT_FOREVER), 0);
    weft_fd door = weft_net_listen("127.0.0.1:0", NULL);
    EXPECT(door > 0);
    EXPECT_EQ(weft_out_net_accept(out, ACCEPT, door, WEFT_FOREVER), 0);
    weft_out_status(out, WEFT_DONE);
    atom_add_rel(&dropped, 1);
    return 0;
}
static const weft_behavior quitter = {.name = "quitter", .step = quitter_step};

static void quits(const char *policy, unsigned workers) {
    unsigned before = net_count_open();
    atom_store_rlx(&dropped, 0);
    rt_start(policy, workers);
    server_start();
    for (unsigned i = 0; i < 10; i++)
        rt_spawn(&quitter); /* has its first step at once */
    rt_wait(&dropped, 10);
    rt_pause(5 * RT_MS);
    rt_stop();
    EXPECT_EQ(net_count_open(), before);
}
TEST(given_up_when_the_process_ends) { rt_cases(quits); }

/* ---- mistakes ------------------------------------------------------------------------------------------------------------------------------ */

static atom_u64 refused;
static int wrong_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    static const int wanted[] = {WEFT_EBADF, WEFT_EBADF, WEFT_EBADF, WEFT_EINVAL, WEFT_EINVAL, WEFT_ECONNREFUSED};
    (void)self;
    bool over = false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_CANCEL) over = true;
        if (events[i].type == WEFT_COMPLETION) {
            EXPECT_EQ(events[i].error, wanted[events[i].tag]);
            atom_add_rel(&refused, 1);
        }
        if (events[i].type != WEFT_MESSAGE) continue;
        EXPECT_EQ(weft_out_net_accept(out, 0, 12345, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_fd_read(out, 1, 0, 10, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_fd_write(out, 2, -1, "x", 1, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_net_connect(out, 3, "nonsense", WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_yield(out, WEFT_COMMAND_NET, 4, "x", 1), 0);
        EXPECT_EQ(weft_out_net_connect(out, 5, "127.0.0.1:1", WEFT_FOREVER), 0);
    }
    weft_out_status(out, over ? WEFT_DONE : WEFT_BLOCKED);
    return 0;
}
static const weft_behavior wrong = {.name = "wrong", .step = wrong_step};
static void wrongs(void) {
    atom_store_rlx(&refused, 0);
    EXPECT_EQ(weft_send(rt_spawn(&wrong), 0, NULL, 0), 0);
    rt_wait(&refused, 6);
}
TEST(errors_come_with_the_completion) { rt_each(wrongs); }

int main(int argc, char **argv) { return test_main(argc, argv); }
