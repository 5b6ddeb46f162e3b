/* Faults that cannot be contained end the program, with a dump and the reason; without containment all of them do. */
#include "contain_helpers.h"

/* ---- the program ends --------------------------------------------------------------------------------------- */

static weft_entry child_entry;
static bool child_contains = true;
static void child_body(void) {
    weft_runtime *runtime;
    weft_pid pid, other;
    bus_prepare();
    if (weft_start(&(weft_config){.workers = 2, .contain_faults = child_contains}, &runtime)) _exit(99);
    weft_spawn_with(bystander, NULL, &(weft_stackful_options){.runtime = runtime, .name = "another"}, &other);
    weft_spawn_with(child_entry, NULL, &(weft_stackful_options){.runtime = runtime, .name = "child"}, &pid);
    weft_join(pid, NULL, WEFT_FOREVER);
    while (weft_alive(pid))
        usleep(100);
    _exit(3);
}
static void expect_end(weft_entry entry, int number, const char *why_not) {
    struct child child;
    child_entry = entry;
    child_run(&child, child_body);
    EXPECT_DIED(&child, number);
    EXPECT_SAID(&child, why_not);
    EXPECT_SAID(&child, "(child) has a fault: ");
    EXPECT_SAID(&child, "weft: the program ends, because ");
    EXPECT_SAID(&child, "weft runtime"); /* the dump */
    EXPECT_SAID(&child, "another, test_contain_not+0x");
}

static __attribute__((noinline)) void smash(volatile char *at, size_t size) {
    for (size_t i = 0; i < size; i++)
        at[i] = 0x41;
}
static int compares(const void *a, const void *b) {
    write_null();
    return (int)(*(const char *)a - *(const char *)b);
}
static void in_qsort(void *arg) {
    char some[] = "sort me";
    (void)arg;
    qsort(some, sizeof some - 1, 1, compares);
}
static int qsort_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count, (void)out;
    in_qsort(self);
    return 0;
}
static void in_malloc(void *arg) {
    char *volatile block = malloc(40), *volatile more = malloc(40);
    (void)arg;
    smash(block - 16, 64); /* its size, and the next one's */
    free(block);
    free(more);
    for (unsigned i = 0; i < 100; i++)
        if (malloc(i * 100) == NULL) return;
}
static void in_stdio(void *arg) {
    (void)arg;
    fputs((const char *)null_pointer, stderr);
}
static void in_memcpy(void *arg) {
    static char big[4096];
    (void)arg;
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    copy(null_pointer, big, (size_t)sizeof big - (size_t)zero);
}
/* Clang cannot ask for the protection of one function: its programs of this name are compiled, and run under the sanitizers alone, where nothing
 * is contained. */
#if defined(__clang__)
#define UNPROTECTED no_stack_protector
#define PROTECTED noinline
#else
#define UNPROTECTED optimize("no-stack-protector")
#define PROTECTED optimize("stack-protector-all")
#endif
static __attribute__((noinline, UNPROTECTED)) int smashed(void) {
    volatile char buffer[16];
    smash(buffer, 96);
    return buffer[3];
}
static __attribute__((noinline, PROTECTED)) int smashed_and_found(void) {
    volatile char buffer[16];
    smash(buffer, 40);
    return buffer[3];
}
static void smashes(void *arg) {
    (void)arg;
    zero = smashed() - 0x41;
}
static void smashes_and_is_found(void *arg) {
    (void)arg;
    zero = smashed_and_found() - 0x41;
}
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static weft_mutex weft_held = WEFT_MUTEX_INIT;
static weft_once once = WEFT_ONCE_INIT;
static void with_mutex(void *arg) {
    weft_debug_mutex_lock(&held);
    null_deref(arg);
}
static void with_weft_mutex(void *arg) {
    weft_mutex_lock(&weft_held, WEFT_FOREVER);
    null_deref(arg);
}
static int faults_once(void *arg) {
    null_deref(arg);
    return 0;
}
static void in_once(void *arg) { weft_once_do(&once, faults_once, arg, WEFT_FOREVER); }
static void in_passage(void *arg) {
    weft_nopreempt_begin();
    null_deref(arg);
}
static void in_blocking(void *arg) { weft_blocking(null_deref, arg); }
static void on_bigger(void *arg) { weft_call_big(null_deref, arg, 256 << 10); }
static bool predicate(const weft_msg *message, void *arg) {
    (void)message;
    null_deref(arg);
    return true;
}
static void in_predicate(void *arg) {
    weft_msg *message;
    weft_send(weft_self(), 1, NULL, 0);
    weft_recv_match(predicate, arg, &message, WEFT_FOREVER);
}
static void in_weft(void *arg) {
    (void)arg;
    weft_send(weft_self(), 1, null_pointer, 64);
}
static void misuse(void *arg) {
    (void)arg;
    weft_msg *message;
    weft_recv(&message, WEFT_SECOND);
}

