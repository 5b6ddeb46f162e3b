/* Cancellations that are brought to processes which wait in calls: real threads, the states of processes without a runtime behind them. */
#include "life/interrupt.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>

enum { WAITERS = 4, ROUNDS = 20000 };

static struct runtime *runtime;
static struct proc *procs;

struct waiting {
    struct interrupt interrupt; /* first */
    struct parker parker;
    unsigned pokes;
};
static void poke(struct interrupt *interrupt) {
    struct waiting *own = (struct waiting *)interrupt;
    own->pokes++;
    parker_unpark(&own->parker);
}

static void begin(void) {
    runtime = calloc(1, sizeof *runtime);
    procs = aligned_alloc(64, WAITERS * sizeof *procs);
    lock_init(&runtime->interrupts.lock);
    for (unsigned i = 0; i < WAITERS; i++)
        state_init(&procs[i].state);
}
static void end(void) {
    EXPECT(runtime->interrupts.first == NULL);
    free(procs);
    free(runtime);
}

static bool cancel(struct proc *proc) {
    bool first = state_cancel(&proc->state);
    if (first) interrupt_cancelled(runtime, proc);
    return first;
}

TEST(interrupt_pokes_the_process_that_waits) {
    struct waiting waiting[3] = {{.interrupt.poke = poke}, {.interrupt.poke = poke}, {.interrupt.poke = poke}};
    begin();
    for (unsigned i = 0; i < 3; i++)
        EXPECT(interrupt_begin(runtime, &procs[i], &waiting[i].interrupt));
    EXPECT(cancel(&procs[1]));
    EXPECT(!cancel(&procs[1]));
    EXPECT(waiting[0].pokes == 0 && waiting[1].pokes == 1 && waiting[2].pokes == 0);
    interrupt_end(runtime, &waiting[1].interrupt);
    interrupt_end(runtime, &waiting[2].interrupt);
    EXPECT(cancel(&procs[2])); /* no process waits there any more */
    EXPECT_EQ(waiting[2].pokes, 0);
    interrupt_end(runtime, &waiting[0].interrupt);
    EXPECT(!interrupt_begin(runtime, &procs[2], &waiting[2].interrupt)); /* cancelled before */
    end();
}

/* Each waits again and again, and is cancelled at any moment: none waits in vain. */
static atom_u32 stage[WAITERS];
static void *waits(void *argument) {
    unsigned index = (unsigned)(uintptr_t)argument;
    struct proc *proc = &procs[index];
    for (unsigned round = 1; round <= ROUNDS; round++) {
        struct waiting own = {.interrupt.poke = poke};
        parker_init(&own.parker);
        atom_store_rel(&stage[index], 2 * round - 1); /* may be cancelled from here on */
        if (interrupt_begin(runtime, proc, &own.interrupt)) {
            parker_park(&own.parker, SYS_FOREVER);
            interrupt_end(runtime, &own.interrupt);
            EXPECT_EQ(own.pokes, 1);
        }
        EXPECT(state_is_cancelled(&proc->state));
        while (atom_load_acq(&stage[index]) != 2 * round) /* the other side is done with this one */
            sched_yield();
        state_init(&proc->state);
    }
    return NULL;
}
static void *cancels(void *argument) {
    unsigned index = (unsigned)(uintptr_t)argument;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        while (atom_load_acq(&stage[index]) != 2 * round - 1)
            sched_yield();
        for (volatile unsigned k = 0; k < round % 64; k++) {}
        EXPECT(cancel(&procs[index]));
        atom_store_rel(&stage[index], 2 * round);
    }
    return NULL;
}
TEST(interrupt_begins_beside_cancel) {
    pthread_t threads[2 * WAITERS];
    begin();
    for (uintptr_t i = 0; i < WAITERS; i++) {
        EXPECT_EQ(pthread_create(&threads[2 * i], NULL, waits, (void *)i), 0);
        EXPECT_EQ(pthread_create(&threads[2 * i + 1], NULL, cancels, (void *)i), 0);
    }
    for (unsigned i = 0; i < 2 * WAITERS; i++)
        pthread_join(threads[i], NULL);
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
