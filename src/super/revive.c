/* A child has ended: whether it is started again, with which others, when; and whether that happens too often. */
#include "super/super.h"

#include <stdio.h>

/* ---- how often ---------------------------------------------------------------------------------------------------------- */

/* Notes a restart. False: with it there are more than `intensity` within the period. */
static bool restart_allowed(struct super *super, uint64_t now) {
    unsigned most = super->plan->spec.intensity;
    if (most == 0 || most > RESTARTS_MOST) return most > 0;
    uint64_t *oldest = &super->restarted[super->restarts % most];
    bool full = super->restarts >= most && now - *oldest <= super->plan->spec.period_ms * WEFT_MILLISECOND;
    *oldest = now;
    super->restarts++;
    return !full;
}

static void restart_give_up(const struct super *super, const struct child *child) {
    char why[96];
    fprintf(stderr, "weft: supervisor %s gives up: more than %u restarts within %u ms, the last of child %s: %s\n", super->plan->name,
            super->plan->spec.intensity, super->plan->spec.period_ms, child->plan.id,
            weft_reason_text(&(weft_reason){.code = child->last, .signal = child->last_signal, .address = child->last_address}, why,
                             sizeof why));
}

/* ---- the pause ------------------------------------------------------------------------------------------------------------ */

/* A quarter more or less, from a generator of its own: the same in each run of a simulation. */
static uint64_t restart_jitter(struct super *super, uint64_t pause) {
    super->noise = super->noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return pause - pause / 4 + (super->noise >> 16) % (pause / 2 + 1); /* the upper bits, and enough of them for a pause of a day */
}

uint64_t restart_pause(struct super *super, struct child *child, uint64_t now) {
    const weft_super_spec *spec = &super->plan->spec;
    if (now - child->up_since > spec->period_ms * WEFT_MILLISECOND) child->attempts = 0;
    unsigned attempt = child->attempts++;
    if (attempt == 0 || spec->backoff_ms == 0) return 0;
    uint64_t pause = spec->backoff_ms * WEFT_MILLISECOND, most = spec->backoff_most_ms * WEFT_MILLISECOND;
    while (--attempt > 0 && pause < most)
        pause *= 2;
    return restart_jitter(super, pause < most ? pause : most);
}

/* ---- the decision ---------------------------------------------------------------------------------------------------------- */

static bool child_has_failed(int code) { return code != 0 && code != WEFT_ECANCELED; }

static bool child_comes_back(const struct child *child) {
    enum weft_restart restart = child->plan.spec.restart;
    return restart == WEFT_PERMANENT || (restart == WEFT_TRANSIENT && child_has_failed(child->last));
}

/* The first and the last of those that are started again with this one. */
static struct child *revive_first(const struct super *super, struct child *child) {
    return super->plan->spec.strategy == WEFT_ONE_FOR_ALL ? super->first : child;
}
static struct child *revive_end(const struct super *super, const struct child *child) {
    return super->plan->spec.strategy == WEFT_ONE_FOR_ONE ? child->next : NULL;
}

/* It is down and is to be started again: stops those that are to be started with it, and notes when. */
static int restart_plan(struct super *super, struct child *child) {
    uint64_t now = sys->now();
    if (!restart_allowed(super, now)) {
        restart_give_up(super, child);
        return WEFT_ERESTARTS;
    }
    children_restarted(super, child);
    uint64_t due = now + restart_pause(super, child, now);
    struct child *first = revive_first(super, child), *end = revive_end(super, child);
    if (!end && first) children_stop_after(super, first->prev);
    for (struct child *each = first, *next; each != end; each = next) {
        next = each->next;
        if (each != child && each->plan.spec.restart == WEFT_TEMPORARY) children_remove(super, each); /* stopped for good */
        else children_due(super, each, due);
    }
    return 0;
}

int restart_decide(struct super *super, struct child *child) {
    if (child_comes_back(child)) return restart_plan(super, child);
    if (child_is_forgotten(child)) children_remove(super, child);
    return 0;
}

/* ---- later ------------------------------------------------------------------------------------------------------------------ */

uint64_t restart_next(const struct super *super) {
    uint64_t next = WEFT_FOREVER;
    for (const struct child *child = super->due_first; child; child = child->due_next)
        if (child->due < next) next = child->due;
    return next;
}

int restart_due(struct super *super) {
    uint64_t now = sys->now();
    int error = 0;
    for (struct child *child = super->due_first; child && !error && !weft_cancelled();) {
        bool failed = child->due <= now && child_start(super, child) != 0;
        if (failed) error = restart_decide(super, child); /* which may change the list */
        child = failed || child->state == CHILD_UP ? super->due_first : child->due_next;
    }
    return error;
}
