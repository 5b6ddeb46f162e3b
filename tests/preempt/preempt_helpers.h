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

/* The threads of every third runtime have alarms that count computing time, where the kernel allows them, those of another third have timers, and those of the rest none; or
 * all have those that a test asks for. */
static enum sys_alarm_kind pre_alarms;
static inline enum sys_alarm_kind pre_alarms_next(void) {
    static unsigned starts;
    return pre_alarms ? pre_alarms : (enum sys_alarm_kind)(starts++ % 3);
}

static inline void pre_start(const char *policy, unsigned workers, unsigned slice_us) {
    enum sys_alarm_kind alarms = pre_alarms_next();
    rt_count_memory();
    if (alarms != SYS_ALARM_COMPUTING) sys_script.alarm_error[SYS_ALARM_COMPUTING] = -EPERM; /* as where the kernel allows none */
    rt_start_scripted(&(weft_config){.policy = policy,
                                     .workers = workers,
                                     .seed = 1,
                                     .preempt = true,
                                     .preempt_us = slice_us,
                                     .preempt_alarms = alarms == SYS_ALARM_ANYWHERE});
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
