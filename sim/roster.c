/* All threads, and those that may still run: see roster.h. */
#include "roster.h"

#include <stdlib.h>
#include <string.h>

enum { ROSTER_STEP = 256 };

struct roster roster;

unsigned sim_thread_count(void) { return roster.count; }
struct sim_thread *sim_thread_at(unsigned index) {
    return roster.all[index];
}

static void *roster_memory(void *memory, size_t size) {
    memory = realloc(memory, size);
    if (!memory) sim_fail("memory", "the simulation itself has none left");
    return memory;
}

static void roster_grow(void) {
    roster.room += ROSTER_STEP;
    roster.all = roster_memory(roster.all, roster.room * sizeof *roster.all);
    roster.living = roster_memory(roster.living, roster.room * sizeof *roster.living);
}

struct sim_thread *roster_add(void) {
    if (roster.count == SIM_THREADS_MOST) sim_fail("limit", "%u threads have been started, and no run may have more", roster.count);
    if (roster.count == roster.room) roster_grow();
    struct sim_thread *thread = roster_memory(NULL, sizeof *thread);
    *thread = (struct sim_thread){.index = roster.count, .place = roster.alive};
    return roster.all[roster.count++] = roster.living[roster.alive++] = thread;
}

void roster_leave(struct sim_thread *thread) {
    if (thread->left) return;
    roster.alive--;
    for (unsigned i = thread->place; i < roster.alive; i++) {
        roster.living[i] = roster.living[i + 1];
        roster.living[i]->place = i;
    }
    thread->left = true;
    thread->place--; /* R1 */
}

void roster_clear(void) {
    for (unsigned i = 0; i < roster.count; i++)
        free(roster.all[i]);
    free(roster.all);
    free(roster.living);
    memset(&roster, 0, sizeof roster);
}

/* ---- those that can run --------------------------------------------------------------------------------------------------- */

struct sim_thread *roster_nth(const struct sim_thread *me, uint64_t n, unsigned *count) {
    struct sim_thread *found = NULL;
    *count = 0;
    for (unsigned i = 1; i <= roster.alive; i++) {
        struct sim_thread *thread = roster_behind(me, i);
        if (roster_can_run(thread) && (*count)++ == n) found = thread;
    }
    return found;
}

/* ---- those that are blocked ----------------------------------------------------------------------------------------------- */

void sim_unblock_thread(struct sim_thread *thread, int result) {
    if (thread->state != SIM_BLOCKED) return;
    thread->state = SIM_RUNNABLE;
    thread->result = result;
    thread->on = NULL;
}

static struct sim_thread *roster_blocked_on(const void *on, uint64_t n, uint64_t *count) {
    struct sim_thread *found = NULL;
    *count = 0;
    for (unsigned i = 0; i < roster.alive; i++) {
        struct sim_thread *thread = roster.living[i];
        if (thread->state == SIM_BLOCKED && thread->on == on && (*count)++ == n) found = thread;
    }
    return found;
}

unsigned sim_unblock(const void *on, unsigned count, int result) {
    unsigned woken = 0;
    uint64_t there;
    for (; woken < count; woken++) {
        if (!roster_blocked_on(on, 0, &there)) break;
        sim_unblock_thread(roster_blocked_on(on, there > 1 ? sim_draw(SIM_WAKE, there) : 0, &there), result);
    }
    return woken;
}
