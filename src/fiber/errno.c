/* Where errno is now. In a file of its own and never inlined, so that no compiler remembers it across a call that may switch. */
#include <weft/errno.h>

__attribute__((noinline)) int *weft_errno(void) {
    __asm__ volatile("");
    return __errno_location();
}
