/* What is noted of a process that may be packed (fiber/pack.h), beside its block: the process itself and sysmon share it. */
#ifndef WEFT_PROC_PACKING_H
#define WEFT_PROC_PACKING_H

#include "base/atom.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One record a slot (proc/side.h). It stays when the process ends: the generations say whether it means the slot's present process. rlx, all
 * atoms: a request that is seen late, or by the slot's next process, costs a wake-up. */
struct packing {
    atom_u32 owner;            /* the generation of the process that may be packed */
    atom_u32 asked;            /* the generation of the process that sysmon asks to pack itself */
    atom_u32 packed;           /* the generation of the process that is packed; 0: none */
    atom_u32 readers;          /* threads that read its stack for a dump: fiber/snapshot.c, in checking builds */
    atom_u32 refused;          /* how often it was asked in a row and was not packed */
    ATOM_PTR(const char) call; /* that it waits in, while it is packed */
    /* Of the thread that runs the process. */
    void *bytes; /* what was on its stack from `low` on: fiber/pack.c */
    uintptr_t low, top;
    unsigned char *first; /* the stack's lowest byte */
    uint32_t size;        /* of `bytes` */
    bool denied;          /* its pages cannot be touched, in a checking build */
    uint8_t leaving;      /* not 0: it leaves its stack to be packed, and this is the enum weft_status that it parks with, + 1 */
};

#endif
