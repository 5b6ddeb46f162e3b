/* Which combinations there are: the dimensions, the rules that leave some out, and a sample that has every pair of values. */
#ifndef WEFT_TESTS_CROSS_COMBINATIONS_H
#define WEFT_TESTS_CROSS_COMBINATIONS_H

#include "completers.h"

static const char *const moment_names[] = {"before", "race", "later"};
static const char *const limit_names[] = {"forever", "patient"};
static const char *const policy_names[] = {"ring", "deque", "line"};
static const char *const worker_names[] = {"1", "2", "4", "16"};
static const char *const preempt_names[] = {"off", "50us"};
static const unsigned worker_counts[] = {1, 2, 4, 16};

static const unsigned sizes[DIMENSIONS] = {
    [CALL] = CALLS, [STATE] = STATES, [COMPLETER] = COMPLETERS, [MOMENT] = MOMENTS, [LIMIT] = LIMITS, [POLICY] = 3,
    [WORKERS] = 4,  [PREEMPT] = 2};

static inline const char *value_name(enum dimension dimension, unsigned value) {
    switch (dimension) {
    case CALL: return calls[value].name;
    case STATE: return states[value].name;
    case COMPLETER: return completers[value].name;
    case MOMENT: return moment_names[value];
    case LIMIT: return limit_names[value];
    case POLICY: return policy_names[value];
    case WORKERS: return worker_names[value];
    default: return preempt_names[value];
    }
}

