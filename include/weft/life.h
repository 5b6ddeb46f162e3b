/* Life and death: why a process ends, and which others are told.
 *
 *     weft_monitor     one process is told of the end of another, by a message; nothing else happens to it
 *     weft_link        two processes share their fate: if one ends with a reason other than 0, the other ends too, with the same reason,
 *                      unless it traps exits: then it is told, by a message
 *     weft_kill        ends a process, whatever it does
 *
 * All of this is for step and stackful processes alike, and for processes of different runtimes of one program. */
#ifndef WEFT_LIFE_H
#define WEFT_LIFE_H

#include <weft/message.h>
#include <weft/process.h>

WEFT_BEGIN

/* ---- reasons ---- */

/* Join, scopes, monitors and links all tell the same reason. Its kind follows from the code. */
enum weft_reason_kind {
    WEFT_REASON_NORMAL,    /* 0: it returned, its step was WEFT_STEP_DONE, weft_exit(0) */
    WEFT_REASON_ERROR,     /* any other code: of weft_exit, or of its step */
    WEFT_REASON_KILLED,    /* WEFT_EKILLED: by weft_kill, or by force when its runtime stopped */
    WEFT_REASON_CANCELLED, /* WEFT_ECANCELED: it gave up because it was asked to */
    WEFT_REASON_DEADLINE,  /* WEFT_ETIMEDOUT */
    WEFT_REASON_STACK,     /* WEFT_ESTACK: its stack has overflowed; WEFT_ENOSTACK: there was none to begin with */
    WEFT_REASON_FAULT,     /* WEFT_EFAULTED: signal and address tell which fault: docs/containment.md */
    WEFT_REASON_NOPROC,    /* WEFT_ENOPROC, of a notice: the process had ended before it was monitored, so its reason is not known */
};

typedef struct weft_reason {
    int code;
    int signal;          /* of a fault; else 0 */
    const void *address; /* of a fault; else NULL */
    const void *data;    /* what weft_exit_with was given; else NULL. Valid as long as the notice is, or until weft_reason_free */
    size_t size;
    void *keeper; /* weft's */
} weft_reason;

WEFT_API enum weft_reason_kind weft_reason_kind(int code);
/* Writes the reason as a person reads it ("killed", "error -110 (WEFT_ETIMEDOUT): the deadline has passed", "fault: SIGSEGV at 0x10") into
 * `text`, cut off at `size`; returns `text`. */
WEFT_API const char *weft_reason_text(const weft_reason *reason, char *text, size_t size);

/* As weft_exit, with bytes of the program's own, which are copied. If there is no memory for them, the process ends without them. */
WEFT_API void weft_exit_with(int code, const void *data, size_t size) __attribute__((noreturn));
/* The same for a step process: after this step it ends (WEFT_STEP_DONE), and its step returns what this call returns, `code`: 0, or below. */
WEFT_API int weft_out_exit_with(weft_out *out, int code, const void *data, size_t size);
/* As weft_join, with the whole reason, to be given back by weft_reason_free. */
WEFT_API int weft_join_reason(weft_pid pid, weft_reason *reason, uint64_t deadline);
WEFT_API void weft_reason_free(weft_reason *reason);

/* ---- killing ---- */

/* Ends a process with the reason WEFT_EKILLED, shielded or not: a step process before its next step; a stackful process at its next call of
 * weft, and one that waits, at once (the call may return WEFT_ECANCELED to it first; its next call ends it). Calls that may wait, and need not,
 * may be made for a little longer, 64 at most, and so may weft_defer. A call that gives something back does so first.
 *
 * These calls end no process: those that only read a value or set one (weft_now, weft_in, weft_self, weft_own_..., weft_local_get,
 * weft_chan_len and _cap, weft_sem_available, weft_context_value, _deadline, _cancelled, _hold and _drop, weft_get_stats, weft_fd_number, all of
 * messages, events, reasons, addresses and texts, all that only initialise); unlocking, and the second of each pair (weft_undefer,
 * weft_pin_end, weft_shield_end, weft_blocking_leave, ..._free), which need the first; weft_end, weft_child_end, weft_scope_leave; calls in a fork/join region; and calls in functions that weft calls while it
 * holds something: deferred ones, the predicate of weft_recv_match, an announcement of a spawn, a key's `inherit`.
 *
 * A process that calls nothing else for 10 ms of CPU time ends where it is, if preemption is on for it (weft/preempt.h), and else not at all. What
 * it has deferred is called, shielded; locks and memory that it holds otherwise stay as they are, and C++ objects on its stack: their destructors run only
 * where a call ends it.
 * Whatever it gives to weft_exit meanwhile, its reason is WEFT_EKILLED; but a fault, or a stack overflow, in a deferred function is its reason then. One that has not begun never calls its entry function. From anywhere.
 * 0, or WEFT_ENOPROC, WEFT_EFOREIGN. */
