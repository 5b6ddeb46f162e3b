/* A step process between clients and a backend: it passes each request on (weft_out_ask), keeps the client's request under the tag of the
 * command, and answers it when the completion with that tag comes. When the backend ends, it is told, and says so to all later clients. */
#include <weft/weft.h>

#include <stdio.h>
#include <string.h>

enum { DOUBLE = 1, STOP = 2, PENDING = 8 };
enum { BACKEND_ENDED = 100 }; /* beside the tags of requests, 0 ... PENDING - 1 */

struct proxy {
    weft_pid backend; /* WEFT_NOBODY: it has ended */
    weft_request clients[PENDING];
    bool used[PENDING];
};

/* A place for the client's request; its number is the tag of the command. */
static int proxy_place(struct proxy *self) {
    int place = 0;
    while (place < PENDING && self->used[place])
        place++;
    return place < PENDING ? place : -1;
}

static void proxy_request(struct proxy *self, const weft_event *event, weft_out *out) {
    int place = proxy_place(self);
    bool passed = place >= 0 && self->backend != WEFT_NOBODY &&
                  weft_out_ask(out, (uint64_t)place, self->backend, event->tag, event->data, event->size, weft_in(WEFT_SECOND * 10)) == 0;
    if (!passed) {
        weft_reply(weft_event_request(event), NULL, 0); /* an empty answer: not now */
        return;
    }
    self->clients[place] = weft_event_request(event);
    self->used[place] = true;
}

static void proxy_completion(struct proxy *self, const weft_event *event) {
    self->used[event->tag] = false;
    weft_reply(self->clients[event->tag], event->data, event->error ? 0 : event->size);
}

static int proxy_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct proxy *self = state;
    if (count == 0) return weft_monitor(self->backend, BACKEND_ENDED, NULL);
    for (size_t i = 0; i < count; i++) {
        switch (events[i].type) {
        case WEFT_EVENT_REQUEST: proxy_request(self, &events[i], out); break;
        case WEFT_EVENT_COMPLETION: proxy_completion(self, &events[i]); break;
        case WEFT_EVENT_NOTICE: self->backend = WEFT_NOBODY; break;
        case WEFT_EVENT_CANCEL: weft_out_status(out, WEFT_STEP_DONE); break;
        default: break;
        }
    }
    return 0;
}
static int proxy_init(void *state, weft_context *context, const char *method, const void *input, size_t size) {
    struct proxy *self = state;
    (void)context, (void)method, (void)size;
    memcpy(&self->backend, input, sizeof self->backend);
    return 0;
}
static const weft_behavior proxy = {.name = "proxy", .state_size = sizeof(struct proxy), .init = proxy_init, .step = proxy_step};

static void backend(void *unused) {
    weft_msg *request;
    (void)unused;
    while (weft_recv(&request, WEFT_FOREVER) == 0) {
        uint64_t tag = weft_msg_tag(request), number;
        if (tag == DOUBLE) {
            memcpy(&number, weft_msg_data(request), sizeof number);
            number *= 2;
            weft_reply(weft_msg_request(request), &number, sizeof number);
        }
        weft_msg_free(request);
        if (tag == STOP) return;
    }
}

/* What the proxy answers; 0: nothing. */
static uint64_t ask(weft_pid to, uint64_t tag, uint64_t number) {
    weft_msg *reply;
    if (weft_call(to, tag, &number, sizeof number, &reply, WEFT_FOREVER) != 0) return 0;
    if (weft_msg_len(reply) == 0) number = 0;
    else memcpy(&number, weft_msg_data(reply), sizeof number);
    weft_msg_free(reply);
    return number;
}

static int app(int argc, char **argv) {
    weft_pid server = weft_spawn(backend, NULL), between;
    (void)argc, (void)argv;
    if (weft_spawn_step(&proxy, &(weft_spawn_options){.input = &server, .input_size = sizeof server}, &between) != 0) return 1;
    printf("twice 21 is %d\n", (int)ask(between, DOUBLE, 21));
    printf("twice 4 is %d\n", (int)ask(between, DOUBLE, 4));
    ask(between, STOP, 0);
    printf("without a backend: %d\n", (int)ask(between, DOUBLE, 3));
    weft_cancel(between);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }

/* Prints:
 * twice 21 is 42
 * twice 4 is 8
 * without a backend: 0
 */
