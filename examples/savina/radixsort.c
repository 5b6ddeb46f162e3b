/* Radix sort: a chain of processes, one for each bit, the lowest first. Each lets the numbers without its bit pass and keeps the
 * others, in order, until all have come. */
#include "savina.h"

static uint64_t values = 2000, bits = 20;
static const struct savina_parameter parameters[] = {
    {"values", &values, 0, UINT32_MAX, "to be sorted"},
    {"bits", &bits, 1, 64, "of each value"},
};

struct stage {
    weft_pid next;
    uint64_t bit;
};

static void sorter(void *arg) {
    const struct stage *self = arg;
    uint64_t *kept = savina_zeroed(values, sizeof *kept), count = 0, value;
    for (uint64_t i = 0; i < values; i++) {
        savina_recv_into(&value, sizeof value);
        if (value >> self->bit & 1) kept[count++] = value;
        else savina_send(self->next, 0, &value, sizeof value);
    }
    for (uint64_t i = 0; i < count; i++)
        savina_send(self->next, 0, &kept[i], sizeof kept[i]);
    free(kept);
}

static void collector(void *arg) {
    uint64_t *sorted = arg;
    for (uint64_t i = 0; i < values; i++)
        savina_recv_into(&sorted[i], sizeof sorted[i]);
}

static void run(const uint64_t *numbers, uint64_t *sorted) {
    weft_scope scope;
    struct stage stages[64];
    weft_scope_begin(&scope, WEFT_FOREVER);
    weft_pid next = savina_spawn(&scope, collector, sorted);
    for (uint64_t bit = bits; bit-- > 0;) {
        stages[bit] = (struct stage){.next = next, .bit = bit};
        next = savina_spawn(&scope, sorter, &stages[bit]);
    }
    for (uint64_t i = 0; i < values; i++)
        savina_send(next, 0, &numbers[i], sizeof numbers[i]);
    savina_must(weft_scope_end(&scope), "the sorters");
}

static int compare(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    uint64_t *numbers = savina_zeroed(values, sizeof *numbers), *sorted = savina_zeroed(values, sizeof *sorted);
    uint64_t random = 2048;
    for (uint64_t i = 0; i < values; i++)
        numbers[i] = savina_random(&random) >> (64 - bits);
    uint64_t began = weft_now();
    run(numbers, sorted);
    uint64_t took = weft_now() - began;
    qsort(numbers, values, sizeof *numbers, compare);
    for (uint64_t i = 0; i < values; i++)
        SAVINA_CHECK(sorted[i] == numbers[i], "%" PRIu64 " is at place %" PRIu64 ", where %" PRIu64 " should be", sorted[i], i, numbers[i]);
    free(numbers);
    free(sorted);
    return savina_ok(took, "%" PRIu64 " values of %" PRIu64 " bits", values, bits);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("radixsort", "numbers are sorted by a chain of processes, one for each bit", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
