/* The handler of SIGURG: decides whether the process may be stopped where it is, and stops it. */
#include "preempt/preempt.h"

#include "ctx/unwind.h"
#include "fiber/altstack.h"
#include "fiber/fault.h"
#include "fiber/upcall.h"
#include "life/spawn.h"
#include "preempt/restart.h"
#include "sched/atfork.h"
#include "sched/heed.h"
#include "thread/maker.h"
#include "thread/stopped.h"
#include "thread/thread.h"

#include <weft/preempt.h>

#include <gnu/libc-version.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

enum {
    PREEMPT_FRAMES = 2000, /* the most that are walked for preempt.h, X2 */
};

atom_u64 preempt_verdicts[PREEMPT_VERDICTS];
atom_u64 preempt_rung;
atom_u64 preempt_walked;

/* The bounds of weft's code; set before the handler is installed. */
static struct { uintptr_t low, size; } weft_code;

/* The bounds of the program's own code, including weft's if it is linked in. */
static struct { uintptr_t low, size; } program_code;

static inline bool preempt_is_weft(uintptr_t address) { return address - weft_code.low < weft_code.size; }

/* ---- the machine -------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static uintptr_t preempt_pc(const ucontext_t *context) { return (uintptr_t)context->uc_mcontext.gregs[REG_RIP]; }
static uintptr_t preempt_sp(const ucontext_t *context) { return (uintptr_t)context->uc_mcontext.gregs[REG_RSP]; }
static bool preempt_in_registers(const ucontext_t *context) { return (void)context, false; }
#elif defined(__aarch64__)
static uintptr_t preempt_pc(const ucontext_t *context) { return (uintptr_t)context->uc_mcontext.pc; }
static uintptr_t preempt_sp(const ucontext_t *context) { return (uintptr_t)context->uc_mcontext.sp; }
static bool preempt_in_registers(const ucontext_t *context) {
    for (unsigned i = 0; i < 31; i++) {
        uintptr_t word = context->uc_mcontext.regs[i] & UNWIND_ADDRESS;
        if (preempt_is_weft(word) && word != (uintptr_t)upcall_back) return true;
    }
    return false;
}
#endif

/* ---- X1, X2: inside weft? -------------------------------------------------------------------------------------------------- */

/* Whether a word between the two addresses may be a return address into weft. */
static __attribute__((no_sanitize("address"), noinline)) bool preempt_on_stack(const uintptr_t *at, const uintptr_t *end) {
    for (; at < end; at++) {
        uintptr_t word = *at & UNWIND_ADDRESS;
        if (__builtin_expect(preempt_is_weft(word), 0) && word != (uintptr_t)upcall_back) return true;
    }
    return false;
}

/* Whether the walk reaches the upcall, and no frame is weft's; `in_program`: and all frames are the program's. */
static __attribute__((noinline)) bool preempt_walk(const ucontext_t *context, uintptr_t floor, bool in_program) {
    struct unwind unwind;
    unwind_begin(&unwind, context, floor);
    for (unsigned i = 0; i < PREEMPT_FRAMES; i++) {
        if (unwind.pc == (uintptr_t)upcall_back) return true;
        if (preempt_is_weft(unwind.pc) || (in_program && unwind.pc - program_code.low >= program_code.size)) return false;
        if (!unwind_step(&unwind)) return false;
    }
    return false;
}

bool preempt_in_program(const struct thread *thread) { return preempt_walk(thread->context, (uintptr_t)thread->floor, true); }

/* ---- the verdict ------------------------------------------------------------------------------------------------------------ */

static bool preempt_is_marked(struct worker *worker, struct proc *proc) {
    return proc && proc->stackful && (worker->runtime->preempt.all || (proc->extras & PROC_PREEMPT));
}