static int idle_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    return 0;
}
/* Weft calls `init` in the middle of a spawn. */
static int faulty_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    write_null();
    return 0;
}
static const weft_behavior unborn = {.name = "unborn", .init = faulty_init, .step = idle_step};
static int spawning_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    weft_pid pid;
    (void)self, (void)events, (void)count, (void)out;
    return weft_spawn_step(&unborn, NULL, &pid);
}
static const weft_behavior spawning = {.name = "child", .step = spawning_step};
static void spawns_spawning(void *arg) {
    weft_pid pid;
    (void)arg;
    weft_spawn_step(&spawning, NULL, &pid);
    weft_sleep_until(WEFT_FOREVER);
}
static void in_init(void *arg) {
    weft_pid pid;
    (void)arg;
    weft_spawn_step(&unborn, NULL, &pid);
}
static const weft_behavior sorting = {.name = "child", .step = qsort_step};
static void spawns_sorting(void *arg) {
    weft_pid pid;
    (void)arg;
    weft_spawn_step(&sorting, NULL, &pid);
    weft_sleep_until(WEFT_FOREVER);
}

static void with_step_mutex(void *arg) {
    (void)arg;
    step_told(NULL, "17");
    weft_sleep_until(WEFT_FOREVER);
}
static void with_step_pthread_mutex(void *arg) {
    (void)arg;
    step_told(NULL, "37");
    weft_sleep_until(WEFT_FOREVER);
}

TEST(contain_not_in_libraries) {
    UNLESS_SANITIZED;
    expect_end(in_qsort, SIGSEGV, "it was called by other code than its own, at libc.so");
    expect_end(in_stdio, SIGSEGV, "it was in other code than its own, at libc.so");
    expect_end(in_memcpy, SIGSEGV, "it was in other code than its own, at libc.so");
    expect_end(in_malloc, SIGABRT, "it was called by other code than its own, at libc.so");
}
TEST(contain_not_in_steps_with_other_code) {
    UNLESS_SANITIZED;
    expect_end(spawns_spawning, SIGSEGV, "because it was inside of weft");
    expect_end(spawns_sorting, SIGSEGV, "it was called by other code than its own, at libc.so");
    expect_end(in_init, SIGSEGV, "because it was inside of weft");
}
TEST(contain_not_where_the_stack_is_damaged) {
    UNLESS_SANITIZED;
    expect_end(smashes, SIGSEGV, "its frames cannot be followed, and its stack may be damaged");
    expect_end(smashes_and_is_found, SIGABRT, "it was called by other code than its own, at libc.so");
}
TEST(contain_not_with_locks) {
    UNLESS_SANITIZED;
    expect_end(with_mutex, SIGSEGV, "because it holds a mutex");
    expect_end(with_weft_mutex, SIGSEGV, "because it holds 1 of weft's locks");
    expect_end(in_once, SIGSEGV, "because it holds 1 of weft's locks");
    expect_end(with_step_mutex, SIGSEGV, "because it holds 1 of weft's locks");
    expect_end(with_step_pthread_mutex, SIGSEGV, "because it holds 1 of weft's locks");
    expect_end(in_passage, SIGSEGV, "because it is in a passage (weft_nopreempt_begin)");
}
TEST(contain_not_inside_of_weft) {
    UNLESS_SANITIZED;
    expect_end(in_blocking, SIGSEGV, "because it is in a blocking call");
    expect_end(on_bigger, SIGSEGV, "because it runs on a bigger stack (weft_call_big)");
    expect_end(in_predicate, SIGSEGV, "because it was inside of weft");
    expect_end(in_weft, SIGSEGV, "because it was ");
    expect_end(misuse, SIGABRT, "because it was inside of weft");
}

/* ---- without containment ---------------------------------------------------------------------------------------------------- */

