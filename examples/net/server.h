/* What the servers here have in common: a door, and Ctrl-C. */
#include <weft/weft.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t server_signals;

/* In main, before weft_main: the threads that it starts inherit that these signals wait to be fetched instead of ending the program. */
static inline void server_prepare(void) {
    sigemptyset(&server_signals);
    sigaddset(&server_signals, SIGINT);
    sigaddset(&server_signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &server_signals, NULL);
}

/* A process that waits for one of them, as for any other descriptor, and then closes the door. Who accepts there is told WEFT_ECLOSED. */
static inline void server_watches(void *arg) {
    struct signalfd_siginfo signal;
    weft_fd door = (weft_fd)(intptr_t)arg, signals = weft_fd_adopt(signalfd(-1, &server_signals, SFD_CLOEXEC));
    ssize_t n = signals < 0 ? signals : weft_fd_read(signals, &signal, sizeof signal, WEFT_FOREVER);
    if (signals > 0) weft_fd_close(signals);
    if (n > 0) weft_fd_close(door);
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
    weft_net_name(door, &address);
    printf("%s\n", weft_addr_text(&address, text, sizeof text));
    fflush(stdout);
    weft_spawn(server_watches, (void *)(intptr_t)door);
    while ((guest = weft_net_accept(door, NULL, WEFT_FOREVER)) >= 0)
        if (weft_spawn(talk, (void *)(intptr_t)guest) == WEFT_NOBODY) weft_fd_close(guest); /* no memory: not this one */
    if (strncmp(where, "unix:/", 6) == 0) unlink(where + 5);
    if (guest == WEFT_ECLOSED) return 0;
    fprintf(stderr, "%s: %s\n", name, weft_strerror((int)guest));
    return 1;
}
