/* Contexts: a deadline, a cancellation and values that processes hand down to those which they spawn. */
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#include <weft/runtime.h>

#include <stdbool.h>

WEFT_BEGIN

typedef struct weft_context weft_context;

/* Inherited by spawned processes (docs/contexts.md). Immutable once made but for being
 * cancelled; counted references. When the deadline comes, every process that was spawned with the context, or with one below it, is
 * cancelled; a process that is spawned later starts cancelled. 0 or WEFT_ENOMEM. */
WEFT_API int weft_context_new(weft_context *parent, weft_context **context, uint64_t deadline);
WEFT_API int weft_context_with(weft_context *parent, const void *key, void *value, weft_context **context);
WEFT_API weft_context *weft_context_hold(weft_context *context);
WEFT_API void weft_context_drop(weft_context *context);
WEFT_API uint64_t weft_context_deadline(const weft_context *context);            /* the earliest of it and its ancestors */
WEFT_API void *weft_context_value(const weft_context *context, const void *key); /* the nearest, or NULL */
WEFT_API bool weft_context_cancelled(const weft_context *context);               /* it or an ancestor, or its deadline has passed */
/* Marks it and cancels every process of the runtime that was spawned with it or with a context below it. */
WEFT_API void weft_context_cancel(weft_context *context, weft_runtime *runtime);
/* The calling process's own, or NULL. */
WEFT_API weft_context *weft_own_context(void);

WEFT_END

#endif
