/* A step must not block. What would block is yielded as a command; here its handler hands the work to a thread of its
 * own, and the result comes back to the process as an event. */
#include <weft/weft.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOW_UPPER = 1 }; /* the program's own number for it */

struct job {
    weft_completion completion; /* which process gets the result */
    char text[32];
};

/* Any thread may complete a command, once. */
static void *work(void *argument) {
    struct job *job = argument;
    usleep(1000); /* the blocking part */
    for (char *c = job->text; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    weft_complete(job->completion, 0, job->text, strlen(job->text) + 1);
    free(job);
    return NULL;
}

/* Called after the step that yielded. What it returns, if not 0, is the command's result. */
static int slow_upper(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user;
    struct job *job = malloc(sizeof *job);
    if (!job || size > sizeof job->text) {
        free(job);
        return WEFT_EINVAL;
    }
    job->completion = completion;
    memcpy(job->text, data, size);
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, job) != 0) {
        free(job);
        return WEFT_EAGAIN;
    }
    pthread_detach(thread);
    return 0;
}

static sem_t done;

/* Yields two at once; they may come back in any order, in one step or in two. */
struct client {
    char results[2][32];
    unsigned have;
};

static int client_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct client *self = state;
    weft_out_status(out, WEFT_STEP_BLOCKED);
    if (count == 0) {
        weft_out_yield(out, SLOW_UPPER, 0, "warp", sizeof "warp");
        weft_out_yield(out, SLOW_UPPER, 1, "weft", sizeof "weft");
    }
    for (size_t i = 0; i < count; i++) {
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        const char *text = events[i].error ? weft_strerror(events[i].error) : events[i].data;
        snprintf(self->results[events[i].tag], sizeof self->results[0], "%s", text);
        self->have++;
    }
    if (self->have == 2) {
        printf("%s and %s\n", self->results[0], self->results[1]);
        weft_out_status(out, WEFT_STEP_DONE);
        sem_post(&done);
    }
    return 0;
}
static const weft_behavior client = {.name = "client", .state_size = sizeof(struct client), .step = client_step};

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    sem_init(&done, 0, 0);
    if (weft_start(NULL, &runtime) != 0) return 1;
    weft_register_command(runtime, SLOW_UPPER, slow_upper, NULL);
    weft_spawn_step(&client, &(weft_spawn_options){.runtime = runtime}, &pid);
    sem_wait(&done);
    return weft_stop(runtime, NULL, WEFT_FOREVER) != 0;
}
/* Prints:
 * WARP and WEFT
 */
