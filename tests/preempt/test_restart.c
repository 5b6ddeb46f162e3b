/* System calls that were interrupted: in which code before them the number, or the first argument, is found, and in which it is not. */
#include "test.h"

#include "preempt/restart.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

/* Some code, as if it had been running; the end of it is the system call. */
static struct {
    _Alignas(4096) unsigned char page[2][4096];
    size_t at;
} code;
static ucontext_t context;

static void code_begin(size_t at) {
    memset(&code, 0, sizeof code);
    memset(&context, 0, sizeof context);
    code.at = at;
}
static void code_add(const void *bytes, size_t size) {
    memcpy(&code.page[0][0] + code.at, bytes, size);
    code.at += size;
}
static uint64_t code_end(void) { return (uint64_t)(uintptr_t)(&code.page[0][0] + code.at); }

static uintptr_t low = UINTPTR_MAX; /* of the stack: nothing is known */
static bool restarts(bool at_once) {
    uint64_t before = atom_load_rlx(&restarted_calls);
    if (restart_is_due(&context)) restart_call(&context, at_once, low);
    return atom_load_rlx(&restarted_calls) == before + 1;
}

#if defined(__x86_64__)

#define CODE(...) code_add((const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}))
#define LOAD_NUMBER(number) CODE(0xb8, (number)&255, (number) >> 8, 0, 0) /* mov $number, %eax */
#define SYSCALL() CODE(0x0f, 0x05)

static greg_t *registers = context.uc_mcontext.gregs;

static void interrupted(long result) {
    registers[REG_RIP] = (greg_t)code_end();
    registers[REG_RAX] = result;
}
static void expect_again(long number, bool at_once) {
    EXPECT(restarts(at_once));
    EXPECT_EQ(registers[REG_RAX], number);
    EXPECT_EQ(registers[REG_RIP], (greg_t)code_end() - 2);
}
static void expect_not(bool at_once) {
    long result = registers[REG_RAX];
    EXPECT(!restarts(at_once));
    EXPECT_EQ(registers[REG_RAX], result);
    EXPECT_EQ(registers[REG_RIP], (greg_t)code_end());
}

TEST(restart_number_just_before) {
    code_begin(100);
    LOAD_NUMBER(SYS_poll);
    SYSCALL();
    interrupted(-EINTR);
    expect_again(SYS_poll, true);
    interrupted(-EINTR);
    expect_not(false); /* its time would begin again */
    interrupted(-EAGAIN);
    expect_not(true);
    interrupted(4);
    expect_not(true);
}

TEST(restart_number_before_arguments) {
    code_begin(100);
    LOAD_NUMBER(SYS_pselect6);
    CODE(0x4d, 0x89, 0xca);             /* mov %r9, %r10 */
    CODE(0x48, 0x8b, 0x7c, 0x24, 0x08); /* mov 8(%rsp), %rdi */
    SYSCALL();
    interrupted(-EINTR);
    expect_again(SYS_pselect6, false); /* the kernel writes down what is left of its time */
}

TEST(restart_number_not_of_another_register) {
    code_begin(100);
    LOAD_NUMBER(SYS_futex);
    CODE(0x41, 0xb8, SYS_poll, 0, 0, 0); /* mov $7, %r8d */
    SYSCALL();
    interrupted(-EINTR);
    expect_again(SYS_futex, true);
}

TEST(restart_number_is_zero) {
    code_begin(100);
    CODE(0x31, 0xc0); /* xor %eax, %eax */
    SYSCALL();
    interrupted(-EINTR);
    expect_again(SYS_read, true);
}

/* An ignored signal came just before ours: the kernel has put another call's number in its place, and goes back to the instruction. */
static void prepared(void) {
    interrupted(SYS_restart_syscall);
    registers[REG_RIP] -= 2;
}
TEST(restart_what_the_kernel_was_about_to_restart) {
    code_begin(100);
    LOAD_NUMBER(SYS_poll);
    SYSCALL();
    prepared();
    expect_again(SYS_poll, true);
    prepared();
    EXPECT(!restarts(false));
    EXPECT_EQ(registers[REG_RAX], SYS_restart_syscall);
    prepared();
    registers[REG_RAX] = SYS_poll; /* not begun yet */
    EXPECT(!restarts(true));
    interrupted(SYS_restart_syscall); /* a result that happens to be that number */
    expect_not(true);
}