TEST(contain_is_not_the_default) {
    UNLESS_SANITIZED;
    struct child child;
    child_contains = false;
    for (unsigned i = 0; i < KINDS; i++) {
        if (kinds[i].entry == jump_to_data) continue;
        child_entry = kinds[i].entry;
        child_run(&child, child_body);
        EXPECT_DIED(&child, kinds[i].number);
        EXPECT_SAID(&child, kinds[i].number == SIGABRT ? "weft: an abort (SIGABRT) ends the program: process " : "weft: a fault (");
        EXPECT_SAID(&child, " ends the program: process 0");
        EXPECT_SAID(&child, " (child), entry test_contain_not+0x");
        EXPECT(!strstr(child.said, "weft runtime")); /* no dump */
    }
}

/* A fault of a thread of the program's own is no process's. */
static void own_handler(int number) { _exit(number == SIGSEGV ? 42 : 43); }
static void *foreign(void *arg) {
    null_deref(arg);
    return NULL;
}
static void foreign_body(void) {
    weft_runtime *runtime;
    pthread_t thread;
    signal(SIGSEGV, own_handler);
    if (weft_start(&(weft_config){.contain_faults = true}, &runtime)) _exit(99);
    pthread_create(&thread, NULL, foreign, NULL);
    pthread_join(thread, NULL);
}
/* One that cannot be contained goes to the program's handler, after the report. */
static void handler_body(void) {
    signal(SIGSEGV, own_handler);
    child_body();
}
TEST(contain_leaves_the_programs_handler_the_rest) {
    UNLESS_SANITIZED;
    struct child child;
    child_run(&child, foreign_body);
    EXPECT_EXIT(&child, 42);
    child_entry = in_qsort;
    child_run(&child, handler_body);
    EXPECT_EXIT(&child, 42);
    EXPECT_SAID(&child, "weft: the program ends, because ");
    child_entry = null_deref;
    child_run(&child, handler_body);
    EXPECT_EXIT(&child, 3);
}

/* The dump is of all processes, of all runtimes and of their supervisors. */
enum { CROWD = 300 };
static FILE *dumped;
static void waits(void *arg) {
    (void)arg;
    weft_sleep_until(WEFT_FOREVER);
}
static void crowd_body(void) {
    static const weft_child_spec children[] = {{.id = "supervised", .entry = waits}};
    static const weft_super_spec spec = {.name = "over all", .children = children, .count = 1};
    weft_runtime *one, *two;
    weft_pid pid;
    if (dup2(fileno(dumped), STDERR_FILENO) < 0) _exit(98);
    if (weft_start(&(weft_config){.workers = 2, .contain_faults = true}, &one) || weft_start(&(weft_config){.workers = 1}, &two)) _exit(99);
    for (unsigned i = 0; i < CROWD; i++)
        weft_spawn_with(waits, NULL, &(weft_stackful_options){.runtime = one, .name = "one of many"}, &pid);
    weft_spawn_with(waits, NULL, &(weft_stackful_options){.runtime = two, .name = "elsewhere", .register_as = "known"}, &pid);
    if (weft_super_start(&spec, &(weft_stackful_options){.runtime = two}, &pid, weft_in(WEFT_SECOND * 20))) _exit(97);
    weft_spawn_with(in_qsort, NULL, &(weft_stackful_options){.runtime = one, .name = "child"}, &pid);
    while (weft_alive(pid))
        usleep(100);
    _exit(3);
}
static unsigned times_in(const char *text, const char *part) {
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}
TEST(contain_dumps_everything_when_the_program_ends) {
    UNLESS_SANITIZED;
    static char text[1 << 18];
    struct child child;
    EXPECT((dumped = tmpfile()) != NULL);
    child_run(&child, crowd_body);
    EXPECT_DIED(&child, SIGSEGV);
    EXPECT(pread(fileno(dumped), text, sizeof text - 1, 0) > 0);
    EXPECT_EQ(times_in(text, " one of many, "), CROWD);
    EXPECT_EQ(times_in(text, "weft runtime "), 2);
    EXPECT_EQ(times_in(text, " elsewhere, test_contain_not+0x"), 1);
    EXPECT_EQ(times_in(text, ", registered as known"), 1);
    EXPECT_EQ(times_in(text, "(over all)\n    supervised "), 1);
    EXPECT(!strstr(text, "more processes"));
    fclose(dumped);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
