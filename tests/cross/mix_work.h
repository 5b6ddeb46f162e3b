/* Functions that block, tasks, files, places where a process stays or gives way. */
#ifndef WEFT_TESTS_CROSS_MIX_WORK_H
#define WEFT_TESTS_CROSS_MIX_WORK_H

#include "mix.h"

static struct {
    atom_u64 called, returned; /* functions that block */
    atom_u64 given, finished;  /* those that may be abandoned: the call's answer or `abandoned` has told of it */
    FILE *file;
} work;

static inline void block_a_little(void *arg) {
    EXPECT_EQ(weft_self(), WEFT_NOBODY);
    usleep((useconds_t)(uintptr_t)arg);
    atom_add_rel(&work.returned, 1);
}
static inline void act_blocking(struct member *member) {
    void *span = (void *)(uintptr_t)mix_below(member, 200);
    atom_add_rlx(&work.called, 1);
    int error = mix_below(member, 2) ? weft_blocking(block_a_little, span) : weft_blocking_long(block_a_little, span);
    mix_expect(error, WEFT_FOREVER);
    EXPECT_EQ(weft_self(), member->self);
}
static inline void act_blocking_between(struct member *member) {
    weft_blocking_enter();
    usleep(mix_below(member, 100));
    weft_blocking_leave();
    EXPECT_EQ(weft_self(), member->self);
}

struct errand {
    useconds_t span;
    bool ran;
};
static inline void errand_run(void *arg) {
    struct errand *errand = arg;
    usleep(errand->span);
    errand->ran = true;
}
static inline void errand_abandoned(void *arg) {
    free(arg);
    atom_add_rel(&work.finished, 1);
}
static inline void act_blocking_until(struct member *member) {
    struct errand *errand = malloc(sizeof *errand);
    *errand = (struct errand){.span = mix_below(member, 300)};
    atom_add_rlx(&work.given, 1);
    uint64_t deadline = mix_deadline(member);
    int error = weft_blocking_until(errand_run, errand, errand_abandoned, deadline);
    mix_expect(error, deadline);
    if (error) return;
    EXPECT(errand->ran);
    free(errand);
    atom_add_rel(&work.finished, 1);
}

WEFT_TASK(uint64_t, mix_fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_FORK(mix_fib, n - 1);
    uint64_t b = WEFT_CALL(mix_fib, n - 2);
    return WEFT_JOIN(mix_fib) + b;
}
static inline void act_fork(struct member *member) {
    (void)member;
    EXPECT_EQ(WEFT_RUN(mix_fib, 12), 144);
}

static const char work_text[] = "the same for all";
static inline void act_file(struct member *member) {
    char data[sizeof work_text] = "";
    (void)member;
    ssize_t got = weft_file_pread(fileno(work.file), data, sizeof data, 0);
    if (got < 0) return mix_expect((int)got, WEFT_FOREVER);
    EXPECT(got == sizeof data && memcmp(data, work_text, sizeof data) == 0);
}

static inline void act_yield(struct member *member) {
    if (mix_below(member, 2)) weft_yield();
    else weft_checkpoint();
}
static inline void act_compute(struct member *member) {
    uint64_t until = weft_now() + mix_below(member, 100000);
    while (weft_now() < until) {}
}

static inline void work_open(void) {
    memset(&work, 0, sizeof work);
    work.file = tmpfile();
    EXPECT(work.file);
    EXPECT_EQ(pwrite(fileno(work.file), work_text, sizeof work_text, 0), (ssize_t)sizeof work_text);
}
static inline void work_close(void) {
    mix_balance("functions that block", &work.called, &work.returned);
    mix_balance("functions that may be abandoned", &work.given, &work.finished);
    fclose(work.file);
}

#endif
