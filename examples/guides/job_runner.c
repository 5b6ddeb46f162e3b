/* Runs the commands of a file, some at a time, each with limits and a time; leaves none behind.
 *
 *     job_runner FILE [AT_A_TIME]       each line: SECONDS COMMAND, for the shell; # begins a comment
 *     job_runner --self-test
 *
 * Results are printed in the order of the lines. Ctrl-C, SIGTERM and SIGHUP end the jobs that run and begin no more. The exit status is 0 if
 * all jobs were done and succeeded. */
#include <weft/weft.h>

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { JOBS_MOST = 10000, OUTPUT_MOST = 65536, STOP = 1 };
static uint64_t grace = 5 * WEFT_SECOND; /* between SIGTERM and SIGKILL */

enum outcome { ENDED, TIMED_OUT, CANCELLED, NOT_STARTED };
struct job {
    char *command;
    uint64_t time; /* how long it may take, from when it is started */
    weft_pid pid;  /* of the process that looks after it */
    weft_fd out;
    enum outcome outcome;
    int status; /* ENDED: as of waitpid(2); NOT_STARTED: weft's error */
    char *output;
    size_t kept, written; /* bytes of output: of the first OUTPUT_MOST, of all */
    bool held;            /* its output was still open when it had ended */
};
static struct job jobs[JOBS_MOST];
static size_t job_count;
static weft_sem places;

/* ---- one job ---------------------------------------------------------------------------------------------------------------------- */

/* Reads all that the job writes, so that it never waits for a full pipe, and keeps the beginning. */
static void collect(void *arg) {
    struct job *job = arg;
    char data[4096];
    ssize_t n;
    while ((n = weft_fd_read(job->out, data, sizeof data, WEFT_FOREVER)) > 0) {
        size_t room = OUTPUT_MOST - job->kept, more = (size_t)n < room ? (size_t)n : room;
        char *output = more ? realloc(job->output, job->kept + more) : NULL;
        if (output) {
            memcpy(output + job->kept, data, more);
            job->output = output;
            job->kept += more;
        }
        job->written += (size_t)n;
    }
}

static int start(struct job *job, weft_child *child) {
    static const weft_child_limit limits[] = {
        {RLIMIT_CPU, 600, 610},                               /* seconds: SIGXCPU, ten later SIGKILL */
        {RLIMIT_AS, UINT64_C(8) << 30, UINT64_C(8) << 30},    /* bytes of address space */
        {RLIMIT_FSIZE, UINT64_C(1) << 30, UINT64_C(1) << 30}, /* of a file */
        {RLIMIT_NOFILE, 256, 256},
        {RLIMIT_CORE, 0, 0},
    };
    const weft_child_options options = {
        .pipes = WEFT_CHILD_OUT,
        .flags = WEFT_CHILD_OWNED | WEFT_CHILD_GROUP | WEFT_CHILD_NULL_IN | WEFT_CHILD_ERR_TO_OUT,
        .limits = limits,
        .limit_count = sizeof limits / sizeof *limits,
    };
    const char *const arguments[] = {"/bin/sh", "-c", job->command, NULL};
    return weft_child_start_with(arguments, &options, child);
}

/* Waits for the end of a job that was started, in one of three ways; it has ended in any case. */
static void await(struct job *job, const weft_child *child) {
    int error = weft_waitpid(child->pid, &job->status, weft_in(job->time));
    job->outcome = error == 0 ? ENDED : error == WEFT_ETIMEDOUT ? TIMED_OUT : CANCELLED;
    if (error) weft_child_end(child->pid, grace, NULL); /* also in a process that was cancelled */
}

static void give_place_back(void *unused) {
    (void)unused;
    weft_sem_release(&places, 1);
}

static void run_job(void *arg) {
    struct job *job = arg;
    weft_child child;
    weft_pid collector;
    job->outcome = CANCELLED;
    if (weft_sem_acquire(&places, 1, WEFT_FOREVER) != 0) return;
    if (weft_defer(give_place_back, NULL) != 0) {
        give_place_back(NULL);
        return;
    }
    if (weft_cancelled()) return;
    if ((job->status = start(job, &child)) != 0) {
        job->outcome = NOT_STARTED;
        return;
    }
    job->out = child.out;
    if ((collector = weft_spawn_joinable(collect, job)) == WEFT_NOBODY) { /* without a reader it would wait for a full pipe */
        job->outcome = NOT_STARTED, job->status = -errno;
        weft_child_end(child.pid, grace, NULL);
        weft_fd_close(child.out);
        return;
    }
    await(job, &child); /* all of its process group has ended: nothing writes any more */

    weft_shield_begin();
    job->held = weft_join(collector, NULL, weft_in(WEFT_SECOND)) == WEFT_ETIMEDOUT;
    weft_fd_close(child.out); /* if something else has the other end, a daemon say, reading ends here */
    if (job->held) weft_join(collector, NULL, WEFT_FOREVER);
    weft_shield_end();
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------------ */

static bool report(const struct job *job) {
    bool good = job->outcome == ENDED && WIFEXITED(job->status) && WEXITSTATUS(job->status) == 0;
    printf("%s: ", job->command);
    switch (job->outcome) {
    case ENDED:
        if (good) printf("ok");
        else if (WIFEXITED(job->status)) printf("exit status %d", WEXITSTATUS(job->status));
        else printf("ended by signal %d", WTERMSIG(job->status));
        break;
    case TIMED_OUT: printf("timed out"); break;
    case CANCELLED: printf("cancelled"); break;
    case NOT_STARTED: printf("not started: %s", weft_strerror(job->status)); break;
    }
    printf("%s\n", job->held ? ", and something still holds its output" : "");
    for (size_t at = 0, end; at < job->kept; at = end + 1) { /* line by line */
        const char *newline = memchr(job->output + at, '\n', job->kept - at);
        end = newline ? (size_t)(newline - job->output) : job->kept;
        size_t width = end - at < 72 ? end - at : 72;
        printf("    %.*s%s\n", (int)width, job->output + at, width < end - at ? "..." : "");
    }
    if (job->written > job->kept) printf("    (%zu bytes more)\n", job->written - job->kept);
    fflush(stdout);
    return good;
}

static void cancel_all(void) {
    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].pid) weft_cancel(jobs[i].pid); /* one that has ended says WEFT_ENOPROC: fine */
}

