/* Asymmetric fences with a third party, and in a ring.
 *
 * Three: a thread that relies on what it read after its light fence, a thread that takes back what was read and then looks, and
 * a thread behind a heavy fence. The light fence helps the second one only through the heavy one. */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 x, y, c;
SHARED uint32_t r_x, r_y, r_c;

static void setup(void) {
    atom_store_rlx(&c, 1);
    chk_name(&x, "x");
    chk_name(&y, "y");
    chk_name(&c, "c");
}
static void brings(void) {
    atom_store_rlx(&x, 1);
    chk_fence_light();
    r_c = atom_load_rlx(&c);
}
static void sleeps(void) {
    atom_store_rlx(&y, 1);
    chk_fence_heavy();
    r_x = atom_load_rlx(&x);
}
static void finds_sc(void) {
    atom_sub_sc(&c, 1);
    r_y = atom_load_sc(&y);
}
static void finds_light(void) {
    atom_sub_rlx(&c, 1);
    chk_fence_light();
    r_y = atom_load_rlx(&y);
}
static void finds_acq(void) {
    atom_sub_sc(&c, 1);
    r_y = atom_load_acq(&y);
}
static void finds_heavy(void) {
    atom_sub_rlx(&c, 1);
    chk_fence_heavy();
    r_y = atom_load_rlx(&y);
}
static void finish(void) { chk_assert(!(r_c == 1 && r_y == 0 && r_x == 0), "not all three look in vain"); }

SCENARIO(asymmetric_three_sc, .about = "light, heavy, and a third with seq_cst accesses", .setup = setup,
         .threads = {brings, sleeps, finds_sc}, .finish = finish)
SCENARIO(asymmetric_three_heavy, .about = "light, and two heavy", .setup = setup, .threads = {brings, sleeps, finds_heavy},
         .finish = finish)
SCENARIO(asymmetric_three_light, .about = "light, heavy, and a third with a light fence (on TSO its locked operation is one)",
         .setup = setup, .threads = {brings, sleeps, finds_light}, .finish = finish, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(asymmetric_three_acq, .about = "light, heavy, and a third whose load is too weak", .setup = setup,
         .threads = {brings, sleeps, finds_acq}, .finish = finish, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* Store buffering of four, light and heavy fences in turn. Each pair taken alone could be ordered so that no thread sees anything;
 * the orders that each needs make a cycle together. */
SHARED atom_u32 ring[4];
SHARED uint32_t r[4];

static void ring_setup(void) {
    static const char *const names[] = {"a", "b", "c", "d"};
    for (unsigned i = 0; i < 4; i++)
        chk_name(&ring[i], names[i]);
}
static void ring_0(void) {
    atom_store_rlx(&ring[0], 1);
    chk_fence_light();
    r[0] = atom_load_rlx(&ring[1]);
}
static void ring_1(void) {
    atom_store_rlx(&ring[1], 1);
    chk_fence_heavy();
    r[1] = atom_load_rlx(&ring[2]);
}
static void ring_2(void) {
    atom_store_rlx(&ring[2], 1);
    chk_fence_light();
    r[2] = atom_load_rlx(&ring[3]);
}
static void ring_3(void) {
    atom_store_rlx(&ring[3], 1);
    chk_fence_heavy();
    r[3] = atom_load_rlx(&ring[0]);
}
static void ring_3_light(void) {
    atom_store_rlx(&ring[3], 1);
    chk_fence_light();
    r[3] = atom_load_rlx(&ring[0]);
}
static void ring_finish(void) { chk_assert(r[0] || r[1] || r[2] || r[3], "one of the stores is seen"); }

SCENARIO(asymmetric_ring_in_turn, .about = "SB of four threads: light, heavy, light, heavy", .setup = ring_setup,
         .threads = {ring_0, ring_1, ring_2, ring_3}, .finish = ring_finish)
SCENARIO(asymmetric_ring_one_heavy, .about = "SB of four threads: light, heavy, light, light", .setup = ring_setup,
         .threads = {ring_0, ring_1, ring_2, ring_3_light}, .finish = ring_finish, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)
