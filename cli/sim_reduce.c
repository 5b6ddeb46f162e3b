/* Leaves decisions of a failure out, many at first, then fewer, as long as it fails in the same way. A decision left out is the harmless one: no
 * switch, no fault, no delay.
 *
 * Each time it is tried twice: with the others named exactly, and then with those behind the first that is left out named by their times,
 * because a thread that comes earlier, later or not at all changes their names. The decisions that such an attempt has made are the new list.
 * At last values become smaller: short delays instead of long ones. */
#include "cli/sim_failing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAIRS_OF = 30,   /* decisions at most of which pairs are tried */
    VALUES_OF = 100, /* decisions at most whose values are made smaller */
};

struct reducing {
    struct shrinking *shrinking;
    struct failing *failing;
    bool *out;
    size_t recorded;
};

static void tell_progress(const struct reducing *reducing) {
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rshrinking: %zu of %zu decisions left after %" PRIu64 " attempts\033[K", reducing->failing->count,
                reducing->recorded, reducing->shrinking->tried);
}

/* Takes what the attempt has made if that is no more than `most` decisions. */
static bool better(const struct reducing *reducing, const struct attempt *attempt, size_t most) {
    struct failing found;
    if (!failing_again(reducing->shrinking, attempt, &found)) return false;
    bool good = found.count <= most;
    if (good) {
        failing_free(reducing->failing);
        *reducing->failing = found;
    } else {
        failing_free(&found);
    }
    return good;
}

/* Whether a decision behind this one can be named by its time. */
static bool has_timed(const struct reducing *reducing, size_t from) {
    for (size_t i = from; i < reducing->failing->count; i++)
        if (!reducing->out[i] && reducing->failing->draws[i]->bound > 0) return true;
    return false;
}

/* Tries to do without those that are out. */
static bool leave_out(struct reducing *reducing) {
    size_t count = reducing->failing->count, first = 0;
    struct attempt attempt = {.failing = reducing->failing, .out = reducing->out, .near = SIZE_MAX};
    while (first < count && !reducing->out[first])
        first++;
    bool good = first < count && better(reducing, &attempt, count - 1);
    attempt.near = first;
    if (!good && first < count && has_timed(reducing, first)) good = better(reducing, &attempt, count - 1);
    memset(reducing->out, 0, count * sizeof *reducing->out);
    tell_progress(reducing);
    return good;
}

/* ---- which to leave out --------------------------------------------------------------------------------------------------- */

static bool is_of_kind(const struct row *row, const char *kind) { return strcmp(row->what, kind) == 0; }
static bool is_of_thread(const struct row *row, uint64_t thread) { return row->thread == thread; }

/* All of one kind, or of one thread, at a time. */
static void try_each(struct reducing *reducing, bool by_thread) {
    for (size_t at = 0; at < reducing->failing->count && !reducing->shrinking->over;) {
        struct failing *failing = reducing->failing;
        const struct row *one = failing->draws[at];
        bool seen = false;
        for (size_t i = 0; i < failing->count; i++) {
            bool same = by_thread ? is_of_thread(failing->draws[i], one->thread) : is_of_kind(failing->draws[i], one->what);
            seen = seen || (same && i < at);
            reducing->out[i] = same;
        }
        if (seen) memset(reducing->out, 0, failing->count * sizeof *reducing->out);
        if (seen || !leave_out(reducing)) at++;
    }
}

/* Pieces of this size, from the end: what comes late depends on what came before. Returns whether one could go. */
static bool try_pieces(struct reducing *reducing, size_t size) {
    bool some = false;
    size_t end = reducing->failing->count;
    while (end > 0 && !reducing->shrinking->over) {
        size_t begin = end > size ? end - size : 0;
        for (size_t i = begin; i < end; i++)
            reducing->out[i] = true;
        some = leave_out(reducing) || some;
        end = begin < reducing->failing->count ? begin : reducing->failing->count;
    }
    return some;
}

/* Two at a time, where few are left: one may be there only to make up for the other. */
static bool try_pairs(struct reducing *reducing) {
    for (size_t later = reducing->failing->count; later-- > 1;)
        for (size_t earlier = later; earlier-- > 0 && !reducing->shrinking->over;) {
            reducing->out[earlier] = reducing->out[later] = true;
            if (leave_out(reducing)) return true;
        }
    return false;
}

/* ---- values --------------------------------------------------------------------------------------------------------------- */

static void try_values(struct reducing *reducing) {
    for (size_t at = 0; at < reducing->failing->count && at < VALUES_OF && !reducing->shrinking->over; at++) {
        struct failing *failing = reducing->failing;
        const struct row *row = failing->draws[at];
        struct attempt attempt = {.failing = failing, .near = SIZE_MAX, .changed = at, .changed_to = 1};
        if (row->bound == 0 || row->value == 1) continue;
        better(reducing, &attempt, failing->count);
        tell_progress(reducing);
    }
}

void failing_shrink(struct shrinking *shrinking, struct failing *failing) {
    struct reducing reducing = {shrinking, failing, calloc(failing->count + 1, sizeof(bool)), failing->count};
    if (!reducing.out) return;
    try_each(&reducing, false);
    try_each(&reducing, true);
    for (size_t size = failing->count; size > 1 && !shrinking->over; size = size / 2)
        try_pieces(&reducing, size / 2);
    do
        while (!shrinking->over && failing->count > 0 && try_pieces(&reducing, 1)) {}
    while (!shrinking->over && failing->count <= PAIRS_OF && try_pairs(&reducing));
    try_values(&reducing);
    free(reducing.out);
}
