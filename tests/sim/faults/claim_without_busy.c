/* A receiver that is cancelled while an element comes has the element, or none. */
#include "oracle.h"

enum { ROUNDS = 30 };

static weft_chan *channel;

static void receives(void *arg) {
    uint64_t element = 1;
    (void)arg;
    if (weft_chan_recv(channel, &element, WEFT_FOREVER) == 0) MUST(element == 42, "an element that nobody sent");
}

static void cancels(void *arg) { weft_cancel(*(weft_pid *)arg); }

int main(void) {
    weft_runtime *runtime;
    weft_pid receiver, canceller;
    uint64_t element = 42;
    MUST(weft_chan_new(sizeof element, 0, &channel) == 0, "channel");
    MUST(weft_start(&(weft_config){.workers = 2}, &runtime) == 0, "start");
    weft_stackful_options options = {.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE};
    for (int i = 0; i < ROUNDS; i++) {
        weft_spawn_with(receives, NULL, &options, &receiver);
        weft_spawn_with(cancels, &receiver, &options, &canceller);
        weft_chan_send(channel, &element, weft_in(MILLISECOND / 10));
        weft_join(canceller, NULL, WEFT_FOREVER);
        weft_join(receiver, NULL, WEFT_FOREVER);
    }
    weft_chan_free(channel);
    return weft_stop(runtime, NULL, WEFT_FOREVER);
}