/* X1, X2, X3. */
static enum preempt_verdict preempt_place(const struct fiber *fiber, const ucontext_t *context) {
    struct stack *stack = altstack_stack(fiber);
    uintptr_t sp = preempt_sp(context), low = (uintptr_t)stack->low, top = (uintptr_t)stack_top(stack), floor = (uintptr_t)fiber->floor;
    if (sp < low || sp >= top) return PREEMPT_ELSEWHERE;
    if (floor < sp || floor > top) return PREEMPT_IN_WEFT; /* equal, on ARM: a function that uses no stack */
    sp = (sp + 7) & ~(uintptr_t)7;
    if (!preempt_in_registers(context) && !preempt_on_stack((const uintptr_t *)sp, (const uintptr_t *)floor)) return PREEMPT_DONE;
    if (!preempt_walk(context, floor, false)) return PREEMPT_IN_WEFT;
    atom_add_rlx(&preempt_walked, 1); /* rlx: a count */
    return PREEMPT_DONE;
}

static enum preempt_verdict preempt_judge(struct worker *worker, const ucontext_t *context) {
    if (preempt_is_weft(preempt_pc(context))) return PREEMPT_IN_WEFT;
    struct proc *proc = worker->current;
    struct fiber *fiber = proc && proc->stackful ? fiber_of(proc) : NULL;
    if (!proc || (proc->stackful && !fiber) || proc->stackful == PROC_STOPPED || proc->stackful == PROC_PACKED)
        return PREEMPT_IN_WEFT; /* between two processes, or about to begin, to resume, to pack or to restore one */
    if (!preempt_is_marked(worker, proc)) return PREEMPT_NOT_MARKED;
    uint32_t pinned_count =
        atom_load_rlx(&worker->pinned_count) & ~PINNED_CLOSED; /* rlx: processes are pinned and unpinned by this thread */
    if (pinned_count != 0 || my_thread->caller) return PREEMPT_WITH_PINNED;
    if (fiber->nopreempt || atfork_forks) return PREEMPT_FORBIDDEN;
    enum preempt_verdict verdict = preempt_place(fiber, context);
    my_thread->context = context;
    my_thread->floor = fiber->floor;
    struct preempt *preempt = &worker->runtime->preempt;
    bool settling = atom_load_rlx(&preempt->settling) &&
                    !atom_load_rlx(&preempt->anywhere); /* rlx, both: `settling` is checked again under the lock; `anywhere` is a request */
    return verdict == PREEMPT_DONE && settling && !preempt_in_program(my_thread) ? PREEMPT_IN_WEFT : verdict;
}

/* ---- stopping and going on ----------------------------------------------------------------------------------------------------- */

/* Lists the process as stopped and chooses the thread that takes the worker: a thread at rest or, if there is none, the thread of the
 * process that was stopped first, which goes on with it (stopped.h, A5). *heir is NULL if none has to, because the runtime stops. */
static enum preempt_verdict preempt_give_up(struct worker *worker, struct thread *self, struct thread **heir) {
    struct proc *proc = worker->current;
    self->stopped = proc;
    if (!stopped_list(self)) return PREEMPT_TOO_MANY;
    *heir = thread_take(worker->runtime);
    if (!*heir) *heir = stopped_next(worker); /* another process's: this one cannot be resumed yet */
    worker->current = proc;
    if (*heir || stopped_is_last(worker)) return PREEMPT_DONE;
    stopped_unlist(self);
    return PREEMPT_NO_THREAD;
}

/* Stops the process: the thread parks here until it is given a worker, and then goes on with the process. */
static enum preempt_verdict preempt_stop(struct worker *worker, struct thread *self) {
    struct thread *heir;
    enum preempt_verdict verdict = preempt_give_up(worker, self, &heir);
    if (verdict != PREEMPT_DONE) return verdict;
    struct proc *proc = worker->current;
    uint8_t kind = proc->stackful;
    fiber_of(proc)->thread = self;
    proc->stackful = PROC_STOPPED;
    atom_add_rlx(&worker->runtime->preempt.times, 1); /* rlx: a count */
    worker = stopped_sleep(worker, self, heir);
    proc->stackful = kind;
    worker_driven_by(worker, &self->loop);
    my_worker = worker;
    stopped_took(worker, self->number);
    worker->current = proc;
    local_leave(&worker->local); /* begun by the loop that has handed the worker over */
    stopped_set_alarm(worker, self);
    return PREEMPT_DONE;
}

