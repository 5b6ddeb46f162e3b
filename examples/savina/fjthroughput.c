/* Fork-join throughput: many processes get many messages each, and do a little work for every one. */
#include "savina.h"

static uint64_t processes = 60, messages = 500;
static const struct savina_parameter parameters[] = {
    {"processes", &processes, 1, 1000000, "that do the work"},
    {"messages", &messages, 0, UINT32_MAX, "for each of them"},
};

struct worker {
    uint64_t sum;
};

/* How many steps a number takes to 1 in the 3n + 1 problem. */
static uint64_t work(uint64_t n) {
    uint64_t steps = 0;
    for (; n > 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

static void worker(void *arg) {
    struct worker *self = arg;
    uint64_t number;
    for (uint64_t i = 0; i < messages; i++) {
        savina_recv_into(&number, sizeof number);
        self->sum += work(number);
    }
}

static void run(struct worker *workers) {
    weft_scope scope;
    weft_pid *pids = savina_zeroed(processes, sizeof *pids);
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (uint64_t i = 0; i < processes; i++)
        pids[i] = savina_spawn(&scope, worker, &workers[i]);
    for (uint64_t k = 0; k < messages; k++)
        for (uint64_t i = 0; i < processes; i++)
            savina_send(pids[i], 0, &(uint64_t){k * processes + i}, sizeof(uint64_t));
    savina_must(weft_scope_end(&scope), "the workers");
    free(pids);
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    struct worker *workers = savina_zeroed(processes, sizeof *workers);
    uint64_t began = weft_now();
    run(workers);
    uint64_t took = weft_now() - began;
    for (uint64_t i = 0; i < processes; i++) {
        uint64_t sum = 0;
        for (uint64_t k = 0; k < messages; k++)
            sum += work(k * processes + i);
        SAVINA_CHECK(workers[i].sum == sum, "worker %" PRIu64 " has the sum %" PRIu64 ", not %" PRIu64, i, workers[i].sum, sum);
    }
    free(workers);
    return savina_ok(took, "%" PRIu64 " processes, %" PRIu64 " messages each", processes, messages);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("fjthroughput", "many processes work off many messages", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
