/* Message passing of plain data: the payload is not atomic, so a missing order is a data race. In the x86 and SC models
 * every access counts as release and acquire, hence a flag that was seen always orders the payload there. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"

SHARED atom_u32 flag;
SHARED uint32_t payload;
SHARED uint32_t r0, r1;

static void names(void) {
    chk_name(&flag, "flag");
    chk_name(&payload, "payload");
}

static void complete(void) { chk_assert(r0 != 1 || r1 == 42, "a thread that sees the flag sees the payload"); }

static void put_rel(void) {
    payload = 42;
    atom_store_rel(&flag, 1);
}
static void put_rlx(void) {
    payload = 42;
    atom_store_rlx(&flag, 1);
}
static void put_fence(void) {
    payload = 42;
    chk_fence_rel();
    atom_store_rlx(&flag, 1);
}
static void put_early(void) {
    atom_store_rel(&flag, 1);
    payload = 42;
}
static void get_acq(void) {
    r0 = atom_load_acq(&flag);
    if (r0 == 1) r1 = payload;
}
static void get_rlx(void) {
    r0 = atom_load_rlx(&flag);
    if (r0 == 1) r1 = payload;
}
static void get_fence(void) {
    r0 = atom_load_rlx(&flag);
    if (r0 == 1) {
        chk_fence_acq();
        r1 = payload;
    }
}
static void get_unasked(void) {
    r0 = atom_load_acq(&flag);
    r1 = payload;
}
SCENARIO(payload_relacq, .about = "plain payload, release and acquire", .setup = names, .threads = {put_rel, get_acq}, .finish = complete)
SCENARIO(payload_fences, .about = "plain payload, release and acquire fences", .setup = names, .threads = {put_fence, get_fence},
         .finish = complete)
SCENARIO(payload_rlx, .about = "plain payload, relaxed flag", .setup = names, .threads = {put_rlx, get_rlx}, .finish = complete,
         .flawed_in = CHK_C11, .flaw = CHK_RACE)
SCENARIO(payload_rlx_store, .about = "plain payload, the release is missing", .setup = names, .threads = {put_rlx, get_acq},
         .finish = complete, .flawed_in = CHK_C11, .flaw = CHK_RACE)
SCENARIO(payload_rlx_load, .about = "plain payload, the acquire is missing; the branch does not replace it", .setup = names,
         .threads = {put_rel, get_rlx}, .finish = complete, .flawed_in = CHK_C11, .flaw = CHK_RACE)
SCENARIO(payload_unasked, .about = "plain payload, read whether or not the flag is up", .setup = names, .threads = {put_rel, get_unasked},
         .finish = complete, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
SCENARIO(payload_after_flag, .about = "plain payload, written after the flag", .setup = names, .threads = {put_early, get_acq},
         .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* Waiting for the flag instead of asking once. */

static void wait_acq(void) {
    struct spin spin = spin_begin();
    while (atom_load_acq(&flag) == 0)
        spin_wait(&spin);
    r0 = 1;
    r1 = payload;
}
static void wait_rlx(void) {
    struct spin spin = spin_begin();
    while (atom_load_rlx(&flag) == 0)
        spin_wait(&spin);
    r0 = 1;
    r1 = payload;
}
static void arrived(void) { chk_assert(r1 == 42, "the waiter gets the payload"); }
SCENARIO(payload_wait_acq, .about = "plain payload, the reader waits for the flag", .setup = names, .threads = {put_rel, wait_acq},
         .finish = arrived)
SCENARIO(payload_wait_rlx, .about = "plain payload, the reader waits with relaxed loads", .setup = names, .threads = {put_rel, wait_rlx},
         .finish = arrived, .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* Publication through a pointer. C11's consume is not modelled: a dependency orders nothing here. */

struct node {
    uint32_t value;
};
SHARED struct node node;
SHARED ATOM_PTR(struct node) head;

static void publish(void) {
    node.value = 42;
    atom_store_rel(&head, &node);
}
static void follow_acq(void) {
    struct node *n = atom_load_acq(&head);
    r0 = n != NULL;
    if (n) r1 = n->value;
}
static void follow_rlx(void) {
    struct node *n = atom_load_rlx(&head);
    r0 = n != NULL;
    if (n) r1 = n->value;
}
SCENARIO(payload_pointer_acq, .about = "publication through a pointer, acquire", .setup = names, .threads = {publish, follow_acq},
         .finish = complete)
SCENARIO(payload_pointer_rlx, .about = "publication through a pointer, relaxed: an address dependency is no acquire", .setup = names,
         .threads = {publish, follow_rlx}, .finish = complete, .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* Races without any flag. */

static void write_1(void) { payload = 1; }
static void write_2(void) { payload = 2; }
static void read_it(void) { r1 = payload; }
static void read_it_too(void) { r0 = payload; }
SCENARIO(race_write_write, .about = "two plain writes", .setup = names, .threads = {write_1, write_2}, .flawed_in = CHK_ALL,
         .flaw = CHK_RACE)
SCENARIO(race_write_read, .about = "a plain write and a plain read", .setup = names, .threads = {write_1, read_it}, .flawed_in = CHK_ALL,
         .flaw = CHK_RACE)
SCENARIO(race_read_read, .about = "two plain reads are no race", .setup = names, .threads = {read_it_too, read_it})

/* Different bytes of one word are different data. */
SHARED uint8_t bytes[4];
static void write_byte_1(void) { bytes[1] = 1; }
static void write_byte_2(void) { bytes[2] = 2; }
static void both_bytes(void) { chk_assert(bytes[1] == 1 && bytes[2] == 2, "both bytes were written"); }
SCENARIO(race_neighbours, .about = "plain writes to neighbouring bytes are no race", .setup = names,
         .threads = {write_byte_1, write_byte_2}, .finish = both_bytes)
