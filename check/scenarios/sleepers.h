/* Processes that sleep until a letter comes, each with its own, and count how often they have run. For scenarios whose workers are real. */
#ifndef WEFT_CHECK_SCENARIOS_SLEEPERS_H
#define WEFT_CHECK_SCENARIOS_SLEEPERS_H

#include "small_runtime.h"

#include "mail/send.h"
#include "sched/door.h"

enum { SLEEPERS = 3 };

static weft_pid pid[SLEEPERS];
SHARED struct message letters[SLEEPERS];
SHARED unsigned runs[SLEEPERS]; /* a process's own */

static int count_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count, (void)out;
    runs[*(unsigned *)self]++;
    return 0;
}
static int count_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(unsigned *)self = *(const unsigned *)input;
    return 0;
}
static const weft_behavior counts = {.name = "counts", .state_size = sizeof(unsigned), .init = count_init, .step = count_step};

/* In setup: so many, asleep. */
static inline void sleepers_begin(unsigned count) {
    small_play(0);
    for (unsigned i = 0; i < count; i++) {
        chk_assert(weft_spawn_step(&counts, &(weft_spawn_options){.input = &i, .input_size = sizeof i}, &pid[i]) == 0, "spawned");
        small_name(pid[i]);
        struct proc *proc = policy_pop(small_worker(0));
        chk_assert(proc == small_proc(pid[i]), "claimed");
        state_park(&proc->state, STATE_IDLE);
        small_message(&letters[i], 0);
    }
}

static inline void send_from_outside(unsigned i) {
    unsigned door;
    struct local *local = door_enter(small->instance, &door);
    chk_assert(send_message(local, NULL, pid[i], &letters[i]) == 0, "it lives");
    door_leave(small->instance, door);
}

#endif
