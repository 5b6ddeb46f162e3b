/* Plain memory and the heap: races, uses after a free, frees, leaks, crashes. */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <weft/chk.h>

static int plain;
static void write_plain(void) { plain = (int)chk_self(); }
static void read_plain(void) { chk_assert(plain >= 0, "a number"); }
CHK_SCENARIO(write_write, .about = "two plain writes", .threads = {write_plain, write_plain}, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
CHK_SCENARIO(read_write, .about = "a plain read and a plain write", .threads = {write_plain, read_plain}, .flawed_in = CHK_ALL,
             .flaw = CHK_RACE)

static char text[16];
static void copy_in(void) { memcpy(text, "0123456789", 11); }
static void copy_out(void) {
    char own[16];
    memcpy(own, text, sizeof own);
}
CHK_SCENARIO(copies, .about = "memcpy is seen", .threads = {copy_in, copy_out}, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
static void halves(void) { memset(text + 8 * chk_self(), 1, 8); }
CHK_SCENARIO(two_halves, .about = "bytes beside each other are no race", .threads = {halves, halves})

static _Atomic(int *) box;
static void allocate(void) { box = calloc(1, sizeof(int)); }
static void use(void) { ++*box; }
static void take_and_free(void) { free(atomic_exchange(&box, NULL)); }
static void free_what_is_there(void) { free(box); }
static void drop(void) { box = NULL; }
CHK_SCENARIO(use_beside_free, .about = "used and freed", .setup = allocate, .threads = {use, free_what_is_there}, .flawed_in = CHK_ALL,
             .flaw = CHK_USE_AFTER_FREE)
CHK_SCENARIO(freed_twice, .about = "freed by both", .setup = allocate, .threads = {free_what_is_there, free_what_is_there},
             .flawed_in = CHK_ALL, .flaw = CHK_DOUBLE_FREE)
CHK_SCENARIO(freed_once, .about = "freed by the thread that took it", .setup = allocate, .threads = {take_and_free, take_and_free})
CHK_SCENARIO(dropped, .about = "freed by neither", .setup = allocate, .threads = {drop}, .flawed_in = CHK_ALL, .flaw = CHK_LEAK)

static void grow(void) {
    int *two = malloc(2 * sizeof *two);
    two[1] = 7;
    int *four = realloc(two, 4 * sizeof *four);
    chk_assert(four[1] == 7, "what was there is there");
    free(four);
    void *line = aligned_alloc(256, 256);
    chk_assert((uintptr_t)line % 256 == 0, "aligned");
    free(line);
}
CHK_SCENARIO(grown, .about = "realloc and aligned_alloc", .threads = {grow, grow})

static void allocate_late(void) {
    allocate();
    while (box)
        take_and_free();
}
CHK_SCENARIO(null_pointer, .about = "used before it is there", .threads = {use, allocate_late}, .flawed_in = CHK_ALL, .flaw = CHK_CRASH)
static void trap(void) { __builtin_trap(); }
CHK_SCENARIO(trap, .about = "an instruction that traps", .threads = {trap}, .flawed_in = CHK_ALL, .flaw = CHK_CRASH)
static int deeper(volatile char *above) {
    volatile char here[1000];
    here[0] = *above;
    return *above == 1 ? 0 : deeper(here) + here[0];
}
static void overflow(void) { plain = deeper(text); }
CHK_SCENARIO(overflow, .about = "a stack that overflows", .threads = {overflow}, .flawed_in = CHK_ALL, .flaw = CHK_CRASH)
static void give_up(void) { abort(); }
CHK_SCENARIO(abortion, .about = "abort()", .threads = {give_up}, .flawed_in = CHK_ALL, .flaw = CHK_CRASH)
static void assert_it(void) { assert(plain == 1); }
CHK_SCENARIO(asserted, .about = "assert()", .threads = {assert_it}, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* Static data begins anew in every run. */
static atomic_int runs;
static void once(void) { chk_assert(++runs == 1, "the first in this run"); }
CHK_SCENARIO(anew, .about = "static data is put back", .threads = {once})
