/* A chat server: each line that a client sends goes to all of them.
 *
 *     chat_server ADDRESS          127.0.0.1:7000, [::1]:7000, unix:/run/chat; Ctrl-C or SIGTERM ends it
 *     chat_server --self-test      runs it at a free port of loopback, with three clients
 *
 * A client's first line is its name. */
#include <weft/weft.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MOST = 500, NAME_LONGEST = 20, CLIENTS_MOST = 10000, UNSENT_MOST = 256 };
enum { TEXT = 1, LEAVE, STOP };       /* tags of messages */
#define IDLE_TIME (600 * WEFT_SECOND) /* a client that says nothing for so long is taken for gone */
#define WRITE_TIME (10 * WEFT_SECOND) /* and so is one that takes nothing */

/* ---- lines ---------------------------------------------------------------------------------------------------------------------- */

struct lines {
    weft_fd fd;
    size_t start, end; /* what was read and not given out yet */
    char data[LINE_MOST + 2];
};

/* The next line, without its end: 0 and *line, valid until the next call. Or WEFT_EEOF, WEFT_EMSGSIZE, or what weft_fd_read says. */
static int line_next(struct lines *in, char **line, uint64_t deadline) {
    for (;;) {
        char *from = in->data + in->start, *end = memchr(from, '\n', in->end - in->start);
        if (end) {
            in->start = (size_t)(end + 1 - in->data);
            if (end > from && end[-1] == '\r') end--;
            *end = '\0';
            *line = from;
            return 0;
        }
        memmove(in->data, from, in->end - in->start);
        in->end -= in->start, in->start = 0;
        if (in->end == sizeof in->data) return WEFT_EMSGSIZE;
        ssize_t n = weft_fd_read(in->fd, in->data + in->end, sizeof in->data - in->end, deadline);
        if (n <= 0) return n < 0 ? (int)n : WEFT_EEOF;
        in->end += (size_t)n;
    }
}

static int put(weft_fd fd, const char *text) { return weft_fd_write_all(fd, text, strlen(text), NULL, weft_in(WRITE_TIME)); }

/* To everyone in the room. Waits for nobody: a client with a full mailbox is ended by the message that it has no room for. */
static void tell_all(const char *before, const char *name, const char *after, const char *text) {
    char line[LINE_MOST + NAME_LONGEST + 16];
    int size = snprintf(line, sizeof line, "%s%s%s%s\n", before, name, after, text);
    if (weft_group_send("room", TEXT, line, (size_t)size) < 0) fprintf(stderr, "chat: no memory for a line\n");
}

/* ---- a client: one process writes to it, and a child of that one reads ---------------------------------------------------------- */

struct client {
    weft_pid writer;
    char name[NAME_LONGEST + 1];
    struct lines in;
};

static weft_sem places = WEFT_SEM_INIT(CLIENTS_MOST);

static void close_client(void *fd) {
    weft_fd_close((weft_fd)(intptr_t)fd);
    weft_sem_release(&places, 1);
}

static void leave_room(void *arg) {
    struct client *client = arg;
    weft_group_leave("room"); /* it has ended already, as far as the others are concerned */
    tell_all("* ", client->name, " has left", "");
}

static void read_client(void *arg) {
    struct client *client = arg;
    char *line;
    while (line_next(&client->in, &line, weft_in(IDLE_TIME)) == 0)
        tell_all("", client->name, ": ", line);
    weft_send_urgent(client->writer, LEAVE, NULL, 0); /* past the bound of its mailbox, and before what is still unsent */
}

static int ask_name(struct client *client) {
    char *line, key[NAME_LONGEST + 8];
    for (int tries = 0; tries < 3; tries++) {
        if (put(client->in.fd, "your name?\n") != 0 || line_next(&client->in, &line, weft_in(60 * WEFT_SECOND)) != 0) return WEFT_EPROTO;
        size_t length = strlen(line);
        if (length == 0 || length > NAME_LONGEST || strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789") != length) {
            if (put(client->in.fd, "1 to 20 small letters and digits, please\n") != 0) return WEFT_EPROTO;
            continue;
        }
        snprintf(key, sizeof key, "user %s", line);
        int error = weft_register(key, weft_self()); /* the name is free again when this process has ended, however it ends */
        if (error == 0) return memcpy(client->name, line, length + 1), 0;
        if (put(client->in.fd, error == WEFT_EEXIST ? "that name is taken\n" : "the server has no memory\n") != 0) return WEFT_EPROTO;
    }
    return WEFT_EPROTO;
}

static void serve_client(void *arg) {
    struct client client = {.writer = weft_self(), .in = {.fd = (weft_fd)(intptr_t)arg}};
    weft_scope scope;
    weft_msg *message;
    int error;
    if (weft_defer(close_client, arg) != 0) {
        close_client(arg);
        return;
    }
    if (ask_name(&client) != 0 || weft_group_join("room") != 0) return;
    if (weft_defer(leave_room, &client) != 0) return;
    tell_all("* ", client.name, " is here", "");

    weft_scope_begin(&scope, WEFT_FOREVER);
    error = weft_scope_spawn(&scope, read_client, &client);
    while (!error && (error = weft_recv(&message, WEFT_FOREVER)) == 0) {
        if (weft_msg_tag(message) == LEAVE) error = WEFT_EEOF;
        else error = weft_fd_write_all(client.in.fd, weft_msg_data(message), weft_msg_len(message), NULL, weft_in(WRITE_TIME));
        weft_msg_free(message);
    }
    if (error == WEFT_ECANCELED) { /* the server stops: the last word, with a deadline of its own */
        static const char farewell[] = "* the server stops\n";
        weft_shield_begin();
        weft_fd_write_all(client.in.fd, farewell, sizeof farewell - 1, NULL, weft_in(WEFT_SECOND));
        weft_shield_end();
    }
    weft_scope_cancel(&scope); /* the reader, if it still reads */
    weft_scope_end(&scope);
    weft_undefer(true); /* now: after the return `client` is gone */
}

