/* Philosophers: they eat with two forks each, and ask an arbitrator for them, again and again until it grants both. */
#include "savina.h"

static uint64_t philosophers = 20, rounds = 200;
static const struct savina_parameter parameters[] = {
    {"philosophers", &philosophers, 2, 100000, "at the table"},
    {"rounds", &rounds, 0, UINT32_MAX, "that each eats"},
};

enum { HUNGRY, FULL, LEFT };

static void arbitrator(void *arg) {
    (void)arg;
    bool *taken = savina_zeroed(philosophers, sizeof *taken);
    for (uint64_t present = philosophers; present;) {
        weft_msg *message = savina_recv();
        uint64_t left = *(const uint64_t *)savina_data(message, sizeof left), right = (left + 1) % philosophers;
        bool granted = false;
        switch (weft_msg_tag(message)) {
        case HUNGRY:
            granted = !taken[left] && !taken[right];
            if (granted) taken[left] = taken[right] = true;
            savina_reply(message, &granted, sizeof granted);
            break;
        case FULL: taken[left] = taken[right] = false; break;
        case LEFT: present--; break;
        }
        weft_msg_free(message);
    }
    free(taken);
}

/* Plain memory: a philosopher that has been granted a fork has it alone, or the numbers come out wrong. */
struct fork {
    uint64_t user, uses;
};
struct philosopher {
    weft_pid arbitrator;
    uint64_t index, denied;
    struct fork *left, *right;
};

static void use(struct fork *fork, uint64_t index) {
    SAVINA_CHECK(fork->user == index, "philosophers %" PRIu64 " and %" PRIu64 " have the same fork", index, fork->user);
    fork->uses++;
}

static void philosopher(void *arg) {
    struct philosopher *self = arg;
    for (uint64_t i = 0; i < rounds; i++) {
        for (;;) {
            bool granted;
            savina_call(self->arbitrator, HUNGRY, &self->index, sizeof self->index, &granted, sizeof granted);
            if (granted) break;
            self->denied++;
        }
        self->left->user = self->right->user = self->index;
        weft_yield();
        use(self->left, self->index);
        use(self->right, self->index);
        savina_send(self->arbitrator, FULL, &self->index, sizeof self->index);
    }
    savina_send(self->arbitrator, LEFT, &self->index, sizeof self->index);
}

static uint64_t run(struct fork *forks) {
    weft_scope scope;
    struct philosopher *all = savina_zeroed(philosophers, sizeof *all);
    uint64_t denied = 0;
    weft_scope_begin(&scope, WEFT_FOREVER);
    weft_pid judge = savina_spawn(&scope, arbitrator, NULL);
    for (uint64_t i = 0; i < philosophers; i++) {
        all[i] = (struct philosopher){.arbitrator = judge, .index = i, .left = &forks[i], .right = &forks[(i + 1) % philosophers]};
        savina_spawn(&scope, philosopher, &all[i]);
    }
    savina_must(weft_scope_end(&scope), "the philosophers");
    for (uint64_t i = 0; i < philosophers; i++)
        denied += all[i].denied;
    free(all);
    return denied;
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    struct fork *forks = savina_zeroed(philosophers, sizeof *forks);
    uint64_t began = weft_now();
    uint64_t denied = run(forks);
    uint64_t took = weft_now() - began;
    for (uint64_t i = 0; i < philosophers; i++)
        SAVINA_CHECK(forks[i].uses == 2 * rounds, "fork %" PRIu64 " was used %" PRIu64 " times, not %" PRIu64, i, forks[i].uses,
                     2 * rounds);
    free(forks);
    return savina_ok(took, "%" PRIu64 " philosophers, %" PRIu64 " rounds each, denied %" PRIu64 " times", philosophers, rounds, denied);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("philosophers", "they eat with two forks that an arbitrator grants", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
