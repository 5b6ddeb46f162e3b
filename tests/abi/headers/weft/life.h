/* Life and death: why a process ends. For step and stackful processes alike. */
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
/* As weft_join, with the whole reason, to be given back by weft_reason_free. */
WEFT_API int weft_join_reason(weft_pid pid, weft_reason *reason, uint64_t deadline);
WEFT_API void weft_reason_free(weft_reason *reason);

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

/* Spawns and monitors in one: the end of the new process is told however soon it comes. As weft_spawn. (For step processes and for all
 * options: WEFT_SPAWN_MONITOR.) */
WEFT_API weft_pid weft_spawn_monitor(void (*entry)(void *arg), void *arg, uint64_t tag, uint64_t *reference);

WEFT_END

#endif
