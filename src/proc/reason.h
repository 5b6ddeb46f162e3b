/* Why a process has ended: a code, and for some ends more than that: the bytes given to weft_exit_with, or the signal and address of a fault.
 *
 *   reason_detail_new, _hold, _drop     any thread
 *
 *   Q1  What a detail says never changes. It is freed when the last reference is dropped: the ending process has one, and so has each
 *       zombie, notice and caller of weft_join_reason that shows it. */
#ifndef WEFT_PROC_REASON_H
#define WEFT_PROC_REASON_H

#include "base/atom.h"

#include <weft/life.h>

struct reason_detail {
    atom_u32 references;
    int code; /* the end that it belongs to: a process may change its mind, and end with another code */
    int signal;
    const void *address;
    size_t size;
    unsigned char data[];
};

struct reason {
    int code;
    struct reason_detail *detail; /* NULL: the code says all */
};

/* The data is copied. One reference, the caller's; NULL: there is no memory. */
struct reason_detail *reason_detail_new(int code, int signal, const void *address, const void *data, size_t size);
/* Both take NULL. */
struct reason_detail *reason_detail_hold(struct reason_detail *detail);
void reason_detail_drop(struct reason_detail *detail);

/* The reason as the program sees it. Its `keeper` is the reference that `reason` has, from now on. */
weft_reason reason_shown(struct reason reason);

#endif
