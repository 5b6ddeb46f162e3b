/* Names for addresses, in reports. */
#include "fiber/fiber.h"

#include <dlfcn.h>
#include <stdio.h>

/* Functions that are not exported have no name here: then it writes the object and the offset, as addr2line takes them. */
void fiber_symbol(const void *address, char *text, size_t size) {
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) {
        snprintf(text, size, "%p", address);
        return;
    }
    const char *object = strrchr(info.dli_fname, '/');
    object = object ? object + 1 : info.dli_fname;
    if (info.dli_sname)
        snprintf(text, size, "%s+%#lx (%s)", info.dli_sname, (unsigned long)((uintptr_t)address - (uintptr_t)info.dli_saddr), object);
    else snprintf(text, size, "%s+%#lx", object, (unsigned long)((uintptr_t)address - (uintptr_t)info.dli_fbase));
}
