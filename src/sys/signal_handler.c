/* Detects that a thread is in a signal handler of the program, and ends the program then: see base/handler.h. */
#include "base/handler.h"

#include "base/assert.h"

#if !WEFT_CHECK
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

_Thread_local bool handler_is_wefts __attribute__((tls_model("initial-exec")));

static bool handler_on_signal_stack(void) {
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

#if defined(__x86_64__)
enum {
    HANDLER_REACH = 64 << 10, /* how far up the stack the frame is searched for */
    HANDLER_WORDS = 128,      /* at a time */
    HANDLER_USER_CODE = 0x33, /* the code segment of every program */
};

/* The signal frame as the kernel writes it, beginning with the address to which the handler returns. */
struct handler_frame {
    uintptr_t back, flags, link;
    stack_t stack;
    uintptr_t registers[NGREG];
};

/* Where handlers return to: the C library has one place for all, and gives it to the kernel with every action. */
static uintptr_t handler_back(void) {
    struct {
        uintptr_t handler, flags, restorer;
        uint64_t mask;
    } action = {0};
    return syscall(SYS_rt_sigaction, SIGSEGV, NULL, &action, sizeof action.mask) == 0 ? action.restorer : 0;
}

/* Read by the kernel, because beyond the end of the stack there may be no memory. */
static bool handler_read(uintptr_t at, void *to, size_t size) {
    struct iovec mine = {to, size}, there = {(void *)at, size}; // NOLINT(performance-no-int-to-ptr)
    return process_vm_readv(getpid(), &mine, 1, &there, 1, 0) == (ssize_t)size;
}

/* The return address alone may be left over from an earlier handler: in a live frame the interrupted stack pointer is above it. */
static bool handler_is_frame(uintptr_t at) {
    struct handler_frame frame;
    if (!handler_read(at, &frame, sizeof frame)) return false;
    return frame.link == 0 && (frame.registers[REG_CSGSFS] & 0xffff) == HANDLER_USER_CODE && frame.registers[REG_RSP] - at < HANDLER_REACH;
}

static bool handler_on_stack(void) {
    uintptr_t words[HANDLER_WORDS], back = handler_back();
    uintptr_t from = ((uintptr_t)__builtin_frame_address(0) + 7) & ~(uintptr_t)7;
    for (uintptr_t at = from; back && at < from + HANDLER_REACH; at += sizeof words) {
        size_t room = 4096 - at % 4096; /* to the end of a page: the next one may not be mapped */
        size_t size = room < sizeof words ? room : sizeof words;
        if (!handler_read(at, words, size)) return false;
        for (unsigned i = 0; i < size / sizeof *words; i++)
            if (words[i] == back && handler_is_frame(at + i * sizeof *words)) return true;
        at -= sizeof words - size;
    }
    return false;
}
#else
static bool handler_on_stack(void) { return false; }
#endif

void handler_refuse(const char *call) {
    if (handler_is_wefts || !(handler_on_signal_stack() || handler_on_stack())) return;
    WEFT_MISUSE(call, "called in a signal handler that has interrupted weft, whose lists and locks are half changed",
                "use weft_signal_send in signal handlers");
}

void handler_refuse_wait(void) {
    WEFT_MISUSE("a weft call", "it waits, and was called in a signal handler, or on a stack that is not the process's",
                "use weft_signal_send in signal handlers");
}
#endif
