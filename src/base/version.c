/* The version of the library, as it was built. */
#include <weft/version.h>

int weft_version(void) { return WEFT_VERSION; }

const char *weft_version_string(void) { return WEFT_VERSION_STRING; }
