/* Texts and names of error codes. 0 is not an error, hence not in the list WEFT_ERRORS, but has a text and a name too. */
#include <weft/errors.h>

#include <stdbool.h>
#include <string.h>

/* Codes of the system that weft has no name for: none is below this. */
enum { ERRORS_SYSTEM_LAST = -4095 };

static const char *errors_of_system(int code, bool name) {
#if defined(__GLIBC__)
    if (code < 0 && code >= ERRORS_SYSTEM_LAST) return name ? strerrorname_np(-code) : strerrordesc_np(-code);
#endif
    (void)code, (void)name;
    return NULL;
}

const char *weft_strerror(int code) {
    switch (code) {
    case 0: return "no error";
#define ERRORS_TEXT(name, number, text)                                                                                                    \
    case name: return text;
        WEFT_ERRORS(ERRORS_TEXT)
#undef ERRORS_TEXT
    default: break;
    }
    const char *text = errors_of_system(code, false);
    return text ? text : "unknown error";
}

const char *weft_errname(int code) {
    switch (code) {
    case 0: return "WEFT_OK";
#define ERRORS_NAME(name, number, text)                                                                                                    \
    case name: return #name;
        WEFT_ERRORS(ERRORS_NAME)
#undef ERRORS_NAME
    default: break;
    }
    const char *name = errors_of_system(code, true);
    return name ? name : "WEFT_E?";
}
