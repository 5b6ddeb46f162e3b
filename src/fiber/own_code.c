/* Whose code an address is in: see fiber/own_code.h. */
#include "fiber/own_code.h"

#include "fiber/snapshot.h"

#include <gnu/libc-version.h>
#include <sys/auxv.h>

/* Where weft is linked into a program, the linker gives the bounds of its code (cmake/library.cmake puts it into a section). */
extern const char __start_weft_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_weft_text[] __attribute__((weak, visibility("hidden")));

static uintptr_t own_object(uintptr_t address) { return fiber_object((const void *)address); } // NOLINT(performance-no-int-to-ptr)

/* Whether weft is in the same object as the program or the entry function. */
static bool own_code_has_weft(const struct own_code *own) { return own->weft == own->program || own->weft == own->entry; }

void own_code_find(struct own_code *own, uintptr_t entry) {
    uintptr_t libc = own_object((uintptr_t)gnu_get_libc_version());
    *own = (struct own_code){own_object(getauxval(AT_PHDR)), own_object((uintptr_t)own_code_find), own_object(entry), NULL};
    if (!own->program || libc == own->program || libc == own->weft)
        own->unclear = "the program has its C library in itself, and may be in there";
    else if (own_code_has_weft(own) && !__start_weft_text) own->unclear = "weft is linked into the program without telling where it is";
}

enum code_owner own_code_at(const struct own_code *own, uintptr_t pc) {
    uintptr_t here = own_object(pc), start = (uintptr_t)__start_weft_text, stop = (uintptr_t)__stop_weft_text;
    if (here && here == own->weft && (!own_code_has_weft(own) || (pc >= start && pc < stop))) return CODE_WEFT;
    return here && (here == own->program || here == own->entry) ? CODE_OWN : CODE_OTHER;
}
