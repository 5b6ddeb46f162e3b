/* Variables that look like weft's and are none: most likely misspelt. */
#include "sys/setting.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SETTING_LONGEST = 32, SETTING_NEAR = 3 };

/* Beside the settings: what weft's own tests, the simulation, the checker and CMake read. A name that ends with "_" means all that begin so. */
static bool setting_is_of_others(const char *name, size_t length) {
    static const char *const others[] = {"WEFT_TEST_",       "WEFT_SIM_",          "WEFT_CROSS", "WEFT_MIXTURE_WITHOUT",
                                         "WEFT_CHECK_FILES", "WEFT_CHECK_OPTIONS", "WEFT_ROOT",  "WEFT_DIR"};
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t whole = strlen(others[i]);
        bool all = others[i][whole - 1] == '_';
        if (strncmp(name, others[i], whole) == 0 && (all || length == whole)) return true;
    }
    return false;
}

/* How many letters have to be put in, left out or changed to get from one to the other. */
static unsigned setting_distance(const char *name, size_t length, const char *known) {
    unsigned row[SETTING_LONGEST + 1];
    size_t wide = strlen(known);
    for (size_t j = 0; j <= wide; j++)
        row[j] = (unsigned)j;
    for (size_t i = 0; i < length; i++) {
        unsigned across = row[0]++;
        for (size_t j = 0; j < wide; j++) {
            unsigned changed = across + (name[i] != known[j]), other = 1 + (row[j] < row[j + 1] ? row[j] : row[j + 1]);
            across = row[j + 1];
            row[j + 1] = changed < other ? changed : other;
        }
    }
    return row[wide];
}

/* SETTINGS: none is near. *distance is 0 for the name itself. */
static enum setting setting_nearest(const char *name, size_t length, unsigned *distance) {
    enum setting nearest = SETTINGS;
    *distance = SETTING_NEAR + 1;
    for (unsigned i = 0; i < SETTINGS; i++) {
        unsigned found = setting_distance(name, length, setting_name(i));
        if (found >= *distance) continue;
        *distance = found;
        nearest = i;
    }
    return nearest;
}

static void setting_tell(const char *name, size_t length) {
    unsigned distance;
    enum setting nearest = setting_nearest(name, length, &distance);
    if (distance == 0 || setting_is_of_others(name, length)) return;
    if (nearest == SETTINGS)
        fprintf(stderr, "weft: %.*s in the environment means nothing; `weft settings` lists what does\n", (int)length, name);
    else fprintf(stderr, "weft: %.*s in the environment means nothing; is it to be %s?\n", (int)length, name, setting_name(nearest));
}

void settings_tell_unknown(void) {
    static atom_bool told;
    if (atom_swap_rlx(&told, true)) return; /* rlx: carries nothing */
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, "WEFT_", 5) == 0) setting_tell(*at, strcspn(*at, "="));
}
