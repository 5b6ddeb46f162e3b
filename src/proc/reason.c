/* Exit reasons: their details, and how they read. */
#include "proc/reason.h"

#include "sys/sys.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- details ------------------------------------------------------------------------------------------------------------- */

struct reason_detail *reason_detail_new(int code, int signal, const void *address, const void *data, size_t size) {
    struct reason_detail *detail = size <= PTRDIFF_MAX - sizeof *detail ? sys->alloc(sizeof *detail + size) : NULL;
    if (!detail) return NULL;
    *detail = (struct reason_detail){.code = code, .signal = signal, .address = address, .size = size};
    atom_store_rlx(&detail->references, 1); /* rlx: no other thread knows it */
    if (size > 0) memcpy(detail->data, data, size);
    return detail;
}

struct reason_detail *reason_detail_hold(struct reason_detail *detail) {
    if (detail) atom_add_rlx(&detail->references, 1); /* rlx: the caller has a reference already, or a lock that keeps one */
    return detail;
}

void reason_detail_drop(struct reason_detail *detail) {
    /* acqrel: the thread that drops the last reference frees what the others have read. */
    if (detail && atom_sub_acqrel(&detail->references, 1) == 1) sys->free(detail, sizeof *detail + detail->size);
}

weft_reason reason_shown(struct reason reason) {
    struct reason_detail *detail = reason.detail;
    if (!detail) return (weft_reason){.code = reason.code};
    return (weft_reason){reason.code, detail->signal, detail->address, detail->size > 0 ? detail->data : NULL, detail->size, detail};
}

void weft_reason_free(weft_reason *reason) {
    if (!reason) return;
    reason_detail_drop(reason->keeper);
    *reason = (weft_reason){.code = reason->code};
}

/* ---- words ----------------------------------------------------------------------------------------------------------------- */

enum weft_reason_kind weft_reason_kind(int code) {
    switch (code) {
    case 0: return WEFT_REASON_NORMAL;
    case WEFT_EKILLED: return WEFT_REASON_KILLED;
    case WEFT_ECANCELED: return WEFT_REASON_CANCELLED;
    case WEFT_ETIMEDOUT: return WEFT_REASON_DEADLINE;
    case WEFT_ESTACK:
    case WEFT_ENOSTACK: return WEFT_REASON_STACK;
    case WEFT_EFAULTED: return WEFT_REASON_FAULT;
    case WEFT_ENOPROC: return WEFT_REASON_NOPROC;
    default: return WEFT_REASON_ERROR;
    }
}

static const char *reason_signal_name(int number) {
    switch (number) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    case SIGTRAP: return "SIGTRAP";
    case SIGABRT: return "SIGABRT";
    default: return "a signal";
    }
}

static void reason_text_error(int code, char *text, size_t size) {
    if (code > 0) snprintf(text, size, "error %d", code);
    else snprintf(text, size, "error %d (%s): %s", code, weft_errname(code), weft_strerror(code));
}

const char *weft_reason_text(const weft_reason *reason, char *text, size_t size) {
    switch (weft_reason_kind(reason->code)) {
    case WEFT_REASON_NORMAL: snprintf(text, size, "normal"); break;
    case WEFT_REASON_KILLED: snprintf(text, size, "killed"); break;
    case WEFT_REASON_CANCELLED: snprintf(text, size, "cancelled"); break;
    case WEFT_REASON_NOPROC: snprintf(text, size, "no such process"); break;
    case WEFT_REASON_STACK: snprintf(text, size, reason->code == WEFT_ESTACK ? "stack overflow" : "no stack"); break;
    case WEFT_REASON_FAULT: snprintf(text, size, "fault: %s at %p", reason_signal_name(reason->signal), reason->address); break;
    case WEFT_REASON_ERROR:
    case WEFT_REASON_DEADLINE: reason_text_error(reason->code, text, size); break;
    }
    return text;
}
