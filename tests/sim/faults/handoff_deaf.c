/* A process that is to have the worker after a step hears other senders while the step lasts. */
#include "oracle.h"

enum { OF_THE_STEP, OF_ANOTHER };

static weft_pid receiver;
static weft_sem handed;
static bool heard;

static void hears(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        heard |= weft_msg_tag(message) == OF_ANOTHER;
        weft_msg_free(message);
    }
}

/* Its step lasts a second. */
static int hands_over(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_handoff(out, receiver, OF_THE_STEP, NULL, 0);
    weft_sem_release(&handed, 1);
    sleep(1);
    MUST(heard, "the message of another sender was not heard within a second");
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior behavior = {.name = "hands over", .step = hands_over};

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_sem_init(&handed, 0);
    MUST(weft_start(&(weft_config){.workers = 2}, &runtime) == 0, "start");
    weft_spawn_with(hears, NULL, &(weft_stackful_options){.runtime = runtime}, &receiver);
    weft_spawn_step(&behavior, &(weft_spawn_options){.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid);
    weft_sem_acquire(&handed, 1, WEFT_FOREVER);
    weft_send(receiver, OF_ANOTHER, NULL, 0);
    weft_join(pid, NULL, WEFT_FOREVER);
    return weft_stop(runtime, NULL, WEFT_FOREVER);
}
