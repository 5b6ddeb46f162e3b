/* Names and groups by seed: a leader that is killed, ends or resigns, others that take its place, and those who watch it.
 *
 * Oracles. A process that has been given the name is found by it until it gives it up. A process that is told of a leader's end does not find it by its
 * name or in the group any more. A message to the group is sent to no process that was known to have ended. At the end nothing is left. */
#include "seeds.h"

#include <weft/weft.h>

enum { CONTENDERS = 4, TERMS = 6, SEEDS = 60 };

static const char leader[] = "leader", voters[] = "voters";
static unsigned terms, contradictions;

#define expect(holds) expect_at(holds, #holds, __LINE__)
static void expect_at(bool holds, const char *what, int line) {
    if (!holds) fprintf(stderr, "line %d: %s does not hold\n", line, what);
    contradictions += !holds;
}

static bool is_voter(weft_pid pid) {
    weft_pid pids[2 * CONTENDERS];
    int64_t count = weft_group_members(voters, pids, 2 * CONTENDERS);
    expect(count >= 0 && count <= 2 * CONTENDERS);
    for (int64_t i = 0; i < count; i++)
        if (pids[i] == pid) return true;
    return false;
}

static void governs(void) {
    terms++;
    expect(weft_whereis(leader) == weft_self());
    expect(weft_group_send(voters, 1, &terms, sizeof terms) >= 1);
    for (uint64_t i = weft_sim_random(4); i > 0; i--)
        weft_yield();
    expect(weft_whereis(leader) == weft_self());
}

/* Tries to become the leader; then ends, or resigns and goes on. */
static void contends(void *unused) {
    weft_msg *message;
    (void)unused;
    expect(weft_group_join(voters) == 0);
    while (terms < TERMS) {
        int error = weft_register(leader, weft_self());
        expect(error == 0 || error == WEFT_EEXIST);
        if (error == 0) {
            governs();
            if (weft_sim_random(2)) return;
            expect(weft_unregister(NULL, leader) == 0);
        }
        while (weft_recv(&message, 0) == 0)
            weft_msg_free(message);
        weft_yield();
    }
}

/* Is told of each leader's end; kills some. */
static void watches(void *unused) {
    weft_msg *message;
    uint64_t reference;
    (void)unused;
    while (terms < TERMS) {
        weft_pid pid = weft_whereis(leader);
        if (pid == WEFT_NOBODY) {
            weft_yield();
            continue;
        }
        expect(weft_monitor(pid, 9, &reference) == 0);
        if (weft_sim_random(4) == 0) weft_kill(pid);
        if (weft_recv_tag(9, &message, weft_in(WEFT_SECOND)) == 0) {
            expect(weft_whereis(leader) != pid);
            expect(!is_voter(pid));
            weft_msg_free(message);
        } else {
            weft_demonitor(reference, true);
        }
    }
}

/* Keeps as many contenders as there should be, one of them by name. */
static void supervises(void) {
    weft_pid pids[CONTENDERS] = {WEFT_NOBODY}, again;
    static const weft_stackful_options first = {.flags = WEFT_SPAWN_JOINABLE, .register_as = "first"};
    for (unsigned i = 1; i < CONTENDERS; i++)
        pids[i] = weft_spawn_joinable(contends, NULL);
    while (terms < TERMS) {
        expect(weft_spawn_with(contends, NULL, &first, &pids[0]) == 0);
        expect(weft_spawn_with(contends, NULL, &first, &again) == WEFT_EEXIST || !weft_alive(pids[0]));
        weft_join(pids[0], NULL, WEFT_FOREVER);
        expect(weft_whereis("first") != pids[0]);
        if (weft_whereis("first") != WEFT_NOBODY) weft_join(weft_whereis("first"), NULL, WEFT_FOREVER);
    }
    for (unsigned i = 1; i < CONTENDERS; i++)
        weft_join(pids[i], NULL, WEFT_FOREVER);
}

static int government(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_pid watcher = weft_spawn_joinable(watches, NULL);
    supervises();
    weft_join(watcher, NULL, WEFT_FOREVER);
    expect(weft_whereis(leader) == WEFT_NOBODY);
    expect(weft_group_members(voters, NULL, 0) == 0);
    expect(weft_names(NULL, NULL, NULL) == 0);
    return contradictions == 0 && terms >= TERMS ? 0 : 1;
}
static int government_main(void) {
    static const char *const workers[] = {"1", "2", "4"};
    setenv("WEFT_WORKERS", workers[weft_sim_seed() % 3], 1);
    return weft_main(0, NULL, government);
}

TEST_WITHIN(a_name_has_one_process_whatever_happens_to_them, 300) { seeds_pass(test_seed(1), SEEDS * test_scale(), government_main); }

int main(int argc, char **argv) { return test_main(argc, argv); }
