/* An atomic object that is too big for the checker. */
#include <stdatomic.h>
#include <weft/chk.h>

static _Atomic struct big { char at[100]; } big;
static void reads(void) { atomic_load(&big); }
CHK_SCENARIO(too_big, .threads = {reads})
