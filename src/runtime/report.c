/* The texts of reports: what a process is, what it waits for, which processes are hogs or do not end. */
#include "runtime/report.h"
#include "fiber/snapshot.h"
#include "life/cancel.h"
#include "sys/print.h"
#include "thread/stopped.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* ---- a process, by racy reads -------------------------------------------------------------------------------------- */

void report_name(struct runtime *runtime, struct proc *proc, char *text, size_t size) {
    struct snapshot snapshot;
    fiber_snapshot(proc, &snapshot);
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior); /* rlx: a racy read */
    if (!snapshot.entry) {
        snprintf(text, size, "%s", behavior && behavior->name ? behavior->name : "?");
        return;
    }
    int length = snapshot.name ? snprintf(text, size, "%s, ", snapshot.name) : 0;
    if (length < 0 || (size_t)length >= size) return;
    /* An interrupted process may hold the lock under which symbols are looked up: thread/stopped.h, A4. */
    if (preempt_is_on(runtime)) snprintf(text + length, size - (size_t)length, "%p", snapshot.entry);
    else fiber_symbol(snapshot.entry, text + length, size - (size_t)length);
}

static __attribute__((no_sanitize("thread"))) uint32_t report_since(struct proc *proc) { return proc->since; }
static __attribute__((no_sanitize("thread"))) bool report_is_stackful(struct proc *proc) { return proc->stackful; }

void report_wait(struct runtime *runtime, struct proc *proc, char *text, size_t size) {
    struct snapshot snapshot;
    uint64_t word = atom_load_acq(&proc->state.word); /* acq: what is read below is not older; the word is read again at the end */
    enum state_name state = state_of(word);
    /* rlx: 0: there is no sysmon. The value stands still while sysmon sleeps. */
    uint32_t coarse = atom_load_rlx(&runtime->coarse) ? sysmon_coarse(sys->now()) : 0;
    uint32_t units = (coarse - report_since(proc)) & 0xffffff;
    char about[32] = "", since[32] = "";
    fiber_snapshot(proc, &snapshot);
    const char *what = snapshot.entry ? snapshot.call : state == STATE_BLOCKED ? "a command or a message" : "a message";
    *text = '\0';
    if (coarse) snprintf(since, sizeof since, ", for %.1f s", (double)((uint64_t)units << COARSE_SHIFT) / 1e9);
    if (snapshot.entry && snapshot.in_call) {
        snprintf(text, size, ", in a blocking call (%s)%s", snapshot.call ? snapshot.call : "?", since);
        return;
    }
    if ((state != STATE_IDLE && state != STATE_BLOCKED) || !what || atom_load_rlx(&proc->state.word) != word) return; /* rlx: as above */
    bool of_process = snapshot.call && (strcmp(snapshot.call, "weft_join") == 0 || strcmp(snapshot.call, "weft_call") == 0);
    if (snapshot.entry && snapshot.about)
        snprintf(about, sizeof about, of_process ? " of %016lx" : " of %#lx", (unsigned long)(uintptr_t)snapshot.about);
    snprintf(text, size, snapshot.entry ? ", in %s%s%s" : ", waits for %s%s%s", what, about, since);
}

/* ---- hogs ---------------------------------------------------------------------------------------------------------- */

enum { HOGS_SHOWN = 20 };

/* A race by intent: the memory always is a control block, and hog_show checks again that the step is the same. */
static __attribute__((no_sanitize("thread"))) struct proc *hog_current(struct worker *worker) {
    return *(struct proc *volatile *)&worker->current;
}

/* What would help; `error` is hog_place's. */
static const char *hog_advice(struct runtime *runtime, bool stackful, int error) {
    if (error == 0) return stackful ? "weft_blocking for that call would help" : "weft_out_call for that call would help";
    if (!stackful) return "shorter steps would help";
    return runtime->preempt.all ? "weft_checkpoint in its loop would help"
                                : "weft_checkpoint in its loop would help, or preemption (WEFT_PREEMPT=1)";
}