/* call/state/completer/moment/limit/policy/workers/preempt */
static inline void combination_text(const struct combination *one, char *text, size_t size) {
    size_t used = 0;
    for (unsigned d = 0; d < DIMENSIONS; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", d ? "/" : "", value_name(d, one->at[d]));
}

/* A pattern is the same with "*" for any value; what is left out at the end is any. */
static inline bool combination_matches(const struct combination *one, const char *pattern) {
    for (unsigned d = 0; d < DIMENSIONS && *pattern; d++) {
        const char *name = value_name(d, one->at[d]);
        size_t length = strcspn(pattern, "/");
        if (strncmp(pattern, "*", length) != 0 && (strlen(name) != length || strncmp(pattern, name, length) != 0)) return false;
        pattern += length + (pattern[length] == '/');
    }
    return true;
}

/* ---- rules ---------------------------------------------------------------------------------------------------------- */

struct view {
    const struct call *call;
    const struct caller_state *state;
    const struct completer *completer;
    bool nobody, itself;
    enum moment moment;
    enum limit limit;
    unsigned workers;
};
static inline struct view view_of(const struct combination *one) {
    return (struct view){.call = &calls[one->at[CALL]],
                         .state = &states[one->at[STATE]],
                         .completer = &completers[one->at[COMPLETER]],
                         .nobody = one->at[COMPLETER] == NOBODY,
                         .itself = one->at[COMPLETER] == ITSELF,
                         .moment = (enum moment)one->at[MOMENT],
                         .limit = (enum limit)one->at[LIMIT],
                         .workers = worker_counts[one->at[WORKERS]]};
}
/* A cancellation ends the call. */
static inline bool view_is_told(const struct view *view) { return view->state->cancelled != NEVER && !view->state->shielded; }

static inline bool rule_worker(const struct view *view) { return view->workers < view->completer->workers; }
static inline bool rule_moment(const struct view *view) { return view->nobody && view->moment != LATER; }
static inline bool rule_itself(const struct view *view) { return view->itself && (view->moment != BEFORE || view->call->hold); }
static inline bool rule_unit(const struct view *view) { return !view->nobody && view->call->is & (CALL_INSTANT | CALL_TIMES_OUT); }
static inline bool rule_before(const struct view *view) { return view->moment == BEFORE && view->call->is & CALL_NOT_BEFORE; }
static inline bool rule_mail(const struct view *view) { return view->state->has_mail && view->call->is & CALL_ANY_MAIL; }
static inline bool rule_full(const struct view *view) { return view->state->bound == MAIL && view->call->is & CALL_MAIL; }
static inline bool rule_deadline(const struct view *view) {
    return (view->state->deadline || view->limit == PATIENT) && view->call->is & CALL_NO_DEADLINE;
}
static inline bool rule_limit(const struct view *view) { return view->state->deadline && view->limit == PATIENT; }
static inline bool rule_endless(const struct view *view) {
    if (!view->nobody || view->call->is & CALL_INSTANT) return false;
    if (view->call->is & CALL_TO_ITS_END) return true;
    return !view_is_told(view) && !view->state->deadline && view->limit == FOREVER;
}
static inline bool rule_children(const struct view *view) { return view->state->everybody && view->call->is & CALL_CHILDREN; }
static inline bool rule_force(const struct view *view) { return view->state->reason == WEFT_EKILLED && view->call->is & CALL_ENDS; }
static inline bool rule_thread(const struct view *view) { return view->state->is_thread && !(view->call->is & CALL_ANYWHERE); }
static inline bool rule_step(const struct view *view) { return view->state->is_step && !(view->call->is & CALL_IN_STEPS); }
static inline bool rule_pin(const struct view *view) { return view->state->pins_completer && !view->completer->is_stackful; }

static inline bool rule_pack(const struct view *view) { return view->state->must_pack && !(view->call->is & CALL_PACKS); }
static inline bool rule_scope(const struct view *view) { return view->state->before && view->call->make == scope_make; }
static inline bool rule_whole(const struct view *view) { return view->state->ends && view->call->is & CALL_WHOLE; }
static inline bool rule_link(const struct view *view) { return view->state->links && view->call->is & CALL_TRAPS; }

static const struct rule {
    const char *why;
    bool (*leaves_out)(const struct view *view);
} rules[] = {
    {"there is no other worker", rule_worker},
    {"a completer that does not come has no moment", rule_moment},
    {"a process that waits, or has locked it, cannot be the completer", rule_itself},
    {"the call needs no completer", rule_unit},
    {"what the call waits for does not exist before the call", rule_before},
    {"the call would take the mail that lies there, and not wait", rule_mail},
    {"the mailbox is full, and has no room for what the call waits for", rule_full},
    {"the call takes no deadline", rule_deadline},
    {"the state's deadline stands in the limit's place", rule_limit},
    {"nothing would ever end the call", rule_endless},
    {"the children would be cancelled, too, and their end is what the call waits for", rule_children},
    {"only a stackful process of this runtime can be pinned", rule_pin},
    {"a killed caller waits for no completer, but ends it", rule_force},
    {"only a process may call it", rule_thread},
    {"only a stackful process may call it", rule_step},
    {"the call is never packed", rule_pack},
    {"a process with an open scope is not packed", rule_scope},
    {"what the caller has begun would be left behind", rule_whole},
    {"a caller that traps exits does not end because of a link", rule_link},
};
enum { RULES = sizeof rules / sizeof rules[0] };

/* The rule that leaves it out, or NULL. */
static const struct rule *combination_rule(const struct combination *one) {
    struct view view = view_of(one);
    for (unsigned i = 0; i < RULES; i++)
        if (rules[i].leaves_out(&view)) return &rules[i];
    return NULL;
}

/* The next one, as a number with DIMENSIONS digits; false after the last. */
static inline bool combination_next(struct combination *one) {
    for (unsigned d = DIMENSIONS; d-- > 0;) {
        if (++one->at[d] < sizes[d]) return true;
        one->at[d] = 0;
    }
    return false;
}

/* ---- the sample ----------------------------------------------------------------------------------------------------- */

enum { VALUES = 144, SAMPLE_MOST = 20000, CANDIDATES = 12 };

/* Of every two values of two dimensions: whether a combination has both, and whether the sample does. */
_Static_assert((unsigned)CALLS <= VALUES && (unsigned)STATES <= VALUES, "room for all");
static bool pair_exists[DIMENSIONS][VALUES][DIMENSIONS][VALUES], pair_sampled[DIMENSIONS][VALUES][DIMENSIONS][VALUES];
static struct combination sample[SAMPLE_MOST];
static unsigned sample_size;
static uint64_t combinations, left_out[RULES];

static inline void pairs_note(bool (*pairs)[VALUES][DIMENSIONS][VALUES], const struct combination *one) {
    for (unsigned d = 0; d < DIMENSIONS; d++)
        for (unsigned e = d + 1; e < DIMENSIONS; e++)
            pairs[d][one->at[d]][e][one->at[e]] = true;
}
static inline unsigned pairs_new(const struct combination *one) {
    unsigned count = 0;
    for (unsigned d = 0; d < DIMENSIONS; d++)
        for (unsigned e = d + 1; e < DIMENSIONS; e++)
            count += !pair_sampled[d][one->at[d]][e][one->at[e]];
    return count;
}

/* Looks at every combination once. */
static inline void pairs_find(void) {
    struct combination one = {{0}};
    do {
        const struct rule *rule = combination_rule(&one);
        if (rule) left_out[rule - rules]++;
        else combinations++, pairs_note(pair_exists, &one);
    } while (combination_next(&one));
}

/* One that has these two values, and otherwise what comes; the best of some. */
static inline struct combination sample_with(struct rng *rng, unsigned d, unsigned v, unsigned e, unsigned w) {
    struct combination best = {{0}};
    unsigned found = 0, most = 0;
    while (found < CANDIDATES) {
        struct combination one;
        for (unsigned i = 0; i < DIMENSIONS; i++)
            one.at[i] = (uint8_t)rng_below(rng, sizes[i]);
        one.at[d] = (uint8_t)v;
        one.at[e] = (uint8_t)w;
        if (combination_rule(&one)) continue;
        unsigned fresh = pairs_new(&one);
        if (fresh > most) best = one, most = fresh;
        found++;
    }
    return best;
}

static inline void sample_add(struct rng *rng, unsigned d, unsigned v, unsigned e, unsigned w) {
    if (!pair_exists[d][v][e][w] || pair_sampled[d][v][e][w]) return;
    EXPECT(sample_size < SAMPLE_MOST);
    sample[sample_size] = sample_with(rng, d, v, e, w);
    pairs_note(pair_sampled, &sample[sample_size++]);
}

/* Every pair that exists, by one seed. */
static inline void sample_make(uint64_t seed) {
    struct rng rng;
    rng_seed(&rng, seed, 0);
    pairs_find();
    for (unsigned d = 0; d < DIMENSIONS; d++)
        for (unsigned e = d + 1; e < DIMENSIONS; e++)
            for (unsigned v = 0; v < sizes[d]; v++)
                for (unsigned w = 0; w < sizes[e]; w++)
                    sample_add(&rng, d, v, e, w);
}

#endif
