/* 100,000 signals a second at the whole program, with a handler and without SA_RESTART: nothing breaks, and no weft call answers WEFT_EINTR. */
#include "victim.h"

#include <weft/blocking.h>

enum { STORM_MS = 500, SIGNALS_PER_MS = 100 };

static atom_u64 handled, done;
static atom_bool over;

static void on_signal(int number) {
    (void)number;
    atom_add_rlx(&handled, 1);
}

/* To whichever thread the kernel chooses. */
static void *storm(void *arg) {
    uint64_t next = weft_now(), sent = 0, *count = arg;
    for (unsigned ms = 0; ms < STORM_MS; ms++) {
        for (unsigned i = 0; i < SIGNALS_PER_MS; i++, sent++)
            kill(getpid(), SIGUSR1);
        next += WEFT_MILLISECOND;
        while (weft_now() < next)
            usleep(50);
    }
    *count = sent;
    atom_store_rel(&over, true);
    return NULL;
}

/* ---- what goes on meanwhile ----------------------------------------------------------------------------------------------------- */

static bool goes_on(void) { return !atom_load_acq(&over); }

static void echo(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        EXPECT_EQ(weft_reply(weft_msg_request(message), NULL, 0), 0);
        weft_msg_free(message);
    }
}
static void asks(void *arg) {
    weft_pid *to = arg;
    while (goes_on()) {
        weft_msg *reply;
        EXPECT_EQ(weft_call(*to, 1, NULL, 0, &reply, WEFT_FOREVER), 0);
        weft_msg_free(reply);
    }
    atom_add_rel(&done, 1);
}
static void sleeps(void *arg) {
    (void)arg;
    while (goes_on()) {
        uint64_t until = weft_now() + 300 * WEFT_MICROSECOND;
        EXPECT_EQ(weft_sleep_until(until), 0);
        EXPECT(weft_now() >= until);
    }
    atom_add_rel(&done, 1);
}
static void waits_in_vain(void *arg) {
    weft_msg *message;
    (void)arg;
    while (goes_on()) {
        uint64_t until = weft_in(WEFT_MILLISECOND);
        EXPECT_EQ(weft_recv(&message, until), WEFT_ETIMEDOUT);
        EXPECT(weft_now() >= until);
    }
    atom_add_rel(&done, 1);
}
static weft_mutex mutex = WEFT_MUTEX_INIT;
static uint64_t guarded;
static void locks(void *arg) {
    (void)arg;
    while (goes_on()) {
        EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
        uint64_t seen = guarded++;
        if (seen % 8 == 0) weft_yield();
        EXPECT_EQ(guarded, seen + 1);
        weft_mutex_unlock(&mutex);
        weft_yield();
    }
    atom_add_rel(&done, 1);
}
static void naps(void *arg) {
    (void)arg;
    usleep(500); /* the program's own call is cut short by signals: that is its own business */
}
static void blocks(void *arg) {
    (void)arg;
    while (goes_on()) {
        EXPECT_EQ(weft_blocking(naps, NULL), 0);
        EXPECT_EQ(weft_blocking_long(naps, NULL), 0);
    }
    atom_add_rel(&done, 1);
}
static void ends_soon(void *arg) {
    (void)arg;
    weft_sleep(200 * WEFT_MICROSECOND);
}
static void spawns_and_joins(void *arg) {
    (void)arg;
    while (goes_on()) {
        weft_pid pid = weft_spawn(ends_soon, NULL);
        EXPECT(pid != WEFT_NOBODY);
        int error = weft_join(pid, NULL, WEFT_FOREVER);
        EXPECT(error == 0 || error == WEFT_ENOPROC);
    }
    atom_add_rel(&done, 1);
}

static void weather(const char *policy) {
    uint64_t sent = 0;
    pthread_t thread;
    static weft_pid server;
    atom_store_rlx(&done, 0);
    atom_store_rlx(&handled, 0);
    atom_store_rlx(&over, false);
    rt_start(policy, 2);
    server = victim_spawn(echo, NULL, 0, "echo");
    static void (*const all[])(void *) = {asks, asks, sleeps, sleeps, waits_in_vain, locks, locks, blocks, spawns_and_joins};
    enum { ALL = sizeof all / sizeof all[0] };
    EXPECT_EQ(pthread_create(&thread, NULL, storm, &sent), 0);
    for (unsigned i = 0; i < ALL; i++)
        victim_spawn(all[i], &server, 0, "busy");
    /* A thread of the program's own waits too. */
    weft_pid pid = victim_spawn(ends_soon, NULL, 0, NULL);
    int error = weft_join(pid, NULL, WEFT_FOREVER);
    EXPECT(error == 0 || error == WEFT_ENOPROC);
    pthread_join(thread, NULL);
    rt_wait(&done, ALL);
    printf("policy %s: %lu signals sent, %lu handled\n", policy, (unsigned long)sent, (unsigned long)atom_load_rlx(&handled));
    EXPECT(atom_load_rlx(&handled) > 100);
    rt_stop();
}
TEST(storm_of_signals) {
    struct sigaction action = {.sa_handler = on_signal};
    EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    weather("ring");
    weather("deque");
    weather("line");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
