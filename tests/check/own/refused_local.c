/* Thread-local data: all threads of a scenario would share it. */
#include <weft/chk.h>

static _Thread_local int mine;
static void counts(void) { chk_assert(++mine == 1, "its own"); }
CHK_SCENARIO(thread_local_data, .threads = {counts, counts})
