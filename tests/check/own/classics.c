/* Known algorithms, right and wrong in one place. */
#include <stdatomic.h>
#include <weft/chk.h>

/* ---- Dekker's entry: both say that they come, then look at the other ---- */

static atomic_int come[2], inside;
static void say(memory_order order) { atomic_store_explicit(&come[chk_self()], 1, order); }
static void enter(memory_order order) {
    if (!atomic_load_explicit(&come[1 - chk_self()], order)) atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
}
static void enter_sc(void) {
    say(memory_order_seq_cst);
    enter(memory_order_seq_cst);
}
static void say_and_fence(void) {
    say(memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}
static void enter_fenced(void) {
    say_and_fence();
    enter(memory_order_relaxed);
}
static void enter_unfenced(void) {
    say(memory_order_release);
    enter(memory_order_acquire);
}
static void at_most_one(void) { chk_assert(inside <= 1, "at most one is inside"); }
CHK_SCENARIO(dekker, .about = "sequentially consistent", .threads = {enter_sc, enter_sc}, .finish = at_most_one)
CHK_SCENARIO(dekker_fenced, .about = "relaxed, with a full fence", .threads = {enter_fenced, enter_fenced}, .finish = at_most_one)
CHK_SCENARIO(dekker_unfenced, .about = "release and acquire are not enough", .threads = {enter_unfenced, enter_unfenced},
             .finish = at_most_one, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

/* ---- a seqlock: two words that belong together ---- */

static atomic_uint sequence;
static atomic_int left, right;
static void write_pair(void) {
    unsigned s = atomic_load_explicit(&sequence, memory_order_relaxed);
    atomic_store_explicit(&sequence, s + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&left, 1, memory_order_relaxed);
    atomic_store_explicit(&right, 1, memory_order_relaxed);
    atomic_store_explicit(&sequence, s + 2, memory_order_release);
}
static void read_pair(int fence) {
    unsigned before, after;
    int l, r;
    do {
        before = atomic_load_explicit(&sequence, memory_order_acquire);
        l = atomic_load_explicit(&left, memory_order_relaxed);
        r = atomic_load_explicit(&right, memory_order_relaxed);
        if (fence) atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&sequence, memory_order_relaxed);
    } while (before != after || before % 2);
    chk_assert(l == r, "both words of one write");
}
static void read_fenced(void) { read_pair(1); }
static void read_unfenced(void) { read_pair(0); }
CHK_SCENARIO(seqlock, .about = "one writer, one reader", .threads = {write_pair, read_fenced})
CHK_SCENARIO(seqlock_unfenced, .about = "without the fence before the second look", .threads = {write_pair, read_unfenced},
             .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* ---- publication, by consume, which is acquire, and by nothing ---- */

static int data;
static _Atomic(int *) published;
static void publish(void) {
    data = 42;
    atomic_store_explicit(&published, &data, memory_order_release);
}
static void consume(void) {
    int *p = atomic_load_explicit(&published, memory_order_consume);
    if (p) chk_assert(*p == 42, "what was published");
}
static void look(void) {
    int *p = atomic_load_explicit(&published, memory_order_relaxed);
    if (p) chk_assert(*p == 42, "what was published");
}
CHK_SCENARIO(consumed, .about = "consume is acquire", .threads = {publish, consume})
CHK_SCENARIO(looked_at, .about = "a relaxed load orders nothing", .threads = {publish, look}, .flawed_in = CHK_C11, .flaw = CHK_RACE)
