/* Restarting system calls that weft's signal has interrupted. */
#include "preempt/restart.h"

#include "sys/sys.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

atom_u64 restarted_calls;

/* System calls that SA_RESTART does not restart, and that have done nothing when they return EINTR. */
static const struct {
    uint16_t number;
    bool timed; /* it has a timeout relative to its beginning */
} restart_calls[] = {
#ifdef SYS_poll /* newer architectures have only the more general calls */
    {SYS_poll, true},
    {SYS_select, false}, /* the time that is left is in its argument */
    {SYS_pause, false},
    {SYS_epoll_wait, true},
#endif
    {SYS_ppoll, false},    /* likewise */
    {SYS_pselect6, false}, /* likewise */
    {SYS_epoll_pwait, true},
    {SYS_epoll_pwait2, true},
    {SYS_nanosleep, true},
    {SYS_clock_nanosleep, true},
    {SYS_futex, true},
    {SYS_accept, true}, /* from here on: the timeout is the socket's */
    {SYS_accept4, true},
    {SYS_connect, true}, /* a second call goes on with the connection that was begun */
    {SYS_recvfrom, true},
    {SYS_recvmsg, true},
    {SYS_recvmmsg, true},
    {SYS_read, true},
    {SYS_readv, true},
    {SYS_sendto, true},
    {SYS_sendmsg, true},
    {SYS_sendmmsg, true},
    {SYS_write, true},
    {SYS_writev, true}, /* to here */
    {SYS_semop, false},
    {SYS_semtimedop, true},
    {SYS_msgsnd, false},
    {SYS_msgrcv, false},
    {SYS_rt_sigtimedwait, true},
    {SYS_rt_sigsuspend, false},
    {SYS_io_getevents, true},
    {SYS_io_pgetevents, true},
    {SYS_io_uring_enter, true},
};

static bool restart_can(unsigned long number, bool at_once) {
    for (unsigned i = 0; i < sizeof restart_calls / sizeof restart_calls[0]; i++)
        if (restart_calls[i].number == number) return at_once || !restart_calls[i].timed;
    return false;
}

/* ---- which signal was it? --------------------------------------------------------------------------------------------------- */

enum { RESTART_FRAME = 16 << 10 }; /* a handler's frame is not larger */

/* Whether a handler of the program has interrupted the call before ours, and returned: SIGURG was blocked meanwhile, or came just then. The
 * kernel's frame for it is still below the stack pointer, with stack pointer and program counter together: that stack is unused since. */
static __attribute__((no_sanitize("address"))) bool restart_was_another(uintptr_t sp, uintptr_t pc, uintptr_t low) {
    if (low < sp - RESTART_FRAME) low = sp - RESTART_FRAME;
    for (uintptr_t at = (sp & ~(uintptr_t)7) - 16; at >= low && at < sp; at -= 8)
        if (((const uintptr_t *)at)[0] == sp && ((const uintptr_t *)at)[1] == pc) return true;
    return false;
}

