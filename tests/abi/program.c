/* A program that uses every struct which may grow. tests/abi/run compiles it against older headers, and against newer ones, and runs it with the library.
 *
 * Each struct ends where a page ends that cannot be touched beyond: a library that reads or writes one byte more than the program's header knew ends it. */
#include <weft/weft.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))
#define EDGE(type) ((type *)edge(sizeof(type)))

static void fail(const char *condition, int line) {
    fprintf(stderr, "program.c:%d: %s does not hold\n", line, condition);
    abort();
}

/* So many bytes in front of a page that cannot be touched, full of 0xff. */
static void *full_edge(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    memset(pages, 0xff, page);
    return pages + page - size;
}
/* The same, zeroed. */
static void *edge(size_t size) { return memset(full_edge(size), 0, size); }

static int echoes_made, steps_made;

static void echo(void *arg) {
    weft_msg *message;
    echoes_made++;
    MUST(arg == &echoes_made);
    MUST(weft_recv(&message, WEFT_FOREVER) == 0);
    MUST(weft_send(weft_msg_from(message), weft_msg_tag(message), "back", 5) == 0);
    weft_msg_free(message);
}

static int called(void *data, size_t size) { return size == 1 && *(char *)data == 'c' ? 0 : WEFT_EINVAL; }

static int step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    steps_made++;
    if (count == 0) {
        weft_command_call *call = EDGE(weft_command_call);
        call->run = called;
        MUST(weft_out_call(out, 7, call, "c", 1) == 0);
        weft_out_status(out, WEFT_STEP_BLOCKED);
        return 0;
    }
    MUST(events[0].type == WEFT_EVENT_COMPLETION && events[0].tag == 7 && events[0].error == 0);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior stepper = {.name = "stepper", .step = step};

static void spawning(void) {
    weft_stackful_options *options = EDGE(weft_stackful_options);
    weft_envelope *envelope = full_edge(sizeof *envelope);
    weft_pid pid;
    char text[5];
    int reason;
    options->name = "echo";
    options->flags = WEFT_SPAWN_JOINABLE;
    MUST(weft_spawn_with(echo, &echoes_made, options, &pid) == 0);
    MUST(weft_send(pid, 3, "there", 6) == 0);
    MUST(weft_recv_into(text, sizeof text, envelope, WEFT_FOREVER) == 0);
    MUST(strcmp(text, "back") == 0 && envelope->size == 5 && envelope->request.tag == 3 && envelope->request.from == pid);
    MUST(weft_join(pid, &reason, WEFT_FOREVER) == 0 && reason == 0);
    weft_spawn_options *plain = EDGE(weft_spawn_options);
    plain->flags = WEFT_SPAWN_JOINABLE;
    MUST(weft_spawn_step(&stepper, plain, &pid) == 0);
    MUST(weft_join(pid, &reason, WEFT_FOREVER) == 0 && reason == 0 && steps_made == 2);
}

static void nothing(void *arg) { (void)arg; }

static void scopes(void) {
    weft_scope scope;
    weft_stackful_options *options = EDGE(weft_stackful_options);
    weft_pid pid = WEFT_NOBODY;
    options->stack_size = 64 << 10;
    weft_scope_begin(&scope, WEFT_FOREVER);
    MUST(weft_scope_spawn_with(&scope, nothing, NULL, options, &pid) == 0 && pid != WEFT_NOBODY);
    MUST(weft_scope_end(&scope) == 0);
}

static void network(void) {
    weft_listen_options *options = EDGE(weft_listen_options);
    weft_resolve_options *how = EDGE(weft_resolve_options);
    weft_addr address;
    options->backlog = 3;
    how->numeric = true;
    weft_fd listener = weft_net_listen("127.0.0.1:0", options), datagrams = weft_net_udp("127.0.0.1:0", options);
    MUST(listener > 0 && datagrams > 0 && weft_net_name(listener, &address) == 0);
    MUST(weft_resolve("127.0.0.1", "80", how, &address, 1, WEFT_FOREVER) == 1);
    MUST(weft_fd_close(listener) == 0 && weft_fd_close(datagrams) == 0);
}

static void system_calls(void) {
    const char *const arguments[] = {"true", NULL};
    weft_child *child = full_edge(sizeof *child);
    weft_dir_entry *entry = full_edge(sizeof *entry);
    weft_dir *dir;
    int status;
    MUST(weft_child_start(arguments, WEFT_CHILD_OUT, child) == 0 && child->out > 0 && child->in == WEFT_NO_FD);
    MUST(weft_waitpid(child->pid, &status, WEFT_FOREVER) == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    MUST(weft_fd_close(child->out) == 0);
    MUST(weft_dir_open("/proc/self", &dir) == 0);
    MUST(weft_dir_next(dir, entry) == 1 && entry->name[0] && entry->inode > 0);
    MUST(weft_dir_close(dir) == 0);
}

static void everything(void *arg) {
    spawning();
    scopes();
    network();
    system_calls();
    *(int *)arg = 1;
}

static char fake_globals[16];
static void *fake_library(void) { return fake_globals; }

static void libraries(void) {
    weft_cxx *library = EDGE(weft_cxx);
    library->globals = fake_library;
    MUST(weft_cxx_add(library) == 0);
    weft_cxx_remove(library);
}

/* What the runtime tells when it is stopped and before. */
static void reports(weft_runtime *runtime) {
    weft_stats *stats = full_edge(sizeof *stats);
    weft_stack_mark *marks = full_edge(2 * sizeof *marks);
    weft_stop_report *report = full_edge(sizeof *report);
    weft_get_stats(runtime, stats);
    MUST(stats->spawned >= 5 && stats->spawned == stats->ended && stats->stopped == 0);
    MUST(weft_stack_marks(runtime, marks, 2) >= 2);
    MUST(marks[0].entry && marks[1].entry && marks[0].stack_size >= 4096 && marks[1].stack_size >= 4096);
    MUST(weft_stop(runtime, report, WEFT_FOREVER) == 0 && report->left == 0 && report->first[15] == WEFT_NOBODY);
#ifdef PROGRAM_IS_NEWER
    MUST(stats->grown == 0 && marks[1].grown == 0 && report->grown == 0);
#endif
}

/* A newer program that wants what this library does not know. */
static void refused(void) {
#ifdef PROGRAM_IS_NEWER
    weft_runtime *runtime;
    weft_config *config = EDGE(weft_config);
    config->grown = 1;
    MUST(weft_start(config, &runtime) == WEFT_EINVAL);
#endif
}

int main(void) {
    weft_config *config = EDGE(weft_config);
    weft_runtime *runtime;
    weft_pid pid;
    int done = 0, reason;
    config->workers = 1;
    alarm(120);
    libraries();
    refused();
    MUST(weft_start(config, &runtime) == 0);
    weft_stackful_options *options = EDGE(weft_stackful_options);
    options->runtime = runtime;
    options->flags = WEFT_SPAWN_JOINABLE;
    MUST(weft_spawn_with(everything, &done, options, &pid) == 0);
    MUST(weft_join(pid, &reason, WEFT_FOREVER) == 0 && reason == 0 && done == 1 && echoes_made == 1);
    reports(runtime);
    return 0;
}
