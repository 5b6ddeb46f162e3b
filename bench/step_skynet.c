/* skynet: a tree of processes, ten children each, n leaves. Every leaf sends its number up; every node adds what its
 * children send and sends the sum up. Per leaf. */
#include "bench/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHILDREN = 10 };

/* 32 bytes: as much as fits into a control block. */
struct node {
    weft_pid parent; /* WEFT_NOBODY: the root */
    uint64_t sum;
    uint32_t first, leaves; /* the numbers of the leaves below */
    uint32_t waits_for;
    bool begun;
};

static int node_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(struct node *)self = *(const struct node *)input;
    return 0;
}

static int node_step(void *state, const weft_event *events, size_t count, weft_out *out);
static const weft_behavior node = {.name = "node", .state_size = sizeof(struct node), .init = node_init, .step = node_step};

static void node_split(struct node *self) {
    struct node child = {.parent = weft_self(), .first = self->first};
    self->waits_for = self->leaves < CHILDREN ? self->leaves : CHILDREN;
    for (uint32_t i = 0; i < self->waits_for; i++) {
        child.leaves = self->leaves / self->waits_for + (i < self->leaves % self->waits_for);
        trial_spawn(&node, &child, sizeof child);
        child.first += child.leaves;
    }
}

/* The root has no parent to tell. */
static void node_tell(const struct node *self) {
    if (self->parent) {
        trial_send(self->parent, self->sum);
        return;
    }
    trial_check(self->sum);
    trial_end();
    uint64_t right = (uint64_t)self->leaves * (self->leaves - 1) / 2;
    if (self->sum == right) return;
    fprintf(stderr, "weft bench: skynet added up to %" PRIu64 " instead of %" PRIu64 "\n", self->sum, right);
    exit(1);
}

static int node_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct node *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (!self->begun) {
        self->begun = true;
        if (!self->parent) trial_begin();
        if (self->leaves > 1) node_split(self);
        else self->sum = self->first;
    }
    for (size_t i = 0; i < count; i++)
        self->sum += events[i].tag;
    self->waits_for -= (uint32_t)count;
    if (self->waits_for > 0) return 0;
    node_tell(self);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}

static void run(const struct bench_args *args, struct bench_result *result) {
    if (args->n > UINT32_MAX) {
        strcpy(result->skipped, "more than 4,294,967,295 leaves cannot be numbered");
        return;
    }
    trial_run(args, result, &node, &(struct node){.leaves = (uint32_t)args->n}, sizeof(struct node));
}
BENCH(skynet, .name = "skynet", .about = "a tree of processes that add up by messages, per leaf", .kind = "step", .by = "message",
      .n = 1000000, .run = run)