/* Whether the program handles the signal. An ignored one, by default or not, interrupts nothing: SIGCHLD in most programs. */
static bool restart_is_handled(int number) {
    struct sigaction action;
    return sys->signal_action(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

/* Whether a handler of the program will run as soon as ours has returned: then too the program must see EINTR. */
static bool restart_will_another(const ucontext_t *context) {
    sigset_t pending;
    if (sigpending(&pending) != 0) return false;
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGURG && sigismember(&pending, number) == 1 && sigismember(&context->uc_sigmask, number) == 0 &&
            restart_is_handled(number))
            return true;
    return false;
}

static bool restart_was_ours(const ucontext_t *context, uintptr_t sp, uintptr_t pc, uintptr_t low) {
    return !restart_was_another(sp, pc, low) && !restart_will_another(context);
}

/* ---- its arguments ------------------------------------------------------------------------------------------------------------ */

/* How many bytes before the address can be read: down to the beginning of the page. The page before may not be mapped. */
static inline unsigned restart_before(uintptr_t address) { return address & 4095; }

#if defined(__x86_64__)

/* The number, or -1. mov $number, %eax (not %r8d); one or two instructions that load arguments; syscall. Or xor %eax, %eax; syscall. */
static __attribute__((no_sanitize("address"))) long restart_number_inline(const unsigned char *pc, bool at_once) {
    if (restart_before((uintptr_t)pc) < 16) return -1;
    if (pc[-4] == 0x31 && pc[-3] == 0xc0) return 0;
    for (int back = 7; back <= 15; back++) {
        if (pc[-back] != 0xb8 || pc[3 - back] != 0 || pc[4 - back] != 0 || (pc[-back - 1] & 0xf1) == 0x41) continue;
        long number = pc[1 - back] | pc[2 - back] << 8;
        if (restart_can((unsigned long)number, at_once)) return number;
    }
    return -1;
}

/* The C library's function for all calls that can be cancelled, since version 2.41: __syscall_cancel_arch, in assembler. The number is its
 * second argument, which its only caller has loaded from its own stack: mov disp8(%rsp), %rsi; then moves; call. */
static __attribute__((no_sanitize("address"))) long restart_number_passage(const unsigned char *pc, const uintptr_t *sp) {
    static const unsigned char passage[] = {
        0x49, 0x89, 0xfb,             /* mov %rdi, %r11 */
        0x48, 0x89, 0xf0,             /* mov %rsi, %rax */
        0x48, 0x89, 0xd7,             /* mov %rdx, %rdi */
        0x48, 0x89, 0xce,             /* mov %rcx, %rsi */
        0x4c, 0x89, 0xc2,             /* mov %r8, %rdx */
        0x4d, 0x89, 0xca,             /* mov %r9, %r10 */
        0x4c, 0x8b, 0x44, 0x24, 0x08, /* mov 8(%rsp), %r8 */
        0x4c, 0x8b, 0x4c, 0x24, 0x10, /* mov 16(%rsp), %r9 */
        0x4c, 0x89, 0x5c, 0x24, 0x08, /* mov %r11, 8(%rsp) */
        0x0f, 0x05,                   /* syscall */
    };
    if (restart_before((uintptr_t)pc) < sizeof passage || memcmp(pc - sizeof passage, passage, sizeof passage) != 0) return -1;
    const unsigned char *call = (const unsigned char *)sp[0] - 5;
    if (restart_before((uintptr_t)call) < 32 || call[0] != 0xe8) return -1;
    /* Backwards over moves from register to register, three bytes each: the stack pointer is the same there. */
    for (unsigned i = 0; i < 6; i++, call -= 3) {
        const unsigned char *load = call - 5;
        if (load[0] == 0x48 && load[1] == 0x8b && load[2] == 0x74 && load[3] == 0x24 && load[4] < 0x80 && load[4] % 8 == 0)
            return (long)sp[1 + load[4] / 8]; /* 1: the return address was pushed since */
        if ((call[-3] & 0xf8) != 0x48 || call[-2] != 0x89 || (call[-1] & 0xc0) != 0xc0) return -1;
    }
    return -1;
}

bool restart_is_usual(void) { return true; }

static bool restart_is_syscall(const unsigned char *code) { return code[0] == 0x0f && code[1] == 0x05; }

/* Just behind the instruction of the call that was interrupted, or NULL. */
static const unsigned char *restart_behind(const ucontext_t *context) {
    const greg_t *registers = context->uc_mcontext.gregs;
    const unsigned char *pc = (const unsigned char *)registers[REG_RIP];
    if (registers[REG_RAX] == SYS_restart_syscall && restart_is_syscall(pc)) return pc + 2;
    return registers[REG_RAX] == -EINTR && restart_before((uintptr_t)pc) >= 2 && restart_is_syscall(pc - 2) ? pc : NULL;
}

bool restart_is_due(const ucontext_t *context) { return restart_behind(context) != NULL; }

/* If the kernel restarts the call by itself, it goes back to the instruction. That has put the address behind it into rcx, so the code is looked at in that case
 * only. */
__attribute__((no_sanitize("address"))) bool restart_in_call(const ucontext_t *context) {
    const greg_t *registers = context->uc_mcontext.gregs;
    return restart_is_due(context) ||
           (registers[REG_RCX] == registers[REG_RIP] + 2 && restart_is_syscall((const unsigned char *)registers[REG_RIP]));
}

void restart_call(ucontext_t *context, bool at_once, uintptr_t low) {
    greg_t *registers = context->uc_mcontext.gregs;
    const unsigned char *behind = restart_behind(context);
    long number = restart_number_passage(behind, (const uintptr_t *)registers[REG_RSP]);
    if (number == -1) number = restart_number_inline(behind, at_once);
    if (number < 0 || !restart_can((unsigned long)number, at_once)) return;
    if (!restart_was_ours(context, (uintptr_t)registers[REG_RSP], (uintptr_t)registers[REG_RIP], low)) return;
    registers[REG_RAX] = number;
    registers[REG_RIP] = (greg_t)(uintptr_t)(behind - 2);
    atom_add_rlx(&restarted_calls, 1); /* rlx: a count */
}

#elif defined(__aarch64__)

enum {
    RESTART_SVC = 0xd4000001,
    RESTART_LOOK = 16,       /* instructions */
    RESTART_KEPT_FIRST = 19, /* callee-saved registers: a caller keeps in these what it needs again */
    RESTART_KEPT_LAST = 28,
};

/* From then on all calls that can be cancelled come by one passage, which overwrites the argument. */
bool restart_is_usual(void) { return strverscmp(gnu_get_libc_version(), "2.41") < 0; }

/* The registers that the instruction may write; errs on the side of too many. */
static uint32_t restart_writes(uint32_t code) {
    uint32_t written = UINT32_C(1) << (code & 31);
    bool memory = (code >> 25 & 5) == 4; /* a load or store: it may also write a second register, its base, or a status */
    if (memory) written |= UINT32_C(1) << (code >> 10 & 31) | UINT32_C(1) << (code >> 5 & 31) | UINT32_C(1) << (code >> 16 & 31);
    return written;
}

/* Looks backwards from the call for the instruction that loaded x0: mov x0, xN with a register that still has the value, or a number. */
static __attribute__((no_sanitize("address"))) bool restart_first(const mcontext_t *machine, const uint32_t *svc, uint64_t *first) {
    uint32_t written = 0; /* between there and the call */
    for (const uint32_t *at = svc - 1; svc - at <= RESTART_LOOK && restart_before((uintptr_t)(at + 1)) >= 4; at--) {
        uint32_t code = *at;
        unsigned from = code >> 16 & 31;
        if ((code & 0xffe0ffff) == 0xaa0003e0) { /* mov x0, xN */
            *first = machine->regs[from];
            return from >= RESTART_KEPT_FIRST && from <= RESTART_KEPT_LAST && !(written >> from & 1);
        }
        if ((code & 0xffe0001f) == 0xd2800000) { /* mov x0, #number */
            *first = code >> 5 & 0xffff;
            return true;
        }
        written |= restart_writes(code);
        bool branch = (code & 0x1c000000) == 0x14000000; /* or another system instruction */
        if (branch || (written & 1)) return false;
    }
    return false;
}

/* The number that the code before the call loads into w8 or x8, or -1: mov w8, #number. */
static __attribute__((no_sanitize("address"))) long restart_number(const uint32_t *svc) {
    for (const uint32_t *at = svc - 1; svc - at <= RESTART_LOOK && restart_before((uintptr_t)(at + 1)) >= 4; at--) {
        if ((*at & 0x7fe0001f) == 0x52800008) return *at >> 5 & 0xffff;
        bool branch = (*at & 0x1c000000) == 0x14000000;
        if (branch || (restart_writes(*at) >> 8 & 1)) return -1;
    }
    return -1;
}

/* The instruction of the call that was interrupted, or NULL. */
static const uint32_t *restart_at(const ucontext_t *context) {
    const mcontext_t *machine = &context->uc_mcontext;
    const uint32_t *pc = (const uint32_t *)machine->pc;
    if (machine->regs[8] == SYS_restart_syscall && *pc == RESTART_SVC) return pc;
    return machine->regs[0] == (uint64_t)-EINTR && restart_before(machine->pc) >= 4 && pc[-1] == RESTART_SVC ? pc - 1 : NULL;
}

bool restart_is_due(const ucontext_t *context) { return restart_at(context) != NULL; }

/* If the kernel restarts the call by itself, it goes back to the instruction. */
bool restart_in_call(const ucontext_t *context) {
    return restart_is_due(context) || *(const uint32_t *)context->uc_mcontext.pc == RESTART_SVC;
}

void restart_call(ucontext_t *context, bool at_once, uintptr_t low) {
    mcontext_t *machine = &context->uc_mcontext;
    const uint32_t *svc = restart_at(context);
    bool prepared = svc == (const uint32_t *)machine->pc; /* by the kernel: the first argument is in its register again */
    long number = prepared ? restart_number(svc) : (long)machine->regs[8];
    uint64_t first = machine->regs[0];
    if (number < 0 || !restart_can((unsigned long)number, at_once) || (!prepared && !restart_first(machine, svc, &first))) return;
    if (!restart_was_ours(context, machine->sp, machine->pc, low)) return;
    machine->regs[0] = first;
    machine->regs[8] = (uint64_t)number;
    machine->pc = (uintptr_t)svc;
    atom_add_rlx(&restarted_calls, 1); /* rlx: a count */
}

#endif
