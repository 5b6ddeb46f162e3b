/* Scopes: processes that belong together and do not outlive the block that spawned them.
 *
 *     weft_scope scope;
 *     weft_scope_begin(&scope, weft_in(WEFT_SECOND));
 *     weft_scope_spawn(&scope, fetch, &left);
 *     weft_scope_spawn(&scope, fetch, &right);
 *     int result = weft_scope_end(&scope);          both have ended, whatever happened
 *
 * The first child that fails (ends with a reason other than 0), or the deadline, cancels the others; so does a cancellation of the owner,
 * when it waits for them. All are waited for in every case. A process that ends by weft_exit within a scope ends the scope first. */
#ifndef WEFT_SCOPE_H
#define WEFT_SCOPE_H

#include <weft/life.h>
#include <weft/stackful.h>

WEFT_BEGIN

struct weft_scope;
/* For C++: cancels the children of a scope that was not ended, and waits for them. Does nothing if it was, or never began. By its owner, which it
 * never ends. Of a bundle's scope: weft_bundle_close follows. */
WEFT_API void weft_scope_leave(struct weft_scope *scope);

/* In C++ a scope that is left by an exception, or by returning, ends by itself, as weft_scope_leave does. */
typedef struct weft_scope {
#ifdef __cplusplus
    void *reserved[28] = {};
    ~weft_scope() { weft_scope_leave(this); }
#else
    void *reserved[28];
#endif
} weft_scope;

/* In a stackful process, its owner. Scopes nest; the one begun last ends first. With a deadline that has passed nothing can be spawned. */
WEFT_API void weft_scope_begin(weft_scope *scope, uint64_t deadline);

enum weft_scope_flags {
    /* A child that fails fails alone: the others go on, more can be spawned, and the scope's result does not tell of it. For servers: a child for each
     * client. */
    WEFT_SCOPE_APART = 1,
};
/* The same with flags. */
WEFT_API void weft_scope_begin_with(weft_scope *scope, unsigned flags, uint64_t deadline);

/* A child, from the owner or from another child. 0, or as weft_spawn_with, and WEFT_ECANCELED when the scope has failed, its deadline
 * has passed or it was cancelled. `pid` and `options` may be NULL. (Not WEFT_SPAWN_JOINABLE, _MONITOR or _LINK among its flags: the scope waits for
 * its children, and is told of their ends.) */
WEFT_API int weft_scope_spawn(weft_scope *scope, weft_entry entry, void *arg);
WEFT_API int weft_scope_spawn_with_sized(weft_scope *scope, weft_entry entry, void *arg, const weft_stackful_options *options,
                                         size_t options_size, weft_pid *pid);
static inline int weft_scope_spawn_with(weft_scope *scope, weft_entry entry, void *arg, const weft_stackful_options *options,
                                        weft_pid *pid) {
    return weft_scope_spawn_with_sized(scope, entry, arg, options, sizeof *options, pid);
}
/* One for each of n elements of `size` bytes: entry(&args[i]). Stops at the first error. */
WEFT_API int weft_scope_spawn_many(weft_scope *scope, size_t n, weft_entry entry, void *args, size_t size);

/* Asks all children to end, and lets no more be spawned. From the owner, a child, or any caller that knows that the scope still exists. */
WEFT_API void weft_scope_cancel(weft_scope *scope);

/* Waits until all children have ended; those that have not begun yet run meanwhile, the newest first, so that a tree of scopes is walked
 * depth first. Then 0, or why the others were cancelled: the reason of the first that failed, WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API int weft_scope_end(weft_scope *scope);
/* The same with the whole reason of the child that has failed, to be given back by weft_reason_free (weft/life.h). */
WEFT_API int weft_scope_end_reason(weft_scope *scope, weft_reason *reason);

/* ---- bundles: scopes as handles --------------------------------------------------------------------------------------
 *
 *     weft_bundle *clients;
 *     weft_bundle_open(WEFT_SCOPE_APART, &clients, WEFT_FOREVER);
 *     weft_scope_spawn(weft_bundle_scope(clients), serve, client);
 *
 * A process may have several, and close them in any order. Those that it has not closed when it ends, in whatever way, are cancelled, waited for and freed
 * then; returning with open ones is fine. */
typedef struct weft_bundle weft_bundle;

/* In a stackful process, its owner. 0 and *bundle, or WEFT_ENOMEM. */
WEFT_API int weft_bundle_open(unsigned flags, weft_bundle **bundle, uint64_t deadline);
/* For weft_scope_spawn, weft_scope_spawn_with, weft_scope_spawn_many and weft_scope_cancel; not to be ended. */
WEFT_API weft_scope *weft_bundle_scope(weft_bundle *bundle);
/* Waits until all children have ended, and frees the bundle. By its owner. Results as weft_scope_end. */
WEFT_API int weft_bundle_close(weft_bundle *bundle);

/* All of that at once, without a deadline: runs entry(&args[i]) for n elements, each in a process, and waits. */
WEFT_API int weft_spawn_many(size_t n, weft_entry entry, void *args, size_t size);

WEFT_END

#endif
