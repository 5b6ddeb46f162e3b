/* Bank transactions: a teller orders transfers between accounts. The account that pays waits until the other one has the money, and only
 * then tells the teller and turns to its next order. Money goes from an account to one with a higher number: so no two can wait for
 * each other. */
#include "savina.h"

static uint64_t accounts = 200, transfers = 5000;
static const struct savina_parameter parameters[] = {
    {"accounts", &accounts, 2, 1000000, "of the bank"},
    {"transfers", &transfers, 0, UINT32_MAX, "between them"},
};

enum { PAY, CREDIT, PAID, CLOSE };
enum { OPENING = 1000000 }; /* what everybody has at first */

struct order {
    uint64_t from, to;
    int64_t amount;
};
struct account {
    const weft_pid *all; /* complete before the first order */
};

static void account(void *arg) {
    const struct account *self = arg;
    int64_t balance = OPENING;
    for (bool open = true; open;) {
        weft_msg *message = savina_recv();
        const struct order *order = savina_data(message, sizeof *order);
        switch (weft_msg_tag(message)) {
        case PAY:
            balance -= order->amount;
            savina_call(self->all[order->to], CREDIT, order, sizeof *order, NULL, 0);
            savina_send(weft_msg_from(message), PAID, order, sizeof *order);
            break;
        case CREDIT:
            balance += order->amount;
            savina_reply(message, NULL, 0);
            break;
        case CLOSE:
            savina_reply(message, &balance, sizeof balance);
            open = false;
            break;
        }
        weft_msg_free(message);
    }
}

/* The payer is among the first four fifths, the payee behind it. */
static struct order next_order(uint64_t *random) {
    struct order order = {.from = savina_below(random, accounts > 5 ? accounts * 4 / 5 : accounts - 1)};
    order.to = order.from + 1 + savina_below(random, accounts - order.from - 1);
    order.amount = 1 + (int64_t)savina_below(random, 1000);
    return order;
}

/* This process is the teller. */
static void run(int64_t *balances) {
    weft_scope scope;
    weft_pid *all = savina_zeroed(accounts, sizeof *all);
    struct account common = {.all = all};
    struct order order = {0};
    uint64_t random = 1;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (uint64_t i = 0; i < accounts; i++)
        all[i] = savina_spawn(&scope, account, &common);
    for (uint64_t i = 0; i < transfers; i++) {
        order = next_order(&random);
        savina_send(all[order.from], PAY, &order, sizeof order);
    }
    for (uint64_t i = 0; i < transfers; i++)
        SAVINA_CHECK(savina_recv_into(&order, sizeof order) == PAID, "the teller is told something strange");
    for (uint64_t i = 0; i < accounts; i++)
        savina_call(all[i], CLOSE, &order, sizeof order, &balances[i], sizeof balances[i]);
    savina_must(weft_scope_end(&scope), "the accounts");
    free(all);
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    int64_t *balances = savina_zeroed(accounts, sizeof *balances), *wanted = savina_zeroed(accounts, sizeof *wanted), sum = 0;
    uint64_t began = weft_now(), random = 1;
    run(balances);
    uint64_t took = weft_now() - began;
    for (uint64_t i = 0; i < transfers; i++) {
        struct order order = next_order(&random);
        wanted[order.from] -= order.amount;
        wanted[order.to] += order.amount;
    }
    for (uint64_t i = 0; i < accounts; i++) {
        SAVINA_CHECK(balances[i] == OPENING + wanted[i], "account %" PRIu64 " has %" PRId64 ", not %" PRId64, i, balances[i],
                     OPENING + wanted[i]);
        sum += balances[i];
    }
    SAVINA_CHECK(sum == (int64_t)accounts * OPENING, "the bank has %" PRId64 " more than before", sum - (int64_t)accounts * OPENING);
    free(balances);
    free(wanted);
    return savina_ok(took, "%" PRIu64 " accounts, %" PRIu64 " transfers", accounts, transfers);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("bank", "transfers between accounts that are processes", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
