/* Memory: use after free, double free, leaks, and which thread may free what is shared. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"
#include "sys/sys.h"

struct block {
    atom_u32 holders;
    uint32_t value;
};
SHARED ATOM_PTR(struct block) slot;
SHARED atom_u32 done;

static struct block *block_new(uint32_t holders) {
    struct block *b = sys->alloc(sizeof *b);
    atom_store_rlx(&b->holders, holders);
    b->value = 42;
    return b;
}
static void block_free(struct block *b) { sys->free(b, sizeof *b); }

static void one_block(void) {
    chk_name(&slot, "slot");
    atom_store_rlx(&slot, block_new(2));
}
static void no_block(void) { chk_name(&slot, "slot"); }

/* Taken by a swap, a block has one owner. */
static void take_and_free(void) {
    struct block *b = atom_swap_acqrel(&slot, NULL);
    if (b) block_free(b);
}
static void look(void) {
    struct block *b = atom_load_acq(&slot);
    if (b) chk_assert(b->value == 42, "the block is whole");
}
static void take_and_look(void) {
    struct block *b = atom_swap_acqrel(&slot, NULL);
    if (b) {
        chk_assert(b->value == 42, "the block is whole");
        block_free(b);
    }
}
SCENARIO(heap_one_owner, .about = "a block taken by a swap has one owner, which frees it", .setup = one_block,
         .threads = {take_and_free, take_and_look})
SCENARIO(heap_use_after_free, .about = "a block is looked at while another thread frees it", .setup = one_block,
         .threads = {take_and_free, look}, .flawed_in = CHK_ALL, .flaw = CHK_USE_AFTER_FREE)

/* The same with a single atomic access and a free that nothing orders, neither in any sequence of events. */
static struct block *known;
static void known_block(void) { known = block_new(2); }
static void look_at_known(void) { atom_load_sc(&known->holders); }
static void free_known(void) { block_free(known); }
SCENARIO(heap_use_beside_free, .about = "an atomic access and a free with nothing between them", .setup = known_block,
         .threads = {look_at_known, free_known}, .flawed_in = CHK_ALL, .flaw = CHK_USE_AFTER_FREE)

static void free_what_is_there(void) {
    struct block *b = atom_load_acq(&slot);
    if (b) {
        atom_store_rel(&slot, NULL);
        block_free(b);
    }
}
SCENARIO(heap_double_free, .about = "two threads find the same block and free it", .setup = one_block,
         .threads = {free_what_is_there, free_what_is_there}, .flawed_in = CHK_ALL, .flaw = CHK_DOUBLE_FREE)

static void drop(void) { atom_store_rel(&slot, NULL); }
SCENARIO(heap_leak, .about = "a block is dropped and no thread frees it", .setup = one_block, .threads = {drop}, .flawed_in = CHK_ALL,
         .flaw = CHK_LEAK)

static void install(void) {
    struct block *b = block_new(1), *none = NULL;
    if (!atom_cas_rel_rlx(&slot, &none, b)) block_free(b);
}
static void install_leaky(void) {
    struct block *b = block_new(1), *none = NULL;
    (void)atom_cas_rel_rlx(&slot, &none, b);
}
static void free_slot(void) { block_free(atom_load_rlx(&slot)); }
SCENARIO(heap_install_once, .about = "two threads install a block, the loser frees his own", .setup = no_block,
         .threads = {install, install}, .finish = free_slot)
SCENARIO(heap_install_leaky, .about = "two threads install a block, the loser forgets his own", .setup = no_block,
         .threads = {install_leaky, install_leaky}, .finish = free_slot, .flawed_in = CHK_ALL, .flaw = CHK_LEAK)

/* A new block is zero for threads that are ordered behind its allocation, not for others, even if they look at its atoms only. */

