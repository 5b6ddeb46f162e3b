/* The network's commands for step processes: an echo server and its clients without a stack. */
#include "command/built_in.h"
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
            EXPECT_EQ(weft_out_fd_write_all(out, WRITE, server->guest, event->data, event->size, WEFT_FOREVER), 0);
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
        if (events[i].type == WEFT_EVENT_CANCEL) over = true;
        if (events[i].type == WEFT_EVENT_MESSAGE) server_begin(self, out);
        if (events[i].type == WEFT_EVENT_COMPLETION) server_hears(self, &events[i], out);
    }
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
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
        EXPECT_EQ(weft_out_fd_write_all(out, WRITE, *fd, "hello", 5, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_fd_wait(out, WAIT, *fd, WEFT_READABLE, WEFT_FOREVER), 0);
        break;
    case WAIT:
        EXPECT_EQ(event->error, 0);
        EXPECT_EQ(event->size, sizeof(int));
        EXPECT_EQ(*(const int *)event->data, WEFT_READABLE);
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
        if (events[i].type == WEFT_EVENT_MESSAGE) EXPECT_EQ(weft_out_net_connect(out, CONNECT, where, WEFT_FOREVER), 0);
        if (events[i].type == WEFT_EVENT_CANCEL) over = true;
        if (events[i].type == WEFT_EVENT_COMPLETION) client_hears(self, &events[i], out);
        if (events[i].type == WEFT_EVENT_COMPLETION && events[i].tag == READ) over = true;
    }
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
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
    weft_out_status(out, WEFT_STEP_DONE);
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

/* ---- the other commands --------------------------------------------------------------------------------------------------------------- */

enum { GOT = 1, SENT, FILED, NAMED, BOTH };
enum { FILE_SIZE = 1000 };
static atom_u64 others_done;
struct others {
    weft_fd boxes[2], pair[2], door;
    weft_addr places[2];
    FILE *file;
    unsigned heard;
};
static void others_begin(struct others *self, weft_out *out) {
    for (unsigned i = 0; i < 2; i++) {
        self->boxes[i] = weft_net_udp("127.0.0.1:0", NULL);
        EXPECT(self->boxes[i] > 0);
        EXPECT_EQ(weft_net_name(self->boxes[i], &self->places[i]), 0);
    }
    EXPECT_EQ(weft_out_net_recv_from(out, GOT, self->boxes[0], 100, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_out_net_send_to(out, SENT, self->boxes[1], "hello", 5, &self->places[0], WEFT_FOREVER), 0);
    EXPECT_EQ(weft_net_pair(self->pair), 0);
    self->file = tmpfile();
    for (unsigned i = 0; i < FILE_SIZE; i++)
        putc((int)(i * 7 & 0xff), self->file);
    fflush(self->file);
    EXPECT_EQ(weft_out_fd_sendfile_all(out, FILED, self->pair[0], fileno(self->file), 10, FILE_SIZE - 10, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_out_fd_wait(out, BOTH, self->pair[1], WEFT_READABLE | WEFT_WRITABLE, WEFT_FOREVER), 0);
    char place[WEFT_ADDR_TEXT];
    self->door = net_listen_any(place, NULL);
    EXPECT_EQ(weft_out_net_connect_name(out, NAMED, "localhost", strrchr(place, ':') + 1, WEFT_FOREVER), 0);
}
static void others_hear(struct others *self, const weft_event *event) {
    unsigned char data[2 * FILE_SIZE];
    weft_addr from;
    size_t sent;
    weft_fd fd;
    EXPECT_EQ(event->error, 0);
    switch (event->tag) {
    case GOT:
        EXPECT_EQ(event->size, sizeof from + 5);
        memcpy(&from, event->data, sizeof from);
        EXPECT(from.size == self->places[1].size && memcmp(&from.place, &self->places[1].place, from.size) == 0);
        EXPECT(memcmp((const char *)event->data + sizeof from, "hello", 5) == 0);
        break;
    case SENT:
        EXPECT_EQ(event->size, sizeof sent);
        memcpy(&sent, event->data, sizeof sent);
        EXPECT_EQ(sent, 5);
        break;
    case FILED:
        EXPECT_EQ(event->size, sizeof sent);
        memcpy(&sent, event->data, sizeof sent);
        EXPECT_EQ(sent, FILE_SIZE - 10);
        EXPECT_EQ(weft_fd_read_all(self->pair[1], data, sent, NULL, 0), 0);
        for (unsigned i = 10; i < FILE_SIZE; i++)
            EXPECT_EQ(data[i - 10], (i * 7) & 0xff);
        break;
    case BOTH: EXPECT(*(const int *)event->data & WEFT_WRITABLE); break;
    case NAMED:
        memcpy(&fd, event->data, sizeof fd);
        EXPECT_EQ(weft_fd_close(fd), 0);
        break;
    }
    if (++self->heard < 5) return;
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_EQ(weft_fd_close(self->boxes[i]), 0);
        EXPECT_EQ(weft_fd_close(self->pair[i]), 0);
    }
    EXPECT_EQ(weft_fd_close(self->door), 0);
    fclose(self->file);
    atom_add_rel(&others_done, 1);
}
static int others_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool over = false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) over = true;
        if (events[i].type == WEFT_EVENT_MESSAGE) others_begin(self, out);
        if (events[i].type == WEFT_EVENT_COMPLETION) others_hear(self, &events[i]);
    }
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior others = {.name = "others", .state_size = sizeof(struct others), .step = others_step};
static void others_all(void) {
    atom_store_rlx(&others_done, 0);
    EXPECT_EQ(weft_send(rt_spawn(&others), 0, NULL, 0), 0);
    rt_wait(&others_done, 1);
}
TEST(datagrams_files_and_names) { rt_each(others_all); }

