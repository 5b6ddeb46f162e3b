/* A step process that copies a file. Opening, reading and writing would block, so they are commands: each comes back as an event, and
 * the process's state says what is to be done next. */
#include <weft/weft.h>

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPEN_FROM, OPEN_TO, READ, WRITE, CLOSE };
enum { BLOCK = 64 << 10 };

struct copy {
    char from[32], to[64];
    int in, out;
    size_t copied;
    int closing;
};
static sem_t done;

static int copy_init(void *state, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(state, input, size);
    return 0;
}

/* What follows from the completion of one command; a negative error ends the process. */
static int copy_next(struct copy *self, const weft_event *event, weft_out *out) {
    if (event->error) return event->error;
    switch (event->tag) {
    case OPEN_FROM:
        memcpy(&self->in, event->data, sizeof self->in);
        return weft_out_open(out, OPEN_TO, self->to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    case OPEN_TO: memcpy(&self->out, event->data, sizeof self->out); return weft_out_read(out, READ, self->in, BLOCK, -1, WEFT_FOREVER);
    case READ:
        self->copied += event->size;
        if (event->size > 0) return weft_out_write_all(out, WRITE, self->out, event->data, event->size, -1, WEFT_FOREVER);
        self->closing = 2;
        weft_out_close(out, CLOSE, self->in);
        return weft_out_close(out, CLOSE, self->out);
    case WRITE: return weft_out_read(out, READ, self->in, BLOCK, -1, WEFT_FOREVER);
    case CLOSE:
        if (--self->closing > 0) return 0;
        printf("copied %zu bytes\n", self->copied);
        weft_out_status(out, WEFT_STEP_DONE);
    }
    return 0;
}

static int copy_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct copy *self = state;
    int error = 0;
    weft_out_status(out, WEFT_STEP_BLOCKED);
    if (count == 0) error = weft_out_open(out, OPEN_FROM, self->from, O_RDONLY, 0);
    for (size_t i = 0; i < count && !error; i++)
        if (events[i].type == WEFT_EVENT_COMPLETION) error = copy_next(self, &events[i], out);
    if (error) printf("%s\n", weft_strerror(error));
    return error;
}
static void copy_close(void *state) {
    (void)state;
    sem_post(&done);
}
static const weft_behavior copy = {
    .name = "copy", .state_size = sizeof(struct copy), .init = copy_init, .step = copy_step, .close = copy_close};

int main(void) {
    struct copy names = {.from = "/tmp/weft-copy-XXXXXX"};
    weft_runtime *runtime;
    weft_pid pid;
    if (mkstemp(names.from) < 0) return 1;
    snprintf(names.to, sizeof names.to, "%s-2", names.from);
    char *text = calloc(1, 200000);
    if (!text || weft_file_save(names.from, text, 200000, 0600) != 0) return 1; /* here, on the main thread, a plain call */
    free(text);
    sem_init(&done, 0, 0);
    if (weft_start(NULL, &runtime) != 0) return 1;
    weft_spawn_step(&copy, &(weft_spawn_options){.runtime = runtime, .input = &names, .input_size = sizeof names}, &pid);
    sem_wait(&done);
    unlink(names.from);
    unlink(names.to);
    return weft_stop(runtime, NULL, WEFT_FOREVER) != 0;
}
/* Prints:
 * copied 200000 bytes
 */
