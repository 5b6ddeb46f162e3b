/* Message passing: one thread writes data and then raises a flag, the other sees the flag and reads the data. The
 * outcome asked for is the flag seen and the data missed. x86 never shows it; C11 does unless a release meets an
 * acquire. */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 data, flag;
SHARED uint32_t r0, r1; /* the reader's: flag, data */

static void names(void) {
    chk_name(&data, "data");
    chk_name(&flag, "flag");
}

static void stale(void) { chk_assert(!(r0 == 1 && r1 == 0), "a thread that sees the flag sees the data"); }

static void write_rlx(void) {
    atom_store_rlx(&data, 1);
    atom_store_rlx(&flag, 1);
}
static void write_rel(void) {
    atom_store_rlx(&data, 1);
    atom_store_rel(&flag, 1);
}
static void write_sc(void) {
    atom_store_sc(&data, 1);
    atom_store_sc(&flag, 1);
}
static void read_rlx(void) {
    r0 = atom_load_rlx(&flag);
    r1 = atom_load_rlx(&data);
}
static void read_acq(void) {
    r0 = atom_load_acq(&flag);
    r1 = atom_load_rlx(&data);
}
static void read_sc(void) {
    r0 = atom_load_sc(&flag);
    r1 = atom_load_sc(&data);
}
SCENARIO(mp_rlx, .about = "MP, relaxed", .setup = names, .threads = {write_rlx, read_rlx}, .finish = stale, .flawed_in = CHK_C11,
         .flaw = CHK_ASSERT)
