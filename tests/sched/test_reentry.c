/* Calls of weft in signal handlers that have interrupted weft: the program ends with a sentence, or no harm has come of it. */
#include "runtime_helpers.h"

#include <weft/weft.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { TAG = 5, WORKERS = 2, TALKERS = 4, STORM_MS = 100, HUNG = 98, TOLD = 99 };

static weft_pid receiver;
static weft_chan *channel;
static weft_mutex mutex;
static weft_sem semaphore;
static atom_u64 progress[TALKERS + 2], in_handlers, calm;

/* ---- what handlers do ------------------------------------------------------------------------------------------------------ */

static void sends(void) { weft_send(receiver, TAG, "x", 1); }
static void frees(void) {
    weft_msg *message;
    if (weft_self() && weft_recv(&message, 0) == 0) weft_msg_free(message);
}
static void ends_at_once(void *arg) { (void)arg; }
static void spawns(void) {
    if (weft_self()) weft_spawn(ends_at_once, NULL);
}
static void cancels(void) { weft_cancel(receiver + 1); }
static void offers(void) {
    uint64_t value = 1;
    weft_chan_send(channel, &value, 0);
}
static void locks(void) {
    if (weft_self() && weft_mutex_lock(&mutex, WEFT_FOREVER) == 0) weft_mutex_unlock(&mutex);
}
static void posts(void) { weft_sem_release(&semaphore, 1); }
static void delays(void) { weft_after(1000, receiver, TAG, NULL, 0, NULL); }
static void waits(void) {
    if (weft_self()) weft_sleep(1000);
}
static void yields(void) {
    if (weft_self()) weft_yield();
}

static void (*handler_does)(void);
static void handler(int number) {
    int saved = errno;
    (void)number;
    atom_add_rlx(&in_handlers, 1);
    handler_does();
    errno = saved;
}

/* ---- what they interrupt ----------------------------------------------------------------------------------------------------- */

/* Every kind of call, again and again. */
static void talks(void *arg) {
    atom_u64 *mine = arg;
    for (;;) {
        weft_msg *message;
        uint64_t value = 1;
        weft_send(weft_self(), 1, "to myself", 9);
        weft_send(receiver, 2, "x", 1);
        if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
        weft_spawn(ends_at_once, NULL);
        if (weft_chan_send(channel, &value, 0) == 0) weft_chan_recv(channel, &value, 0);
        if (weft_mutex_lock(&mutex, WEFT_FOREVER) == 0) weft_mutex_unlock(&mutex);
        weft_sem_release(&semaphore, 1); /* wakes one of those that acquire it */
        weft_yield();
        atom_add_rlx(mine, 1);
    }
}
static void hears(void *arg) {
    weft_msg *message;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_msg_free(message);
        atom_add_rlx((atom_u64 *)arg, 1);
    }
}
static void acquires(void *arg) {
    while (weft_sem_acquire(&semaphore, 1, WEFT_FOREVER) == 0)
        atom_add_rlx((atom_u64 *)arg, 1);
}
static void *foreign_talks(void *arg) {
    while (!atom_load_rlx(&calm)) {
        weft_send(receiver, 2, "x", 1);
        weft_cancel(receiver + 1); /* the first that talks */
    }
    return arg;
}

/* ---- the storm ----------------------------------------------------------------------------------------------------------------- */

static int flags;

static void begin(weft_runtime **runtime) {
    if (weft_start(&(weft_config){.workers = WORKERS}, runtime) || weft_chan_new(8, 8, &channel)) _exit(TOLD);
    weft_stackful_options options = {.runtime = *runtime};
    if (weft_spawn_with(hears, &progress[TALKERS], &options, &receiver)) _exit(TOLD);
    weft_pid pid;
    for (unsigned i = 0; i < TALKERS; i++) {
        if (weft_spawn_with(talks, &progress[i], &options, &pid)) _exit(TOLD);
    }
    if (weft_spawn_with(acquires, &progress[TALKERS + 1], &options, &pid)) _exit(TOLD);
}

/* Whether everything still goes on, once it is calm. */
static bool all_go_on(void) {
    for (unsigned i = 0; i < sizeof progress / sizeof progress[0]; i++) {
        uint64_t before = atom_load_rlx(&progress[i]), end = weft_now() + 20 * RT_SECOND;
        while (atom_load_rlx(&progress[i]) == before)
            if (weft_now() > end) return false;
            else usleep(100);
    }
    return true;
}

static void storm(void) {
    weft_runtime *runtime;
    pthread_t thread;
    sigset_t mine;
    begin(&runtime);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | flags};
    sigaction(SIGUSR1, &action, NULL);
    if (pthread_create(&thread, NULL, foreign_talks, NULL)) _exit(TOLD);
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR1); /* for the others: this thread looks on */
    pthread_sigmask(SIG_BLOCK, &mine, NULL);
    for (uint64_t end = weft_now() + STORM_MS * RT_MS; weft_now() < end || atom_load_rlx(&in_handlers) == 0;) {
        kill(getpid(), SIGUSR1);
        pthread_kill(thread, SIGUSR1);
        usleep(10);
    }
    signal(SIGUSR1, SIG_IGN);
    atom_store_rlx(&calm, 1);
    _exit(all_go_on() ? 0 : HUNG);
}

