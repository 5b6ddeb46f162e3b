/* An assumption that never holds: nothing is explored to its end, and nothing was shown. */
#include <weft/chk.h>

static int value;
static void writes(void) { value = 1; }
static void assumes_too_much(void) { chk_assume(chk_choose(2) > 1); }
CHK_SCENARIO(assumed_away, .about = "no execution comes to its end", .threads = {writes, assumes_too_much}, .models = CHK_C11)