static void publish_rel(void) { atom_store_rel(&slot, sys->alloc(sizeof(struct block))); }
static void publish_rlx(void) { atom_store_rlx(&slot, sys->alloc(sizeof(struct block))); }
static void look_at_atom(void) {
    struct block *b = atom_load_acq(&slot);
    if (b) chk_assert(atom_load_rlx(&b->holders) == 0, "the block is zero");
}
static void look_at_atom_rlx(void) {
    struct block *b = atom_load_rlx(&slot);
    if (b) chk_assert(atom_load_rlx(&b->holders) == 0, "the block is zero");
}
SCENARIO(heap_new_block, .about = "a new block is published, its zeros are read", .setup = no_block, .threads = {publish_rel, look_at_atom},
         .finish = free_slot)
SCENARIO(heap_new_block_unpublished, .about = "the same without release", .setup = no_block, .threads = {publish_rlx, look_at_atom},
         .finish = free_slot, .flawed_in = CHK_C11, .flaw = CHK_RACE)
SCENARIO(heap_new_block_unacquired, .about = "the same without acquire", .setup = no_block, .threads = {publish_rel, look_at_atom_rlx},
         .finish = free_slot, .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* Counted holders: the last one frees. His subtraction must acquire what the others released. */

static void hold_acqrel(void) {
    struct block *b = atom_load_acq(&slot);
    chk_assert(b->value == 42, "the block is whole");
    if (atom_sub_acqrel(&b->holders, 1) == 1) block_free(b);
}
SCENARIO(heap_holders, .about = "the last of two holders frees the block", .setup = one_block, .threads = {hold_acqrel, hold_acqrel})

static void hold_rel(void) {
    struct block *b = atom_load_acq(&slot);
    chk_assert(b->value == 42, "the block is whole");
    if (atom_sub_rel(&b->holders, 1) == 1) block_free(b);
}
SCENARIO(heap_holders_rel, .about = "the last holder does not acquire", .setup = one_block, .threads = {hold_rel, hold_rel},
         .flawed_in = CHK_C11, .flaw = CHK_USE_AFTER_FREE)

static void hold_acq(void) {
    struct block *b = atom_load_acq(&slot);
    chk_assert(b->value == 42, "the block is whole");
    if (atom_sub_acq(&b->holders, 1) == 1) block_free(b);
}
SCENARIO(heap_holders_acq, .about = "the first holder does not release", .setup = one_block, .threads = {hold_acq, hold_acq},
         .flawed_in = CHK_C11, .flaw = CHK_USE_AFTER_FREE)

static void hold_fence(void) {
    struct block *b = atom_load_acq(&slot);
    chk_assert(b->value == 42, "the block is whole");
    if (atom_sub_rel(&b->holders, 1) == 1) {
        chk_fence_acq();
        block_free(b);
    }
}
SCENARIO(heap_holders_fence, .about = "release at the subtraction, an acquire fence before the free", .setup = one_block,
         .threads = {hold_fence, hold_fence})

/* Plain use only, and word that it is over by a flag. */

static void use_then_flag(void) {
    struct block *b = atom_load_acq(&slot);
    chk_assert(b->value == 42, "the block is whole");
    atom_store_rel(&done, 1);
}
static void use_then_flag_rlx(void) {
    struct block *b = atom_load_acq(&slot);
    chk_assert(b->value == 42, "the block is whole");
    atom_store_rlx(&done, 1);
}
static void wait_and_free(void) {
    struct spin spin = spin_begin();
    while (atom_load_acq(&done) == 0)
        spin_wait(&spin);
    block_free(atom_load_rlx(&slot));
}
SCENARIO(heap_free_after_use, .about = "the block is freed once its user has said that he is done", .setup = one_block,
         .threads = {use_then_flag, wait_and_free})
SCENARIO(heap_free_unordered, .about = "the user says so without releasing his use", .setup = one_block,
         .threads = {use_then_flag_rlx, wait_and_free}, .flawed_in = CHK_C11, .flaw = CHK_USE_AFTER_FREE)
