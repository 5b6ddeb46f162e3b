/* One trial of the cross product: a process (the caller) makes one call that may have to wait, in some state, and something completes it.
 *
 *   call       what is called                                         calls.h and the files that it includes
 *   state      what the caller is like when it calls                  states.h
 *   completer  what lets the call succeed, and from where             completers.h
 *   moment     when: before the call, while it begins, later
 *   limit      the call's deadline, unless the state says another
 *   policy, workers, preempt                                          the runtime's
 *
 * Every call is seen as taking a unit of something (a message, a permit, a connection, the end of a process). `complete` makes one
 * unit; the call takes it, or answers an error and has not taken it. So one oracle judges all of them (call_oracle.h). */
#ifndef WEFT_TESTS_CROSS_TRIAL_H
#define WEFT_TESTS_CROSS_TRIAL_H

#include "runtime_helpers.h"

#include <weft/weft.h>

#include <semaphore.h>
#include <sys/socket.h>

enum dimension { CALL, STATE, COMPLETER, MOMENT, LIMIT, POLICY, WORKERS, PREEMPT, DIMENSIONS };
enum moment { BEFORE, RACE, LATER, MOMENTS };
enum limit { FOREVER, PATIENT, LIMITS };

struct combination {
    uint8_t at[DIMENSIONS];
};

struct trial;

enum {
    CALL_LEVEL = 1,         /* a unit that was taken is still there: a wait group at 0, a descriptor that is ready */
    CALL_ONCE = 2,          /* the unit belongs to this very call; what it leaves is not there for another */
    CALL_NO_DEADLINE = 4,   /* it takes none */
    CALL_TO_ITS_END = 8,    /* only the unit ends it; that the process was cancelled is told afterwards */
    CALL_NOT_TOLD = 16,     /* and not even then */
    CALL_REFUSES = 32,      /* a cancelled process is refused although the unit is there */
    CALL_NOT_BEFORE = 64,   /* there is no unit before a process calls */
    CALL_INSTANT = 128,     /* it has never to wait */
    CALL_TIMES_OUT = 256,   /* nothing but time ends it */
    CALL_ANY_MAIL = 512,    /* takes the oldest message, whatever it is */
    CALL_CHILDREN = 1024,   /* waits for children of its own, which share the caller's context and runtime */
    CALL_ANYWHERE = 2048,   /* threads may call it, too */
    CALL_MAIL = 4096,       /* the unit is a message to the caller */
    CALL_IN_STEPS = 16384,  /* step processes may call it, too */
    CALL_TRAPS = 65536,     /* exits */
    CALL_WHOLE = 131072,    /* is many calls: a caller that ends between them leaves something behind */
    CALL_MAY_PACK = 262144, /* now and then */
    CALL_PACKS = 32768,     /* a process may be packed in it */
    CALL_ENDS = 8192,       /* ends what it waits for: by force, and at once, in a process that was killed */
};

struct call {
    const char *name;
    unsigned is;
    int gone;                                            /* what a call says when the unit has been taken; 0: WEFT_ETIMEDOUT */
    void (*make)(struct trial *trial);                   /* in the caller */
    int (*wait)(struct trial *trial, uint64_t deadline); /* in the caller: 0, or an error */
    void (*hold)(struct trial *trial);                   /* by the completer, before the call */
    bool (*complete)(struct trial *trial);               /* from anywhere; false: not yet, try again */
    void (*abandon)(struct trial *trial);                /* in a caller that has ended in the call: gives back what `wait` would have */
    void (*clean)(struct trial *trial);                  /* in the caller, when all is over; checks what is left */
};

enum when { NEVER, EARLY, DURING };

struct caller_state {
    const char *name;
    enum when cancelled;
    bool shielded;
    uint64_t (*deadline)(struct trial *trial); /* NULL: the limit's */
    bool has_mail;                             /* messages lie in the mailbox that are not the unit */
    bool pins_completer;                       /* which is a stackful process of the runtime then */
    bool stops;                                /* the runtime */
    bool is_thread;                            /* the call is made where the caller is a thread, and not a process */
    bool is_step;                              /* likewise by a step process */
    bool everybody;                            /* is cancelled, not the caller alone */
    bool ends;                                 /* the caller does, in the call or right after it */
    bool links;                                /* because of a link */
    bool packs;                                /* the caller is packed in the call, if it can be; what comes later waits for that */
    bool must_pack;                            /* otherwise it is no such state */
    uint64_t context;                          /* nanoseconds from the beginning until the context's deadline; 0: there is no context */
    uint64_t scope;                            /* likewise of a scope that the caller is a child in */
    int scope_result;
    int reason;                          /* of the caller's end */
    unsigned flags;                      /* of the spawn */
    size_t bound;                        /* messages that the caller's mailbox takes; 0: it is not bounded */
    void (*enter)(struct trial *trial);  /* in the caller, before the call */
    void (*before)(struct trial *trial); /* in the test's thread, while `enter` waits for it */
    void (*during)(struct trial *trial); /* in the test's thread, when the call begins */
    void (*after)(struct trial *trial);  /* in the test's thread, when it has returned */
    void (*leave)(struct trial *trial);  /* in the caller, behind a shield */
    void (*around)(struct trial *trial); /* runs trial->body; NULL: a plain call */
};

