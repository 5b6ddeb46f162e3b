/* A supervisor: a stackful process that is linked to its children, traps their exits, and restarts them.
 *
 *     the starter ──plan_copy──> super_main ──children_start──> child ... child
 *                                    │ <── DOWN of a child: revive.c decides
 *                                    │ <── weft_ready of a child that is being started (raise.c waits for that alone)
 *                                    │ <── requests: add, remove, list (control.c)
 *                                    └ cancelled, its parent has ended, or too many restarts: children_stop, in reverse order
 *
 *   U1  One process does all of it, one thing at a time. While a child is being started or stopped, everything else waits in the mailbox: ends of
 *       other children are handled afterwards, in order, unless they are to be stopped, too.
 *   U2  A child is linked from its birth on. However the supervisor ends, its children end too.
 *   U3  A child is monitored from its birth on, too: a child could undo the link, and its end is told all the same. One that is up or is being
 *       stopped is in the index by PID. A DOWN of a PID that is not there is a former child's. EXITs of children tell nothing new.
 *   U4  The supervisor may be killed at any call of weft's. What it has in hand then is found from struct super, or was freed before the call.
 *   U5  A running supervisor is in its runtime's list, so that dumps find it. `lock` guards its list of children, and what a weft_child_info tells of
 *       them, which its process alone changes, against dumps. Lock order: the runtime's list, a supervisor, those below it. */
#ifndef WEFT_SUPER_SUPER_H
#define WEFT_SUPER_SUPER_H

#include "base/assert.h"
#include "queue/lock.h"
#include "super/starter.h"
#include "sys/sys.h"

#include <weft/registry.h>
#include <weft/super.h>
#include <weft/sync.h>
#include <weft/time.h>

/* ---- plans: copies of specifications (plan.c). Counted references: a supervisor may outlive the one that has started it for a moment ---- */

struct plan_child {
    weft_child_spec spec; /* its strings are in this struct, its supervisor is `below` */
    char id[WEFT_CHILD_ID];
    char name[WEFT_CHILD_ID]; /* register_as */
    weft_mailbox mailbox;
    struct plan *below;
};

struct plan {
    weft_super_spec spec; /* likewise */
    char name[WEFT_CHILD_ID];
    size_t size; /* bytes of this block */
    atom_u32 references;
    bool has_pattern;
    struct plan_child pattern;
    struct plan_child children[];
};

/* 0, or WEFT_EINVAL after a line on standard error, WEFT_ENOMEM. */
int plan_copy(const weft_super_spec *spec, struct plan **copy);
uint64_t plan_hash(const char *id);
/* What is wrong with it; NULL: nothing. */
const char *plan_child_fault(const weft_child_spec *spec);
int plan_child_copy(const weft_child_spec *spec, struct plan_child *copy);
struct plan *plan_hold(struct plan *plan); /* NULL: nothing, as for the next */
void plan_drop(struct plan *plan);

/* ---- a running supervisor ---- */

enum child_state { CHILD_DOWN, CHILD_UP, CHILD_DUE };

struct child {
    struct plan_child plan;
    struct child *next, *prev;         /* in order of their starts */
    struct child *same, *same_id;      /* the next in its buckets of the two indexes */
    struct child *due_next, *due_prev; /* of those that are due, in the order in which they are to be started */
    weft_pid pid;                      /* of one that is up */
    enum child_state state;
    bool patterned;
    struct super *nested;   /* of a supervisor that is up */
    uint64_t up_since, due; /* CHILD_DUE: when it is to be started again */
    uint64_t patience;      /* it was cancelled, and will be killed then; 0: not yet */
    unsigned attempts;      /* restarts since it last stayed up for a period */
    uint64_t restarts;
    /* Of its last end. */
    int last, last_signal;
    const void *last_address;
};

struct super {
    struct plan *plan;
    weft_pid self, parent;
    weft_context *context;      /* of its children: weft_ready finds the supervisor there */
    struct lock lock;           /* U5 */
    bool is_below;              /* another supervisor's child */
    struct super *next, **link; /* in the runtime's list */
    struct child *first, *last, *due_first, *due_last;
    size_t count;
    struct child **index; /* by PID, those that are up; behind it, all, by id: each `buckets`, a power of two */
    size_t buckets;
    uint64_t *restarted; /* the moments of the last `intensity` restarts, a ring; NULL: as often as there is cause */
    unsigned restarts;   /* how many in all */
    uint64_t serial;     /* of children after the pattern */
    uint64_t noise;      /* for the jitter of pauses */
    /* Its process holds it, and so does the starter, or the supervisor above until it is told of the end. */
    atom_u32 holders;
    struct starter *starter;
    weft_msg *handled; /* U4 */
    struct control_answer *answer;
    size_t answer_size;
};

enum { RESTARTS_MOST = 65535 };                                       /* an intensity above is none */
enum { SUPER_READY = 0x77650001, SUPER_EXIT, SUPER_ASK, SUPER_DOWN }; /* tags */
extern const char super_key;                                          /* in the context of children: the supervisor's PID */

/* children.c: the list and the index. */
struct child *children_add(struct super *super, const struct plan_child *plan);
void children_remove(struct super *super, struct child *child);
struct child *children_named(struct super *super, const char *id);
struct child *children_with(struct super *super, weft_pid pid);
void children_up(struct super *super, struct child *child, weft_pid pid);
void children_down(struct super *super, struct child *child, const weft_reason *reason);
void children_failed(struct super *super, struct child *child, int code); /* it could not be started */
void children_restarted(struct super *super, struct child *child);        /* counts */
weft_child_info children_info(const struct child *child);
/* Whether the list does not keep it when it has ended for good. */
static inline bool child_is_forgotten(const struct child *child) { return child->patterned || child->plan.spec.restart == WEFT_TEMPORARY; }
/* It is down, and is to be started at that moment; not any more. */
void children_due(struct super *super, struct child *child, uint64_t due);
void children_undue(struct super *super, struct child *child);
void children_free(struct super *super);

/* raise.c: one child; waits until it is up, or down. */
int child_start(struct super *super, struct child *child);
void child_stop(struct super *super, struct child *child);
/* Stops those after `child` (NULL: all), the last first. */
void children_stop_after(struct super *super, struct child *child);

/* revive.c: a child is down, having ended with child->last, or having failed to start. 0; or WEFT_ERESTARTS: too often. */
int restart_decide(struct super *super, struct child *child);
/* How long to wait before a child that is down is started again; counts the attempt. */
uint64_t restart_pause(struct super *super, struct child *child, uint64_t now);
/* Starts the children that are due. 0 or WEFT_ERESTARTS. */
int restart_due(struct super *super);
/* When the next is due, or WEFT_FOREVER. */
uint64_t restart_next(const struct super *super);

/* control.c: a request has come: super->handled. */
void control(struct super *super);
void control_free(struct super *super);
/* By any caller: 0; or WEFT_EINVAL: the process is no supervisor, and would never answer; WEFT_ENOPROC, WEFT_EFOREIGN. */
int control_check(weft_pid super);

/* tree.c: the calling process's supervisor is in the runtime's list from now on, until the second. */
void supers_add(struct super *super);
void supers_remove(struct super *super);

/* super.c: one that is to be spawned. NULL: no memory. `starter` may be NULL. */
struct super *super_new(struct plan *plan, struct starter *starter, const weft_stackful_options *options);
void super_main(void *opaque);
void super_discard(void *opaque); /* in place of super_main, if the process never begins */
/* Gives up the spawner's hold; the process's too, if none was spawned. NULL: nothing. */
void super_let_go(struct super *super, bool spawned);

#endif
