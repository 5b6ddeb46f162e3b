/* What the tests of the switch share: a flow of control with a stack of its own, with the tools told about every
 * switch. */
#ifndef WEFT_TESTS_CTX_FLOW_H
#define WEFT_TESTS_CTX_FLOW_H

#include "ctx/annotate.h"
#include "ctx/ctx.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Switches of the long tests are divided by this. */
#if ANNOTATE_ADDRESS || ANNOTATE_THREAD
enum { FLOW_SLOW = 20 };
#elif defined(__aarch64__)
enum { FLOW_SLOW = 4 }; /* most likely an emulator */
#else
enum { FLOW_SLOW = 1 };
#endif

enum { FLOW_STACK = 256 << 10 };

struct flow {
    struct ctx ctx;
    struct annotate annotate;
    char *low;
};

/* A flow that is the calling thread itself. */
static inline void flow_home(struct flow *flow) {
    memset(flow, 0, sizeof *flow);
    annotate_thread(&flow->annotate);
}

static inline void flow_make_on(struct flow *flow, char *low, void (*entry)(void *)) {
    memset(flow, 0, sizeof *flow);
    flow->low = low;
    annotate_create(&flow->annotate, low, low + FLOW_STACK);
    ctx_make(&flow->ctx, low + FLOW_STACK, entry);
}

static inline void flow_make(struct flow *flow, void (*entry)(void *)) {
    char *low = mmap(NULL, FLOW_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(low != MAP_FAILED);
    annotate_stack(low, low + FLOW_STACK);
    flow_make_on(flow, low, entry);
}

static inline void flow_free(struct flow *flow) {
    annotate_destroy(&flow->annotate);
    munmap(flow->low, FLOW_STACK);
}

static inline __attribute__((always_inline)) void *flow_switch(struct flow *from, struct flow *to, void *gift) {
    annotate_before_switch(&from->annotate, &to->annotate, false);
    gift = ctx_switch(&from->ctx, &to->ctx, gift);
    annotate_after_switch(&from->annotate);
    return gift;
}

static inline __attribute__((always_inline, noreturn)) void flow_end(struct flow *from, struct flow *to, void *gift) {
    annotate_before_switch(&from->annotate, &to->annotate, true);
    ctx_switch(&from->ctx, &to->ctx, gift);
    abort();
}

#endif