static bool ended_by_the_sentence(const struct child *child) {
    return WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGABRT && strstr(child->said, "weft: misuse of ") &&
           (strstr(child->said, "signal handler") || strstr(child->said, "has locked the mutex already")); /* by what was interrupted */
}
static bool ended_well(const struct child *child) { return WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0; }

/* Handlers that wait end the program within milliseconds, so they are tried more often. */
enum { TIMES = 6, TIMES_WAITING = 30 };
static void storms(const char *name, void (*does)(void), bool on_any_stack) {
    static struct child child;
    unsigned sentences = 0;
    /* The thread sanitizer calls handlers from inside of C library functions, where no frame of the kernel's tells of them. */
    if (RT_SLOW >= 8) return;
    handler_does = does;
    unsigned times = on_any_stack ? TIMES : TIMES_WAITING;
    for (unsigned i = 0; i < times; i++) {
        flags = i % 2 || !on_any_stack ? SA_ONSTACK : 0;
        child_run(&child, storm);
        if (!ended_by_the_sentence(&child) && !ended_well(&child))
            test_fail(__FILE__, __LINE__, "%s, flags %x: status %x, said: %s", name, flags, child.status, child.said);
        sentences += ended_by_the_sentence(&child);
    }
    printf("%s: %u of %u ended by the sentence\n", name, sentences, times);
}
#define STORM(name)                                                                                                                        \
    TEST_WITHIN(handler_that_##name, 240) { storms(#name, name, true); }
/* A handler that waits on the stack of the process that it has interrupted, in code of the program's, is not noticed. */
#define STORM_ON_STACK(name)                                                                                                               \
    TEST_WITHIN(handler_that_##name, 240) { storms(#name, name, false); }
STORM(sends)
STORM(frees)
STORM(spawns)
STORM(cancels)
STORM(offers)
STORM_ON_STACK(locks)
STORM(posts)
STORM(delays)
STORM_ON_STACK(waits)
STORM_ON_STACK(yields)

/* ---- in the middle of a call ------------------------------------------------------------------------------------------------------ */

/* The call copies data from a page that cannot be read yet: the handler of that fault has interrupted it just there. */
enum { COMMAND = 7 };
#if defined(__x86_64__)
enum { FRAMES_KNOWN = 1 }; /* the kernel's frame of a handler is found on any stack */
#else
enum { FRAMES_KNOWN = 0 };
#endif
static unsigned char *hidden;
static bool interrupted;
static void on_fault(int number) {
    (void)number;
    interrupted = true;
    if (mprotect(hidden, 4096, PROT_READ | PROT_WRITE)) _exit(TOLD);
    weft_send(receiver, TAG, "x", 1);
}

static void sends_hidden(weft_out *out) { (void)out, weft_send(receiver, TAG, hidden, 8); }
static void delays_hidden(weft_out *out) { (void)out, weft_after(1000, receiver, TAG, hidden, 8, NULL); }
static void hands_over_hidden(weft_out *out) { weft_out_handoff(out, receiver, TAG, hidden, 8); }
static void commands_hidden(weft_out *out) { weft_out_yield(out, COMMAND, 0, hidden, 8); }
static void commands_plainly(weft_out *out) { weft_out_yield(out, COMMAND, 0, NULL, 0); }
static const struct {
    const char *name;
    void (*does)(weft_out *out);
} hidden_calls[] = {{"weft_send", sends_hidden},
                    {"weft_after", delays_hidden},
                    {"weft_out_handoff", hands_over_hidden},
                    {"weft_out_yield", commands_hidden},
                    {"weft_complete", commands_plainly}};
static unsigned hidden_call;

static int completes_hidden(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    weft_complete(completion, 0, hidden, 8);
    return 0;
}
static int interrupted_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    if (count == 0) hidden_calls[hidden_call].does(out); /* its first step */
    else _exit(interrupted ? 0 : TOLD);                  /* told of what it has sent to itself */
    return 0;
}
static void interrupted_body(void) {
    static const weft_behavior behavior = {.name = "interrupted", .step = interrupted_step};
    weft_runtime *runtime;
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = flags};
    hidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (hidden == MAP_FAILED || weft_start(&(weft_config){.workers = 1}, &runtime)) _exit(TOLD);
    if (weft_register_command(runtime, COMMAND, completes_hidden, NULL) || sigaction(SIGSEGV, &action, NULL)) _exit(TOLD);
    if (weft_spawn_step(&behavior, &(weft_spawn_options){.runtime = runtime}, &receiver)) _exit(TOLD);
    for (;;)
        pause();
}
TEST(handler_in_the_middle_of_a_call) {
    static struct child child;
    if (RT_SLOW >= 8) return; /* as above */
    for (hidden_call = 0; hidden_call < sizeof hidden_calls / sizeof *hidden_calls; hidden_call++)
        for (unsigned i = 0; i < FRAMES_KNOWN + 1; i++) {
            flags = i ? 0 : SA_ONSTACK;
            child_run(&child, interrupted_body);
            if (!ended_by_the_sentence(&child))
                test_fail(__FILE__, __LINE__, "%s, flags %x: status %x, said: %s", hidden_calls[hidden_call].name, flags, child.status,
                          child.said);
        }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
