/* Supervisors: processes that start others, and start them again when they end.
 *
 *     static const weft_child_spec children[] = {
 *         {.id = "store", .entry = store, .restart = WEFT_PERMANENT, .ready = true},
 *         {.id = "server", .entry = server, .restart = WEFT_PERMANENT, .stop_ms = 2000},
 *     };
 *     static const weft_super_spec spec = {.name = "app", .strategy = WEFT_REST_FOR_ONE, .children = children, .count = 2};
 *     weft_pid app;
 *     int error = weft_super_start(&spec, NULL, &app, weft_in(10 * WEFT_SECOND));
 *
 * A scope's child ends with the block that spawned it, and its failure is that block's failure; a supervisor's child belongs to no block,
 * and its failure is the supervisor's to repair.
 *
 * A supervisor is linked to its children: however it ends, they end too; one that is shielded, when its shield ends, and one that traps exits is told.
 * (One that undoes the link lives on then; its own end is told to its supervisor all the same.)
 * A supervisor that was stopped ends with WEFT_ECANCELED. */
#ifndef WEFT_SUPER_H
#define WEFT_SUPER_H

#include <weft/life.h>
#include <weft/stackful.h>

#include <sys/types.h>

WEFT_BEGIN

/* Which children are started again when one has ended and is to be restarted. Those that still run are stopped before, the last started first. */
enum weft_strategy {
    WEFT_ONE_FOR_ONE,  /* that one */
    WEFT_ONE_FOR_ALL,  /* all */
    WEFT_REST_FOR_ONE, /* that one, and those that come after it in the list */
};

/* Whether a child is started again. A child that ends after it was cancelled, with the reason WEFT_ECANCELED, has not failed. */
enum weft_restart {
    WEFT_PERMANENT, /* always */
    WEFT_TRANSIENT, /* if it has failed: its reason is neither 0 nor WEFT_ECANCELED */
    WEFT_TEMPORARY, /* never, and it is forgotten when it has ended */
};

enum { WEFT_CHILD_ID = 48 }; /* bytes of an id, with its 0 */
#define WEFT_STOP_AT_ONCE UINT32_MAX

struct weft_super_spec;

/* A child: one of `entry`, `behavior` and `super` says what it is. Copied, with its strings; `behavior`, `arg` and `input` are kept. */
typedef struct weft_child_spec {
    const char *id;                      /* unique in its supervisor */
    weft_entry entry;                    /* a stackful process: entry(arg) */
    void *arg;                           /* also of a behaviour: what its spawn options call input, if `input_size` is not 0 */
    size_t input_size;                   /* of a step process: the bytes at `arg` that its init is given */
    const weft_behavior *behavior;       /* a step process; started when its init has returned 0 */
    const struct weft_super_spec *super; /* a supervisor; started when all its children are */
    enum weft_restart restart;
    bool ready;              /* `entry` calls weft_ready when it is up; until then the next child is not started */
    unsigned start_ms;       /* how long that may take; 0: 5,000. It is killed then, and has failed */
    unsigned stop_ms;        /* how long it has to end after it was cancelled, before it is killed; 0: 5,000; WEFT_STOP_AT_ONCE: none */
    const char *register_as; /* its name in the registry (weft/registry.h), from before it runs; NULL: none */
    size_t stack_size;       /* as in weft_stackful_options, like the next two */
    unsigned flags;
    const weft_mailbox *mailbox; /* its bounds; copied */
    void (*discard)(void *arg); /* of `entry`: called with `arg` if the child has ended without having begun, as in weft_stackful_options */
    void *reserved[4];          /* NULL */
} weft_child_spec;

typedef struct weft_super_spec {
    const char *name; /* for dumps and reports */
    enum weft_strategy strategy;
    unsigned intensity,
        period_ms; /* if there are more than `intensity` restarts within the period, it gives up; both 0: 3 within 5,000. More than 65,535: never */
    /* The pause before a restart: none at first; then `backoff_ms`, doubled with each restart of the same child up to `backoff_most_ms`
     * (0: a minute), each a quarter longer or shorter at random. A child that stays up for the period begins anew. 0: no pause. */
    unsigned backoff_ms, backoff_most_ms;
    const weft_child_spec *children; /* started in this order, stopped in the reverse order */
    size_t count;
    const weft_child_spec *pattern; /* for weft_super_spawn: its `arg` and `id` are left out; NULL: none */
    void *reserved[6];              /* NULL */
} weft_super_spec;

