/* Sieve: numbers run down a chain of processes, each of which knows some primes and lets no multiple of them pass. A prime that comes
 * to the end finds a place there, or a new process for it. */
#include "savina.h"

static uint64_t limit = 10000, primes = 100;
static const struct savina_parameter parameters[] = {
    {"limit", &limit, 0, 100000000, "the primes up to this number"},
    {"primes", &primes, 1, 1000000, "that one process keeps"},
};

enum { NUMBER, END, FOUND, FOUND_LAST };

struct sieve {
    weft_scope scope;
    weft_pid app;
};
struct found {
    uint64_t primes, sum;
};

static bool divided(const uint64_t *known, uint64_t count, uint64_t number) {
    for (uint64_t i = 0; i < count; i++)
        if (number % known[i] == 0) return true;
    return false;
}

static void filter(void *arg) {
    struct sieve *sieve = arg;
    struct found found = {0, 0};
    uint64_t *known = savina_zeroed(primes, sizeof *known), number;
    weft_pid next = WEFT_NOBODY;
    while (savina_recv_into(&number, sizeof number) == NUMBER) {
        if (divided(known, found.primes, number)) continue;
        if (found.primes < primes) {
            known[found.primes++] = number;
            found.sum += number;
            continue;
        }
        if (next == WEFT_NOBODY) next = savina_spawn(&sieve->scope, filter, sieve);
        savina_send(next, NUMBER, &number, sizeof number);
    }
    free(known);
    /* Before the next one learns that this is the end: so the last one's message is the last. */
    savina_send(sieve->app, next == WEFT_NOBODY ? FOUND_LAST : FOUND, &found, sizeof found);
    if (next != WEFT_NOBODY) savina_send(next, END, &number, sizeof number);
}

static struct found run(uint64_t *filters) {
    struct sieve sieve = {.app = weft_self()};
    struct found all = {0, 0}, some;
    uint64_t tag;
    weft_scope_begin(&sieve.scope, WEFT_FOREVER);
    weft_pid first = savina_spawn(&sieve.scope, filter, &sieve);
    for (uint64_t i = 2; i <= limit; i += i == 2 ? 1 : 2)
        savina_send(first, NUMBER, &i, sizeof i);
    savina_send(first, END, &limit, sizeof limit);
    do {
        tag = savina_recv_into(&some, sizeof some);
        ++*filters;
        all.primes += some.primes;
        all.sum += some.sum;
    } while (tag == FOUND);
    savina_must(weft_scope_end(&sieve.scope), "the filters");
    return all;
}

/* Eratosthenes. */
static struct found plainly(void) {
    struct found all = {0, 0};
    bool *composite = savina_zeroed(limit + 1, sizeof *composite);
    for (uint64_t i = 2; i <= limit; i++) {
        if (composite[i]) continue;
        all.primes++;
        all.sum += i;
        for (uint64_t k = i * i; k <= limit; k += i)
            composite[k] = true;
    }
    free(composite);
    return all;
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    uint64_t began = weft_now(), filters = 0;
    struct found all = run(&filters);
    uint64_t took = weft_now() - began;
    struct found wanted = plainly();
    SAVINA_CHECK(all.primes == wanted.primes && all.sum == wanted.sum,
                 "%" PRIu64 " primes with the sum %" PRIu64 ", not %" PRIu64 " with %" PRIu64, all.primes, all.sum, wanted.primes,
                 wanted.sum);
    return savina_ok(took, "%" PRIu64 " primes up to %" PRIu64 " in %" PRIu64 " processes", all.primes, limit, filters);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("sieve", "primes from a chain of filters", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
