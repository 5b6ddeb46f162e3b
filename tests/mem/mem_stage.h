/* What the tests of stacks share: stacks and two caches on a scripted system that must get everything back. */
#ifndef WEFT_TESTS_MEM_MEM_STAGE_H
#define WEFT_TESTS_MEM_MEM_STAGE_H

#include "mem/stack.h"
#include "sanitized.h"
#include "scripted.h"
#include "test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, CLASS = 2 /* 64 KiB */ };

static struct stacks stacks;
static struct stack_cache a, b;
static int probe[2];

static inline void begin(void) {
    EXPECT_EQ(sysconf(_SC_PAGESIZE), PAGE);
    EXPECT(pipe(probe) == 0);
    sys_scripted_install();
    stacks_init(&stacks);
    stack_cache_init(&a, &stacks);
    stack_cache_init(&b, &stacks);
}

static inline void end(void) {
    stacks_destroy(&stacks);
    EXPECT_EQ(sys_scripted_live(), 0);
    EXPECT_EQ(sys_scripted_mapped(), 0);
    sys_scripted_reset();
}

/* Guards for so many stacks: where the kernel takes many at once, all of a range's. */
static inline uint64_t guards_for(uint64_t stacks_taken) {
    if (atom_load_rlx(&stacks.one_by_one)) return stacks_taken;
    return (stacks_taken + STACK_RANGE - 1) / STACK_RANGE * STACK_RANGE;
}

/* Guards that were asked for, alone or many at once. */
static inline uint64_t guards(void) {
    return atom_load_rlx(&sys_script.counts.vm_advise[SYS_VM_GUARD]) + atom_load_rlx(&sys_script.counts.vm_guards);
}
static inline uint64_t drops(void) { return atom_load_rlx(&sys_script.counts.vm_advise[SYS_VM_DROP]); }

/* Can the kernel read that byte? It faults in our stead. */
static inline bool there(const void *at) {
    char byte;
    ssize_t wrote = write(probe[1], at, 1);
    if (wrote == 1) EXPECT(read(probe[0], &byte, 1) == 1);
    return wrote == 1;
}

/* Writes from a depth up to the top, as calls would. */
static inline void use(struct stack *stack, size_t depth, int value) {
    unsigned char *top = stack_top(stack);
    memset(top - depth, value, depth);
}

static inline size_t resident(struct stack *stack) {
    static unsigned char pages[4096];
    size_t size = ((uintptr_t)stack_top(stack) | (PAGE - 1)) + 1 - (uintptr_t)stack->low, count = 0;
    EXPECT(sys_linux.vm_resident(stack->low, size, pages) == 0);
    for (size_t i = 0; i < size / PAGE; i++)
        count += pages[i] & 1;
    return count;
}

#endif
