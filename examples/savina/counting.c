/* Counting: one process sends numbers as fast as it can, another adds them up and is asked for the sum at the end. */
#include "savina.h"

static uint64_t messages = 50000;
static const struct savina_parameter parameters[] = {
    {"messages", &messages, 0, UINT32_MAX, "numbers that are sent"},
};

enum { ADD, TOTAL };
struct total {
    uint64_t numbers, sum;
};

static void counter(void *arg) {
    (void)arg;
    struct total total = {0, 0};
    for (;;) {
        weft_msg *message = savina_recv();
        if (weft_msg_tag(message) == TOTAL) {
            savina_reply(message, &total, sizeof total);
            weft_msg_free(message);
            return;
        }
        uint64_t number = *(const uint64_t *)savina_data(message, sizeof number);
        weft_msg_free(message);
        total.numbers++;
        total.sum += number;
        SAVINA_CHECK(number == total.numbers, "%" PRIu64 " came as number %" PRIu64, number, total.numbers);
    }
}

struct producer {
    weft_pid counter;
    struct total total; /* what the counter said */
};

static void producer(void *arg) {
    struct producer *self = arg;
    for (uint64_t i = 1; i <= messages; i++)
        savina_send(self->counter, ADD, &i, sizeof i);
    savina_call(self->counter, TOTAL, NULL, 0, &self->total, sizeof self->total);
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_scope scope;
    struct producer one = {0};
    uint64_t began = weft_now();
    weft_scope_begin(&scope, WEFT_FOREVER);
    one.counter = savina_spawn(&scope, counter, NULL);
    savina_spawn(&scope, producer, &one);
    savina_must(weft_scope_end(&scope), "counter and producer");
    uint64_t took = weft_now() - began, sum = messages * (messages + 1) / 2;
    SAVINA_CHECK(one.total.numbers == messages, "%" PRIu64 " numbers came, not %" PRIu64, one.total.numbers, messages);
    SAVINA_CHECK(one.total.sum == sum, "the sum is %" PRIu64 ", not %" PRIu64, one.total.sum, sum);
    return savina_ok(took, "%" PRIu64 " messages", messages);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("counting", "one process counts what another sends", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
