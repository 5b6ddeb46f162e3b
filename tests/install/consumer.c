/* A program outside the tree that uses an installed weft; compiled as C and as C++. */
#include <weft/weft.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    if (weft_version() != WEFT_VERSION || strcmp(weft_version_string(), WEFT_VERSION_STRING) != 0) {
        printf("headers %s, library %s\n", WEFT_VERSION_STRING, weft_version_string());
        return 1;
    }
    static weft_synch2 door;
    weft_synch2_init(&door);
    weft_synch2_enter(&door, 0);
    int busy = weft_synch2_try(&door, 1);
    weft_synch2_leave(&door, 0);
    if (busy != WEFT_EBUSY || weft_synch2_try(&door, 1) != 0) {
        printf("synch2 let both in, or nobody\n");
        return 1;
    }
    weft_synch2_leave(&door, 1);
    printf("weft %s\n", weft_version_string());
    return 0;
}
