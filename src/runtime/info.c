/* weft_info and weft_each_process: see runtime/info.h. */
#include "runtime/info.h"

#include "base/sized.h"
#include "fiber/snapshot.h"
#include "life/cancel.h"
#include "life/spawn.h"
#include "life/tally.h"
#include "mail/mailbox.h"
#include "registry/registry.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"
#include "thread/cpu_time.h"

#include <stdio.h>

/* ---- racy reads: of the thread that runs the process, or of sysmon -------------------------------------------------- */

static __attribute__((no_sanitize("thread"))) uint32_t info_waits_since(struct proc *proc) { return proc->since; }
static __attribute__((no_sanitize("thread"))) uint8_t info_kind(struct proc *proc) { return *(volatile uint8_t *)&proc->stackful; }
/* Messages that were handed over to it or taken out of its mailbox, and that it has not read. */
static __attribute__((no_sanitize("thread"))) bool info_has_taken(struct proc *proc) {
    struct mpsc_node *taken = *(struct mpsc_node *volatile *)&proc->box.taken;
    return taken && taken != MPSC_LOOKED;
}
static __attribute__((no_sanitize("thread"))) weft_pid info_parent_racy(struct proc *proc) { return *(volatile weft_pid *)&proc->parent; }
static __attribute__((no_sanitize("thread"))) uint16_t info_turns(struct proc *proc, uint64_t word) {
    return (uint16_t)(state_ticket(word) - *(volatile uint16_t *)&proc->state.first + 1);
}
bool info_is_stackful(struct proc *proc) { return info_kind(proc) != PROC_STEPS; }
__attribute__((no_sanitize("thread"))) uint64_t info_step_since(struct worker *worker) {
    return *(volatile uint64_t *)&worker->seen.step_since;
}

/* ---- one process ---------------------------------------------------------------------------------------------------- */

/* What the word says; `in_call`: the process is in a blocking call, where it may have its worker or not. */
static enum weft_process_state info_state(uint64_t word, enum proc_kind kind, bool in_call) {
    enum state_name state = state_of(word);
    if (in_call) return WEFT_STATE_BLOCKING;
    if (state == STATE_IDLE || state == STATE_BLOCKED) return WEFT_STATE_WAITING;
    if (kind == PROC_STOPPED) return WEFT_STATE_STOPPED;
    return state == STATE_RUNNING ? WEFT_STATE_RUNNING : WEFT_STATE_READY;
}

/* The state word; of a process that lies in a worker's slot, held, as if it were READY. */
static uint64_t info_word(struct runtime *runtime, struct proc *proc) {
    uint64_t word = atom_load_acq(&proc->state.word); /* acq: what is read below is not older */
    unsigned made = atom_load_acq(&runtime->made);    /* acq: as in find_steal_pass */
    if (state_of(word) != STATE_RUNNING) return word;
    for (unsigned i = 0; i < made; i++)
        if (entry_ptr(atom_load_rlx(&atom_load_rlx(&runtime->workers[i])->slot.place)) == proc) /* rlx: a hint; published by `made` */
            return state_with(word, STATE_READY);
    return word;
}

/* For how long it has been waiting, by the clock that it has noted the beginning with. */
static uint64_t info_waited(struct runtime *runtime, struct proc *proc) {
    if (!atom_load_rlx(&runtime->coarse)) return WEFT_UNKNOWN; /* rlx: there is no sysmon. The value stands still while sysmon sleeps */
    uint32_t units = sysmon_coarse(sys->now()) - info_waits_since(proc);
    return (uint64_t)units << COARSE_SHIFT;
}

/* For how long it has been running, as far as sysmon has noticed. */
static uint64_t info_ran(struct runtime *runtime, struct proc *proc) {
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]); /* rlx: published by `made` */
        uint64_t now = sys->now(), since = info_step_since(worker);
        if (worker_current_racy(worker) == proc) return since && since < now ? now - since : 0;
    }
    return WEFT_UNKNOWN;
}

static uint64_t info_since(struct runtime *runtime, struct proc *proc, uint32_t state) {
    if (state == WEFT_STATE_WAITING || state == WEFT_STATE_BLOCKING) return info_waited(runtime, proc);
    return state == WEFT_STATE_RUNNING ? info_ran(runtime, proc) : WEFT_UNKNOWN;
}

/* Calls that wait for a process, and say which. */
static bool info_is_about_process(const char *call) {
    static const char *const calls[] = {"weft_join",    "weft_call",           "weft_send", "weft_ask",
                                        "weft_handoff", "weft_out_await_room", "weft_super"};
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strncmp(call, calls[i], strlen(calls[i])) == 0) return true; /* or one that begins so: weft_send_until */
    return false;
}

static void info_read_stackful(struct runtime *runtime, const struct snapshot *snapshot, weft_process_info *info) {
    struct stack_place place;
    info->entry = snapshot->entry;
    info->call = snapshot->call;
    snprintf(info->name, sizeof info->name, "%s", snapshot->name);
    bool waits = info->state == WEFT_STATE_WAITING && info->call;
    if (waits && info_is_about_process(info->call)) info->about_pid = (weft_pid)(uintptr_t)snapshot->about;
    else if (waits) info->about = snapshot->about;
    if (!snapshot->stack || stacks_find(&runtime->stacks, snapshot->stack, &place) != STACK_USABLE) return;
    info->stack_size = stack_class_size(place.class);
    info->stack_used = stacks_high_water(&runtime->stacks, &place);
}

static void info_read_step(const weft_behavior *behavior, weft_process_info *info) {
    if (!behavior) return;
    info->entry = (const void *)(uintptr_t)behavior->step;
    snprintf(info->name, sizeof info->name, "%s", behavior->name ? behavior->name : "");
}