/* A handler of the program's has interrupted the call before, and returned: what the kernel kept for it is below the stack pointer. */
static uintptr_t old_stack[64];
static bool heard_of(unsigned sp, unsigned at, uintptr_t pc) {
    code_begin(100);
    LOAD_NUMBER(SYS_poll);
    SYSCALL();
    interrupted(-EINTR);
    memset(old_stack, 0, sizeof old_stack);
    low = (uintptr_t)old_stack;
    registers[REG_RSP] = (greg_t)&old_stack[sp];
    old_stack[at] = (uintptr_t)&old_stack[sp];
    old_stack[at + 1] = pc ? pc : code_end();
    bool again = restarts(true);
    low = UINTPTR_MAX;
    return !again;
}
TEST(restart_not_what_a_handler_of_the_programs_interrupted) {
    EXPECT(heard_of(63, 0, 0));
    EXPECT(heard_of(63, 30, 0));
    EXPECT(heard_of(63, 61, 0));
    EXPECT(!heard_of(63, 30, 4711)); /* somewhere else */
    EXPECT(!heard_of(32, 40, 0));    /* above */
    EXPECT(!heard_of(0, 40, 0));     /* there is nothing below */
}

TEST(restart_not_what_has_no_number) {
    code_begin(100);
    CODE(0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2); /* as in syscall() */
    SYSCALL();
    interrupted(-EINTR);
    expect_not(true);
}

TEST(restart_not_other_calls) {
    code_begin(100);
    LOAD_NUMBER(SYS_close); /* SA_RESTART sees to it, or it has done something */
    SYSCALL();
    interrupted(-EINTR);
    expect_not(true);
}

/* In a call that has not come to its end: it would return EINTR, or the kernel goes back to it. */
TEST(restart_in_call_or_not) {
    code_begin(100);
    LOAD_NUMBER(SYS_read);
    SYSCALL();
    interrupted(-EINTR);
    EXPECT(restart_in_call(&context));
    interrupted(4);
    EXPECT(!restart_in_call(&context));
    registers[REG_RCX] = (greg_t)code_end();
    registers[REG_RIP] -= 2;
    registers[REG_RAX] = SYS_read;
    EXPECT(restart_in_call(&context));
    registers[REG_RCX] = 4711; /* about to make it */
    EXPECT(!restart_in_call(&context));
    code_begin(100);
    CODE(0x0f, 0x06);
    interrupted(4);
    registers[REG_RCX] = (greg_t)code_end();
    registers[REG_RIP] -= 2;
    EXPECT(!restart_in_call(&context));
}

TEST(restart_not_without_a_call) {
    code_begin(100);
    LOAD_NUMBER(SYS_poll);
    CODE(0x0f, 0x06);
    interrupted(-EINTR);
    expect_not(true);
}

TEST(restart_does_not_look_beyond_the_page) {
    code_begin(sizeof code.page[0] - 6);
    LOAD_NUMBER(SYS_poll);
    SYSCALL();
    interrupted(-EINTR); /* one byte into the page */
    expect_not(true);
}

/* The passage of newer C libraries for calls that can be cancelled, and its caller. */
static uintptr_t stack[32];
static void passage_begin(unsigned char displacement) {
    code_begin(100);
    CODE(0x48, 0x8b, 0x74, 0x24, displacement);                 /* mov displacement(%rsp), %rsi */
    CODE(0x49, 0x89, 0xd0, 0x48, 0x89, 0xfa, 0x4c, 0x89, 0xdf); /* mov %rdx, %r8; mov %rdi, %rdx; mov %r11, %rdi */
    CODE(0xe8, 0, 0, 0, 0);                                     /* call */
    memset(stack, 0, sizeof stack);
    stack[0] = code_end();
    code.at = 1000;
    CODE(0x49, 0x89, 0xfb, 0x48, 0x89, 0xf0, 0x48, 0x89, 0xd7, 0x48, 0x89, 0xce, 0x4c, 0x89, 0xc2, 0x4d, 0x89, 0xca, 0x4c, 0x8b, 0x44, 0x24,
         0x08, 0x4c, 0x8b, 0x4c, 0x24, 0x10, 0x4c, 0x89, 0x5c, 0x24, 0x08);
    SYSCALL();
    registers[REG_RSP] = (greg_t)stack;
    interrupted(-EINTR);
}
TEST(restart_number_on_the_callers_stack) {
    passage_begin(0x20);
    stack[5] = SYS_epoll_wait;
    expect_again(SYS_epoll_wait, true);
    passage_begin(0x48);
    stack[10] = SYS_clock_nanosleep;
    expect_again(SYS_clock_nanosleep, true);
    passage_begin(0x20);
    stack[5] = SYS_close;
    expect_not(true);
    passage_begin(0x20);
    stack[5] = (uintptr_t)-1;
    expect_not(true);
    passage_begin(0x23); /* that is no such slot */
    memset(stack + 1, SYS_poll, sizeof stack - sizeof stack[0]);
    expect_not(true);
}
TEST(restart_not_from_other_callers) {
    passage_begin(0x20);
    stack[5] = SYS_poll;
    code.page[0][100 + 14] = 0x90; /* not a call */
    expect_not(true);
    passage_begin(0x20);
    stack[5] = SYS_poll;
    code.page[0][100 + 5] = 0x50; /* the stack pointer is not what it was: push */
    expect_not(true);
}

