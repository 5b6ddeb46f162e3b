/* Names for addresses, in reports. */
#include "fiber/demangle.h"
#include "fiber/fiber.h"
#include "fiber/snapshot.h"
#include "fiber/symtab.h"

#include <weft/info.h>

#include <link.h>
#include <stdio.h>

struct symbol_object {
    const char *path; /* "": the program */
    uintptr_t base;   /* where it begins */
    uintptr_t bias;   /* what its file's addresses lack */
};

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
// NOLINTNEXTLINE(readability-redundant-declaration): this one makes it weak
extern int _dl_find_object(void *address, struct dl_find_object *result) __attribute__((weak)); /* since glibc 2.35; takes no locks */
static bool symbol_find(const void *address, struct symbol_object *object) {
    struct dl_find_object found;
    if (!_dl_find_object || _dl_find_object((void *)address, &found) != 0) return false;
    *object = (struct symbol_object){found.dlfo_link_map->l_name, (uintptr_t)found.dlfo_map_start, found.dlfo_link_map->l_addr};
    return true;
}
#else
static bool symbol_find(const void *address, struct symbol_object *object) {
    Dl_info info;
    struct link_map *map;
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
    *object = (struct symbol_object){map->l_name, (uintptr_t)info.dli_fbase, map->l_addr};
    return true;
}
#endif

uintptr_t fiber_object(const void *address) {
    struct symbol_object object;
    return symbol_find(address, &object) ? object.base : 0;
}

/* The object and the offset, as addr2line takes them, and the function. */
void fiber_symbol(const void *address, char *text, size_t size) {
    struct symbol_object object;
    char mangled[400], name[128];
    uintptr_t offset;
    if (!symbol_find(address, &object)) {
        snprintf(text, size, "%p", address);
        return;
    }
    const char *path = object.path && *object.path ? object.path : "/proc/self/exe", *slash = strrchr(path, '/');
    const char *file = path == object.path ? (slash ? slash + 1 : path) : program_invocation_short_name;
    uintptr_t from = (uintptr_t)address - object.bias;
    int used = snprintf(text, size, "%s+%#lx", file, (unsigned long)((uintptr_t)address - object.base));
    if (used > 0 && (size_t)used < size && symtab_find(path, from, mangled, sizeof mangled, &offset)) {
        demangle(mangled, name, sizeof name);
        snprintf(text + used, size - (size_t)used, offset ? " (%s+%#lx)" : " (%s)", name, (unsigned long)offset);
    }
}

const char *weft_symbol(const void *address, char *text, size_t size) {
    if (size > 0) fiber_symbol(address, text, size);
    return text;
}