/* ---- ending (X7) ----------------------------------------------------------------------------------------------------------------- */

enum {
    PREEMPT_RED_ZONE = 128,
    PREEMPT_GRACE = 10000000, /* ns of CPU time */
};

/* On the process's own stack, outside of the handler. */
static void preempt_ended(void *unused) {
    (void)unused;
    annotate_unwind();
    fiber_quit_here(REASON_CONDEMNED);
}

static bool preempt_may_end(struct worker *worker) {
    struct proc *proc = worker->current;
    const struct fiber *fiber = fiber_of(proc);
    return !(proc->extras & PROC_TASKS) && proc->stackful == PROC_STACKFUL && !fiber->holds && !fiber->held_locks &&
           preempt_in_program(my_thread);
}

/* Whether the process, which was condemned, has had PREEMPT_GRACE of CPU time since it was first interrupted here or was last spared at a call. Elapsed
 * time would not do: a thread that waits for a CPU calls nothing. */
static bool preempt_calls_nothing(struct thread *self, struct proc *proc) {
    weft_pid pid = proc_pid(proc);
    uint32_t heeds = fiber_of(proc)->heeds;
    uint64_t cpu;
    if (sys->thread_time(self->number, &cpu) != 0) return true;
    bool same = self->condemned.pid == pid && self->condemned.heeds == heeds;
    if (same) return cpu >= self->condemned.from;
    self->condemned.pid = pid;
    self->condemned.heeds = heeds;
    self->condemned.from = cpu + PREEMPT_GRACE;
    return false;
}

/* The process may be stopped here. True: it was condemned, and ends when the handler returns. If it cannot end here, sysmon tries again, for as long
 * as it lives. */
static bool preempt_end(struct worker *worker, ucontext_t *context) {
    if (!fiber_is_condemned(worker->current)) return false;
    if (!preempt_may_end(worker) || !preempt_calls_nothing(my_thread, worker->current)) return false;
    fault_divert(&(struct fault){.context = context}, preempt_ended, NULL, (void *)(preempt_sp(context) - PREEMPT_RED_ZONE));
    return true;
}

static enum preempt_verdict preempt_try(struct worker *worker, ucontext_t *context) {
    uint64_t steps = atom_load_rlx(&worker->local.counters.steps); /* rlx, both: `steps` is written by this thread; `asked` is a request */
    if (atom_load_rlx(&worker->asked) != steps) return PREEMPT_NOT_ASKED;
    enum preempt_verdict verdict = preempt_judge(worker, context);
    if (verdict == PREEMPT_DONE && __builtin_expect(preempt_end(worker, context), 0)) return PREEMPT_ENDED;
    if (verdict == PREEMPT_DONE) {
        verdict = preempt_stop(worker, my_thread);
        if (verdict == PREEMPT_DONE) return preempt_end(my_worker, context) ? PREEMPT_ENDED : verdict; /* on another worker by now */
    }
    if (verdict == PREEMPT_NOT_MARKED || verdict == PREEMPT_WITH_PINNED)
        atom_store_rlx(&worker->refused, steps); /* rlx: tells sysmon that it need not try again */
    return verdict;
}

/* ---- the signal ---------------------------------------------------------------------------------------------------------------- */

static struct {
    struct lock lock;
    unsigned runtimes;
    struct sigaction before;
    const char *told; /* the last reason that was reported: each is reported once, not for every process */
} urgent;

/* The lowest address of the interrupted stack, if it is a process's. Else the interrupted stack pointer. */
static uintptr_t preempt_lowest(struct worker *worker, const ucontext_t *context) {
    struct stack *stack = altstack_here(worker);
    uintptr_t sp = preempt_sp(context);
    return stack && sp >= (uintptr_t)stack->low && sp < (uintptr_t)stack_top(stack) ? (uintptr_t)stack->low : sp;
}

static void preempt_restart(struct worker *worker, ucontext_t *context, bool at_once) {
    if (restart_is_due(context)) restart_call(context, at_once, preempt_lowest(worker, context));
}

