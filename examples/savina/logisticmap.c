/* Logistic map: series of x' = r x (1 - x), each for its own r. The process that has a series does not compute: it asks another
 * one for the next term and must wait for it before it can go on. */
#include "savina.h"

static uint64_t series = 10, terms = 1000;
static const struct savina_parameter parameters[] = {
    {"series", &series, 1, 100000, "computed side by side"},
    {"terms", &terms, 0, UINT32_MAX, "of each"},
};

/* Not inlined: the second computation must be the same to the last bit. */
__attribute__((noinline)) static double successor(double rate, double x) { return rate * x * (1 - x); }
static double rate_of(uint64_t index) { return 3.46 + 0.0025 * (double)(index % 200); }
static double first_of(uint64_t index) { return (double)(index + 1) * 0.0005 / (1 + (double)index * 0.0005); }

enum { NEXT, GET };

/* Is asked by its series, and ends when it is asked no more. */
static void computer(void *arg) {
    const double *rate = arg;
    for (uint64_t i = 0; i < terms; i++) {
        weft_msg *message = savina_recv();
        double x = successor(*rate, *(const double *)savina_data(message, sizeof x));
        savina_reply(message, &x, sizeof x);
        weft_msg_free(message);
    }
}

struct series {
    weft_pid computer;
    double first;
};

static void keeper(void *arg) {
    const struct series *self = arg;
    double x = self->first;
    weft_msg *message;
    while (weft_msg_tag(message = savina_recv()) == NEXT) {
        weft_msg_free(message);
        savina_call(self->computer, NEXT, &x, sizeof x, &x, sizeof x);
    }
    savina_reply(message, &x, sizeof x);
    weft_msg_free(message);
}

static void run(double *results) {
    weft_scope scope;
    struct series *all = savina_zeroed(series, sizeof *all);
    double *rates = savina_zeroed(series, sizeof *rates);
    weft_pid *keepers = savina_zeroed(series, sizeof *keepers);
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (uint64_t i = 0; i < series; i++) {
        rates[i] = rate_of(i);
        all[i] = (struct series){.computer = savina_spawn(&scope, computer, &rates[i]), .first = first_of(i)};
        keepers[i] = savina_spawn(&scope, keeper, &all[i]);
    }
    for (uint64_t k = 0; k < terms; k++)
        for (uint64_t i = 0; i < series; i++)
            savina_send(keepers[i], NEXT, NULL, 0);
    for (uint64_t i = 0; i < series; i++)
        savina_call(keepers[i], GET, NULL, 0, &results[i], sizeof results[i]);
    savina_must(weft_scope_end(&scope), "the series");
    free(keepers);
    free(rates);
    free(all);
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    double *results = savina_zeroed(series, sizeof *results), sum = 0;
    uint64_t began = weft_now();
    run(results);
    uint64_t took = weft_now() - began;
    for (uint64_t i = 0; i < series; i++) {
        double x = first_of(i);
        for (uint64_t k = 0; k < terms; k++)
            x = successor(rate_of(i), x);
        SAVINA_CHECK(x == results[i], "series %" PRIu64 " is at %.17g, not %.17g", i, results[i], x);
        sum += x;
    }
    free(results);
    return savina_ok(took, "%" PRIu64 " series of %" PRIu64 " terms, their sum is %.6f", series, terms, sum);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("logisticmap", "series whose terms are computed by other processes", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