/* The next job in order has ended, meanwhile signals may have come: then all jobs are cancelled, and still waited for. */
static int await_job(struct job *job) {
    weft_msg *message;
    for (;;) {
        weft_case events[] = {weft_case_tag(STOP, &message), weft_case_end(job->pid, NULL)};
        int which = weft_select(events, 2, WEFT_FOREVER);
        if (which != 0) return which < 0 ? which : events[1].error;
        weft_msg_free(message);
        cancel_all();
    }
}

static int fail(const char *what, int error) {
    fprintf(stderr, "job_runner: %s: %s\n", what, weft_strerror(error));
    return 1;
}

static int run_all(uint32_t at_a_time, bool interrupt_last) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    size_t good = 0, begun = 0;
    int error = 0;
    weft_sem_init(&places, at_a_time);
    for (size_t i = 0; i < 3 && !error; i++)
        error = weft_signal_watch(signals[i], weft_self(), STOP);
    if (error) return fail("signals", error);
    for (; begun < job_count && !error; begun += !error)
        error =
            weft_spawn_with(run_job, &jobs[begun], &(weft_stackful_options){.name = "job", .flags = WEFT_SPAWN_JOINABLE}, &jobs[begun].pid);
    if (error) fail("begin", error), cancel_all(); /* those that were begun are waited for */
    for (size_t i = 0; i < begun; i++) {
        if (interrupt_last && i == begun - 2) raise(SIGINT);
        int waited = await_job(&jobs[i]);
        if (waited) return fail("waiting", waited); /* weft_main cancels the rest, and their children end with them */
        good += report(&jobs[i]);
        free(jobs[i].output);
    }
    printf("%zu of %zu jobs succeeded\n", good, job_count);
    return good == job_count ? 0 : 1;
}

/* ---- what to do ------------------------------------------------------------------------------------------------------------------- */

/* One line: SECONDS COMMAND. The text stays where it is. */
static int add_job(char *line) {
    char *end;
    while (isspace((unsigned char)*line))
        line++;
    if (!*line || *line == '#') return 0;
    double seconds = strtod(line, &end);
    if (end == line || !isspace((unsigned char)*end) || !(seconds > 0) || seconds > 1e6) return WEFT_EINVAL;
    if (job_count == JOBS_MOST) return WEFT_ENOBUFS;
    jobs[job_count++] = (struct job){.command = end + 1, .time = (uint64_t)(seconds * 1e9)};
    return 0;
}

static int add_jobs(const char *name, char *text) {
    unsigned number = 0;
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        int error = add_job(line);
        number++;
        if (error) return fprintf(stderr, "job_runner: %s, line %u: %s\n", name, number, weft_strerror(error)), error;
    }
    return 0;
}

static int self_test(void) {
    static char text[] = "60 echo hello; echo world >&2\n"
                         "60 exit 3\n"
                         "60 kill -KILL $$\n"
                         "0.1 sleep 300\n"
                         "60 ulimit -n\n"
                         "60 sleep 300 & echo one stays behind, it thinks\n"
                         "60 head -c 100000 /dev/zero | tr '\\0' x\n"
                         "# the last two are interrupted\n"
                         "60 sleep 300\n"
                         "60 trap '' TERM; sleep 300\n";
    grace = 100 * WEFT_MILLISECOND;
    return add_jobs("self-test", text) == 0 && run_all(4, true) == 1 ? 0 : 1;
}

static int app(int argc, char **argv) {
    char *text;
    size_t size;
    if (argc == 2 && strcmp(argv[1], "--self-test") == 0) return self_test();
    int at_a_time = argc == 3 ? atoi(argv[2]) : 4;
    if (argc < 2 || argc > 3 || at_a_time < 1) {
        fprintf(stderr, "usage: job_runner FILE [AT_A_TIME] | --self-test\n");
        return 2;
    }
    int error = weft_file_load(argv[1], &text, &size);
    if (error) return fail(argv[1], error);
    int status = add_jobs(argv[1], text) == 0 ? run_all((uint32_t)at_a_time, false) : 2;
    weft_file_free(text, size);
    return status;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * echo hello; echo world >&2: ok
 *     hello
 *     world
 * exit 3: exit status 3
 * kill -KILL $$: ended by signal 9
 * sleep 300: timed out
 * ulimit -n: ok
 *     256
 * sleep 300 & echo one stays behind, it thinks: ok
 *     one stays behind, it thinks
 * head -c 100000 /dev/zero | tr '\0' x: ok
 *     xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
 *     (34464 bytes more)
 * sleep 300: cancelled
 * trap '' TERM; sleep 300: cancelled
 * 4 of 9 jobs succeeded
 */