SCENARIO(mp_relacq, .about = "MP, release and acquire", .setup = names, .threads = {write_rel, read_acq}, .finish = stale)
SCENARIO(mp_rel_rlx, .about = "MP, the acquire is missing", .setup = names, .threads = {write_rel, read_rlx}, .finish = stale,
         .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(mp_rlx_acq, .about = "MP, the release is missing", .setup = names, .threads = {write_rlx, read_acq}, .finish = stale,
         .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(mp_sc, .about = "MP, all seq_cst", .setup = names, .threads = {write_sc, read_sc}, .finish = stale)
SCENARIO(mp_sc_acq, .about = "MP, a seq_cst store is also a release", .setup = names, .threads = {write_sc, read_acq}, .finish = stale)
SCENARIO(mp_rel_sc, .about = "MP, a seq_cst load is also an acquire", .setup = names, .threads = {write_rel, read_sc}, .finish = stale)

/* The orders on the data instead of on the flag. */
static void write_rel_early(void) {
    atom_store_rel(&data, 1);
    atom_store_rlx(&flag, 1);
}
static void read_acq_late(void) {
    r0 = atom_load_rlx(&flag);
    r1 = atom_load_acq(&data);
}
SCENARIO(mp_orders_on_data, .about = "MP, release and acquire on the data instead of the flag", .setup = names,
         .threads = {write_rel_early, read_acq_late}, .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* Fences. */

static void write_fence(void) {
    atom_store_rlx(&data, 1);
    chk_fence_rel();
    atom_store_rlx(&flag, 1);
}
static void write_fence_late(void) {
    atom_store_rlx(&data, 1);
    atom_store_rlx(&flag, 1);
    chk_fence_rel();
}
static void read_fence(void) {
    r0 = atom_load_rlx(&flag);
    chk_fence_acq();
    r1 = atom_load_rlx(&data);
}
static void read_fence_early(void) {
    chk_fence_acq();
    r0 = atom_load_rlx(&flag);
    r1 = atom_load_rlx(&data);
}
SCENARIO(mp_fences, .about = "MP, release fence and acquire fence", .setup = names, .threads = {write_fence, read_fence}, .finish = stale)
SCENARIO(mp_fence_acq, .about = "MP, release fence and acquire load", .setup = names, .threads = {write_fence, read_acq}, .finish = stale)
SCENARIO(mp_rel_fence, .about = "MP, release store and acquire fence", .setup = names, .threads = {write_rel, read_fence}, .finish = stale)
SCENARIO(mp_fence_rlx, .about = "MP, release fence, nothing on the reader's side", .setup = names, .threads = {write_fence, read_rlx},
         .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(mp_rlx_fence, .about = "MP, acquire fence, nothing on the writer's side", .setup = names, .threads = {write_rlx, read_fence},
         .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(mp_fence_late, .about = "MP, the release fence after the flag", .setup = names, .threads = {write_fence_late, read_fence},
         .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(mp_fence_early, .about = "MP, the acquire fence before the flag is read", .setup = names,
         .threads = {write_fence, read_fence_early}, .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void write_fence_acq(void) {
    atom_store_rlx(&data, 1);
    chk_fence_acq();
    atom_store_rlx(&flag, 1);
}
static void read_fence_rel(void) {
    r0 = atom_load_rlx(&flag);
    chk_fence_rel();
    r1 = atom_load_rlx(&data);
}
SCENARIO(mp_fences_swapped, .about = "MP, an acquire fence where the release belongs and the other way round", .setup = names,
         .threads = {write_fence_acq, read_fence_rel}, .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void write_fence_sc(void) {
    atom_store_rlx(&data, 1);
    chk_fence_sc();
    atom_store_rlx(&flag, 1);
}
static void read_fence_sc(void) {
    r0 = atom_load_rlx(&flag);
    chk_fence_sc();
    r1 = atom_load_rlx(&data);
}
SCENARIO(mp_fences_sc, .about = "MP, full fences", .setup = names, .threads = {write_fence_sc, read_fence_sc}, .finish = stale)

static void write_light(void) {
    atom_store_rlx(&data, 1);
    chk_fence_light();
    atom_store_rlx(&flag, 1);
}
static void read_light(void) {
    r0 = atom_load_rlx(&flag);
    chk_fence_light();
    r1 = atom_load_rlx(&data);
}
static void write_heavy(void) {
    atom_store_rlx(&data, 1);
    chk_fence_heavy();
    atom_store_rlx(&flag, 1);
}
static void read_heavy(void) {
    r0 = atom_load_rlx(&flag);
    chk_fence_heavy();
    r1 = atom_load_rlx(&data);
}
SCENARIO(mp_light_heavy, .about = "MP, light fence at the writer, heavy at the reader", .setup = names,
         .threads = {write_light, read_heavy}, .finish = stale)
SCENARIO(mp_heavy_light, .about = "MP, heavy fence at the writer, light at the reader", .setup = names,
         .threads = {write_heavy, read_light}, .finish = stale)
SCENARIO(mp_light_light, .about = "MP, two light fences order nothing", .setup = names, .threads = {write_light, read_light},
         .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* Read-modify-writes as the flag. */

static void write_rmw_rel(void) {
    atom_store_rlx(&data, 1);
    atom_add_rel(&flag, 1);
}
static void write_rmw_acq(void) {
    atom_store_rlx(&data, 1);
    atom_add_acq(&flag, 1);
}
static void read_rmw_acq(void) {
    r0 = atom_add_acq(&flag, 2);
    r1 = atom_load_rlx(&data);
}
static void read_rmw_rel(void) {
    r0 = atom_add_rel(&flag, 2);
    r1 = atom_load_rlx(&data);
}
SCENARIO(mp_rmw, .about = "MP, the flag written by fetch_add release, read by fetch_add acquire", .setup = names,
         .threads = {write_rmw_rel, read_rmw_acq}, .finish = stale)
SCENARIO(mp_rmw_writer_acq, .about = "MP, the writer's fetch_add has the wrong half", .setup = names,
         .threads = {write_rmw_acq, read_rmw_acq}, .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(mp_rmw_reader_rel, .about = "MP, the reader's fetch_add has the wrong half", .setup = names,
         .threads = {write_rmw_rel, read_rmw_rel}, .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void read_data_by_rmw(void) {
    r0 = atom_load_rlx(&flag);
    r1 = atom_add_rlx(&data, 2);
}
SCENARIO(mp_rmw_on_data, .about = "MP, the data read by a relaxed fetch_add: atomic, yet it may come before the store", .setup = names,
         .threads = {write_rlx, read_data_by_rmw}, .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* The flag is noticed by a compare-and-swap that fails. */

static void read_failed_cas_rlx(void) {
    uint32_t seen = 7;
    (void)atom_cas_acq_rlx(&flag, &seen, 8);
    r0 = seen;
    r1 = atom_load_rlx(&data);
}
static void read_failed_cas_acq(void) {
    uint32_t seen = 7;
    (void)atom_cas_acq_acq(&flag, &seen, 8);
    r0 = seen;
    r1 = atom_load_rlx(&data);
}
SCENARIO(mp_cas_failure_acq, .about = "MP, the flag seen by a failed compare-and-swap with acquire failure order", .setup = names,
         .threads = {write_rel, read_failed_cas_acq}, .finish = stale)
SCENARIO(mp_cas_failure_rlx, .about = "MP, the flag seen by a failed compare-and-swap with relaxed failure order", .setup = names,
         .threads = {write_rel, read_failed_cas_rlx}, .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* A compare-and-swap that fails is only a read, and may be a stale one. */
static void stale_cas(void) {
    uint32_t seen = 7;
    r0 = atom_load_rlx(&flag);
    (void)atom_cas_rlx_rlx(&data, &seen, 8);
    r1 = seen;
}
SCENARIO(cas_fails_on_stale_value, .about = "a failed relaxed compare-and-swap reports an old value", .setup = names,
         .threads = {write_rlx, stale_cas}, .finish = stale, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* The message comes after more events than fit into eight bits. Plain, and not SHARED: far too long for the enumerator. */
static unsigned letter;
static void write_a_lot(void) {
    for (unsigned i = 0; i < 300; i++)
        atom_store_rlx(&data, i);
    letter = 1;
}
static void write_long_rel(void) {
    write_a_lot();
    atom_store_rel(&flag, 1);
}
static void write_long_rlx(void) {
    write_a_lot();
    atom_store_rlx(&flag, 1);
}
static void read_long(void) {
    if (atom_load_acq(&flag)) chk_assert(letter == 1, "a thread that sees the flag sees the letter");
}
SCENARIO(mp_long, .about = "MP, release and acquire behind 300 other stores", .setup = names, .threads = {write_long_rel, read_long})
SCENARIO(mp_long_rlx, .about = "the same, the release is missing", .setup = names, .threads = {write_long_rlx, read_long},
         .flawed_in = CHK_C11, .flaw = CHK_RACE)
