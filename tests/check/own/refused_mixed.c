/* An atomic object that is set by a copy of the struct around it. */
#include <stdatomic.h>
#include <weft/chk.h>

static struct pair {
    atomic_int a;
    int b;
} pair;
static void reads(void) { atomic_load(&pair.a); }
static void copies(void) {
    reads();
    pair = (struct pair){1, 1};
}
CHK_SCENARIO(copied_over, .threads = {copies})
