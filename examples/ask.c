/* Two processes: one doubles what it is sent, the other asks it. */
#include <weft/weft.h>

#include <semaphore.h>
#include <stdio.h>

static sem_t answered;

static int doubler_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_MESSAGE) weft_send(events[i].from, 2 * events[i].tag, NULL, 0);
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE); /* the runtime is being stopped */
    }
    return 0; /* and waits for the next message, unless it is done */
}
static const weft_behavior doubler = {.name = "doubler", .step = doubler_step};

/* The first step of a process comes without events. */
static int asker_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    weft_pid *to = self;
    if (count == 0) return weft_send(*to, 21, NULL, 0);
    printf("the answer is %d\n", (int)events[0].tag);
    weft_out_status(out, WEFT_STEP_DONE);
    sem_post(&answered);
    return 0;
}
static int asker_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(weft_pid *)self = *(const weft_pid *)input;
    return 0;
}
static const weft_behavior asker = {.name = "asker", .state_size = sizeof(weft_pid), .init = asker_init, .step = asker_step};

int main(void) {
    weft_runtime *runtime;
    weft_pid first, second;
    sem_init(&answered, 0, 0);
    if (weft_start(NULL, &runtime) != 0) return 1;
    weft_spawn_step(&doubler, &(weft_spawn_options){.runtime = runtime}, &first);
    weft_spawn_step(&asker, &(weft_spawn_options){.runtime = runtime, .input = &first, .input_size = sizeof first}, &second);
    sem_wait(&answered);
    return weft_stop(runtime, NULL, WEFT_FOREVER) != 0;
}
/* Prints:
 * the answer is 42
 */
