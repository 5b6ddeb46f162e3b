/* 000.2: a thread that has once found work never idles and never ends. */
#include "thread_queue.h"

SHARED struct thread own;
SHARED struct process only;
SHARED atom_bool stop;

static void setup(void) { thread_fill(&own, &only); }

static struct process *dequeue(void) {
    struct process *p;
    while (!thread_try_dequeue(&own, &p))
        continue;
    return p;
}

/* As printed, with the test for the end that its outer loop would need: the inner loop does not leave on Null. */
static void run_thread(void) {
    while (!atom_load_sc(&stop)) {
        thread_wait(&own);
        for (struct spin spin = spin_begin();; spin_wait(&spin))
            for (struct process *p = dequeue(); p != NULL; p = NULL)
                process_run(p);
    }
}

static void run_thread_corrected(void) {
    while (!atom_load_sc(&stop)) {
        uint32_t heard = atom_load_sc(&own.bell);
        struct process *p = dequeue();
        if (p != NULL) process_run(p);
        else if (!atom_load_sc(&stop)) sys->futex_wait(&own.bell, heard, SYS_FOREVER);
    }
}

static void stopper(void) {
    atom_store_sc(&stop, true);
    thread_wakeup(&own);
}

SCENARIO(flaw_000_2_inner_loop_never_leaves, .about = "RunThread's inner loop goes round on Null although it was told to stop",
         .setup = setup, .threads = {run_thread, stopper}, .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)
SCENARIO(fixed_000_2_loop_leaves_on_null, .about = "a thread that finds nothing looks at its orders, then sleeps", .setup = setup,
         .threads = {run_thread_corrected, stopper})