/* A bounded mailbox is counted by the thread that changes it. */
static void info_read_bounds(struct bounds *bounds, weft_process_info *info) {
    weft_mailbox_use use;
    if (!bounds_glance(bounds, &use)) return;
    info->messages = use.messages;
    info->message_bytes = use.bytes;
    info->has_messages = use.messages > 0;
}

/* The caller's own, if it is not bounded. */
static void info_read_mailbox(struct proc *proc, weft_process_info *info) {
    struct worker *worker = worker_here();
    if (!worker || worker->current != proc || bounds_of(proc)) return;
    struct mailbox_count count = mailbox_count(proc);
    info->messages = count.messages;
    info->message_bytes = count.bytes;
    info->has_messages = count.messages > 0;
}

/* In policy `line` there is no room for it. */
static weft_pid info_parent(struct runtime *runtime, struct proc *proc) {
    return runtime->policy == POLICY_LINE ? WEFT_NOBODY : info_parent_racy(proc);
}

enum state_name info_read(struct runtime *runtime, struct proc *proc, weft_process_info *info) {
    struct snapshot snapshot;
    uint64_t word = info_word(runtime, proc);
    fiber_snapshot(runtime, proc, &snapshot);
    *info = (weft_process_info){.stackful = snapshot.entry != NULL, .turns = info_turns(proc, word)};
    info->state = info_state(word, info_kind(proc), snapshot.entry && snapshot.in_call);
    info->cancelled = state_is_cancelled(&proc->state);
    info->packed = info_kind(proc) == PROC_PACKED;
    info->pinned = (word & STATE_PINNED_TO) != 0;
    info->since = info_since(runtime, proc, info->state);
    if (snapshot.entry) info_read_stackful(runtime, &snapshot, info);
    else info_read_step(atom_load_rlx(&proc->behavior), info); /* rlx: a racy read */
    info->messages = info->message_bytes = WEFT_UNKNOWN;
    info->has_messages = !mpsc_is_clear(&proc->box) || info_has_taken(proc); /* a hint. Without those that the process has put aside */
    struct bounds *bounds = bounds_of(proc);
    if (bounds) info_read_bounds(bounds, info);
    info->cpu_time = cpu_time_of(runtime, proc);
    info->parent = info_parent(runtime, proc);
    return state_of(word);
}

bool info_read_ties(struct runtime *runtime, struct proc *proc, bool waits, weft_process_info *info) {
    struct tally tally = tally_of(runtime, proc_slot(proc), waits);
    info->monitors = tally.monitors;
    info->links = tally.links;
    info->watchers = tally.watchers;
    if (!info->parent) info->parent = tally.owner;
    names_last(runtime, proc_slot(proc), waits, info->registered, sizeof info->registered);
    return !tally.locked;
}

/* False: another process has the block by now. */
static bool info_of(struct runtime *runtime, struct proc *proc, weft_pid pid, weft_process_info *info) {
    info_read(runtime, proc, info);
    info_read_mailbox(proc, info);
    info_read_ties(runtime, proc, true, info);
    info->pid = pid;
    return atom_load_acq(&proc->pid) == pid; /* acq: after the reads of fiber_snapshot, as there */
}

int weft_info_sized(weft_pid pid, weft_process_info *info, size_t info_size) {
    struct rt_entry by;
    weft_process_info mine;
    if (!info) WEFT_REFUSE("weft_info", "no place for the answer", "give one");
    heed(my_worker);
    if (!rt_enter(&by, pid, "weft_info")) return WEFT_EFOREIGN;
    struct runtime *runtime = by.local->runtime;
    struct proc *proc =
        proc_find(runtime, pid); /* in no section: the block stays a control block, and its process is compared afterwards */
    bool found = proc && !mpsc_is_closed(&proc->box) && info_of(runtime, proc, pid, &mine);
    rt_leave(&by);
    if (!found) return WEFT_ENOPROC;
    sized_write(info, info_size, &mine, sizeof mine);
    return 0;
}

/* ---- all of them ---------------------------------------------------------------------------------------------------- */

enum { INFO_MOST = 4096 }; /* bytes; more than the struct will ever have */

struct info_walk {
    weft_visit *visit;
    void *user;
    size_t info_size, visited;
    bool over;
};

static void info_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    struct info_walk *walk = user;
    weft_process_info mine;
    union {
        weft_process_info as_program_knows;
        unsigned char bytes[INFO_MOST];
    } copy;
    if (walk->over || !info_of(runtime, proc, pid, &mine)) return;
    sized_write(&copy, walk->info_size, &mine, sizeof mine);
    walk->visited++;
    walk->over = !walk->visit(&copy.as_program_knows, walk->user);
}

size_t weft_each_process_sized(weft_runtime *runtime, weft_visit *visit, void *user, size_t info_size) {
    struct info_walk walk = {visit, user, info_size, 0, false};
    if (!runtime || !visit || info_size > INFO_MOST)
        WEFT_REFUSE("weft_each_process", "no runtime, no function, or a size that no version of weft has", "give them");
    heed(my_worker);
    each_process((struct runtime *)runtime, info_visit, &walk);
    return walk.visited;
}

const char *weft_state_text(uint32_t state) {
    static const char *const texts[] = {[WEFT_STATE_READY] = "ready",
                                        [WEFT_STATE_RUNNING] = "running",
                                        [WEFT_STATE_WAITING] = "waiting",
                                        [WEFT_STATE_BLOCKING] = "in a blocking call",
                                        [WEFT_STATE_STOPPED] = "interrupted"};
    return state < sizeof texts / sizeof texts[0] && texts[state] ? texts[state] : "?";
}
