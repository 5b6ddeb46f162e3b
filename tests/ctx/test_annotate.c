/* Telling tools about switches. What is wrong here shows as a report of the tool, in its build. */
#include "flow.h"

#include <pthread.h>
#include <stdio.h>

static struct flow home, one, two;

/* In a plain build it costs nothing, not even room. */
#if !ANNOTATE_ADDRESS && !ANNOTATE_THREAD
_Static_assert(sizeof(struct annotate) == 0, "empty");
#endif

static __attribute__((noinline)) unsigned deep(unsigned depth, struct flow *from, struct flow *to) {
    volatile char marked[200]; /* with marked bytes around it under the address sanitizer */
    memset((char *)marked, (int)depth, sizeof marked);
    if (depth) return deep(depth - 1, from, to) + (unsigned)marked[depth % sizeof marked];
    if (!from) flow_end(&one, to, NULL);
    flow_switch(from, to, NULL);
    return (unsigned)marked[0];
}

static void ends_deep(void *gift) {
    (void)gift;
    annotate_after_switch(&one.annotate);
    deep(20, NULL, &home);
}

static __attribute__((noinline)) void write_all(char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((volatile char *)bytes)[i] = (char)i;
}

static void writes_all(void *gift) {
    (void)gift;
    annotate_after_switch(&one.annotate);
    char bytes[64 << 10];
    write_all(bytes, sizeof bytes);
    flow_end(&one, &home, NULL);
}

/* One ends in the middle of its calls; the next on that stack finds nothing of it. */
TEST(annotate_stack_is_clean_for_the_next) {
    flow_home(&home);
    flow_make(&one, ends_deep);
    char *low = one.low;
    for (unsigned round = 0; round < 100; round++) {
        flow_switch(&home, &one, NULL);
        annotate_destroy(&one.annotate);
        flow_make_on(&one, low, round % 2 ? ends_deep : writes_all);
    }
    flow_switch(&home, &one, NULL);
    flow_free(&one);
}

/* Two flows, deep in their calls, turn by turn; what they share is ordered by the switches. */
static unsigned turns;
static void turns_one(void *gift) {
    (void)gift;
    annotate_after_switch(&one.annotate);
    for (;;) {
        turns++;
        deep(turns % 30, &one, &two);
    }
}
static void turns_two(void *gift) {
    (void)gift;
    annotate_after_switch(&two.annotate);
    for (;;) {
        turns++;
        deep(turns % 17, &two, turns % 5 ? &one : &home);
    }
}

TEST(annotate_switches_in_the_middle_of_calls) {
    flow_home(&home);
    flow_make(&one, turns_one);
    flow_make(&two, turns_two);
    unsigned mine = 0;
    for (unsigned round = 0; round < 1000; round++) {
        mine += deep(round % 10, &home, &one);
        turns++;
    }
    EXPECT(turns > 2000);
    flow_free(&one);
    flow_free(&two);
    (void)mine;
}

/* A thread's own stack is known by its true bounds, also after others ran on it. */
static void *on_thread(void *arg) {
    struct flow mine;
    (void)arg;
    flow_home(&mine);
#if ANNOTATE_ADDRESS
    const char *here = __builtin_frame_address(0), *known = mine.annotate.low;
    EXPECT(here > known && here < known + mine.annotate.size);
    EXPECT(mine.annotate.size >= 64 << 10); /* not the bounds it pretended to go to */
#endif
    return NULL;
}

TEST(annotate_knows_a_threads_stack) {
    on_thread(NULL);
    for (unsigned i = 0; i < 3; i++) {
        pthread_t thread;
        EXPECT(pthread_create(&thread, NULL, on_thread, NULL) == 0);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
