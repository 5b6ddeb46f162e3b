/* What the servers here have in common: a door, and Ctrl-C. */
#include <weft/weft.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A process that waits for SIGINT or SIGTERM, as a message, and then closes the door. A process that accepts there is told WEFT_ECLOSED. */
static inline void server_ends(void *arg) {
    weft_msg *message;
    if (weft_recv(&message, WEFT_FOREVER)) return; /* cancelled: the program ends anyway */
    weft_msg_free(message);
    weft_fd_close((weft_fd)(intptr_t)arg);
}

static inline void server_watch_signals(const char *name, weft_fd door) {
    weft_pid watcher = weft_spawn(server_ends, (void *)(intptr_t)door);
    int error = weft_signal_watch(SIGINT, watcher, 1);
    if (!error) error = weft_signal_watch(SIGTERM, watcher, 1);
    if (error) fprintf(stderr, "%s: signals: %s\n", name, weft_strerror(error)); /* then they end the program at once */
}

/* Listens, says where (port 0 lets the system choose), and spawns a process for each connection until it is told to stop: then 0. When the
 * first process returns that, weft_main cancels the others: what they wait for answers WEFT_ECANCELED, and they end. */
static inline int server_run(const char *name, const char *where, weft_entry talk) {
    weft_addr address;
    char text[WEFT_ADDR_TEXT];
    weft_fd door = weft_net_listen(where, NULL), guest;
    if (door < 0) {
        fprintf(stderr, "%s: %s: %s\n", name, where, weft_strerror((int)door));
        return 1;
    }
    server_watch_signals(name, door);
    weft_net_name(door, &address);
    printf("%s\n", weft_addr_text(&address, text, sizeof text));
    fflush(stdout);
    while ((guest = weft_net_accept(door, NULL, WEFT_FOREVER)) >= 0)
        if (weft_spawn(talk, (void *)(intptr_t)guest) == WEFT_NOBODY) weft_fd_close(guest); /* no memory for a process: not this one */
    if (strncmp(where, "unix:/", 6) == 0) unlink(where + 5);
    if (guest == WEFT_ECLOSED) return 0;
    fprintf(stderr, "%s: %s\n", name, weft_strerror((int)guest));
    return 1;
}
