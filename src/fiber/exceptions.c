/* The C++ libraries in the program, and taking their exception state from a thread and putting it back. */
#include "fiber/exceptions.h"
#include "base/sized.h"
#include "fiber/cxx_users.h"

#include "queue/lock.h"
#include "sched/sched.h"

#include <stdint.h>

/* Present in a program with C++. Weak, so that a program without C++ is not linked with them because of weft. */
extern void *__cxa_get_globals(void) __attribute__((weak));
extern void _Unwind_Resume(void *exception) __attribute__((weak));
extern int _Unwind_ForcedUnwind(void *exception, void *stop, void *argument) __attribute__((weak));
extern uintptr_t _Unwind_GetCFA(void *context) __attribute__((weak));
extern void _Unwind_SetIP(void *context, uintptr_t address) __attribute__((weak));

static struct {
    ATOM_PTR(void) globals; /* as in `library`; NULL: this entry is free */
    weft_cxx library;       /* written before `globals`; both under the lock */
    unsigned users;         /* under the lock */
} exceptions_libraries[EXCEPTIONS_MOST];
static struct lock exceptions_lock;
atom_u32 exceptions_version;

/* ---- the libraries ------------------------------------------------------------------------------------------------------ */

/* Under the lock: the library's entry, else a free one; EXCEPTIONS_MOST: neither. */
static unsigned exceptions_find(const weft_cxx *library) {
    unsigned room = EXCEPTIONS_MOST;
    for (unsigned i = 0; i < EXCEPTIONS_MOST; i++) {
        if (exceptions_libraries[i].users > 0 && exceptions_libraries[i].library.globals == library->globals) return i;
        if (exceptions_libraries[i].users == 0 && room == EXCEPTIONS_MOST) room = i;
    }
    return room;
}

int weft_cxx_add_sized(const weft_cxx *library, size_t library_size) {
    weft_cxx mine;
    library = sized_read(library, library_size, &mine, sizeof mine);
    if (!library) return WEFT_EINVAL;
    lock_take(&exceptions_lock);
    unsigned i = exceptions_find(library);
    if (i < EXCEPTIONS_MOST && exceptions_libraries[i].users++ == 0) {
        exceptions_libraries[i].library = *library;
        /* rel: pairs with the acq in exceptions_at and exceptions_unwinder. */
        atom_store_rel(&exceptions_libraries[i].globals, (void *)(uintptr_t)library->globals);
        atom_add_rel(&exceptions_version, 1); /* rel: pairs with the acq in exceptions_ask */
    }
    lock_drop(&exceptions_lock);
    return i < EXCEPTIONS_MOST ? 0 : WEFT_ENOBUFS;
}

void weft_cxx_remove_sized(const weft_cxx *library, size_t library_size) {
    weft_cxx mine;
    library = sized_read(library, library_size, &mine, sizeof mine);
    if (!library) return; /* it was not added either */
    lock_take(&exceptions_lock);
    unsigned i = exceptions_find(library);
    if (i < EXCEPTIONS_MOST && exceptions_libraries[i].users > 0 && --exceptions_libraries[i].users == 0) {
        atom_store_rlx(&exceptions_libraries[i].globals, NULL); /* rlx: no thread runs its code any more */
        atom_add_rel(&exceptions_version, 1);
    }
    lock_drop(&exceptions_lock);
}

static weft_cxx exceptions_own(void) {
    return (weft_cxx){__cxa_get_globals, _Unwind_Resume, _Unwind_ForcedUnwind, _Unwind_GetCFA, _Unwind_SetIP};
}

void exceptions_begin(void) {
    static atom_bool done;
    weft_cxx own = exceptions_own();
    if (!own.globals || !cxx_users_any((uintptr_t)own.globals)) return;
    if (!atom_swap_rlx(&done, true)) weft_cxx_add(&own); /* rlx: once */
}

static bool exceptions_can_unwind(const weft_cxx *library) {
    return library->resume && library->forced && library->frame && library->go_on_at;
}

bool exceptions_unwinder(weft_cxx *unwinder) {
    *unwinder = exceptions_own();
    for (unsigned i = 0; i < EXCEPTIONS_MOST && !exceptions_can_unwind(unwinder); i++)
        if (atom_load_acq(&exceptions_libraries[i].globals))
            *unwinder = exceptions_libraries[i].library; /* acq: pairs with the rel in weft_cxx_add_sized */
    return exceptions_can_unwind(unwinder);
}

/* ---- a thread's state --------------------------------------------------------------------------------------------------- */

/* The calling thread's state in the i-th library; NULL: there is no such library. */
static struct exceptions_state *exceptions_at(unsigned i) {
    exceptions_of *library =
        (exceptions_of *)(uintptr_t)atom_load_acq(&exceptions_libraries[i].globals); /* acq: pairs with the rel in weft_cxx_add_sized */
    return library ? library() : NULL;
}

__attribute__((noinline)) void exceptions_ask(struct loop *own) {
    own->exceptions_version = atom_load_acq(&exceptions_version); /* acq: pairs with the rel in weft_cxx_add_sized */
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
