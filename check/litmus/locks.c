/* Locks and lock-like patterns built on read-modify-writes: spin lock, ticket lock, the checker's own mutex, seqlock,
 * double-checked initialisation. Each once right and once with every order that matters taken away. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"

SHARED atom_u32 lock, next, serving, ready, seq, a, b;
SHARED struct chk_mutex mutex;
SHARED uint32_t count, inits;
SHARED uint32_t r0, r1, r2, r3;

static void names(void) {
    chk_name(&lock, "lock");
    chk_name(&next, "next");
    chk_name(&serving, "serving");
    chk_name(&ready, "ready");
    chk_name(&seq, "seq");
    chk_name(&a, "a");
    chk_name(&b, "b");
    chk_name(&mutex, "mutex");
    chk_name(&count, "count");
}
static void counted_2(void) { chk_assert(count == 2, "both critical sections counted"); }
static void counted_3(void) { chk_assert(count == 3, "all critical sections counted"); }

/* Spin lock. */

static void spinlock(void) {
    struct spin spin = spin_begin();
    uint32_t free = 0;
    while (!atom_cas_acq_rlx(&lock, &free, 1)) {
        free = 0;
        spin_wait(&spin);
    }
    count++;
    atom_store_rel(&lock, 0);
}
SCENARIO(spinlock, .about = "a spin lock protects plain data", .setup = names, .threads = {spinlock, spinlock}, .finish = counted_2)
SCENARIO(spinlock3, .about = "a spin lock, three threads", .setup = names, .threads = {spinlock, spinlock, spinlock}, .finish = counted_3)

static void spinlock_take_rlx(void) {
    struct spin spin = spin_begin();
    uint32_t free = 0;
    while (!atom_cas_rlx_rlx(&lock, &free, 1)) {
        free = 0;
        spin_wait(&spin);
    }
    count++;
    atom_store_rel(&lock, 0);
}
SCENARIO(spinlock_take_rlx, .about = "a spin lock taken without acquire", .setup = names, .threads = {spinlock_take_rlx, spinlock_take_rlx},
         .finish = counted_2, .flawed_in = CHK_C11, .flaw = CHK_RACE)

static void spinlock_leave_rlx(void) {
    struct spin spin = spin_begin();
    uint32_t free = 0;
    while (!atom_cas_acq_rlx(&lock, &free, 1)) {
        free = 0;
        spin_wait(&spin);
    }
    count++;
    atom_store_rlx(&lock, 0);
}
SCENARIO(spinlock_leave_rlx, .about = "a spin lock left without release", .setup = names,
         .threads = {spinlock_leave_rlx, spinlock_leave_rlx}, .finish = counted_2, .flawed_in = CHK_C11, .flaw = CHK_RACE)

