/* The table of parts (sched/parts.h), through which lower rooms call higher ones. */
#include "sched/parts.h"

#include "command/command.h"
#include "fiber/cleanup.h"
#include "fiber/fault.h"
#include "forkjoin/regions.h"
#include "forkjoin/thief.h"
#include "life/cancel.h"
#include "mail/mailbox.h"
#include "net/desc.h"
#include "preempt/preempt.h"
#include "registry/registry.h"
#include "runtime/report.h"
#include "step/step.h"
#include "thread/stopped.h"

const struct parts parts = {
    .run = step_run,
    .begin_command = command_begin,
    .carry = fiber_carry,
    .guard_begin = guard_begin,
    .guard_end = guard_end,
    .heed = fiber_heed_call,
    .keep = fiber_keep,
    .mailbox_end = mailbox_end,
    .bounds_begin = bounds_begin,

    .registry_newborn = registry_newborn,
    .registry_end = registry_end,

    .take_stopped = stopped_take,
    .steal_task = forkjoin_steal,
    .take_task = forkjoin_take,
    .any_task = forkjoin_anything,
    .tasks_may_wait = tasks_may_wait,
    .deliver = net_deliver,

    .thread_begins = fault_thread_begin,
    .thread_ends = fault_thread_end,
    .preempt_begin = preempt_begin,
    .condemned_any = condemned_any,
    .in_program = preempt_in_program,

    .name = report_name,
    .hogs = report_hogs,
    .all_asleep = deadlock_check,
    .sysmon_round = deadlock_hurry,
    .dump = dump_after_fault,
};
