/* Printing of panics and misuse, then abort: see base/assert.h. */
#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ASSERT_LINE = 1024 };

/* One write call per message, so that the messages of two threads that fail at once do not interleave. */
static void assert_print(char *line, int length) {
    if (length < 0) length = 0;
    if (length > ASSERT_LINE - 2) length = ASSERT_LINE - 2;
    line[length++] = '\n';
    for (int done = 0; done < length;) {
        ssize_t n = write(STDERR_FILENO, line + done, (size_t)(length - done));
        if (n <= 0) return; /* cannot be printed; the abort that follows still tells */
        done += (int)n;
    }
}

void assert_panic(const char *file, int line, const char *function, const char *condition, const char *format, ...) {
    char text[ASSERT_LINE];
    int used = snprintf(text, sizeof text, "weft: panic at %s:%d in %s: ", file, line, function);
    va_list args;
    va_start(args, format);
    if (used >= 0 && used < ASSERT_LINE) {
        int more = vsnprintf(text + used, (size_t)(ASSERT_LINE - used), format, args);
        if (more > 0) used += more;
    }
    va_end(args);
    if (condition && used < ASSERT_LINE) {
        int more = snprintf(text + used, (size_t)(ASSERT_LINE - used), " [%s does not hold]", condition);
        if (more > 0) used += more;
    }
    assert_print(text, used);
    abort();
}

void assert_misuse(const char *function, const char *what, const char *remedy) {
    char text[ASSERT_LINE];
    int used = snprintf(text, sizeof text, "weft: misuse of %s: %s; %s", function, what, remedy);
    assert_print(text, used);
    abort();
}

#if !WEFT_CHECK
_Thread_local bool assert_refuses __attribute__((tls_model("initial-exec")));
void assert_refuse(const char *function, const char *what, const char *remedy) {
    assert_refuses = true;
    assert_misuse(function, what, remedy);
}
#endif
