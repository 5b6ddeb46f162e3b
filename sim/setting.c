/* Variables of the environment: see setting.h. */
#include "setting.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTING_PREFIX "WEFT_SIM_"
enum { SETTING_STATUS = 2 };

static const char *const setting_names[] = {"SEED", "FAULTS", "QUIET", "SCRIPT", "RECORD", "RECORD_DRAWS", "RESULT", "SERVE", "CPU"};
enum { SETTING_NAMES = sizeof setting_names / sizeof setting_names[0] };

void setting_refuse(const char *name, const char *format, ...) {
    char text[512];
    const char *value = getenv(name);
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (value) dprintf(STDERR_FILENO, "weft sim: %s is `%s`: %s\n", name, value, text);
    else dprintf(STDERR_FILENO, "weft sim: %s: %s\n", name, text);
    _exit(SETTING_STATUS);
}

static bool setting_is_one(const char *word, size_t length, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && strncmp(words[i], word, length) == 0) return true;
    return false;
}

/* All words, for a sentence. */
static const char *setting_all(const char *const *words, size_t count) {
    static char text[384];
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", words[i]);
    return text;
}

void setting_names_check(void) {
    size_t prefix = strlen(SETTING_PREFIX);
    for (char **at = environ; *at; at++) {
        if (strncmp(*at, SETTING_PREFIX, prefix) != 0) continue;
        const char *name = *at + prefix;
        int length = (int)strcspn(name, "=");
        if (setting_is_one(name, (size_t)length, setting_names, SETTING_NAMES)) continue;
        dprintf(STDERR_FILENO, "weft sim: there is no variable " SETTING_PREFIX "%.*s; behind " SETTING_PREFIX " there may be %s\n", length,
                name, setting_all(setting_names, SETTING_NAMES));
        _exit(SETTING_STATUS);
    }
}

uint64_t setting_number(const char *name, uint64_t most, uint64_t otherwise) {
    const char *text = getenv(name);
    char *end = NULL;
    if (!text) return otherwise;
    errno = 0;
    uint64_t value = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || *end || errno || value > most) setting_refuse(name, "it must be a number from 0 to %llu", (unsigned long long)most);
    return value;
}

void setting_words_check(const char *name, const char *const *words, size_t count) {
    const char *at = getenv(name);
    while (at && *at) {
        size_t length = strcspn(at, ",");
        if (!setting_is_one(at, length, words, count) || (at[length] && !at[length + 1]))
            setting_refuse(name, "words with commas between them, of %s", setting_all(words, count));
        at += length + (at[length] == ',');
    }
}