struct completer {
    const char *name;
    bool is_stackful;                     /* a stackful process of the caller's runtime */
    unsigned workers;                     /* so many are needed */
    void (*outside)(struct trial *trial); /* begins it in the test's thread; or */
    void (*inside)(struct trial *trial);  /* in the caller */
    void (*opens)(struct trial *trial);   /* in the caller, when the unit may come */
};

/* What calls are about. Only the caller makes and cleans; completers use what is there. */
struct things {
    weft_pid server, children[2];
    weft_request request;
    uint64_t reference;
    atom_u64 requested, spawned, units, helped, abandoned, fn_ended;
    weft_chan *chan, *spare;
    weft_mutex mutex;
    weft_cond cond;
    weft_sem sem;
    weft_rwlock rwlock;
    weft_once once;
    weft_waitgroup group;
    weft_barrier barrier;
    weft_synch2 synch2;
    sem_t posix;
    weft_fd fd[2];
    int raw[2];
    pid_t child;
    weft_child programs[2];
    weft_limiter limiter;
    weft_ticker *ticker;
    struct errand *errand;
    weft_scope scope;
    bool has;
    size_t size;
    weft_addr address;
};

struct trial {
    struct combination combination;
    const struct call *call;
    const struct caller_state *state;
    const struct completer *completer;
    void (*body)(struct trial *trial);            /* the call itself, and what is judged around it: driver.h */
    void (*rest)(struct trial *trial);            /* of it: what a caller defers that ends in the call */
    weft_runtime *other;                          /* the other runtime, where one is wanted */
    weft_pid caller, root, sibling, friend, step; /* root: the process that is joined */
    weft_context *context, *beside;               /* the caller's; that of what it finds there */
    uint64_t friend_reference;
    weft_mutex mutex;
    uint64_t begun, delay; /* when the call was about to be made; the unit comes so long after that */
    uint64_t deadline;
    int code;
    bool taken;
    bool took; /* told by a `wait` that goes on with other calls, in which the caller may end */
    pthread_t thread, stopper;
    bool has_thread, has_stopper;
    /* made: there is something to complete; held: it is not complete; open: it may be; go: the call is made; completing: from now on the
     * unit may be there; completed: it is; came_back: the call has returned; returned: or has ended its process, and it was judged; settled: the
     * unit has been taken, once; ended. waits: for `before`; asked: to pack itself, for long enough */
    atom_u64 made, held, open, go, completing, completed, came_back, returned, settled, ended, stepped, waits, asked;
    struct things things;
};

static struct trial trial_now;

#define TAG_UNIT UINT64_C(0x1000)
#define TAG_END UINT64_C(0x2000)
#define TAG_GOODBYE UINT64_C(0x3000)
#define TAG_MAIL UINT64_C(0x4000) /* and the next ones */
enum { MAIL = 3, REASON = -4242, SCOPE_REASON = -4243, ERRNO_KEPT = 77 };

/* Longer than anything takes that is not broken; what sleeps until then fails the trial. */
static inline uint64_t patient(void) {
    const char *patience = getenv("WEFT_TEST_PATIENCE");
    return weft_in((patience && atoi(patience) > 0 ? (uint64_t)atoi(patience) : 1) * 10 * WEFT_SECOND);
}
static inline enum moment moment_of(const struct trial *trial) { return (enum moment)trial->combination.at[MOMENT]; }

/* Whatever the caller of this is, others go on. */
static inline void pause_until(uint64_t moment) {
    if (weft_self() == WEFT_NOBODY) {
        for (uint64_t now; (now = weft_now()) < moment;)
            rt_pause(moment - now);
        return;
    }
    weft_shield_begin();
    EXPECT_EQ(weft_sleep_until(moment), 0);
    weft_shield_end();
}
static inline void pause_briefly(void) { pause_until(weft_in(50 * WEFT_MICROSECOND)); }
static inline void await(atom_u64 *cell) {
    while (!atom_load_acq(cell))
        pause_briefly();
}

/* A process beside the caller. */
static inline weft_pid spawn_beside(weft_entry entry, struct trial *trial, unsigned flags) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, trial, &(weft_stackful_options){.runtime = rt.runtime, .flags = flags}, &pid), 0);
    return pid;
}

#endif
