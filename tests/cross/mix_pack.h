/* Packed processes: the servants and some of the members, which keep the promise that it takes. A thread asks them to pack themselves again and again, as sysmon
 * does when a second has passed. What they wait for comes all the same. */
#ifndef WEFT_TESTS_CROSS_MIX_PACK_H
#define WEFT_TESTS_CROSS_MIX_PACK_H

#include "mix.h"

#include "fiber/packing_helpers.h"

enum { PACKERS = 64, PACKS_EVERY = 3 };

static struct {
    atom_u64 pids[PACKERS], next; /* some that may be packed, and perhaps live */
    atom_u64 over;
    pthread_t thread;
    unsigned asked, packed;
} packs;

/* A process of the runtime under test, which may be packed. */
static inline void pack_note(weft_pid pid) { atom_store_rel(&packs.pids[atom_add_rlx(&packs.next, 1) % PACKERS], pid); }

static inline void *pack_all_the_time(void *unused) {
    struct rng rng;
    rng_seed(&rng, mix.seed, 1 << 23);
    while (!atom_load_acq(&packs.over)) {
        weft_pid pid = atom_load_acq(&packs.pids[rng_below(&rng, PACKERS)]);
        if (pid != WEFT_NOBODY) {
            packs.packed += is_packed(pid);
            packs.asked++;
            packing_ask(pid);
        }
        if (rng_below(&rng, 8) == 0) usleep(50);
    }
    return unused;
}

static inline void pack_open(void) {
    memset(&packs, 0, sizeof packs);
    EXPECT_EQ(pthread_create(&packs.thread, NULL, pack_all_the_time, NULL), 0);
}
/* When the members have ended. The servants still wait, and are packed some time (with the address sanitizer their frames may be too large for that); what else they do,
 * they do then. */
static inline void pack_close(void) {
    weft_pid servants[] = {mix.clock, mix.echo};
    atom_store_rel(&packs.over, 1);
    EXPECT_EQ(pthread_join(packs.thread, NULL), 0);
    for (unsigned i = 0; mix_servants_pack() && i < 2; i++)
        for (unsigned asked = 0; !is_packed(servants[i]) && !(ANNOTATE_ADDRESS && asked == 100); asked++, usleep(100))
            packing_ask(servants[i]);
    printf("  asked %u times to pack, found packed %u times\n", packs.asked, packs.packed);
}

#endif