/* Where its thread is, as far as can be seen without disturbing it. The result of thread_where: 0, in a system call. */
static int hog_place(struct worker *worker, char *text, size_t size) {
    uint32_t thread = atom_load_rlx(&worker->driver); /* rlx: a number */
    uintptr_t address = 0;
    int call = 0, error = thread ? sys->thread_where(thread, &call, &address) : -ENOENT;
    if (error == 0) snprintf(text, size, ", thread %u, in system call %d from %#lx", thread, call, (unsigned long)address);
    else snprintf(text, size, ", thread %u%s", thread, error == -EBUSY ? ", computing" : "");
    return error;
}

/* When the step began: sysmon's; a racy read. */
static __attribute__((no_sanitize("thread"))) uint64_t hog_since(struct worker *worker) {
    return *(volatile uint64_t *)&worker->seen.step_since;
}

/* False: it is no hog any more. */
static bool hog_show(struct worker *worker, uint64_t now) {
    char name[192], place[96];
    uint64_t steps = atom_load_rlx(&worker->local.counters.steps); /* rlx: if it has not changed at the end, the step is the same */
    struct proc *proc = hog_current(worker);
    if (!proc || atom_load_rlx(&worker->give_way) != steps) return false;
    weft_pid pid = pid_make(worker->runtime->instance, atom_load_rlx(&proc->generation), proc->slot); /* rlx: as above */
    report_name(worker->runtime, proc, name, sizeof name);
    const char *advice = hog_advice(worker->runtime, report_is_stackful(proc), hog_place(worker, place, sizeof place));
    if (atom_load_rlx(&worker->local.counters.steps) != steps) return false;
    print_line(STDERR_FILENO, "  process %016lx (%s), on worker %u for %.3f s%s: %s\n", (unsigned long)pid, name, worker->index,
               (double)(now - worker->seen.step_since) / 1e9, place, advice);
    return true;
}

void report_hogs(struct runtime *runtime, uint64_t now) {
    unsigned made = atom_load_acq(&runtime->made), shown = 0; /* acq: as in find_steal_pass */
    print_line(STDERR_FILENO, "weft: %u workers and %u extra ones are all held by processes that do not yield, and others wait:\n",
               atom_load_rlx(&runtime->wanted), atom_load_rlx(&runtime->extra)); /* rlx, both: numbers */
    for (unsigned i = 0; i < made && shown < HOGS_SHOWN; i++)
        shown += hog_show(atom_load_rlx(&runtime->workers[i]), now); /* rlx: published by `made` */
}

/* ---- processes that do not end ------------------------------------------------------------------------------------- */

enum { LEFT_SHOWN = 20 };

struct left {
    uint64_t now;
    unsigned count;
};

/* On which worker it runs, since when, and where its thread is; "" if it does not run. */
static void left_place(struct runtime *runtime, struct proc *proc, uint64_t now, char *text, size_t size) {
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    char place[96];
    *text = '\0';
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]); /* rlx: published by `made` */
        if (hog_current(worker) != proc) continue;
        hog_place(worker, place, sizeof place);
        snprintf(text, size, ", on worker %u for %.1f s%s", i, (double)(now - hog_since(worker)) / 1e9, place);
    }
}

static void left_show(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    struct left *left = user;
    char name[192], place[192];
    if (left->count++ >= LEFT_SHOWN) return;
    report_name(runtime, proc, name, sizeof name);
    report_wait(runtime, proc, place, sizeof place);
    if (!*place) left_place(runtime, proc, left->now, place, sizeof place);
    print_line(STDERR_FILENO, "  process %016lx (%s)%s\n", (unsigned long)pid, name, place);
}

static void left_count(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    (void)runtime, (void)proc, (void)pid;
    ++*(unsigned *)user;
}

void report_left(struct runtime *runtime, uint64_t asked) {
    struct left left = {.now = sys->now()};
    unsigned count = 0, births = atom_load_rlx(&runtime->births); /* rlx: a number */
    each_process(runtime, left_count, &count);
    if (count == 0 && births == 0) return; /* the last has just ended */
    print_line(STDERR_FILENO, "weft: %u %s asked to end %.1f s ago and %s not:\n", count + births,
               count + births == 1 ? "process was" : "processes were", (double)asked / 1e9, count + births == 1 ? "has" : "have");
    each_process(runtime, left_show, &left);
    if (left.count > LEFT_SHOWN) print_line(STDERR_FILENO, "  and %u more\n", left.count - LEFT_SHOWN);
    if (births > 0) print_line(STDERR_FILENO, "  %u being spawned by other threads, which are in init\n", births);
}
