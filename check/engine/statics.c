/* Static data is put back before every run, whether or not the scenario marks it: what one run leaves behind would otherwise
 * change the next one, and a flaw found in the first run might never be seen again. */
#include "statics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From statics.ld: what is checked. From the compiler: what is marked SHARED, and the engine's futexes. */
extern unsigned char chk_static_begin[], chk_static_end[];
extern unsigned char __start_chk_shared[], __stop_chk_shared[];

struct area {
    unsigned char *begin, *end, *image;
};
static struct area areas[] = {{chk_static_begin, chk_static_end, NULL}, {__start_chk_shared, __stop_chk_shared, NULL}};
enum { AREAS = sizeof areas / sizeof areas[0] };

static void remember(struct area *area) {
    size_t size = (size_t)(area->end - area->begin);
    area->image = malloc(size + 1);
    if (!area->image) {
        perror("weft check: no memory for the scenarios' static data");
        exit(3);
    }
    memcpy(area->image, area->begin, size);
}

void statics_restore(void) {
    for (struct area *area = areas; area < areas + AREAS; area++) {
        if (!area->image) remember(area);
        memcpy(area->begin, area->image, (size_t)(area->end - area->begin));
    }
}
