/* Machines: parts of the program that crash and start again (weft/sim.h). A machine is a number that its threads, descriptors, addresses and disk
 * have. */
#include "sim.h"
#include "world/fd.h"
#include "world/file.h"
#include "world/net.h"

#include "mail/post.h"
#include "sched/door.h"

#include <weft/errors.h>
#include <weft/sim.h>

#include <errno.h>
#include <stdlib.h>

enum { MACHINES_MOST = 64 };

enum machine_state { MACHINE_UP, MACHINE_CRASHING, MACHINE_CRASHED, MACHINE_ENDED };

static struct machine {
    const char *name;
    void (*main)(void *arg);
    void *arg;
    enum machine_state state;
    unsigned lives; /* how often it was started */
} machines[MACHINES_MOST];
static unsigned machine_count = 1;     /* the program itself */
static unsigned machine_of[INSTANCES]; /* of the runtime that has the instance, or had it last */

static unsigned machine_crashes; /* of all machines */

void sim_runtime_opened(unsigned instance) { machine_of[instance] = sim_me() ? sim_me()->machine : 0; }

static struct machine *machine_at(int number, const char *call) {
    if (number > 0 && (unsigned)number < machine_count) return &machines[number];
    sim_fail("machine", "%s: there is no machine %d", call, number);
}

/* ---- starting and ending -------------------------------------------------------------------------------------------------- */

static void machine_is(struct machine *machine, enum machine_state state) {
    machine->state = state;
    sim_unblock(machine, SIM_ALL, 0);
}

static void *machine_main(void *arg) {
    struct machine *machine = arg;
    machine->main(machine->arg);
    machine_is(machine, MACHINE_ENDED);
    return NULL;
}

/* The runtimes of the life before are closed, so that others can have their instances; their memory stays. Those that a thread of another machine was
 * about to use stay open. */
static void machine_bury(unsigned number) {
    for (unsigned i = 0; i < INSTANCES; i++) {
        struct runtime *runtime = machine_of[i] == number ? door_runtime(i) : NULL;
        if (runtime && post_close_if_empty(runtime)) door_close(runtime, true);
    }
}

static int machine_start(struct machine *machine) {
    struct sim_thread *thread;
    sim_effect("machine", (uint64_t)(machine - machines));
    if (sim_thread_start(&thread, machine_main, machine)) return WEFT_EAGAIN;
    thread->machine = (unsigned)(machine - machines);
    machine->state = MACHINE_UP;
    machine->lives++;
    return 0;
}

int weft_sim_machine(const char *name, void (*main)(void *arg), void *arg) {
    if (!main) return WEFT_EINVAL;
    if (machine_count == MACHINES_MOST) return WEFT_EAGAIN;
    struct machine *machine = &machines[machine_count];
    *machine = (struct machine){.name = name, .main = main, .arg = arg};
    int error = machine_start(machine);
    return error ? error : (int)machine_count++;
}

int weft_sim_restart(int number) {
    struct machine *machine = machine_at(number, "weft_sim_restart");
    if (machine->state == MACHINE_UP || machine->state == MACHINE_CRASHING) return WEFT_EBUSY;
    if (machine->state == MACHINE_CRASHED) machine_bury((unsigned)number);
    return machine_start(machine);
}

int weft_sim_wait(int number, uint64_t deadline) {
    struct machine *machine = machine_at(number, "weft_sim_wait");
    sim_effect("wait", (uint64_t)number);
    while (machine->state == MACHINE_UP || machine->state == MACHINE_CRASHING)
        if (deadline <= sim_now() || sim_block("weft_sim_wait", machine, deadline) == -ETIMEDOUT) return WEFT_ETIMEDOUT;
    return machine->state == MACHINE_CRASHED ? WEFT_EKILLED : 0;
}

int weft_sim_here(void) { return sim_me() ? (int)sim_me()->machine : 0; }

/* ---- crashing ----------------------------------------------------------------------------------------------------------------- */

bool sim_any_crashed(void) { return machine_crashes > 0; }

/* Threads of the machine that hold locks go on: none of them does anything outside before it has dropped them. */
void sim_machine_settle(unsigned number) {
    struct machine *machine = &machines[number];
    if (machine->state != MACHINE_CRASHING) return;
    for (unsigned i = 0; i < sim_thread_count(); i++) {
        struct sim_thread *thread = sim_thread_at(i);
        if (thread->machine == number && !thread->left) return;
    }
    sim_net_crash(number);
    sim_fd_crash(number);
    sim_file_crash(number);
    sim_note("crashed", number);
    machine_crashes++;
    machine_is(machine, MACHINE_CRASHED);
}

static void machine_crash_thread(struct sim_thread *thread) {
    thread->crashed = true;
    if (thread->locks == 0) sim_thread_gone(thread);
}

void sim_crash_machine(unsigned number) {
    struct machine *machine = &machines[number];
    if (number == 0 || machine->state != MACHINE_UP) return;
    sim_note("crash", number);
    machine->state = MACHINE_CRASHING;
    for (unsigned i = 0; i < sim_thread_count(); i++)
        if (sim_thread_at(i)->machine == number) machine_crash_thread(sim_thread_at(i));
    sim_machine_settle(number);
    if (sim_me() && sim_me()->left) sim_leave_for_ever();
}

void weft_sim_crash(int number) {
    machine_at(number, "weft_sim_crash");
    sim_effect("crash", (uint64_t)number);
    sim_crash_machine((unsigned)number);
}

/* ---- the network between them ------------------------------------------------------------------------------------------------- */

void weft_sim_partition(int one, int other, bool cut) {
    sim_effect(cut ? "cut" : "heal", (uint64_t)one << 8 | (uint64_t)other);
    if (one != 0) machine_at(one, "weft_sim_partition");
    if (other != 0) machine_at(other, "weft_sim_partition");
    sim_net_partition((unsigned)one, (unsigned)other, cut);
}
