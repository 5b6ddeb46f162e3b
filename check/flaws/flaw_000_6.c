/* 000.6: going idle just after the submitter looked for idle threads. */
#include "idle_stack.h"

SHARED struct idle idle;
SHARED struct roster roster;
SHARED struct thread busy, dozer;
SHARED struct process one;
static struct thread *threads[] = {&busy, &dozer};

static void setup(void) { atom_store_rlx(&one.state, QUEUED); }

static void doze(void) {
    idle_push(&idle, &dozer);
    thread_wait(&dozer);
}
static void submitter(void) { enqueue_on_any(&idle, threads, 2, &one); }
static void doze_corrected(void) { process_run(find_or_sleep(&roster, &dozer, threads, 2)); }
static void submitter_corrected(void) { submit(&roster, threads, 2, &one); }

SCENARIO(flaw_000_6_idle_after_the_check,
         .about = "no idle thread, says the submitter; now there is one, and it looks at its own "
                  "queue only: work waits while a thread sleeps",
         .setup = setup, .threads = {doze, submitter}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
SCENARIO(fixed_000_6_publish_then_rescan, .about = "publish idle, fence, rescan all; publish work, fence, look for a sleeper",
         .setup = setup, .threads = {doze_corrected, submitter_corrected})

/* The right order of steps is not enough: each side stores one cell and then loads the other's. */
SHARED atom_u32 work, asleep;

static void wait_for_work(void) {
    while (atom_load_acq(&asleep) == 1)
        sys->futex_wait(&asleep, 1, SYS_FOREVER);
    chk_assert(atom_load_acq(&work) == 1, "woken for work");
}
static void sleeper_unfenced(void) {
    atom_store_rel(&asleep, 1);
    if (atom_load_acq(&work) == 0) wait_for_work();
}
static void sleeper_fenced(void) {
    atom_store_sc(&asleep, 1);
    if (atom_load_sc(&work) == 0) wait_for_work();
}
static void submitter_unfenced(void) {
    atom_store_rel(&work, 1);
    if (atom_load_acq(&asleep) == 0) return;
    atom_store_rel(&asleep, 0);
    sys->futex_wake(&asleep, 1);
}
static void submitter_fenced(void) {
    atom_store_sc(&work, 1);
    if (atom_load_sc(&asleep) == 0) return;
    atom_store_rel(&asleep, 0);
    sys->futex_wake(&asleep, 1);
}

SCENARIO(flaw_000_6_right_order_no_fence, .about = "both publish first and look then, but the stores may still be in flight",
         .threads = {sleeper_unfenced, submitter_unfenced}, .flawed_in = CHK_TSO | CHK_C11, .flaw = CHK_LOST_WAKEUP)
SCENARIO(flaw_000_6_fence_on_one_side_only, .about = "the submitter fences, the sleeper does not",
         .threads = {sleeper_unfenced, submitter_fenced}, .flawed_in = CHK_TSO | CHK_C11, .flaw = CHK_LOST_WAKEUP)
SCENARIO(fixed_000_6_fence_on_both_sides, .about = "a seq_cst store before a seq_cst load on both sides",
         .threads = {sleeper_fenced, submitter_fenced})
