/* All registers of 64-bit ARM that a program can see, and a function that holds them for a while. */
#ifndef WEFT_TESTS_PREEMPT_REGISTERS_AARCH64_H
#define WEFT_TESTS_PREEMPT_REGISTERS_AARCH64_H

#include "preempt_helpers.h"

enum { PREEMPTIONS = 2000 }; /* an emulator is slow */

struct image {
    uint64_t general[30]; /* x1 ... x30; x0 counts */
    uint64_t flags, control, status;
    uint64_t unused;
    unsigned char vector[32][16];
};
_Static_assert(offsetof(struct image, flags) == 240 && offsetof(struct image, control) == 248 && offsetof(struct image, status) == 256 &&
                   offsetof(struct image, vector) == 272,
               "the assembler knows the offsets");

/* Loads all of *in, waits, and stores all to *out. */
void hold_registers(const struct image *in, struct image *out, uint64_t spins);

#define EACH8(X)                                                                                                                           \
    X(0, 1, 2, 3) X(4, 5, 6, 7) X(8, 9, 10, 11) X(12, 13, 14, 15) X(16, 17, 18, 19) X(20, 21, 22, 23) X(24, 25, 26, 27) X(28, 29, 30, 31)
#define LOAD_VECTORS(a, b, c, d) "ld1 {v" #a ".16b, v" #b ".16b, v" #c ".16b, v" #d ".16b}, [x9], #64\n\t"
#define SAVE_VECTORS(a, b, c, d) "st1 {v" #a ".16b, v" #b ".16b, v" #c ".16b, v" #d ".16b}, [x9], #64\n\t"
/* clang-format off */
#define EACH_PAIR(X)                                                                                                                       \
    X(1, 2, 0)                                                                                                                             \
    X(3, 4, 16)                                                                                                                            \
    X(5, 6, 32) X(7, 8, 48) X(9, 10, 64) X(11, 12, 80) X(13, 14, 96) X(15, 16, 112) X(17, 18, 128) X(19, 20, 144) X(21, 22, 160)           \
        X(23, 24, 176) X(25, 26, 192) X(27, 28, 208) X(29, 30, 224)
/* clang-format on */
#define LOAD_PAIR(a, b, at) "ldp x" #a ", x" #b ", [x0, #" #at "]\n\t"
#define SAVE_PAIR(a, b, at) "stp x" #a ", x" #b ", [x0, #" #at "]\n\t"

__asm__(
    ".text\n\t.globl hold_registers\n\t.type hold_registers, %function\nhold_registers:\n\t.cfi_startproc\n\t"
    "stp x29, x30, [sp, #-192]!\n\t.cfi_def_cfa_offset 192\n\t.cfi_offset x29, -192\n\t.cfi_offset x30, -184\n\t"
    "stp x19, x20, [sp, #16]\n\tstp x21, x22, [sp, #32]\n\tstp x23, x24, [sp, #48]\n\tstp x25, x26, [sp, #64]\n\t"
    "stp x27, x28, [sp, #80]\n\tstp d8, d9, [sp, #96]\n\tstp d10, d11, [sp, #112]\n\tstp d12, d13, [sp, #128]\n\t"
    "stp d14, d15, [sp, #144]\n\t"
    "mrs x9, fpcr\n\tstp x9, x2, [sp, #160]\n\tstr x1, [sp, #176]\n\t"
    "add x9, x0, #272\n\t" EACH8(LOAD_VECTORS) "ldr x9, [x0, #248]\n\tmsr fpcr, x9\n\tldr x9, [x0, #256]\n\tmsr fpsr, x9\n\tldr x9, [x0, #240]\n\tmsr nzcv, x9\n\t" EACH_PAIR(
        LOAD_PAIR) "ldr x0, [sp, #168]\n"
                   "1:\n\tsub x0, x0, #1\n\tcbnz x0, 1b\n\t" /* neither changes a flag */
                   "ldr x0, [sp, #176]\n\t" EACH_PAIR(
                       SAVE_PAIR) "mrs x9, nzcv\n\tstr x9, [x0, #240]\n\tmrs x9, fpcr\n\tstr x9, [x0, #248]\n\tmrs x9, fpsr\n\tstr x9, [x0, #256]\n\t"
                                  "add x9, x0, #272\n\t" EACH8(
                                      SAVE_VECTORS) "ldr x9, [sp, #160]\n\tmsr fpcr, x9\n\t"
                                                    "ldp x19, x20, [sp, #16]\n\tldp x21, x22, [sp, #32]\n\tldp x23, x24, [sp, #48]\n\tldp x25, x26, [sp, #64]\n\t"
                                                    "ldp x27, x28, [sp, #80]\n\tldp d8, d9, [sp, #96]\n\tldp d10, d11, [sp, #112]\n\tldp d12, d13, [sp, #128]\n\t"
                                                    "ldp d14, d15, [sp, #144]\n\tldp x29, x30, [sp], #192\n\t.cfi_def_cfa_offset 0\n\tret\n\t"
                                                    ".cfi_endproc\n\t.size hold_registers, . - hold_registers\n");

/* What was filled in at random becomes what registers can hold. */
static inline void image_tame(struct image *image) {
    image->flags &= 0xf0000000;   /* negative, zero, carry, overflow */
    image->control &= 0x03c00000; /* rounding, flush to zero, default NaN */
    image->status &= 0x0800009f;  /* what has happened */
}

static inline bool same(const struct image *a, const struct image *b) {
    return memcmp(a, b, offsetof(struct image, unused)) == 0 && memcmp(a->vector, b->vector, sizeof a->vector) == 0;
}

/* For hold_registers to store to: nothing is there yet. */
static inline void image_blank(struct image *out, const struct image *in) {
    (void)in;
    memset(out, 0, sizeof *out);
}

/* Where `same` looks in any case: from the beginning to here. */
enum { IMAGE_PLAIN = offsetof(struct image, unused) };
static inline unsigned char *image_last_vector(struct image *image) { return image->vector[31]; }

#endif
