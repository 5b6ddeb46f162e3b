/* skynet with stackful processes: a tree, ten children each, n leaves; every node sends up the sum of what its children send. */
#include "bench/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHILDREN = 10 };

/* On its parent's stack until it has begun: a child sends when it is done with it. */
struct tree {
    weft_pid parent;
    uint32_t first, leaves;
};

static uint64_t tree_sum(uint32_t first, uint32_t leaves);

static void tree_node(void *arg) {
    struct tree self = *(struct tree *)arg;
    trial_send(self.parent, tree_sum(self.first, self.leaves));
}

static uint64_t tree_sum(uint32_t first, uint32_t leaves) {
    if (leaves == 1) return first;
    struct tree child[CHILDREN];
    uint32_t children = leaves < CHILDREN ? leaves : CHILDREN;
    uint64_t sum = 0, tag;
    for (uint32_t i = 0; i < children; i++) {
        child[i] = (struct tree){weft_self(), first, leaves / children + (i < leaves % children)};
        first += child[i].leaves;
        trial_spawn_stackful(tree_node, &child[i]);
    }
    for (uint32_t i = 0; i < children && trial_recv(&tag); i++)
        sum += tag;
    return sum;
}

static uint32_t all_leaves;

static void tree_root(void *unused) {
    (void)unused;
    trial_begin();
    uint64_t sum = tree_sum(0, all_leaves), right = (uint64_t)all_leaves * (all_leaves - 1) / 2;
    trial_check(sum);
    trial_end();
    if (sum == right) return;
    fprintf(stderr, "weft bench: skynet added up to %" PRIu64 " instead of %" PRIu64 "\n", sum, right);
    exit(1);
}

static void run(const struct bench_args *args, struct bench_result *result) {
    if (args->n > UINT32_MAX) {
        strcpy(result->skipped, "more than 4,294,967,295 leaves cannot be numbered");
        return;
    }
    all_leaves = (uint32_t)args->n;
    trial_run_stackful(args, result, tree_root, NULL);
}
BENCH(stackful_skynet, .name = "skynet", .about = "a tree of processes that add up by messages, per leaf", .kind = "stackful",
      .by = "message", .n = 1000000, .run = run)
