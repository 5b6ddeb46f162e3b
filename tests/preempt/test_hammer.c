/* Processes are interrupted every 100 us wherever they are: in malloc, printf, callbacks of the C library, the dynamic linker, the
 * resolver, with mutexes held, in system calls. Nothing may be damaged, and nothing may hang. Beside it a control: what becomes of the same
 * work when the handler switches stacks. */
#include "preempt_helpers.h"

#include "thread/stopped.h"

#include <weft/blocking.h>

#include <dlfcn.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { HAMMER_SECONDS = 4, HAMMER_SECONDS_FULL = 60, HAMMER_SLICE_US = 100, HAMMER_STACK = 1 << 20, HAMMER_TURN = 20 * 1000000 };

static atom_bool over;
static atom_u64 done, work, interrupted_calls;

#define DAMAGED(what)                                                                                                                      \
    do {                                                                                                                                   \
        fprintf(stderr, "damaged: %s (line %d)\n", what, __LINE__);                                                                        \
        abort();                                                                                                                           \
    } while (0)

/* ---- work, by any thread of control ------------------------------------------------------------------------------------- */

static unsigned pseudo(uint64_t *state) { return (unsigned)(rng_splitmix(state) >> 33); }

static void work_malloc(uint64_t *state) {
    enum { BLOCKS = 32 };
    unsigned char *blocks[BLOCKS];
    size_t sizes[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) {
        sizes[i] = 1 + pseudo(state) % (i % 8 == 0 ? 200000 : 2000);
        blocks[i] = malloc(sizes[i]);
        if (!blocks[i]) DAMAGED("malloc");
        memset(blocks[i], (int)(i + sizes[i]), sizes[i]);
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        for (size_t at = 0; at < sizes[i]; at += 61)
            if (blocks[i][at] != (unsigned char)(i + sizes[i])) DAMAGED("a block");
        free(blocks[i]);
    }
}

/* One file for all, and one lock in it. */
static FILE *shared_file;
static void work_printf(uint64_t *state) {
    unsigned number = pseudo(state);
    char text[64];
    snprintf(text, sizeof text, "%u", number);
    if (fprintf(shared_file, "<%u %s %.3f %p>\n", number, text, number / 7.0, (void *)state) < 0) DAMAGED("fprintf");
    if (number % 64 == 0) fflush(shared_file);
}

static int by_value(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}
static void work_qsort(uint64_t *state) {
    enum { N = 3000 };
    int *numbers = malloc(N * sizeof *numbers);
    for (unsigned i = 0; i < N; i++)
        numbers[i] = (int)pseudo(state);
    qsort(numbers, N, sizeof *numbers, by_value);
    for (unsigned i = 1; i < N; i++)
        if (numbers[i - 1] > numbers[i]) DAMAGED("an order");
    free(numbers);
}

struct cookie {
    char bytes[256];
    size_t size;
};
static ssize_t cookie_write(void *cookie, const char *bytes, size_t size) {
    struct cookie *into = cookie;
    for (size_t i = 0; i < size; i++)
        if (into->size < sizeof into->bytes) into->bytes[into->size++] = bytes[i];
    return (ssize_t)size;
}
static void work_cookie(uint64_t *state) {
    struct cookie cookie = {.size = 0};
    unsigned number = pseudo(state);
    char expected[64];
    FILE *file = fopencookie(&cookie, "w", (cookie_io_functions_t){.write = cookie_write});
    if (!file) DAMAGED("fopencookie");
    fprintf(file, "%u and %x", number, number);
    fclose(file);
    snprintf(expected, sizeof expected, "%u and %x", number, number);
    if (cookie.size != strlen(expected) || memcmp(cookie.bytes, expected, cookie.size) != 0) DAMAGED("a cookie");
}

static void work_dlopen(uint64_t *state) {
    static const char *const names[] = {"libm.so.6", "libdl.so.2", "libresolv.so.2"};
    unsigned which = pseudo(state) % 3;
    void *library = dlopen(names[which], RTLD_NOW);
    if (!library) return; /* not on every system */
    if (which == 0) {
        double (*cosine)(double) = (double (*)(double))(uintptr_t)dlsym(library, "cos");
        if (!cosine || cosine(0) != 1) DAMAGED("dlsym");
    }
    dlclose(library);
}

static void work_resolver(uint64_t *state) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    bool number = pseudo(state) % 2;
    if (number) hints.ai_flags = AI_NUMERICHOST;
    int error = getaddrinfo(number ? "127.0.0.1" : "localhost", "80", &hints, &found);
    if (error == 0) freeaddrinfo(found);
    else if (number) DAMAGED("getaddrinfo");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t guarded[2];
