/* Whether the program uses the C++ library that is in it: see fiber/cxx_users.h. */
#include "fiber/cxx_users.h"

#include <link.h>
#include <string.h>

typedef ElfW(Dyn) cxx_entry; /* of what the loader knows of an object */

static bool cxx_begins(const char *name, const char *with) { return strncmp(name, with, strlen(with)) == 0; }

static bool cxx_is_library(const char *name) { return cxx_begins(name, "libstdc++.so") || cxx_begins(name, "libc++"); }

/* GCC's are libasan.so, libubsan.so, ...; those of clang libclang_rt.asan-x86_64.so, ... */
static bool cxx_is_sanitizer(const char *name) { return cxx_begins(name, "libclang_rt.") || strstr(name, "san.so"); }

static bool cxx_contains(const struct dl_phdr_info *object, uintptr_t address) {
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz) return true;
    }
    return false;
}

static const cxx_entry *cxx_dynamic(const struct dl_phdr_info *object) {
    for (unsigned i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const cxx_entry *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr); // NOLINT(performance-no-int-to-ptr)
    return NULL;
}

static bool cxx_needs(const struct dl_phdr_info *object) {
    const cxx_entry *dynamic = cxx_dynamic(object);
    uintptr_t names = 0;
    for (const cxx_entry *entry = dynamic; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRTAB) names = entry->d_un.d_ptr;
    if (names == 0) return false;
    if (names < object->dlpi_addr) names += object->dlpi_addr; /* the loader has not changed it to an address: as in the vDSO */
    for (const cxx_entry *entry = dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && cxx_is_library((const char *)(names + entry->d_un.d_val))) // NOLINT(performance-no-int-to-ptr)
            return true;
    return false;
}

static int cxx_uses(struct dl_phdr_info *object, size_t size, void *address) {
    const char *path = object->dlpi_name ? object->dlpi_name : "", *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    (void)size;
    if (cxx_is_library(name) || cxx_is_sanitizer(name)) return 0;
    return cxx_contains(object, *(const uintptr_t *)address) || cxx_needs(object);
}

bool cxx_users_any(uintptr_t address) { return dl_iterate_phdr(cxx_uses, &address) != 0; }
