/* What the tests of stacks share: processes that use up their stacks, ones that are joined, children that die. */
#ifndef WEFT_TESTS_VICTIM_H
#define WEFT_TESTS_VICTIM_H

#include "runtime_helpers.h"
#include "sanitized.h"

#include "fiber/altstack.h"
#include "fiber/fiber.h"

#include <weft/weft.h>

#include <alloca.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* ---- processes -------------------------------------------------------------------------------------------------------- */

static inline struct proc *victim_self(void) { return worker_here()->current; }

/* The thread it runs on now. (Compilers take pthread_self() for a constant: across a weft call it is not.) */
static __attribute__((noinline, unused)) uintptr_t victim_thread(void) {
    __asm__ volatile("");
    return (uintptr_t)pthread_self();
}

static inline weft_pid victim_flags(weft_entry entry, void *arg, size_t stack_size, const char *name, unsigned flags) {
    weft_pid pid = WEFT_NOBODY;
    weft_stackful_options options = {.runtime = rt.runtime, .stack_size = stack_size, .name = name, .flags = flags};
    EXPECT_EQ(weft_spawn_with(entry, arg, &options, &pid), 0);
    return pid;
}
static inline weft_pid victim_spawn(weft_entry entry, void *arg, size_t stack_size, const char *name) {
    return victim_flags(entry, arg, stack_size, name, 0);
}
/* One whose end cannot be missed: its reason is asked for by victim_reason(). */
static inline weft_pid victim_joinable(weft_entry entry, void *arg, size_t stack_size, const char *name) {
    return victim_flags(entry, arg, stack_size, name, WEFT_SPAWN_JOINABLE);
}
static inline int victim_reason(weft_pid pid) {
    int reason = 1;
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    return reason;
}

/* ---- reports ---------------------------------------------------------------------------------------------------------- */

/* Standard error into a file, without the output of the test going there too. */
static FILE *reports __attribute__((unused));
static int reports_saved __attribute__((unused));
static inline void reports_begin(void) {
    fflush(stderr);
    reports = tmpfile();
    EXPECT(reports);
    reports_saved = dup(STDERR_FILENO);
    EXPECT(dup2(fileno(reports), STDERR_FILENO) >= 0);
}
/* How many lines hold `text`. */
static inline unsigned reports_with(const char *text) {
    static char line[2048];
    unsigned count = 0;
    rewind(reports);
    while (fgets(line, sizeof line, reports))
        count += strstr(line, text) != NULL;
    return count;
}
static inline void reports_end(void) {
    EXPECT(dup2(reports_saved, STDERR_FILENO) >= 0);
    close(reports_saved);
    fclose(reports);
}

/* ---- ways to use up a stack ------------------------------------------------------------------------------------------- */

static atom_u32 victim_sink; /* so that what is written there is used */
static volatile bool victim_always = true;

/* Call by call. */
static __attribute__((noinline, unused)) int dig_calls(int depth) {
    volatile char room[200];
    room[depth % 200] = (char)depth;
    int below = victim_always ? dig_calls(depth + 1) : 0;
    return below + room[depth % 200];
}

/* Bit by bit in one frame, and a little at a time: no step is larger than a page. */
static __attribute__((noinline, unused)) void dig_alloca(void) {
    for (unsigned i = 0; victim_always; i++) {
        volatile char *more = alloca(1000 + i % 7 * 100);
        more[0] = (char)i;
        atom_store_rlx(&victim_sink, more[0]);
    }
}

/* All at once, a megabyte, and then page by page from above. */
static __attribute__((noinline, unused)) void dig_array(void) {
    volatile char array[1 << 20];
    for (size_t i = sizeof array; i > 4096 && victim_always; i -= 4096)
        array[i - 1] = (char)i;
    atom_store_rlx(&victim_sink, array[sizeof array - 1]);
}

static inline unsigned char *victim_low(void) { return altstack_stack(fiber_of(victim_self()))->low; }

/* Calls fn with so many bytes left. */
static __attribute__((noinline, unused)) void dig_until(size_t left, void (*fn)(void)) {
    unsigned char here;
    size_t much = (size_t)(&here - victim_low()) - left;
    volatile char *room = alloca(much);
    for (size_t i = much; i > 4096; i -= 4096)
        room[i - 1] = (char)i;
    fn();
    atom_store_rlx(&victim_sink, room[0]);
}

#endif
