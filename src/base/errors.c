#include <weft/errors.h>

/* 0 is not an error, hence not in the list; everybody prints it nevertheless. */

const char *weft_strerror(int code) {
    switch (code) {
    case 0: return "no error";
#define ERRORS_TEXT(name, number, text)                                                                                \
    case name: return text;
        WEFT_ERRORS(ERRORS_TEXT)
#undef ERRORS_TEXT
    default: return "unknown error";
    }
}

const char *weft_errname(int code) {
    switch (code) {
    case 0: return "WEFT_OK";
#define ERRORS_NAME(name, number, text)                                                                                \
    case name: return #name;
        WEFT_ERRORS(ERRORS_NAME)
#undef ERRORS_NAME
    default: return "WEFT_E?";
    }
}