/* A SIGURG that is not ours: calls the previous handler, with the signals blocked that would have been. The default is to ignore it. */
static void preempt_pass_on(int number, siginfo_t *info, ucontext_t *context) {
    const struct sigaction *before = &urgent.before;
    bool with_info = before->sa_flags & SA_SIGINFO;
    if (with_info ? !before->sa_sigaction : before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN) {
        preempt_restart(my_worker, context, false);
        return;
    }
    sigset_t blocked;
    sigorset(&blocked, &context->uc_sigmask, &before->sa_mask);
    if (!(before->sa_flags & SA_NODEFER)) sigaddset(&blocked, number);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    if (with_info) before->sa_sigaction(number, info, context);
    else before->sa_handler(number);
}

/* Sysmon's signal. */
static enum preempt_verdict preempt_heed(struct worker *worker, ucontext_t *context) {
    preempt_restart(worker, context, true);
    return worker ? preempt_try(worker, context) : PREEMPT_NOT_ASKED;
}

/* The thread's own alarm: X8. */
static enum preempt_verdict preempt_ring(struct worker *worker, ucontext_t *context) {
    if (restart_in_call(context)) {
        if (!worker || worker->current) preempt_restart(worker, context, true);
        return PREEMPT_NOT_ASKED;
    }
    if (!worker || !preempt_alarm(worker, my_thread)) return PREEMPT_NOT_ASKED;
    enum preempt_verdict verdict = preempt_try(worker, context);
    if (verdict == PREEMPT_DONE) atom_add_rlx(&preempt_rung, 1); /* rlx: a count */
    if (verdict == PREEMPT_IN_WEFT || verdict == PREEMPT_ELSEWHERE || verdict == PREEMPT_FORBIDDEN) preempt_alarm_again(worker, my_thread);
    return verdict;
}

/* At the limit of pending signals (RLIMIT_SIGPENDING) the kernel delivers a signal without what came with it: as if no process had sent it. Then the
 * request tells (thread/stopped.h, A1). */
static bool preempt_is_bare(const siginfo_t *info, const struct worker *worker) {
    return info->si_code == SI_USER && info->si_pid == 0 && worker &&
           atom_load_rlx(&worker->asked) == atom_load_rlx(&worker->local.counters.steps); /* rlx, both: as in preempt_try */
}

static void preempt_signal(int number, siginfo_t *info, void *context) {
    int error = errno;
    bool alarm = sys_alarm_rang(my_thread ? &my_thread->alarm : NULL, info);
    if (alarm || (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &sys) || preempt_is_bare(info, my_worker)) {
        bool nested = handler_is_wefts;
        handler_is_wefts = true;
        enum preempt_verdict verdict = alarm ? preempt_ring(my_worker, context) : preempt_heed(my_worker, context);
        handler_is_wefts = nested;
        atom_add_rlx(&preempt_verdicts[verdict], 1); /* rlx: a count */
    } else {
        preempt_pass_on(number, info, context);
    }
    errno = error;
}

/* ---- beginning and end --------------------------------------------------------------------------------------------------------- */

/* Where weft is linked into a program, the linker gives the bounds of its code: fiber/own_code.c. */
extern const char __start_weft_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_weft_text[] __attribute__((weak, visibility("hidden")));

/* If weft is a shared library of its own, all the library's code is weft's. */
static int preempt_find_object(struct dl_phdr_info *info, size_t size, void *argument) {
    uintptr_t here = (uintptr_t)preempt_signal, low = UINTPTR_MAX, high = 0;
    bool mine = false;
    (void)size, (void)argument;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        if (here >= from && here < to) mine = true;
        if (from < low) low = from;
        if (to > high) high = to;
    }
    if (!mine) return 0;
    bool program = !info->dlpi_name || !info->dlpi_name[0];
    if (!program) weft_code.low = low, weft_code.size = high - low;
    return 1;
}