/* ---- the door ------------------------------------------------------------------------------------------------------------------- */

/* Accepts until it is cancelled, and returns when all clients have ended. */
static void serve(void *listener) {
    const weft_mailbox mailbox = {.messages = UNSENT_MOST, .when_full = WEFT_FULL_END_RECEIVER};
    const weft_stackful_options options = {.name = "client", .mailbox = &mailbox, .discard = close_client};
    weft_fd door = (weft_fd)(intptr_t)listener, fd = WEFT_NO_FD;
    weft_scope clients;
    int error;
    weft_scope_begin_with(&clients, WEFT_SCOPE_APART, WEFT_FOREVER); /* a client that fails fails alone */
    while ((error = weft_sem_acquire(&places, 1, WEFT_FOREVER)) == 0) {
        if ((fd = weft_net_accept(door, NULL, WEFT_FOREVER)) < 0) {
            weft_sem_release(&places, 1);
            error = (int)fd;
            break;
        }
        if (weft_scope_spawn_with(&clients, serve_client, (void *)(intptr_t)fd, &options, NULL) != 0) close_client((void *)(intptr_t)fd);
    }
    weft_fd_close(door);
    weft_scope_cancel(&clients);
    weft_scope_end(&clients);
    weft_exit(error == WEFT_ECANCELED ? 0 : error);
}

static int fail(const char *what, int error) {
    fprintf(stderr, "chat: %s: %s\n", what, weft_strerror(error));
    return 1;
}

/* ---- clients that test it ------------------------------------------------------------------------------------------------------- */

static char address[WEFT_ADDR_TEXT];

static void connect_as(struct lines *to, const char *name) {
    memset(to, 0, sizeof *to);
    to->fd = weft_net_connect(address, weft_in(10 * WEFT_SECOND));
    if (to->fd < 0) weft_exit((int)to->fd);
    put(to->fd, name);
    put(to->fd, "\n");
}
/* Prints so many lines that this client is sent. */
static void hears(struct lines *from, const char *name, int count) {
    char *line;
    for (; count > 0; count--) {
        int error = line_next(from, &line, weft_in(10 * WEFT_SECOND));
        printf("%s hears: %s\n", name, error ? weft_strerror(error) : line);
    }
}

static void self_test(void *unused) {
    struct lines ada, bob, eve;
    (void)unused;
    connect_as(&ada, "ada");
    hears(&ada, "ada", 2);
    connect_as(&bob, "bob");
    hears(&bob, "bob", 2);
    hears(&ada, "ada", 1);
    connect_as(&eve, "ada"); /* taken; then eve gives up */
    hears(&eve, "eve", 2);
    weft_fd_close(eve.fd);
    put(ada.fd, "good morning\r\n");
    hears(&bob, "bob", 1);
    hears(&ada, "ada", 1);
    weft_fd_close(bob.fd);
    hears(&ada, "ada", 1);
    raise(SIGTERM);
    hears(&ada, "ada", 2);
    weft_fd_close(ada.fd);
}

static int app(int argc, char **argv) {
    weft_addr place;
    weft_pid server;
    weft_msg *stop = NULL;
    int error, reason = 0, test = argc == 2 && strcmp(argv[1], "--self-test") == 0;
    if (argc != 2) {
        fprintf(stderr, "usage: chat_server ADDRESS | --self-test\n");
        return 2;
    }
    const char *where = test ? "127.0.0.1:0" : argv[1];
    weft_fd listener = weft_net_listen(where, NULL);
    if (listener < 0) return fail(where, (int)listener);
    if ((error = weft_net_name(listener, &place)) != 0) return fail(where, error);
    weft_addr_text(&place, address, sizeof address);
    if ((error = weft_signal_watch(SIGTERM, weft_self(), STOP)) != 0) return fail("SIGTERM", error);
    if ((error = weft_signal_watch(SIGINT, weft_self(), STOP)) != 0) return fail("SIGINT", error);

    weft_stackful_options options = {.name = "door", .flags = WEFT_SPAWN_JOINABLE};
    if ((error = weft_spawn_with(serve, (void *)(intptr_t)listener, &options, &server)) != 0) return fail("door", error);
    weft_pid tester = test ? weft_spawn_joinable(self_test, NULL) : WEFT_NOBODY;
    if (!test) printf("listening at %s\n", address), fflush(stdout);

    weft_case events[] = {weft_case_tag(STOP, &stop), weft_case_end(server, &reason), weft_case_end(tester, NULL)};
    int which = weft_select(events, 3, WEFT_FOREVER); /* without a test the third case never happens */
    if (which < 0) return fail("waiting", which);
    if (which != 1) {
        weft_cancel(server);
        error = weft_join(server, &reason, WEFT_FOREVER); /* when every client has had its last word */
        if (error) return fail("waiting", error);
    }
    weft_msg_free(stop);
    if (tester && which != 2) weft_join(tester, NULL, weft_in(10 * WEFT_SECOND));
    if (strncmp(where, "unix:/", 6) == 0) unlink(where + 5);
    return reason ? fail("server", reason) : 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * ada hears: your name?
 * ada hears: * ada is here
 * bob hears: your name?
 * bob hears: * bob is here
 * ada hears: * bob is here
 * eve hears: your name?
 * eve hears: that name is taken
 * bob hears: ada: good morning
 * ada hears: ada: good morning
 * ada hears: * bob has left
 * ada hears: * the server stops
 * ada hears: it ended before all of it was read
 */
