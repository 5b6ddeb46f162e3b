/* The table of parts (sched/parts.h), through which lower rooms call higher ones. */
#include "sched/parts.h"

#include "command/command.h"
#include "fiber/cleanup.h"
#include "fiber/overflow.h"
#include "forkjoin/regions.h"
#include "forkjoin/thief.h"
#include "mail/mailbox.h"
#include "net/desc.h"
#include "preempt/preempt.h"
#include "runtime/report.h"
#include "step/step.h"
#include "thread/stopped.h"

const struct parts parts = {
    .run = step_run,
    .dispatch = command_dispatch,
    .carry = fiber_carry,
    .guard_begin = guard_begin,
    .guard_end = guard_end,
    .mailbox_end = mailbox_end,

    .take_stopped = stopped_take,
    .steal_task = forkjoin_steal,
    .take_task = forkjoin_take,
    .any_task = forkjoin_anything,
    .tasks_may_wait = tasks_may_wait,
    .deliver = net_deliver,

    .thread_begins = overflow_thread_begin,
    .thread_ends = overflow_thread_end,
    .preempt_begin = preempt_begin,
    .in_program = preempt_in_program,

    .name = report_name,
    .hogs = report_hogs,
    .all_asleep = deadlock_check,
    .sysmon_round = deadlock_hurry,
    .dump = weft_dump,
};
