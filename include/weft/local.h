/* Process-local storage: values that each process has for itself, under keys that the whole program shares.
 *
 *     static weft_key session;                                               in the first process, or before weft_start:
 *     weft_key_new(&(weft_key_options){.destroy = session_free}, &session);
 *
 *     weft_local_set(session, session_new());                                in any process, stackful or step:
 *     struct session *mine = weft_local_get(session);
 *
 * A value belongs to its process, whatever thread that is on. (A context, weft/context.h, has values that a whole tree of processes reads.) */
#ifndef WEFT_LOCAL_H
#define WEFT_LOCAL_H

#include <weft/runtime.h>

WEFT_BEGIN

/* 0 is no key: weft_local_get answers NULL. */
typedef uint32_t weft_key;
#define WEFT_KEYS_MAX 256

typedef struct weft_key_options {
    /* The process has ended, in whatever way, or was not born after all: called once for a value that is not NULL, after what the process has deferred
     * and after its `close`. The calls of one process come in the reverse order of their keys. On a worker, outside of any process: it must not wait, and
     * weft_self() is WEFT_NOBODY; but for a process that was not born its spawner makes the call. NULL: nothing is called. */
    void (*destroy)(void *value);
    /* A process with a value that is not NULL spawns another: what this returns is the new one's value; NULL: it has none. Called by the
     * spawner, also if spawning fails after that. It must not wait; values that it sets are the spawner's. NULL: processes do not inherit the value. weft_local_share: both have the
     * same, and `destroy` is called for each. */
    void *(*inherit)(void *value);
} weft_key_options;

/* From anywhere. 0 and *key, or WEFT_ENOBUFS: there are WEFT_KEYS_MAX. Keys are for the program's whole life; `options` (may be NULL) is copied. */
WEFT_API int weft_key_new_sized(const weft_key_options *options, size_t options_size, weft_key *key);
static inline int weft_key_new(const weft_key_options *options, weft_key *key) { return weft_key_new_sized(options, sizeof *options, key); }
static inline void *weft_local_share(void *value) { return value; }

/* The calling process's value; NULL: it has set none, or the caller is in no process: a thread of the program's own, code inside of weft_blocking. In a
 * task (weft/fork.h) the process is that of weft_self(). */
WEFT_API void *weft_local_get(weft_key key);
/* 0, or WEFT_ENOMEM, WEFT_EINVAL (no such key), WEFT_ENOTINSIDE (no process). Nothing is called for the former value. */
WEFT_API int weft_local_set(weft_key key, void *value);

WEFT_END

#endif
