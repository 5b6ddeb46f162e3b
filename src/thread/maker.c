/* The thread maker: see thread/maker.h. */
#include "thread/maker.h"

#include "thread/thread.h"

#include <signal.h>

enum {
    MAKER_REST_MOST = 4,        /* threads at rest, besides one */
    MAKER_ALARM_SLICE = 500000, /* ns; with shorter slices what such alarms take, 60 us each, is too much of them */
};

/* Which kind of alarm the threads will have (stopped.h, A8). Of the kind that not every kernel allows one is tried here, and kept: the first in a program may take the
 * kernel 14 ms, and those that are made beside it take 15 us. */
static sys_alarm thread_maker_alarm(struct preempt *preempt) {
    sys_alarm alarm = {0};
    enum sys_alarm_kind kind = preempt->alarms_anywhere ? SYS_ALARM_ANYWHERE : SYS_ALARM_COMPUTING;
    if (kind == SYS_ALARM_COMPUTING && (preempt->slice < MAKER_ALARM_SLICE || sys->alarm_make(&alarm, kind, SIGURG) != 0))
        kind = SYS_ALARM_NONE;
    atom_store_rlx(&preempt->alarms, kind); /* rlx: a number */
    return alarm;
}

static void thread_maker_prepare(struct runtime *runtime) {
    struct thread_maker *maker = &runtime->preempt.maker;
    unsigned workers = atom_load_rlx(&runtime->wanted); /* rlx, here and below: numbers */
    unsigned wanted = 1 + (workers < MAKER_REST_MOST ? workers : MAKER_REST_MOST);
    bool refused = false;
    while (!refused && !atom_load_rlx(&maker->over) &&
           atom_load_rlx(&runtime->threads.at_rest) + atom_load_rlx(&runtime->threads.coming) < wanted)
        refused = thread_prepare(runtime) != 0;
    atom_store_rlx(&maker->refused, refused);
}

static void *thread_maker_main(void *argument) {
    struct runtime *runtime = argument;
    struct thread_maker *maker = &runtime->preempt.maker;
    sys->thread_name("weft-maker");
    thread_maker_prepare(runtime);
    sys_alarm alarm = thread_maker_alarm(&runtime->preempt);
    while (!atom_load_acq(&maker->over)) { /* acq: pairs with the rel in thread_maker_stop */
        parker_park(&maker->parker, SYS_FOREVER);
        thread_maker_prepare(runtime);
    }
    if (alarm.kind) sys->alarm_drop(&alarm);
    return NULL;
}

int thread_maker_start(struct runtime *runtime) {
    struct thread_maker *maker = &runtime->preempt.maker;
    parker_init(&maker->parker);
    atom_store_rlx(&maker->over, false); /* rlx: the thread comes after it */
    int error = sys->thread_start(&maker->thread, thread_maker_main, runtime);
    maker->started = error == 0;
    return error;
}

void thread_maker_stop(struct runtime *runtime) {
    struct thread_maker *maker = &runtime->preempt.maker;
    if (!maker->started) return;
    atom_store_rel(&maker->over, true); /* rel: pairs with the acq in thread_maker_main */
    parker_unpark(&maker->parker);
    sys->thread_join(maker->thread);
    maker->started = false;
}

void thread_maker_call(struct runtime *runtime) { parker_unpark(&runtime->preempt.maker.parker); }
