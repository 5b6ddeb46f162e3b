/* The version of the headers, and of the library that is really linked. The build reads the numbers from here. */
#ifndef WEFT_VERSION_H
#define WEFT_VERSION_H

#include <weft/api.h>

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

/* One number that can be compared: 0.1.0 is 100. */
#define WEFT_VERSION (WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH)

#define WEFT_VERSION_QUOTE_(x) #x
#define WEFT_VERSION_JOIN_(a, b, c) WEFT_VERSION_QUOTE_(a) "." WEFT_VERSION_QUOTE_(b) "." WEFT_VERSION_QUOTE_(c)
#define WEFT_VERSION_STRING WEFT_VERSION_JOIN_(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH)

WEFT_BEGIN

/* WEFT_VERSION of the library, which may be newer than the headers the caller was compiled with. */
WEFT_API int weft_version(void);
/* The same as text, "0.1.0". */
WEFT_API const char *weft_version_string(void);

WEFT_END

#endif
