/* What the tests of blocking calls share: a pipe that calls read, calls that are counted, and many at once. */
#ifndef WEFT_TESTS_WAIT_BLOCKING_HELPERS_H
#define WEFT_TESTS_WAIT_BLOCKING_HELPERS_H

#include "victim.h"

#include <weft/blocking.h>

#include <errno.h>

static atom_u64 done;
static int ends[2]; /* a pipe */
static atom_bool is_long;

static inline void reads(void *arg) {
    char *got = arg;
    ssize_t n = read(ends[0], got, 1);
    if (n == 1) errno = 77; /* comes back with the process, whichever thread it is on then */
}
static inline void block(void (*fn)(void *), void *arg) {
    if (atom_load_rlx(&is_long)) weft_blocking_long(fn, arg);
    else weft_blocking(fn, arg);
}
static inline void naps(void *arg) {
    (void)arg;
    usleep(1500);
}
static inline void napper(void *arg) {
    for (unsigned i = 0; i < 5; i++) {
        block(naps, NULL);
        weft_yield();
        if (arg) EXPECT_EQ(weft_send(*(weft_pid *)arg, i, NULL, 0), 0);
    }
    atom_add_rel(&done, 1);
}
static inline void counter(void *arg) {
    weft_msg *message;
    for (unsigned i = 0; i < 5 * 40; i++) {
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
    }
    (void)arg;
    atom_add_rel(&done, 1);
}
static inline void many(void) {
    weft_pid to = victim_spawn(counter, NULL, 0, "counter");
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 40; i++)
        victim_spawn(napper, &to, 0, "napper");
    rt_wait(&done, 41);
}

static atom_u64 abandoned, called;
static inline void forgets(void *arg) {
    (void)arg;
    atom_add_rel(&abandoned, 1);
}
static inline void reads_one(void *arg) {
    char got;
    (void)arg;
    atom_add_rel(&called, 1);
    EXPECT_EQ(read(ends[0], &got, 1), 1);
}
static inline void begin_calls(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&called, 0);
    atom_store_rlx(&abandoned, 0);
    EXPECT_EQ(pipe(ends), 0);
}

#endif
