/* Names of processes. A name means one living process of a runtime, until it is taken back or the process ends.
 *
 *     weft_register("printer", weft_self());
 *     weft_send_name("printer", TAG_PRINT, text, size);       from any process of the same runtime
 *     weft_pid printer = weft_whereis_in(runtime, "printer");  from a thread of the program's own
 *
 * Each runtime has names of its own. A process may have several. They go when it ends, before its end is told (weft_join, scopes,
 * monitors, links): a process that is told can give the name to the next one at once. Step processes, stackful processes and threads use
 * them alike. (Names of hosts are another subject: weft/name.h. Many processes under one name: weft/group.h.)
 *
 * Where a `runtime` is asked for, NULL means the calling process's own; outside of a process the answer to NULL is WEFT_ENOTINSIDE, or
 * WEFT_NOBODY. A name has 1 to WEFT_NAME_MOST bytes, of any kind but 0. It is copied. */
#ifndef WEFT_REGISTRY_H
#define WEFT_REGISTRY_H

#include <weft/message.h>
#include <weft/process.h>

WEFT_BEGIN

enum { WEFT_NAME_MOST = 47 }; /* bytes, without the 0 at the end */

/* Gives a process a name, in the process's own runtime. From anywhere. 0; or WEFT_EEXIST: a living process has it, this one or another;
 * WEFT_ENOPROC: `pid` has ended; WEFT_EINVAL: the name is empty or too long; WEFT_ENOMEM; WEFT_EFOREIGN: there is no such runtime.
 * (A process that shall have its name before it first runs is spawned with `register_as` in its options.) */
WEFT_API int weft_register(const char *name, weft_pid pid);
/* Takes a name back, whichever process has it. 0, or WEFT_ENOENT: no process has it; WEFT_ENOTINSIDE. */
WEFT_API int weft_unregister(weft_runtime *runtime, const char *name);

/* The living process that has the name, or WEFT_NOBODY. Takes no lock and waits for nothing; some nanoseconds. */
WEFT_API weft_pid weft_whereis_in(weft_runtime *runtime, const char *name);
static inline weft_pid weft_whereis(const char *name) { return weft_whereis_in(NULL, name); }

/* weft_send and weft_call to the process that has the name, in the caller's runtime. WEFT_ENOPROC: no process has it. If its process ends
 * meanwhile and another one is given the name, weft_send_name sends to that one; weft_call_name, whose request may have been read by
 * the former, does not: it returns WEFT_ENOPROC. weft_call_name: WEFT_EDEADLK if the caller itself has the name. WEFT_ENOTINSIDE outside of a process. */
WEFT_API int weft_send_name(const char *name, uint64_t tag, const void *data, size_t size);
WEFT_API int weft_call_name(const char *name, uint64_t tag, const void *data, size_t size, weft_msg **reply, uint64_t deadline);

/* Calls visit(name, pid, user) for every name, in no particular order: all names as they were at one moment, copied. It may call anything of
 * weft; NULL only counts. Returns how many there were, or WEFT_ENOMEM, WEFT_ENOTINSIDE. */
WEFT_API int64_t weft_names(weft_runtime *runtime, void (*visit)(const char *name, weft_pid pid, void *user), void *user);

WEFT_END

#endif
