/* A program that is run in simulation by the tests of `weft sim`. Its argument says what it does. */
#define _GNU_SOURCE
#include <weft/weft.h>

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROCESSES = 20, ROUNDS = 5, GET = 1, SET = 2 };

/* ---- ring: twenty processes pass a message around, and an hour of time -------------------------------------------------------------- */

struct member {
    weft_pid next;
    int passed;
};

static struct member members[PROCESSES];

static void passes_on(void *arg) {
    struct member *self = arg;
    weft_msg *message;
    for (; self->passed < ROUNDS && weft_recv(&message, WEFT_FOREVER) == 0; self->passed++) {
        weft_msg_free(message);
        weft_send(self->next, 1, NULL, 0);
    }
}

/* The last is spawned first: so each knows the next one. */
static int ring(void) {
    weft_pid pids[PROCESSES];
    for (int i = PROCESSES - 1; i >= 0; i--) {
        members[i].next = i < PROCESSES - 1 ? pids[i + 1] : weft_self();
        pids[i] = weft_spawn_joinable(passes_on, &members[i]);
    }
    weft_msg *message;
    for (int i = 0; i < ROUNDS; i++) {
        weft_send(pids[0], 1, NULL, 0);
        if (weft_recv(&message, weft_in(WEFT_SECOND)) == 0) weft_msg_free(message);
    }
    for (int i = 0; i < PROCESSES; i++)
        weft_join(pids[i], NULL, WEFT_FOREVER);
    weft_sleep(3600 * WEFT_SECOND);
    assert(members[PROCESSES - 1].passed == ROUNDS);
    return 0;
}

/* ---- lost: an account whose balance is asked for and then set: two customers at a time lose a deposit ------------------------------ */

static int balance;

static void account(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        if (weft_msg_tag(message) == SET) memcpy(&balance, weft_msg_data(message), sizeof balance);
        weft_reply(weft_msg_request(message), &balance, sizeof balance);
        weft_msg_free(message);
    }
}

static void deposits(void *arg) {
    weft_pid bank = *(weft_pid *)arg;
    weft_msg *reply;
    int seen;
    if (weft_call(bank, GET, NULL, 0, &reply, WEFT_FOREVER) != 0) return;
    memcpy(&seen, weft_msg_data(reply), sizeof seen);
    weft_msg_free(reply);
    seen++;
    if (weft_call(bank, SET, &seen, sizeof seen, &reply, WEFT_FOREVER) == 0) weft_msg_free(reply);
}

static int lost(void) {
    weft_pid bank = weft_spawn(account, NULL);
    weft_pid first = weft_spawn_joinable(deposits, &bank);
    weft_sleep(500);
    weft_pid second = weft_spawn_joinable(deposits, &bank);
    weft_join(first, NULL, WEFT_FOREVER);
    weft_join(second, NULL, WEFT_FOREVER);
    assert(balance == 2);
    return 0;
}

/* ---- deadlock: two locks in two orders ------------------------------------------------------------------------------------------- */

static weft_mutex one, other;

static void locks(void *arg) {
    weft_mutex *first = arg, *second = first == &one ? &other : &one;
    if (weft_mutex_lock(first, WEFT_FOREVER) != 0) return;
    if (weft_mutex_lock(second, WEFT_FOREVER) == 0) weft_mutex_unlock(second);
    weft_mutex_unlock(first);
}

static int deadlock(void) {
    weft_pid a = weft_spawn_joinable(locks, &one), b = weft_spawn_joinable(locks, &other);
    weft_join(a, NULL, WEFT_FOREVER);
    weft_join(b, NULL, WEFT_FOREVER);
    return 0;
}

/* ---- threads: the program's own thread and lock take part ---------------------------------------------------------------------------- */

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static bool slept;

static void *sleeps(void *arg) {
    sleep(100);
    pthread_mutex_lock(&guard);
    slept = true;
    pthread_mutex_unlock(&guard);
    return arg;
}

static int threads(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleeps, NULL) != 0) return 1;
    weft_sleep(200 * WEFT_SECOND);
    pthread_mutex_lock(&guard);
    bool good = slept;
    pthread_mutex_unlock(&guard);
    return pthread_join(thread, NULL) != 0 || !good;
}

/* ---- nap: a promise of a time, which a stall breaks -------------------------------------------------------------------------------- */

static int nap(void) {
    uint64_t before = weft_now();
    weft_sleep(WEFT_MILLISECOND);
    assert(weft_now() - before < WEFT_SECOND);
    return 0;
}

/* ---- machines: two, each with its runtime ------------------------------------------------------------------------------------------ */

static int short_app(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_sleep(WEFT_MILLISECOND);
    return 0;
}
static void machine(void *arg) {
    (void)arg;
    weft_main(0, NULL, short_app);
}
static int machines(void) {
    int both[] = {weft_sim_machine("one", machine, NULL), weft_sim_machine("other", machine, NULL)};
    return weft_sim_wait(both[0], WEFT_FOREVER) || weft_sim_wait(both[1], WEFT_FOREVER);
}

/* ---- those that end in their own ways -------------------------------------------------------------------------------------------- */

static int crash(void) {
    if (weft_sim_seed() == 5) raise(SIGSEGV);
    return 0;
}

/* One byte behind a block of the heap. */
static int overflow(void) {
    volatile size_t size = 16;
    volatile char *block = malloc(size);
    if (block && weft_sim_seed() == 5) block[size] = 1;
    free((void *)block);
    return 0;
}

static int quits(void) { _exit(0); }

/* A point whose name is not one word. */
static int points(void) {
    weft_sim_point("after a\ncommit");
    weft_sim_point("");
    weft_sim_point(NULL);
    return 0;
}

static int status(void) { return weft_sim_seed() == 5 ? 3 : 0; }

/* Two sentences of weft's, of which the second is why it ends. */
static int warned(void) {
    fprintf(stderr, "weft: only 1 of 2 workers could be started\nweft: cannot begin\n");
    return 1;
}

/* A system call of its own decides how often it sleeps: the history differs from run to run. */
static int outside(void) {
    unsigned char random = 0;
    if (syscall(SYS_getrandom, &random, 1, 0) != 1) return 1;
    for (int i = 0; i < random; i++)
        weft_sleep(1000);
    return 0;
}

static int stuck(void) {
    char byte;
    int ends[2];
    return weft_sim_seed() == 3 && pipe(ends) == 0 && syscall(SYS_read, ends[0], &byte, 1) == 1;
}

static int ends_server(void) {
    if (weft_sim_seed() == 5) kill(getppid(), SIGKILL);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} subjects[] = {{"ring", ring},     {"lost", lost},       {"deadlock", deadlock}, {"threads", threads},    {"crash", crash},
                {"status", status}, {"outside", outside}, {"stuck", stuck},       {"server", ends_server}, {"overflow", overflow},
                {"quits", quits},   {"points", points},   {"nap", nap},           {"machines", machines},  {"warned", warned}};

static int app(int argc, char **argv) {
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        if (argc == 2 && strcmp(argv[1], subjects[i].name) == 0) return subjects[i].run();
    return 99;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