/* The first object is the program. If the C library is linked into it, the two cannot be told apart. */
static int preempt_find_program(struct dl_phdr_info *info, size_t size, void *argument) {
    uintptr_t libc = (uintptr_t)gnu_get_libc_version();
    (void)size, (void)argument;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD) continue;
        if (libc - from < part->p_memsz) program_code.size = 0;
        if (libc - from < part->p_memsz) return 1;
        if (part->p_flags & PF_X) program_code.low = from, program_code.size = part->p_memsz;
    }
    return 1;
}

/* Finds the bounds of weft's and the program's code. NULL: found; else why not. */
static const char *preempt_find(void) {
    if (ANNOTATE_THREAD) return "the thread sanitizer delays signals";
    if (__start_weft_text) {
        weft_code.low = (uintptr_t)__start_weft_text;
        weft_code.size = (uintptr_t)__stop_weft_text - weft_code.low;
    } else {
        dl_iterate_phdr(preempt_find_object, NULL);
    }
    if (weft_code.size == 0 || !preempt_is_weft((uintptr_t)preempt_signal) || !preempt_is_weft((uintptr_t)upcall_back))
        return "weft is linked into the program without telling where it is";
    dl_iterate_phdr(preempt_find_program, NULL);
    return NULL;
}

/* Signals that code itself may raise, even in the handler: never blocked. */
static const int preempt_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

static int preempt_install(void) {
    struct sigaction action = {.sa_sigaction = preempt_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&action.sa_mask); /* X6 */
    for (unsigned i = 0; i < sizeof preempt_faults / sizeof preempt_faults[0]; i++)
        sigdelset(&action.sa_mask, preempt_faults[i]);
    int error = sys->signal_action(SIGURG, NULL, &urgent.before);
    return error ? error : sys->signal_action(SIGURG, &action, NULL);
}

static const char *preempt_begin_locked(struct runtime *runtime) {
    if (runtime->preempt.maker.started) return NULL;
    if (sys->alloc_apart() != 0) return "there is no memory";
    const char *why_not = urgent.runtimes == 0 ? preempt_find() : NULL;
    if (why_not) return why_not;
    if (!restart_is_usual()) runtime->preempt.alarms_anywhere = false; /* X8 */
    if (thread_maker_start(runtime) != 0) return "there is no thread";
    if (urgent.runtimes == 0 &&
        preempt_install() != 0) { /* last, so that it need not be undone: there is one place for the previous action */
        thread_maker_stop(runtime);
        return "the signal cannot be had";
    }
    urgent.runtimes++;
    return NULL;
}

int preempt_begin(struct runtime *runtime, bool all) {
    lock_take(&urgent.lock);
    const char *why_not = preempt_begin_locked(runtime);
    if (!why_not && all) runtime->preempt.all = true;
    if (!why_not) atom_store_rlx(&runtime->preempt.on, true); /* rlx: a hint; the signal comes later */
    bool news = why_not && why_not != urgent.told;
    if (news) urgent.told = why_not;
    lock_drop(&urgent.lock);
    if (news) fprintf(stderr, "weft: processes cannot be interrupted: %s\n", why_not);
    return why_not ? WEFT_EAGAIN : 0;
}

void preempt_finish(struct runtime *runtime) {
    struct sigaction now;
    if (!runtime->preempt.maker.started) return;
    thread_maker_stop(runtime);
    lock_take(&urgent.lock);
    if (--urgent.runtimes == 0 && sys->signal_action(SIGURG, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == preempt_signal)
        sys->signal_action(SIGURG, &urgent.before, NULL);
    lock_drop(&urgent.lock);
}

/* ---- not now ------------------------------------------------------------------------------------------------------------------- */

static struct fiber *preempt_fiber(void) {
    struct worker *worker = worker_here();
    return worker && worker->current && worker->current->stackful ? fiber_of(worker->current) : NULL;
}

void weft_nopreempt_begin(void) {
    heed(worker_here());
    struct fiber *fiber = preempt_fiber();
    if (fiber) fiber->nopreempt++;
}

void weft_nopreempt_end(void) {
    struct fiber *fiber = preempt_fiber();
    if (!fiber) return;
    if (fiber->nopreempt == 0) WEFT_REFUSE("weft_nopreempt_end", "there was no weft_nopreempt_begin", "pair them");
    fiber->nopreempt--;
}