/* Starts a supervisor and its children, and waits until all are up. In a stackful process, or in a thread of the program's own. `options` may be
 * NULL, and give the runtime, flags (WEFT_SPAWN_LINK, WEFT_SPAWN_JOINABLE), context and stack size. 0 and *pid; or why a child could not be
 * started (its reason, WEFT_ETIMEDOUT when it was not ready in time), and then none is left; WEFT_EINVAL for a specification that makes no
 * sense (a line on standard error says why), WEFT_ENOMEM; WEFT_ETIMEDOUT also when the deadline has passed: the supervisor is stopped then. */
WEFT_API int weft_super_start_sized(const weft_super_spec *spec, const weft_stackful_options *options, size_t options_size, weft_pid *pid,
                                    uint64_t deadline);
static inline int weft_super_start(const weft_super_spec *spec, const weft_stackful_options *options, weft_pid *pid, uint64_t deadline) {
    return weft_super_start_sized(spec, options, sizeof *options, pid, deadline);
}

/* By a child with `ready`: it is up (0), or cannot be (an error, which is then why it was not started; it should end). 0; or WEFT_ENOENT: no
 * supervisor has started this process, so that an entry function can also be used without one. */
WEFT_API int weft_ready(int error);

/* Stops it: its children are cancelled, the last first, each killed if it has not ended in its time; then it ends. It is the same as weft_cancel, and
 * waiting for its end; of one that was spawned with WEFT_SPAWN_JOINABLE it takes the result, as a join does. 0, or WEFT_ENOPROC, WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API int weft_super_stop(weft_pid super, uint64_t deadline);

/* ---- while it runs: in stackful processes. Errors as weft_call; WEFT_EINVAL: the process is no supervisor; and those that are named ---- */

/* One more child, the last in the order; 0 when it is up. WEFT_EEXIST: the id is there. */
WEFT_API int weft_super_add(weft_pid super, const weft_child_spec *child, weft_pid *pid, uint64_t deadline);
/* One more child after the supervisor's pattern, with this argument. Its id is "*" and a number. WEFT_ENOENT: there is no pattern. After
 * WEFT_ETIMEDOUT or WEFT_ECANCELED, here and for the others, the supervisor may do it later all the same: what `arg` means must outlast that.
 * After 0 `arg` is the child's; after WEFT_ENOENT, WEFT_EINVAL and WEFT_EFOREIGN it is still the caller's. After any other error it may have been a child's,
 * which has ended: of a supervisor that has ended before it could answer, or one that was started and was not up. So let `arg` be what can be
 * given back twice without harm (a weft_fd, whose second close is WEFT_EBADF; a counted reference), or what its child does not own. A child that is
 * started again, by weft_super_restart_child too, is given the same `arg`. */
WEFT_API int weft_super_spawn(weft_pid super, void *arg, weft_pid *pid, uint64_t deadline);
/* Stops a child, by its id; it stays in the list, unless it is WEFT_TEMPORARY or after the pattern. WEFT_ENOENT: there is none, as for the next two. */
WEFT_API int weft_super_stop_child(weft_pid super, const char *id, uint64_t deadline);
/* Stops a child, if it is up, and starts it. Does not count as a restart. */
WEFT_API int weft_super_restart_child(weft_pid super, const char *id, weft_pid *pid, uint64_t deadline);
/* Stops a child and forgets it. */
WEFT_API int weft_super_remove(weft_pid super, const char *id, uint64_t deadline);

typedef struct weft_child_info {
    char id[WEFT_CHILD_ID];
    weft_pid pid;      /* WEFT_NOBODY: it is down */
    uint64_t restarts; /* since the supervisor has started */
    int last;          /* the code of its last end; 0 if there was none */
    bool is_super;
    int last_signal; /* if that was a fault; else 0 */
    const void *last_address;
} weft_child_info;
/* Its children, in order: how many there are, of which the first `capacity` were written. */
WEFT_API ssize_t weft_super_children(weft_pid super, weft_child_info *children, size_t capacity, uint64_t deadline);
/* The tree from this supervisor down, one line for each process, for a person. */
WEFT_API int weft_super_dump(weft_pid super, int descriptor, uint64_t deadline);

WEFT_END

#endif