static void work_mutex(uint64_t *state) {
    pthread_mutex_lock(&mutex);
    guarded[0]++;
    for (volatile unsigned i = 0; i < pseudo(state) % 200; i++) {}
    if (++guarded[1] != guarded[0]) DAMAGED("what a mutex guards");
    pthread_mutex_unlock(&mutex);
}

/* System calls that say so when a signal has interrupted them. */
static void work_calls(uint64_t *state) {
    struct timespec nap = {0, 20000 + (long)(pseudo(state) % 100000)};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    bool interrupted = nanosleep(&nap, NULL) != 0 && errno == EINTR;
    if (poll(NULL, 0, 1) < 0 && errno == EINTR) interrupted = true;
    if (epoll_wait(epoll, &event, 1, 1) < 0 && errno == EINTR) interrupted = true;
    if (clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL) == EINTR) interrupted = true;
    if (interrupted) atom_add_rlx(&interrupted_calls, 1);
    close(epoll);
}

static void (*const works[])(uint64_t *) = {work_malloc, work_printf,   work_qsort, work_cookie,
                                            work_dlopen, work_resolver, work_mutex, work_calls};
enum { WORKS = sizeof works / sizeof works[0] };

/* ---- processes ------------------------------------------------------------------------------------------------------------ */

static void hammered(void *arg) {
    uint64_t state = (uintptr_t)arg, rounds = 0;
    errno = 4711;
    while (!atom_load_rlx(&over)) {
        void (*one)(uint64_t *) = works[(uintptr_t)arg % WORKS];
        one(&state);
        rounds++;
        if (one == work_calls) weft_yield(); /* it sleeps most of the time, and a process that sleeps is not interrupted */
    }
    atom_add_rlx(&work, rounds);
    atom_add_rel(&done, 1);
}

/* Two that send each other numbers, sleep, block and yield. */
static void talks(void *arg) {
    weft_pid other = arg ? *(weft_pid *)arg : WEFT_NOBODY;
    weft_msg *message;
    for (uint64_t i = 0; !atom_load_rlx(&over); i++) {
        if (other != WEFT_NOBODY && weft_send(other, i, &i, sizeof i) && !atom_load_rlx(&over)) DAMAGED("weft_send");
        if (weft_recv(&message, weft_now() + 50 * WEFT_MILLISECOND) != 0) continue;
        if (memcmp(weft_msg_data(message), &(uint64_t){weft_msg_tag(message)}, 8) != 0) DAMAGED("a message");
        if (other == WEFT_NOBODY) {
            uint64_t tag = weft_msg_tag(message);
            if (weft_send(weft_msg_from(message), tag, &tag, sizeof tag) && !atom_load_rlx(&over)) DAMAGED("weft_send");
        }
        weft_msg_free(message);
        if (i % 7 == 0) weft_yield();
        if (i % 11 == 0) weft_sleep(100 * WEFT_MICROSECOND);
        if (i % 13 == 0) {
            weft_blocking_enter();
            usleep(50);
            weft_blocking_leave();
        }
    }
    atom_add_rel(&done, 1);
}

/* On a busy machine sysmon comes late. So in every other turn a thread asks that does not sleep in between, and asks every process: those
 * too that sleep in calls. */
static void hammer_hit(struct runtime *runtime, uint64_t until) {
    unsigned made = atom_load_acq(&runtime->made);
    for (unsigned i = 0; i < made; i++)
        preempt_evict(atom_load_rlx(&runtime->workers[i]));
    while (weft_now() < until) {}
}

static void hammer_for(const char *policy, unsigned workers, uint64_t nanoseconds) {
    pre_start(policy, workers, HAMMER_SLICE_US);
    struct runtime *runtime = (struct runtime *)rt.runtime;
    weft_pid echo = victim_spawn(talks, NULL, HAMMER_STACK, "echo");
    for (uintptr_t i = 0; i < 2 * WORKS; i++)
        victim_spawn(hammered, (void *)i, HAMMER_STACK, "hammered");
    victim_spawn(talks, &echo, HAMMER_STACK, "talker");
    uint64_t start = weft_now(), now, by_sysmon = 0, before = 0;
    unsigned extra = 0;
    while ((now = weft_now()) < start + nanoseconds) {
        bool in_turn = (now - start) / HAMMER_TURN % 2;
        if (in_turn) hammer_hit(runtime, now + HAMMER_SLICE_US * RT_MS / 1000);
        else rt_pause(HAMMER_TURN / 4);
        uint64_t preemptions = rt_stats().preemptions;
        if (!in_turn) by_sysmon += preemptions - before;
        before = preemptions;
        if (atom_load_rlx(&runtime->extra) > extra) extra = atom_load_rlx(&runtime->extra);
    }
    atom_store_rlx(&over, true);
    rt_wait(&done, 2 * WORKS + 2);
    printf("note: %s, %u workers: %lu preemptions, %lu of them by sysmon, %lu pieces of work, at most %u workers beside\n", policy, workers,
           rt_stats().preemptions, by_sysmon, atom_load_rlx(&work), extra);
    EXPECT(rt_stats().preemptions > 0);
    rt_stop();
    atom_store_rlx(&over, false);
    atom_store_rlx(&done, 0);
    atom_store_rlx(&work, 0);
}

