/* One wait for several things: a server process that looks after a socket, its mailbox, a clock and a child, all in one loop.
 *
 * A client writes lines to the socket. Another process sends announcements. The server answers both, counts its ticks, starts a job for each line
 * and hears of the job's end. It stops when the client has gone and no job is left. */
#include <weft/weft.h>

#include <stdio.h>
#include <string.h>

enum { ANNOUNCEMENT = 1, LINES = 3 };

static void job(void *length) { weft_exit((int)(intptr_t)length); }

struct server {
    weft_fd socket;
    weft_pid job; /* WEFT_NOBODY: none, and its case is never ready */
    uint64_t tick;
    int lines, jobs, announcements, ticks;
    int reason; /* of the job's end */
};

/* False: the client has gone. */
static bool read_lines(struct server *server) {
    char text[64];
    ssize_t size = weft_fd_read(server->socket, text, sizeof text, 0); /* it is readable: this does not wait */
    if (size <= 0) return false;
    for (ssize_t i = 0; i < size; i++)
        if (text[i] == '\n') server->lines++;
    if (server->job == WEFT_NOBODY) server->job = weft_spawn_joinable(job, (void *)(intptr_t)size);
    return true;
}

static void serve(struct server *server) {
    bool connected = true;
    while (connected || server->job != WEFT_NOBODY || server->announcements == 0 || server->ticks == 0) {
        weft_msg *message;
        weft_case cases[] = {
            connected ? weft_case_readable(server->socket) : weft_case_never(),
            weft_case_message(&message),
            weft_case_moment(server->tick),
            weft_case_end(server->job, &server->reason),
        };
        switch (weft_select(cases, 4, WEFT_FOREVER)) {
        case 0: connected = read_lines(server); break;
        case 1:
            server->announcements++;
            weft_msg_free(message);
            break;
        case 2:
            server->ticks++;
            server->tick += 5 * WEFT_MILLISECOND;
            break;
        case 3:
            server->jobs++;
            server->job = WEFT_NOBODY;
            break;
        default: return; /* cancelled */
        }
    }
}

static void client(void *socket) {
    static const char line[] = "a line\n";
    weft_fd fd = *(weft_fd *)socket;
    for (int i = 0; i < LINES; i++) {
        if (weft_fd_write_all(fd, line, strlen(line), NULL, WEFT_FOREVER) != 0) return;
        if (weft_sleep(2 * WEFT_MILLISECOND) != 0) return;
    }
    weft_fd_close(fd);
}

static void announcer(void *server) { weft_send(*(weft_pid *)server, ANNOUNCEMENT, NULL, 0); }

static int app(int argc, char **argv) {
    weft_fd pair[2];
    weft_pid self = weft_self();
    (void)argc, (void)argv;
    if (weft_net_pair(pair) != 0) return 1;
    struct server server = {.socket = pair[0], .tick = weft_in(5 * WEFT_MILLISECOND)};
    weft_spawn(client, &pair[1]);
    weft_spawn(announcer, &self);
    serve(&server);
    weft_fd_close(server.socket);
    printf("%d lines, %d announcement\n", server.lines, server.announcements);
    return server.lines == LINES && server.jobs > 0 && server.announcements == 1 ? 0 : 1;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }

/* Prints:
 * 3 lines, 1 announcement
 */
