/* The handler of SIGQUIT: see runtime/quit.h. */
#include "runtime/quit.h"

#include "mail/post.h"
#include "runtime/report.h"
#include "sched/door.h"
#include "sys/print.h"

#include <signal.h>
#include <unistd.h>

struct quit_post {
    struct posted posted; /* first: its address is the entry's */
    atom_bool queued;     /* Q2 */
};
static bool quit_print(struct posted *posted);
/* Static, so that they outlive runtimes: a handler may run at any time. */
static struct quit_post quit_posts[INSTANCES] = {[0 ... INSTANCES - 1] = {.posted.deliver = quit_print}};

static struct {
    struct lock lock, printing;
    unsigned runtimes;
    pid_t program; /* its pid: a child between fork and exec has the same handler */
} quit;

/* By the runtime's sysmon, or by the thread that stops the runtime. */
static bool quit_print(struct posted *posted) {
    struct quit_post *post = (struct quit_post *)posted;
    struct runtime *runtime = door_runtime((unsigned)(post - quit_posts));
    (void)atom_swap_acq(&post->queued, false); /* acq: pairs with the swap in quit_handler; the entry is out of the list */
    lock_take(&quit.printing);                 /* so that the lines of two runtimes do not mix */
    if (runtime) dump_runtime(runtime, STDERR_FILENO, DUMP_MOST);
    lock_drop(&quit.printing);
    return true;
}

static void quit_handler(int number) {
    int error = errno;
    if (quit.program != getpid()) { /* in a child made by fork: the default, for the child alone */
        sys->signal_action(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        raise(number); /* delivered when the handler returns */
    }
    for (unsigned i = 0; i < INSTANCES; i++)
        /* rel: pairs with the swap in quit_print. A runtime that has stopped meanwhile takes no posts. rlx: no thread will take it. */
        if (post_is_open(i) && !atom_swap_acqrel(&quit_posts[i].queued, true) && !post_put(i, &quit_posts[i].posted))
            atom_store_rlx(&quit_posts[i].queued, false);
    errno = error;
}

/* Q1 */
static void quit_install(void) {
    struct sigaction now, action = {.sa_handler = quit_handler, .sa_flags = SA_RESTART | SA_ONSTACK}; /* processes have small stacks */
    quit.program = getpid();
    if (sys->signal_action(SIGQUIT, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
        sys->signal_action(SIGQUIT, &action, NULL);
}

static void quit_uninstall(void) {
    struct sigaction now;
    if (sys->signal_action(SIGQUIT, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == quit_handler)
        sys->signal_action(SIGQUIT, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

void quit_begin(struct runtime *runtime) {
    if (!runtime->prints_on_quit) return;
    lock_take(&quit.lock);
    if (quit.runtimes++ == 0) quit_install();
    lock_drop(&quit.lock);
}

void quit_finish(struct runtime *runtime) {
    if (!runtime->prints_on_quit) return;
    runtime->prints_on_quit = false;
    lock_take(&quit.lock);
    if (--quit.runtimes == 0) quit_uninstall();
    lock_drop(&quit.lock);
}
