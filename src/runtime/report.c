/* The texts of reports: what a process is, what it waits for, which processes are hogs or do not end. */
#include "runtime/report.h"
#include "fiber/snapshot.h"
#include "life/cancel.h"
#include "sys/print.h"
#include "thread/cpu_time.h"
#include "thread/stopped.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* ---- a process, by racy reads -------------------------------------------------------------------------------------- */

void report_name(struct runtime *runtime, struct proc *proc, char *text, size_t size) {
    struct snapshot snapshot;
    fiber_snapshot(runtime, proc, &snapshot);
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior); /* rlx: a racy read */
    if (!snapshot.entry) {
        snprintf(text, size, "%s", behavior && behavior->name ? behavior->name : "?");
        return;
    }
    int length = snapshot.name[0] ? snprintf(text, size, "%s, ", snapshot.name) : 0;
    if (length < 0 || (size_t)length >= size) return;
    if (SYMBOL_LOCKS && preempt_is_on(runtime)) snprintf(text + length, size - (size_t)length, "%p", snapshot.entry);
    else fiber_symbol(snapshot.entry, text + length, size - (size_t)length);
}

void report_wait_of(const weft_process_info *info, enum state_name state, char *text, size_t size) {
    char about[32] = "", since[32] = "";
    const char *what = info->stackful ? info->call : state == STATE_BLOCKED ? "a command or a message" : "a message";
    *text = '\0';
    if (info->since != WEFT_UNKNOWN) snprintf(since, sizeof since, ", for %.1f s", (double)info->since / 1e9);
    if (info->state == WEFT_STATE_BLOCKING) snprintf(text, size, ", in a blocking call (%s)%s", what ? what : "?", since);
    if (info->state != WEFT_STATE_WAITING || !what) return;
    if (info->about_pid) snprintf(about, sizeof about, " of %016lx", (unsigned long)info->about_pid);
    else if (info->about) snprintf(about, sizeof about, " of %#lx", (unsigned long)(uintptr_t)info->about);
    snprintf(text, size, info->stackful ? ", in %s%s%s" : ", waits for %s%s%s", what, about, since);
}

void report_wait(struct runtime *runtime, struct proc *proc, char *text, size_t size) {
    weft_process_info info;
    enum state_name state = info_read(runtime, proc, &info);
    report_wait_of(&info, state, text, size);
}

/* ---- hogs ---------------------------------------------------------------------------------------------------------- */

enum { HOGS_SHOWN = 20 };

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

/* False: it is no hog any more. */
static bool hog_show(struct worker *worker, uint64_t now) {
    char name[192], place[96];
    uint64_t steps = atom_load_rlx(&worker->local.counters.steps); /* rlx: if it has not changed at the end, the step is the same */
    struct proc *proc = worker_current_racy(worker);
    if (!proc || atom_load_rlx(&worker->give_way) != steps) return false;
    weft_pid pid = proc_pid(proc);
    report_name(worker->runtime, proc, name, sizeof name);
    const char *advice = hog_advice(worker->runtime, info_is_stackful(proc), hog_place(worker, place, sizeof place));
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
        if (worker_current_racy(worker) != proc) continue;
        hog_place(worker, place, sizeof place);
        snprintf(text, size, ", on worker %u for %.1f s%s", i, (double)(now - info_step_since(worker)) / 1e9, place);
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