/* ---- counts --------------------------------------------------------------------------------------------------------------------------- */

/* How much was sent is told with an error too: of a write that is too late, of one whose reader goes, of a file that is too short. */
enum { TOO_LATE = 1, ITS_READER_GOES, TOO_SHORT, LOOK, MUCH = 1 << 20 };
static atom_u64 counted;
struct counter {
    weft_fd late[2], gone[2], short_of[2];
    FILE *file;
};
static void counter_begin(struct counter *self, weft_out *out) {
    static const char much[MUCH];
    EXPECT_EQ(weft_net_pair(self->late) | weft_net_pair(self->gone) | weft_net_pair(self->short_of), 0);
    self->file = tmpfile();
    EXPECT_EQ(fwrite(much, 1, FILE_SIZE, self->file), FILE_SIZE);
    fflush(self->file);
    EXPECT_EQ(weft_out_fd_write_all(out, TOO_LATE, self->late[0], much, MUCH, weft_in(5 * WEFT_MILLISECOND)), 0);
    EXPECT_EQ(weft_out_fd_write_all(out, ITS_READER_GOES, self->gone[0], much, MUCH, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_out_fd_sendfile_all(out, TOO_SHORT, self->short_of[0], fileno(self->file), 10, MUCH, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_out_sleep(out, LOOK, WEFT_MILLISECOND), 0);
}
/* When something has come the writer is in the middle. */
static void counter_looks(struct counter *self, weft_out *out) {
    if (weft_fd_wait(self->gone[1], WEFT_READABLE, 0) == WEFT_READABLE) EXPECT_EQ(weft_fd_close(self->gone[1]), 0);
    else EXPECT_EQ(weft_out_sleep(out, LOOK, WEFT_MILLISECOND), 0);
}
static void counter_hears(struct counter *self, const weft_event *event) {
    static char data[MUCH];
    size_t count, read;
    EXPECT_EQ(event->size, sizeof count);
    memcpy(&count, event->data, sizeof count);
    EXPECT(count > 0 && count < MUCH);
    switch (event->tag) {
    case TOO_LATE:
        EXPECT_EQ(event->error, WEFT_ETIMEDOUT);
        EXPECT_EQ(weft_fd_read_all(self->late[1], data, MUCH, &read, 0), WEFT_ETIMEDOUT);
        EXPECT_EQ(read, count);
        break;
    case ITS_READER_GOES: EXPECT(event->error == WEFT_EPIPE || event->error == WEFT_ECONNRESET); break;
    case TOO_SHORT:
        EXPECT_EQ(event->error, WEFT_EEOF);
        EXPECT_EQ(count, FILE_SIZE - 10);
        fclose(self->file);
        break;
    }
    atom_add_rel(&counted, 1);
}
static int counter_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool over = false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) over = true;
        if (events[i].type == WEFT_EVENT_MESSAGE) counter_begin(self, out);
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        if (events[i].tag == LOOK) counter_looks(self, out);
        else counter_hears(self, &events[i]);
    }
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior counter = {.name = "counter", .state_size = sizeof(struct counter), .step = counter_step};
static void counts_all(void) {
    atom_store_rlx(&counted, 0);
    EXPECT_EQ(weft_send(rt_spawn(&counter), 0, NULL, 0), 0);
    rt_wait(&counted, 3);
}
TEST(counts_come_with_errors) { rt_each(counts_all); }

