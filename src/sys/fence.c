/* The pair of asymmetric memory fences (base/atom.h): whether the light one can be light, and changing that while threads run. */
#include "base/assert.h"
#include "sys/sys.h"

/* True until the kernel has agreed: two full fences are always right, only slower. */
atom_bool atom_fence_light_is_full = {true};

static bool fence_granted;
static unsigned fence_wishes; /* how many callers want full fences; changed under the lock */
static atom_u32 fence_lock;
static atom_bool fence_heavy_is_full;

/* rel: pairs with the acq in atom_fence_light. */
static void fence_set_light(bool full) { atom_store_rel(&atom_fence_light_is_full, full); }

void sys_fence_setup(void) {
    fence_granted = sys->fence_register() == 0;
    atom_store_rlx(&fence_heavy_is_full, false); /* rlx: there is one thread */
    fence_set_light(!fence_granted);
}

__attribute__((constructor)) static void sys_fence_setup_at_load(void) { sys_fence_setup(); }

/* The change while threads run. After (3) a heavy fence is only a full fence of its own thread, which is right once no light fence is
 * light any more: a thread whose light fence read the old flag has since passed the membarrier (2), and with it all that it stored before
 * that light fence; so a heavy fence that begins after (3) sees those stores. The way back is the mirror image: a thread whose heavy fence
 * read the flag from before (4) has since passed the membarrier (5), and its stores are seen by light fences that have read (6). That needs
 * rel and acq: the membarrier may reach the light side before the other, and a load behind the flag must not be made in between.
 * Scenarios: check/scenarios/fences.c. */
static void fence_make_full(void) {
    fence_set_light(true);                      /* 1 */
    sys->fence_heavy();                         /* 2 */
    atom_store_rel(&fence_heavy_is_full, true); /* 3, rel: pairs with the acq in sys_fence_is_full */
}
static void fence_make_light(void) {
    atom_store_rlx(&fence_heavy_is_full, false); /* 4, rlx: the membarrier */
    sys->fence_heavy();                          /* 5 */
    fence_set_light(false);                      /* 6 */
}

bool sys_fence_is_full(void) { return !fence_granted || atom_load_acq(&fence_heavy_is_full); } /* acq: pairs with (3) */

void sys_fence_wish_full(bool full) {
    if (!fence_granted) return;
    while (atom_swap_acq(&fence_lock, 1)) /* acq: pairs with the rel below */
        sys->yield();
    sim_lock_taken();
    if (full && fence_wishes++ == 0) fence_make_full();
    if (!full && --fence_wishes == 0) fence_make_light();
    atom_store_rel(&fence_lock, 0); /* rel: pairs with the acq above */
    sim_lock_dropped();
}
