/* The address of errno. In a file of its own and never inlined, so that no compiler keeps it across a call that may switch threads. */
#include <weft/errno.h>

__attribute__((noinline)) int *weft_errno(void) {
    __asm__ volatile("");
    return __errno_location();
}