/* ---- no helper can be had ------------------------------------------------------------------------------------------------------------- */

/* There is no address space for its stack: the completion says so, and the listener is still there. */
static atom_u64 unlucky_done;
static int unlucky_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    weft_fd *door = self;
    weft_addr address;
    bool over = false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) over = true;
        if (events[i].type == WEFT_EVENT_MESSAGE) {
            *door = weft_net_listen("127.0.0.1:0", NULL);
            EXPECT(*door > 0);
            sys_script.map_fail_from = 1;
            EXPECT_EQ(weft_out_net_accept(out, ACCEPT, *door, WEFT_FOREVER), 0);
        }
        if (events[i].type == WEFT_EVENT_COMPLETION) {
            sys_script.map_fail_from = 0;
            EXPECT(events[i].error == WEFT_ENOMEM || events[i].error == WEFT_ENOSTACK);
            EXPECT_EQ(weft_net_name(*door, &address), 0);
            EXPECT_EQ(weft_fd_close(*door), 0);
            atom_add_rel(&unlucky_done, 1);
        }
    }
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior unlucky = {.name = "unlucky", .state_size = sizeof(weft_fd), .step = unlucky_step};
static void unlucky_all(void) {
    atom_store_rlx(&unlucky_done, 0);
    EXPECT_EQ(weft_send(rt_spawn(&unlucky), 0, NULL, 0), 0);
    rt_wait(&unlucky_done, 1);
}
TEST(the_listener_stays_when_there_is_no_helper) { rt_each(unlucky_all); }

/* ---- mistakes ------------------------------------------------------------------------------------------------------------------------------ */

static atom_u64 refused;
static int wrong_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    static const int wanted[] = {WEFT_EBADF,  WEFT_EBADF,  WEFT_EBADF, WEFT_EINVAL, WEFT_EINVAL, WEFT_ECONNREFUSED,
                                 WEFT_EINVAL, WEFT_ENOMEM, WEFT_EBADF, WEFT_EBADF,  WEFT_EINVAL};
    (void)self;
    bool over = false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) over = true;
        if (events[i].type == WEFT_EVENT_COMPLETION) {
            EXPECT_EQ(events[i].error, wanted[events[i].tag]);
            atom_add_rel(&refused, 1);
        }
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        EXPECT_EQ(weft_out_net_accept(out, 0, 12345, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_fd_read(out, 1, 0, 10, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_fd_write_all(out, 2, -1, "x", 1, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_net_connect(out, 3, "nonsense", WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_yield(out, COMMAND_NET, 4, "x", 1), 0);
        EXPECT_EQ(weft_out_net_connect(out, 5, "127.0.0.1:1", WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_net_connect_name(out, 6, "", "80", WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_net_recv_from(out, 7, 12345, SIZE_MAX, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_net_recv_from(out, 8, 12345, 0, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_fd_sendfile_all(out, 9, 12345, -1, 0, 1, WEFT_FOREVER), 0);
        struct command_net no_address = {.what = NET_SEND_TO, .fd = 12345};
        EXPECT_EQ(weft_out_yield(out, COMMAND_NET, 10, &no_address, sizeof no_address), 0);
    }
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior wrong = {.name = "wrong", .step = wrong_step};
static void wrongs(void) {
    atom_store_rlx(&refused, 0);
    EXPECT_EQ(weft_send(rt_spawn(&wrong), 0, NULL, 0), 0);
    rt_wait(&refused, 11);
}
TEST(errors_come_with_the_completion) { rt_each(wrongs); }

int main(int argc, char **argv) { return test_main(argc, argv); }
