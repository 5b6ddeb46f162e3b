/* A worker learns whether calls last: then it is given away at once, until one does not last. */
#include "victim.h"

#include "sched/runtime.h"

#include <weft/blocking.h>

enum { NAPPERS = 8, NAPS = 10 };

static atom_u64 done;

static struct worker *only_worker(void) { return atom_load_rlx(&((struct runtime *)rt.runtime)->workers[0]); }

static void naps(void *arg) {
    (void)arg;
    usleep(3000);
}
static void napper(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < NAPS; i++)
        weft_blocking(naps, NULL);
    atom_add_rel(&done, 1);
}

static void does_nothing(void *arg) { (void)arg; }
static void hurries(void *arg) {
    (void)arg;
    while (atom_load_rlx(&only_worker()->lasting) > 0) { /* in vain, the watchdog ends it */
        weft_blocking(does_nothing, NULL);
        weft_yield();
    }
    atom_add_rel(&done, 1);
}

static void learns(const char *policy) {
    atom_store_rlx(&done, 0);
    rt_start(policy, 1);
    for (unsigned i = 0; i < NAPPERS; i++)
        victim_spawn(napper, NULL, 0, "napper");
    uint32_t most = 0;
    while (atom_load_acq(&done) < NAPPERS) {
        uint32_t lasting = atom_load_rlx(&only_worker()->lasting);
        if (lasting > most) most = lasting;
        usleep(100);
    }
    printf("note: %s: %u calls in a row lasted until the monitor came\n", policy, most);
    EXPECT(most > 0);
    victim_spawn(hurries, NULL, 0, "one in a hurry");
    rt_wait(&done, NAPPERS + 1);
    rt_stop();
}
TEST(lasting_calls_are_learned_and_forgotten) {
    learns("ring");
    learns("deque");
    learns("line");
}

/* It has been learned that they last, and now they do not: two processes that wait for each other's turn, so that somebody always needs the worker. */
static void short_calls(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 100; i++) {
        weft_blocking(does_nothing, NULL);
        weft_yield();
    }
    atom_add_rel(&done, 1);
}
static void unlearns(const char *policy) {
    atom_store_rlx(&done, 0);
    rt_start(policy, 1);
    atom_store_rlx(&only_worker()->lasting, 100);
    for (unsigned i = 0; i < 2; i++)
        victim_spawn(short_calls, NULL, 0, "short");
    rt_wait(&done, 2);
    printf("note: %s: %u left\n", policy, atom_load_rlx(&only_worker()->lasting));
    EXPECT(atom_load_rlx(&only_worker()->lasting) < 100);
    rt_stop();
}
TEST(lasting_no_more) {
    unlearns("ring");
    unlearns("deque");
    unlearns("line");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
