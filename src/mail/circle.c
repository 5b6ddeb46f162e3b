/* Circles of processes, each of which waits for room in the mailbox of the next: they will not wake. Reported once, by name, when the last
 * of them begins to wait.
 *
 * Only a process that has a bounded mailbox itself can be in a circle, and only if it waits without a deadline; `blocked_on` in its bounds says
 * for which process. A report is never false:
 *
 *   - A process sets its own `blocked_on` before it is in the list of the one that it waits for. It is cleared by that one when it admits the process, under the lock of the list.
 *     The admitting process does that before it waits itself; so a process that looks round the circle, behind the lock here, sees what each
 *     of the others did before it waited.
 *   - A process that is cancelled will go on: such a circle is none. */
#include "fiber/fiber.h"
#include "life/spawn.h"
#include "mail/send_bounded.h"
#include "sched/parts.h"
#include "sched/rt_enter.h"
#include "sys/print.h"

#include <unistd.h>

enum { CIRCLE_MOST = 4096 }; /* hops; a longer circle is not found */

static struct lock circle_lock;

/* A process on the way round. */
struct hop {
    weft_pid next; /* that it waits for; WEFT_NOBODY: none */
    char name[192];
};

/* `show`: with its name, and marked as reported. */
static struct hop circle_hop(weft_pid pid, bool show) {
    struct hop hop = {.next = WEFT_NOBODY, .name = ""};
    struct rt_entry entry;
    if (!rt_enter(&entry, pid, "weft_send")) return hop;
    struct runtime *runtime = entry.local->runtime;
    section_enter(&entry.local->section);
    struct proc *proc = proc_find(runtime, pid);
    struct bounds *bounds = proc ? bounds_of(proc) : NULL;
    if (bounds && !state_is_cancelled(&proc->state)) hop.next = atom_load_rlx(&bounds->blocked_on); /* rlx: see above */
    if (bounds && show) atom_store_rlx(&bounds->circle_told, true);                                 /* rlx: under circle_lock */
    section_leave(&entry.local->section);
    if (bounds && show) parts.name(runtime, proc, hop.name, sizeof hop.name);
    rt_leave(&entry);
    return hop;
}

/* How many processes there are on the way from `to` to `self` and back; 0: it does not lead there. */
static unsigned circle_length(weft_pid self, weft_pid to) {
    unsigned length = 1;
    for (; to != self && to != WEFT_NOBODY && length < CIRCLE_MOST; length++)
        to = circle_hop(to, false).next;
    return to == self ? length : 0;
}

static void circle_report(weft_pid self, unsigned length) {
    print_line(STDERR_FILENO, "weft: %u processes wait for room in each other's mailboxes, without a deadline:\n", length);
    weft_pid pid = self;
    for (unsigned i = 0; i < length; i++) {
        struct hop hop = circle_hop(pid, true);
        print_line(STDERR_FILENO, "  process %016lx (%s) sends to %016lx\n", (unsigned long)pid, hop.name, (unsigned long)hop.next);
        pid = hop.next;
    }
}

void circle_look(struct bounds *own, weft_pid self, weft_pid to) {
    lock_take(&circle_lock);
    unsigned length = circle_length(self, to);
    if (length == 0) atom_store_rlx(&own->circle_told, false);
    else if (!atom_load_rlx(&own->circle_told)) circle_report(self, length);
    lock_drop(&circle_lock);
}
