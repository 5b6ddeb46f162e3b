/* A service that stops in good order: on SIGTERM or Ctrl-C it takes no more requests, finishes those that it has, and ends. A second signal, or half
 * a minute, and what is not finished is given up. SIGHUP reloads its settings. SIGUSR1, which has a handler of its own, asks how it is.
 *
 *     graceful_stop                 until it is told to stop; kill -HUP, kill -USR1
 *     graceful_stop --self-test     sends itself all of these */
#include <weft/weft.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { STOP = 1, RELOAD, ASKED, DRAINED }; /* tags of messages to the first process */
enum { WORKERS = 4, QUEUE = 64 };
#define DRAIN_TIME (30 * WEFT_SECOND)

/* ---- a handler of our own ---------------------------------------------------------------------------------------------------------- */

struct asked {
    int code; /* si_code: from a program, a timer, the terminal... */
    unsigned lost;
};
static weft_pid asked_receiver; /* written before the handler is installed, and never again */
static atomic_uint asked_lost;  /* an atomic integer is safe in a handler */

/* Nothing but what is async-signal-safe: no printf, no malloc, no lock, no other call of weft. */
static void on_asked(int number, siginfo_t *info, void *context) {
    struct asked asked = {.code = info->si_code, .lost = atomic_exchange(&asked_lost, 0)};
    (void)number, (void)context;
    if (weft_signal_send(asked_receiver, ASKED, &asked, sizeof asked) != 0) atomic_fetch_add(&asked_lost, asked.lost + 1);
}

static int install(int number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0 ? 0 : -errno;
}

/* ---- the service -------------------------------------------------------------------------------------------------------------------- */

struct request {
    uint64_t work; /* nanoseconds */
};
static weft_chan *requests;
static atomic_uint taken, done, given_up;

static void worker(void *unused) {
    struct request request;
    (void)unused;
    while (weft_chan_recv(requests, &request, WEFT_FOREVER) == 0) /* until it is closed and empty */
        atomic_fetch_add(weft_sleep(request.work) == 0 ? &done : &given_up, 1);
}

static int take(uint64_t work) {
    int error = weft_chan_send(requests, &(struct request){work}, WEFT_FOREVER);
    if (!error) atomic_fetch_add(&taken, 1);
    return error; /* WEFT_ECLOSED: no more are taken */
}

/* Stands for the clients. */
static void clients(void *unused) {
    (void)unused;
    while (take(WEFT_MILLISECOND) == 0 && weft_sleep(100 * WEFT_MILLISECOND) == 0) {}
}

static void all_workers(void *first) {
    weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (int i = 0; i < WORKERS; i++)
        weft_scope_spawn(&scope, worker, NULL); /* if one cannot be had, the others do its work */
    weft_scope_end(&scope);
    weft_send((weft_pid)(uintptr_t)first, DRAINED, NULL, 0);
}

/* ---- the first process: what the signals mean ---------------------------------------------------------------------------------------- */

static void print_state(const char *what) {
    printf("%s: %u requests taken, %u done, %u given up\n", what, atomic_load(&taken), atomic_load(&done), atomic_load(&given_up));
    fflush(stdout);
}

static atomic_uint handled; /* messages; the test waits for that */

/* What a message asks for. STOP comes as often as the signal did, if several have become one message. */
static uint64_t stops_in(const weft_msg *message) {
    const weft_signal *signal = weft_msg_data(message);
    if (weft_msg_tag(message) == STOP) return signal->count;
    if (weft_msg_tag(message) == RELOAD) printf("the settings are read again\n"), fflush(stdout);
    if (weft_msg_tag(message) == ASKED) {
        const struct asked *asked = weft_msg_data(message);
        print_state(asked->lost ? "asked (some signals were lost)" : "asked");
    }
    return 0;
}

/* Returns when the workers have ended. */
static void until_stopped(weft_pid workers) {
    uint64_t stops = 0, deadline = WEFT_FOREVER;
    weft_msg *message;
    for (bool drained = false; !drained;) {
        uint64_t before = stops;
        if (weft_recv(&message, deadline) == 0) {
            drained = weft_msg_tag(message) == DRAINED;
            stops += stops_in(message);
            weft_msg_free(message);
        } else {
            stops++; /* out of time: as one more signal */
        }
        if (before == 0 && stops > 0) {
            deadline = weft_in(DRAIN_TIME);
            weft_chan_close(requests); /* what is in it can still be received */
            print_state("stopping");
        }
        if (before < 2 && stops >= 2) {
            deadline = WEFT_FOREVER;
            weft_cancel(workers); /* waits for its scope, whose children are cancelled with it */
        }
        atomic_fetch_add(&handled, 1);
    }
}

static int watch(void) {
    int error = weft_signal_watch(SIGTERM, weft_self(), STOP);
    if (!error) error = weft_signal_watch(SIGINT, weft_self(), STOP);
    if (!error) error = weft_signal_watch(SIGHUP, weft_self(), RELOAD);
    asked_receiver = weft_self();
    return error ? error : install(SIGUSR1, on_asked);
}

static void send_and_wait(int number) {
    unsigned before = atomic_load(&handled);
    raise(number);
    while (atomic_load(&handled) == before && weft_sleep(WEFT_MILLISECOND) == 0) {}
}

static void self_test(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++)
        take(0);
    take(3600 * WEFT_SECOND); /* not to be finished in time */
    while (atomic_load(&done) < 20 && weft_sleep(WEFT_MILLISECOND) == 0) {}
    send_and_wait(SIGUSR1);
    send_and_wait(SIGHUP);
    send_and_wait(SIGTERM);
    raise(SIGTERM);
}

static int app(int argc, char **argv) {
    bool test = argc == 2 && strcmp(argv[1], "--self-test") == 0;
    int error = weft_chan_new(sizeof(struct request), QUEUE, &requests);
    if (!error) error = watch();
    if (error) {
        fprintf(stderr, "graceful_stop: %s\n", weft_strerror(error));
        return 1;
    }
    weft_pid workers = weft_spawn(all_workers, (void *)(uintptr_t)weft_self());
    weft_pid source = weft_spawn_joinable(test ? self_test : clients, NULL);
    if (!workers || !source) {
        fprintf(stderr, "graceful_stop: %s\n", weft_strerror(-errno));
        return 1;
    }
    until_stopped(workers);
    weft_join(source, NULL, WEFT_FOREVER); /* it has found the channel closed */
    weft_chan_free(requests);
    print_state("stopped");
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * asked: 21 requests taken, 20 done, 0 given up
 * the settings are read again
 * stopping: 21 requests taken, 20 done, 0 given up
 * stopped: 21 requests taken, 20 done, 1 given up
 */
