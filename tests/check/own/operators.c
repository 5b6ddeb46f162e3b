/* Every way to write an atomic operation, in every size. */
#include <stdatomic.h>
#include <stdbool.h>
#include <weft/chk.h>

static _Atomic signed char c;
static atomic_short s;
static atomic_int i;
static atomic_llong l;
static _Atomic __int128 huge;
static _Atomic double d;
static atomic_bool done[2];
static void add_one(void) {
    c++;
    s += 1;
    --i;
    atomic_fetch_add(&l, 1);
    huge += (__int128)1 << 100;
    d += 0.5;
    done[chk_self()] = true;
}
static void added(void) {
    chk_assert(c == 2 && s == 2 && i == -2 && l == 2 && huge == (__int128)1 << 101 && d == 1, "nothing is lost");
    chk_assert(done[0] && done[1], "both were here");
}
CHK_SCENARIO(operators, .about = "operators on atomic objects", .threads = {add_one, add_one}, .finish = added, .models = CHK_SC)

static int builtin;
static void by_builtin(void) {
    __sync_fetch_and_add(&builtin, 1);
    __atomic_fetch_or(&builtin, 16, __ATOMIC_ACQ_REL);
}
static void built(void) { chk_assert(builtin == 18, "two and sixteen"); }
CHK_SCENARIO(builtins, .about = "the compiler's own functions", .threads = {by_builtin, by_builtin}, .finish = built)

static _Atomic struct three { char at[3]; } three;
static void store_three(void) {
    char n = (char)(chk_self() + 1);
    atomic_store(&three, ((struct three){{n, n, n}}));
}
static void load_three(void) {
    struct three t = atomic_load(&three);
    chk_assert(t.at[0] == t.at[1] && t.at[1] == t.at[2], "not torn");
}
CHK_SCENARIO(odd_size, .about = "an atomic object of three bytes", .threads = {store_three, store_three, load_three})
