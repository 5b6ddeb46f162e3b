/* The servers and the client of examples/net on simulated machines; tests/sim/run_examples links them with this.
 *
 *     net_examples             a client, and the echo server on a machine of its own, which SIGTERM ends
 *     net_examples proxy       the same through the proxy on a third machine; SIGTERM ends the proxy, and the server crashes */
#include "need.h"

#include <weft/weft.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int echo_server_main(int argc, char **argv);
int echo_client_main(int argc, char **argv);
int proxy_main(int argc, char **argv);

enum { LINES = 200, ROOM = 1 << 14 };
static char text[ROOM];
static size_t length;

static void serves(void *arg) {
    (void)arg;
    NEED(echo_server_main(2, (char *[]){"echo_server", "0.0.0.0:7777", NULL}) == 0);
}
static void forwards(void *arg) {
    (void)arg;
    NEED(proxy_main(3, (char *[]){"proxy", "0.0.0.0:8080", arg, NULL}) == 0);
}

/* A machine that has begun: it listens, because a second of virtual time passes only when nothing else can run. */
static int begin(const char *name, void (*main)(void *arg), void *arg) {
    int machine = weft_sim_machine(name, main, arg);
    NEED(machine > 0);
    usleep(1000000);
    return machine;
}

/* A file instead of this descriptor. */
static int in_place_of(int number, const char *data, size_t size) {
    int file = memfd_create("standard", 0);
    NEED(file >= 0 && write(file, data, size) == (ssize_t)size && lseek(file, 0, SEEK_SET) == 0);
    NEED(dup2(file, number) == number);
    return file;
}

/* Sends the text, and gets all of it back, behind what the servers have printed. */
static void talks(const char *where) {
    static char heard[2 * ROOM];
    in_place_of(STDIN_FILENO, text, length);
    int printed = in_place_of(STDOUT_FILENO, "", 0);
    NEED(echo_client_main(2, (char *[]){"echo_client", (char *)(uintptr_t)where, NULL}) == 0);
    fflush(stdout);
    ssize_t size = pread(printed, heard, sizeof heard, 0);
    NEED(size == (ssize_t)length && memcmp(heard, text, length) == 0);
}

static void ends(int machine) {
    NEED(raise(SIGTERM) == 0);
    NEED(weft_sim_wait(machine, weft_in(60 * WEFT_SECOND)) == 0);
}

int main(int argc, char **argv) {
    bool proxy = argc > 1 && strcmp(argv[1], "proxy") == 0;
    for (int i = 0; i < LINES; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "line %d of all that is said\n", i);
    if (!proxy) {
        int server = begin("server", serves, NULL);
        talks("10.0.0.2:7777");
        ends(server);
        return 0;
    }
    int forwarder = begin("proxy", forwards, "10.0.0.3:7777"), server = begin("server", serves, NULL); /* the first one gets the signals */
    talks("10.0.0.2:8080");
    ends(forwarder);
    weft_sim_crash(server);
    return 0;
}