static void spinlock_split(void) {
    struct spin spin = spin_begin();
    while (atom_load_sc(&lock) == 1)
        spin_wait(&spin);
    atom_store_sc(&lock, 1);
    count++;
    atom_store_rel(&lock, 0);
}
SCENARIO(spinlock_split, .about = "a spin lock taken by a load and a store: wrong in every model", .setup = names,
         .threads = {spinlock_split, spinlock_split}, .finish = counted_2, .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* Ticket lock. */

static void ticket(void) {
    struct spin spin = spin_begin();
    uint32_t mine = atom_add_rlx(&next, 1);
    while (atom_load_acq(&serving) != mine)
        spin_wait(&spin);
    count++;
    atom_store_rel(&serving, mine + 1);
}
SCENARIO(ticket_lock, .about = "a ticket lock, three threads", .setup = names, .threads = {ticket, ticket, ticket}, .finish = counted_3)

static void ticket_take_rlx(void) {
    struct spin spin = spin_begin();
    uint32_t mine = atom_add_acqrel(&next, 1);
    while (atom_load_rlx(&serving) != mine)
        spin_wait(&spin);
    count++;
    atom_store_rel(&serving, mine + 1);
}
SCENARIO(ticket_lock_take_rlx, .about = "a ticket lock that acquires at the ticket instead of at the door", .setup = names,
         .threads = {ticket_take_rlx, ticket_take_rlx}, .finish = counted_2, .flawed_in = CHK_C11, .flaw = CHK_RACE)

static void ticket_leave_rlx(void) {
    struct spin spin = spin_begin();
    uint32_t mine = atom_add_rlx(&next, 1);
    while (atom_load_acq(&serving) != mine)
        spin_wait(&spin);
    count++;
    atom_store_rlx(&serving, mine + 1);
}
SCENARIO(ticket_lock_leave_rlx, .about = "a ticket lock left without release", .setup = names,
         .threads = {ticket_leave_rlx, ticket_leave_rlx}, .finish = counted_2, .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* The checker's mutex. */

static void mutexed(void) {
    chk_lock(&mutex);
    count++;
    chk_unlock(&mutex);
}
static void unmutexed(void) { count++; }
SCENARIO(mutex_protects, .about = "a mutex protects plain data", .setup = names, .threads = {mutexed, mutexed, mutexed},
         .finish = counted_3)
SCENARIO(mutex_forgotten, .about = "one thread forgets the mutex", .setup = names, .threads = {mutexed, unmutexed}, .finish = counted_2,
         .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* Seqlock: the reader accepts a and b if the sequence number was even and the same before and after. */

static void seq_write(void) {
    atom_store_rlx(&seq, 1);
    chk_fence_rel();
    atom_store_rlx(&a, 1);
    atom_store_rlx(&b, 1);
    atom_store_rel(&seq, 2);
}
static void seq_write_no_fence(void) {
    atom_store_rlx(&seq, 1);
    atom_store_rlx(&a, 1);
    atom_store_rlx(&b, 1);
    atom_store_rel(&seq, 2);
}
static void seq_write_end_rlx(void) {
    atom_store_rlx(&seq, 1);
    chk_fence_rel();
    atom_store_rlx(&a, 1);
    atom_store_rlx(&b, 1);
    atom_store_rlx(&seq, 2);
}
static void seq_write_rel(void) {
    atom_store_rlx(&seq, 1);
    atom_store_rel(&a, 1);
    atom_store_rel(&b, 1);
    atom_store_rel(&seq, 2);
}
static void seq_read(void) {
    r0 = atom_load_acq(&seq);
    r1 = atom_load_rlx(&a);
    r2 = atom_load_rlx(&b);
    chk_fence_acq();
    r3 = atom_load_rlx(&seq);
}
static void seq_read_no_fence(void) {
    r0 = atom_load_acq(&seq);
    r1 = atom_load_rlx(&a);
    r2 = atom_load_rlx(&b);
    r3 = atom_load_acq(&seq);
}
static void seq_read_begin_rlx(void) {
    r0 = atom_load_rlx(&seq);
    r1 = atom_load_rlx(&a);
    r2 = atom_load_rlx(&b);
    chk_fence_acq();
    r3 = atom_load_rlx(&seq);
}
static void seq_read_acq(void) {
    r0 = atom_load_acq(&seq);
    r1 = atom_load_acq(&a);
    r2 = atom_load_acq(&b);
    r3 = atom_load_rlx(&seq);
}
static void not_torn(void) { chk_assert(!(r0 == r3 && r0 % 2 == 0 && r1 != r2), "an accepted read is not torn"); }
SCENARIO(seqlock, .about = "seqlock with fences", .setup = names, .threads = {seq_write, seq_read}, .finish = not_torn)
SCENARIO(seqlock_no_fences, .about = "seqlock with release stores and acquire loads of the data", .setup = names,
         .threads = {seq_write_rel, seq_read_acq}, .finish = not_torn)
SCENARIO(seqlock_no_write_fence, .about = "seqlock, the writer's fence is missing", .setup = names,
         .threads = {seq_write_no_fence, seq_read}, .finish = not_torn, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(seqlock_no_read_fence, .about = "seqlock, an acquire load of the number instead of the reader's fence", .setup = names,
         .threads = {seq_write, seq_read_no_fence}, .finish = not_torn, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(seqlock_end_rlx, .about = "seqlock, the writer's last store relaxed", .setup = names, .threads = {seq_write_end_rlx, seq_read},
         .finish = not_torn, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(seqlock_begin_rlx, .about = "seqlock, the reader's first load relaxed", .setup = names, .threads = {seq_write, seq_read_begin_rlx},
         .finish = not_torn, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* Double-checked initialisation. */

static void init_once(void) {
    chk_lock(&mutex);
    if (atom_load_rlx(&ready) == 0) {
        count = 42;
        inits++;
        atom_store_rel(&ready, 1);
    }
    chk_unlock(&mutex);
}
static void init_once_rlx(void) {
    chk_lock(&mutex);
    if (atom_load_rlx(&ready) == 0) {
        count = 42;
        inits++;
        atom_store_rlx(&ready, 1);
    }
    chk_unlock(&mutex);
}
static void init_again(void) {
    chk_lock(&mutex);
    count = 42;
    atom_store_rel(&ready, 1);
    chk_unlock(&mutex);
}
static void get(void) {
    if (atom_load_acq(&ready) == 0) init_once();
    chk_assert(count == 42, "initialised before use");
}
static void get_rlx(void) {
    if (atom_load_rlx(&ready) == 0) init_once();
    chk_assert(count == 42, "initialised before use");
}
static void get_store_rlx(void) {
    if (atom_load_acq(&ready) == 0) init_once_rlx();
    chk_assert(count == 42, "initialised before use");
}
static void get_once_checked(void) {
    if (atom_load_acq(&ready) == 0) init_again();
    r0 = count;
}
static void get_once_checked_too(void) {
    if (atom_load_acq(&ready) == 0) init_again();
    r1 = count;
}
static void once(void) { chk_assert(inits == 1, "initialised once"); }
SCENARIO(double_check, .about = "double-checked initialisation", .setup = names, .threads = {get, get}, .finish = once)
SCENARIO(double_check_load_rlx, .about = "double-checked initialisation, the first check relaxed", .setup = names,
         .threads = {get_rlx, get_rlx}, .finish = once, .flawed_in = CHK_C11, .flaw = CHK_RACE)
SCENARIO(double_check_store_rlx, .about = "double-checked initialisation, the announcement relaxed", .setup = names,
         .threads = {get_store_rlx, get_store_rlx}, .finish = once, .flawed_in = CHK_C11, .flaw = CHK_RACE)
SCENARIO(double_check_once, .about = "double-checked initialisation without the second check", .setup = names,
         .threads = {get_once_checked, get_once_checked_too}, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
