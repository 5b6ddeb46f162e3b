/* The state word with all that can come at once: a process that parks, a wake, a cancel and a hand-off. Beside state.c, because the four
 * together have some millions of behaviours; any three of them are a short form.
 *
 * Letters are relaxed cells that only the word can make the process see. It ends when it has seen everything; the thread that is told to
 * enqueue it or to run it does so itself. */
#include "chk.h"
#include "proc/state.h"

static struct state state;
static atom_u32 letter[2];
SHARED unsigned seen; /* plain: belongs to the worker that runs the process */
enum { WAKE = 1, HAND_OFF = 2, CANCEL = 4, ALL = 7 };
static unsigned coming;

static void set_up(unsigned what) {
    coming = what;
    uint16_t ticket = state_init(&state);
    chk_assert(state_claim(&state, ticket), "it runs");
    for (unsigned i = 0; i < 2; i++) {
        atom_store_rlx(&letter[i], 0);
        chk_name(&letter[i], i ? "letter[1]" : "letter[0]");
    }
    chk_name(&state.word, "state");
    chk_name(&state.asked, "asked");
}
static void all(void) { set_up(ALL); }
static void no_hand_off(void) { set_up(WAKE | CANCEL); }
static void no_cancel(void) { set_up(WAKE | HAND_OFF); }
static void no_wake(void) { set_up(CANCEL | HAND_OFF); }

static void run(void) {
    for (;;) {
        seen |= state_is_cancelled(&state) ? CANCEL : 0;
        for (unsigned i = 0; i < 2; i++)
            if (!(seen & 1u << i) && atom_load_rlx(&letter[i]) != 0) seen |= 1u << i;
        if (seen == coming) {
            state_complete(&state);
            return;
        }
        struct state_next next = state_park(&state, STATE_BLOCKED);
        if (next.verdict == STATE_NOTHING || !state_claim(&state, next.ticket)) return;
    }
}
static void obey(struct state_next next) {
    if (next.verdict == STATE_RUN || (next.verdict == STATE_ENQUEUE && state_claim(&state, next.ticket))) run();
}
static void wakes(void) {
    atom_store_rlx(&letter[0], 1);
    obey(state_wake(&state));
}
static void hands_off(void) {
    atom_store_rlx(&letter[1], 1);
    obey(state_wake_to_run(&state));
}
static void cancels(void) {
    state_cancel(&state);
    obey(state_wake(&state));
}
static void has_seen_all(void) {
    chk_assert(seen == coming && state_of(atom_load_rlx(&state.word)) == STATE_COMPLETE, "no wake-up is lost (S3), no request (S6)");
}
SCENARIO(state_crowd_wake_cancel, .about = "a process parks || a wake || a cancel", .setup = no_hand_off, .threads = {run, wakes, cancels},
         .finish = has_seen_all)
SCENARIO(state_crowd_wake_hand_off, .about = "a process parks || a wake || a hand-off", .setup = no_cancel,
         .threads = {run, wakes, hands_off}, .finish = has_seen_all)
SCENARIO(state_crowd_cancel_hand_off, .about = "a process parks || a cancel || a hand-off", .setup = no_wake,
         .threads = {run, cancels, hands_off}, .finish = has_seen_all)
SCENARIO(state_crowd, .about = "a process parks || a wake || a cancel || a hand-off", .setup = all,
         .threads = {run, wakes, cancels, hands_off}, .finish = has_seen_all, .deep_in = CHK_ALL)
