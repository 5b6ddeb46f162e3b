#include "fiber/exceptions.h"

#include "queue/lock.h"
#include "sched/sched.h"

#include <weft/cxx.h>

#include <stdint.h>

extern struct exceptions_state *__cxa_get_globals(void) __attribute__((weak));

static ATOM_PTR(void) exceptions_libraries[EXCEPTIONS_MOST]; /* exceptions_of */
static unsigned exceptions_users[EXCEPTIONS_MOST];           /* under the lock */
static struct lock exceptions_lock;
atom_u32 exceptions_version;

/* ---- which there are ---------------------------------------------------------------------------------------------------- */

/* Under the lock: where it is; else a free place; EXCEPTIONS_MOST: neither. */
static unsigned exceptions_find(const void *library) {
    unsigned room = EXCEPTIONS_MOST;
    for (unsigned i = 0; i < EXCEPTIONS_MOST; i++) {
        if (exceptions_users[i] > 0 && atom_load_rlx(&exceptions_libraries[i]) == library) return i; /* rlx: under the lock */
        if (exceptions_users[i] == 0 && room == EXCEPTIONS_MOST) room = i;
    }
    return room;
}

int weft_cxx_add(void *(*globals)(void)) {
    lock_take(&exceptions_lock);
    unsigned i = exceptions_find((void *)(uintptr_t)globals);
    if (i < EXCEPTIONS_MOST && exceptions_users[i]++ == 0) {
        atom_store_rel(&exceptions_libraries[i], (void *)(uintptr_t)globals); /* rel: pairs with the acq in exceptions_at */
        atom_add_rel(&exceptions_version, 1); /* rel: pairs with the acq in exceptions_ask */
    }
    lock_drop(&exceptions_lock);
    return i < EXCEPTIONS_MOST ? 0 : WEFT_ENOBUFS;
}

void weft_cxx_remove(void *(*globals)(void)) {
    lock_take(&exceptions_lock);
    unsigned i = exceptions_find((void *)(uintptr_t)globals);
    if (i < EXCEPTIONS_MOST && exceptions_users[i] > 0 && --exceptions_users[i] == 0) {
        atom_store_rlx(&exceptions_libraries[i], NULL); /* rlx: nobody runs its code any more */
        atom_add_rel(&exceptions_version, 1);
    }
    lock_drop(&exceptions_lock);
}

void exceptions_begin(void) {
    static atom_bool done;
    if (__cxa_get_globals && !atom_swap_rlx(&done, true)) weft_cxx_add((void *(*)(void))(uintptr_t)__cxa_get_globals); /* rlx: once */
}

/* ---- a thread's state --------------------------------------------------------------------------------------------------- */

/* The calling thread's, of the i-th; NULL: there is none. */
static struct exceptions_state *exceptions_at(unsigned i) {
    exceptions_of *library = (exceptions_of *)(uintptr_t)atom_load_acq(&exceptions_libraries[i]); /* acq: pairs with the rel in weft_cxx_add */
    return library ? library() : NULL;
}

__attribute__((noinline)) void exceptions_ask(struct loop *own) {
    own->exceptions_version = atom_load_acq(&exceptions_version); /* acq: pairs with the rel in weft_cxx_add */
    own->exceptions_count = 0;
    for (unsigned i = 0; i < EXCEPTIONS_MOST; i++) {
        struct exceptions_state *state = exceptions_at(i);
        if (state) own->exceptions[own->exceptions_count++] = state;
    }
}

__attribute__((noinline)) void exceptions_take(struct exceptions *taken) {
    *taken = (struct exceptions){0};
    for (unsigned i = 0; i < EXCEPTIONS_MOST; i++) {
        struct exceptions_state *state = exceptions_at(i);
        if (!state) continue;
        taken->states[i] = *state;
        *state = (struct exceptions_state){NULL, 0};
    }
}

__attribute__((noinline)) void exceptions_put_back(const struct exceptions *taken) {
    for (unsigned i = 0; i < EXCEPTIONS_MOST; i++) {
        struct exceptions_state *state = exceptions_at(i);
        if (state) *state = taken->states[i];
    }
}