WEFT_API int weft_kill(weft_pid pid);

/* ---- notices ---- */

/* What a monitor or a link tells. It comes as a message with the tag that was chosen, from the process that has ended; its data is a
 * weft_notice. The memory for it is taken when the monitor or link is made, so it always comes, and past every bound of a mailbox. Messages
 * that the process had sent to the receiver come before it. */
enum weft_notice_kind {
    WEFT_NOTICE_DOWN = 1, /* of a monitor */
    WEFT_NOTICE_EXIT,     /* of a link, to a process that traps exits */
};
typedef struct weft_notice {
    uint32_t kind;
    weft_pid pid;       /* that has ended */
    uint64_t reference; /* of the monitor; of a link 0 */
    weft_reason reason;
} weft_notice;

/* The notice that a message, or an event (WEFT_EVENT_NOTICE), is; NULL: it is none. */
WEFT_API const weft_notice *weft_msg_notice(const weft_msg *message);
WEFT_API const weft_notice *weft_event_notice(const weft_event *event);

/* ---- monitors ---- */

/* The calling process will be told of the end of `pid`, exactly once, with this tag. If it has ended already, at once, with WEFT_ENOPROC as the
 * reason. Each monitor is one of its own: two of the same process are told twice. A process's monitors end with it. 0 and *reference, or
 * WEFT_ENOMEM, WEFT_EFOREIGN, WEFT_ENOTINSIDE. */
WEFT_API int weft_monitor(weft_pid pid, uint64_t tag, uint64_t *reference);
/* By the process that made it: it will not be told. 0; or WEFT_ENOENT when it has been told, and then, with `flush`, the notice is taken out
 * of the mailbox, if it has not been received yet. */
WEFT_API int weft_demonitor(uint64_t reference, bool flush);

/* ---- links ---- */

/* A process that ends because of a link ends at its next call of weft, as one that is killed, but not while it is shielded
 * (weft_shield_begin): at the end of the shield then. One that has not begun never calls its entry function.
 *
 * Links the calling process and `pid`; if they are linked, or it is the caller, nothing happens. 0, or WEFT_ENOPROC when it has ended,
 * WEFT_ENOMEM, WEFT_EFOREIGN, WEFT_ENOTINSIDE. */
WEFT_API int weft_link(weft_pid pid);
/* From now on neither ends, or is told, because of the other; a notice that is in the mailbox stays there. 0, or WEFT_ENOENT: they were not
 * linked, or it has ended. */
WEFT_API int weft_unlink(weft_pid pid);
/* From now on, or (false) no longer, the ends of processes that the caller is linked to, for whatever reason, are told by a message with this
 * tag and do not end it. 0 or WEFT_ENOMEM, WEFT_ENOTINSIDE. */
WEFT_API int weft_trap_exit(bool trap, uint64_t tag);

/* Spawns and links, or monitors, in one: the end of the new process is told however soon it comes. As weft_spawn. (For step processes and
 * for all options: WEFT_SPAWN_LINK, WEFT_SPAWN_MONITOR.) */
WEFT_API weft_pid weft_spawn_link(void (*entry)(void *arg), void *arg);
WEFT_API weft_pid weft_spawn_monitor(void (*entry)(void *arg), void *arg, uint64_t tag, uint64_t *reference);

WEFT_END

#endif
