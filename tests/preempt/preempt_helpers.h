/* What the tests of preemption share: a runtime whose processes are interrupted often, and what came of it. */
#ifndef WEFT_TESTS_PREEMPT_PREEMPT_HELPERS_H
#define WEFT_TESTS_PREEMPT_PREEMPT_HELPERS_H

#include "victim.h"

#include "preempt/preempt.h"

#include <weft/preempt.h>

/* The thread sanitizer delays signals until it likes them, so nothing can be said about a signal at any instruction. */
#if ANNOTATE_THREAD
#define PREEMPT_TEST_APPLIES()                                                                                                             \
    do {                                                                                                                                   \
        printf("note: not under the thread sanitizer, which delays signals\n");                                                            \
        return;                                                                                                                            \
    } while (0)
#else
#define PREEMPT_TEST_APPLIES() (void)0
#endif

/* Every second runtime has alarms; all, where a test asks for it. */
static bool pre_always_alarms;
static inline bool pre_alarms(void) {
    static unsigned starts;
    return pre_always_alarms || starts++ % 2 == 1;
}

static inline void pre_start(const char *policy, unsigned workers, unsigned slice_us) {
    rt_start_with(&(weft_config){
        .policy = policy, .workers = workers, .seed = 1, .preempt = true, .preempt_us = slice_us, .preempt_alarms = pre_alarms()});
}

/* Whether an address is in weft's code, which is linked into every test. */
extern const char __start_weft_text[], __stop_weft_text[];
static inline bool pre_is_in_weft(uintptr_t address) {
    return address >= (uintptr_t)__start_weft_text && address < (uintptr_t)__stop_weft_text;
}

static inline uint64_t pre_verdict(enum preempt_verdict verdict) { return atom_load_rlx(&preempt_verdicts[verdict]); }

static inline void pre_note(const char *what) {
    printf(
        "note: %s: %lu interrupted, %lu in weft, %lu elsewhere, %lu forbidden, %lu with pinned_count, %lu without a thread, %lu too many, "
        "%lu not asked, %lu not marked; %lu stacks walked\n",
        what, pre_verdict(PREEMPT_DONE), pre_verdict(PREEMPT_IN_WEFT), pre_verdict(PREEMPT_ELSEWHERE), pre_verdict(PREEMPT_FORBIDDEN),
        pre_verdict(PREEMPT_WITH_PINNED), pre_verdict(PREEMPT_NO_THREAD), pre_verdict(PREEMPT_TOO_MANY), pre_verdict(PREEMPT_NOT_ASKED),
        pre_verdict(PREEMPT_NOT_MARKED), atom_load_rlx(&preempt_walked));
}

#endif