#elif defined(__aarch64__)

enum {
    SVC = 0xd4000001,
    MOV_X0_X19 = 0xaa1303e0,
    MOV_X0_X28 = 0xaa1c03e0,
    MOV_X0_X1 = 0xaa0103e0,
    MOV_X0_7 = 0xd28000e0,
    MOV_X1_X20 = 0xaa1403e1,
    MOV_X19_X20 = 0xaa1403f3,
    MOV_W5_W0 = 0x2a0003e5,
    MOV_X8_73 = 0xd2800928,
    SXTW_X0_W0 = 0x93407c00,
    LDP_X1_X3_SP = 0xa9430fe1,
    LDP_X1_X19_SP = 0xa9434fe1,
    CAS_X19_X1_X2 = 0xc8b37c41,
    BRANCH = 0x94000010,
};
static mcontext_t *machine = &context.uc_mcontext;

static void compiled(const uint32_t *instructions, unsigned count) {
    code_begin(400);
    code_add(instructions, count * sizeof *instructions);
    code_add(&(uint32_t){SVC}, 4);
    for (unsigned i = 1; i < 31; i++)
        machine->regs[i] = 1000 + i;
    machine->regs[0] = (uint64_t)-EINTR;
    machine->regs[8] = SYS_ppoll;
    machine->pc = code_end();
}
#define COMPILED(...) compiled((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)
static void expect_again(uint64_t first) {
    EXPECT(restarts(true));
    EXPECT_EQ(machine->regs[0], first);
    EXPECT_EQ(machine->pc, code_end() - 4);
}
static void expect_not(void) {
    uint64_t result = machine->regs[0];
    EXPECT(!restarts(true));
    EXPECT_EQ(machine->regs[0], result);
    EXPECT_EQ(machine->pc, code_end());
}

TEST(restart_first_argument_kept_in_a_register) {
    COMPILED(MOV_X0_X19);
    expect_again(1019);
    COMPILED(BRANCH, MOV_W5_W0, MOV_X0_X28, LDP_X1_X3_SP, MOV_X8_73);
    expect_again(1028);
}
TEST(restart_first_argument_is_a_number) {
    COMPILED(MOV_X0_7, MOV_X1_X20, MOV_X8_73);
    expect_again(7);
}
/* An ignored signal came just before ours: the kernel has put the first argument back, and another call's number in its place. */
static void prepared(void) {
    machine->regs[0] = 4711;
    machine->regs[8] = SYS_restart_syscall;
    machine->pc = code_end() - 4;
}
TEST(restart_what_the_kernel_was_about_to_restart) {
    COMPILED(MOV_X0_X1, MOV_X8_73, MOV_X1_X20);
    prepared();
    expect_again(4711);
    EXPECT_EQ(machine->regs[8], 73);
    COMPILED(MOV_X8_73, BRANCH); /* lost */
    prepared();
    EXPECT(!restarts(true));
    EXPECT_EQ(machine->regs[8], SYS_restart_syscall);
}
/* In a call that has not come to its end: it would return EINTR, or the kernel goes back to it. */
TEST(restart_in_call_or_not) {
    COMPILED(MOV_X0_X19, MOV_X8_73);
    EXPECT(restart_in_call(&context));
    machine->regs[0] = 4;
    EXPECT(!restart_in_call(&context));
    machine->pc -= 4;
    EXPECT(restart_in_call(&context));
    machine->pc -= 4;
    EXPECT(!restart_in_call(&context));
}
TEST(restart_not_when_it_is_lost) {
    COMPILED(MOV_X0_X1, MOV_X1_X20); /* as in syscall() */
    expect_not();
    COMPILED(SXTW_X0_W0, MOV_X8_73);
    expect_not();
    COMPILED(MOV_X0_X19, MOV_X19_X20);
    expect_not();
    COMPILED(MOV_X0_X19, LDP_X1_X19_SP);
    expect_not();
    COMPILED(MOV_X0_X19, CAS_X19_X1_X2);
    expect_not();
    COMPILED(MOV_X0_X19, BRANCH, MOV_X8_73);
    expect_not();
    COMPILED(MOV_X8_73);
    expect_not();
}
TEST(restart_not_other_calls_or_results) {
    COMPILED(MOV_X0_X19);
    machine->regs[8] = SYS_close;
    expect_not();
    COMPILED(MOV_X0_X19);
    machine->regs[0] = (uint64_t)-EAGAIN;
    expect_not();
    COMPILED(MOV_X0_X19);
    machine->regs[8] = SYS_epoll_pwait;
    EXPECT(!restarts(false)); /* its time would begin again */
    COMPILED(MOV_X0_X19);
    machine->pc += 4;
    code.at += 4;
    expect_not();
}

#endif

int main(int argc, char **argv) { return test_main(argc, argv); }