/* Every line is whole. */
static void check_file(void) {
    char line[256];
    uint64_t lines = 0;
    rewind(shared_file);
    while (fgets(line, sizeof line, shared_file)) {
        unsigned number, again;
        double part;
        void *pointer;
        if (sscanf(line, "<%u %u %lf %p>\n", &number, &again, &part, &pointer) != 4 || number != again) DAMAGED(line);
        lines++;
    }
    printf("note: %lu lines, all whole\n", lines);
}

TEST_WITHIN(hammer, 150) {
    PREEMPT_TEST_APPLIES();
    unsigned seconds = HAMMER_SECONDS * test_scale();
    if (seconds > HAMMER_SECONDS_FULL) seconds = HAMMER_SECONDS_FULL;
    uint64_t part = seconds * RT_SECOND / 10;
    shared_file = tmpfile();
    EXPECT(shared_file);
    hammer_for("ring", 2, 4 * part);
    hammer_for("ring", 1, part);
    hammer_for("deque", 2, 2 * part);
    hammer_for("line", 2, 2 * part);
    hammer_for("ring", 4, part);
    check_file();
    pre_note("hammer");
    printf("note: %lu of the system calls said that a signal had interrupted them\n", atom_load_rlx(&interrupted_calls));
    EXPECT_EQ(atom_load_rlx(&interrupted_calls), 0);
}

/* ---- the control: a handler that switches stacks ----------------------------------------------------------------------------- */

enum { NAIVE = 8, NAIVE_SECONDS = 15 };
static ucontext_t naive[NAIVE];
static volatile unsigned naive_now;

static void naive_switch(int number) {
    (void)number;
    unsigned from = naive_now, to = (from + 1) % NAIVE;
    naive_now = to;
    swapcontext(&naive[from], &naive[to]);
}
static atom_u64 *naive_work; /* shared with the parent */
static void naive_loop(unsigned which) {
    uint64_t state = which;
    for (;;) {
        works[which % 4](&state);
        atom_add_rlx(naive_work, 1);
    }
}
static void *naive_other(void *unused) { return pause(), unused; }
static void naive_body(void) {
    pthread_t other;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    if (pthread_create(&other, NULL, naive_other, NULL)) _exit(0);
    shared_file = fopen("/dev/null", "w");
    for (unsigned i = 0; i < NAIVE; i++) {
        getcontext(&naive[i]);
        sigemptyset(&naive[i].uc_sigmask);
        naive[i].uc_stack.ss_sp = mmap(NULL, HAMMER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        naive[i].uc_stack.ss_size = HAMMER_STACK;
        makecontext(&naive[i], (void (*)(void))naive_loop, 1, i);
    }
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = naive_switch, .sa_flags = SA_RESTART}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 100}, {0, 100}}, NULL);
    setcontext(&naive[0]);
}

TEST(hammer_control_must_fail) {
    PREEMPT_TEST_APPLIES();
    int status = 0;
    bool ended = false, hangs = false;
    naive_work = mmap(NULL, sizeof *naive_work, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(NULL);
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(0);
        naive_body();
        _exit(0);
    }
    /* It works for ever if it works. Else it dies, or comes to a standstill. */
    for (unsigned i = 0; i < NAIVE_SECONDS && !ended && !hangs; i++) {
        uint64_t before = atom_load_rlx(naive_work);
        for (unsigned j = 0; j < 100 && !ended; j++) {
            rt_pause(10 * RT_MS);
            ended = waitpid(pid, &status, WNOHANG) == pid;
        }
        hangs = !ended && atom_load_rlx(naive_work) == before;
    }
    if (!ended) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    printf("note: a handler that switches stacks, after %lu pieces of work: %s\n", atom_load_rlx(naive_work),
           hangs                 ? "hangs"
           : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                 : "ends with an error");
    EXPECT(hangs || (ended && status != 0));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
