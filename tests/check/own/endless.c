/* A loop that counts its rounds and is not marked: the checker follows it as far as it can, and says what to do. */
#include <stdatomic.h>
#include <weft/chk.h>

static atomic_int set;
static void waits(void) {
    for (volatile int tries = 0; !atomic_load(&set); tries++) {}
}
static void sets(void) { set = 1; }
CHK_SCENARIO(unmarked, .about = "a loop for ever, not the same in any two rounds", .threads = {waits, sets}, .models = CHK_C11)
