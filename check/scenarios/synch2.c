/* synch2, the real source: two parties exclude each other, neither waits or sleeps for ever, each is passed at most
 * once, and a party that gives up or fails to get in does no harm.
 *
 * `room` is plain data that only the one inside touches: two at once, or one that does not see what the other did,
 * is a data race. Waiting comes in two kinds, because a waiting loop and a sleep are different code: never
 * sleeping, and sleeping at once. */
#include "sync/synch2.h"
#include "chk.h"
#include "sys/sys.h"

#include <errno.h>

static weft_synch2 door;
static struct synch2_waiter waiter;

SHARED unsigned room;
SHARED unsigned entered[2], refused[2]; /* each written by its own thread */
SHARED unsigned passed[2];              /* inside: how often the other went in while this one waited */

static void set_up(uint32_t rounds_0, uint32_t rounds_1) {
    weft_synch2_init(&door);
    waiter = synch2_thread_waiter;
    waiter.rounds[0] = rounds_0;
    waiter.rounds[1] = rounds_1;
    synch2_set_waiter(&door, &waiter);

    struct synch2 *s = synch2_of(&door);
    chk_name(&s->role[0].active, "active[0]");
    chk_name(&s->role[1].active, "active[1]");
    chk_name(&s->role[0].bell, "bell[0]");
    chk_name(&s->role[1].bell, "bell[1]");
    chk_name(&s->role[0].place, "place[0]");
    chk_name(&s->role[1].place, "place[1]");
    chk_name(&s->wait[0], "wait[0]");
    chk_name(&s->wait[1], "wait[1]");
    chk_name(&s->waker, "waker");
    chk_name(&s->waker_change, "waker_change");
    chk_name(&room, "room");
}
static void spinning(void) { set_up(SYNCH2_NO_SLEEP, SYNCH2_NO_SLEEP); }
static void sleeping_0(void) { set_up(0, SYNCH2_NO_SLEEP); }
static void sleeping_1(void) { set_up(SYNCH2_NO_SLEEP, 0); }

static void finish(void) {
    struct synch2 *s = synch2_of(&door);
    chk_assert(room == entered[0] + entered[1], "every visit left its trace");
    for (unsigned role = 0; role < 2; role++) {
        chk_assert(!atom_load_rlx(&s->role[role].active) && !atom_load_rlx(&s->role[role].bell), "no thread is left behind");
        chk_assert(atom_load_rlx(&s->role[role].place) == SYNCH2_OUT, "and both are known to be out");
    }
    chk_assert(!atom_load_rlx(&s->waker_change), "no question is left open");
}

static void visit(unsigned role) {
    room++;
    entered[role]++;
    weft_synch2_leave(&door, role);
}

/* ---- Enter and leave --------------------------------------------------------------------------------------------- */

static void enter(unsigned role) {
    weft_synch2_enter(&door, role);
    visit(role);
}
static void enter_0(void) { enter(0); }
static void enter_1(void) { enter(1); }
static void enter_0_twice(void) {
    enter(0);
    enter(0);
}
static void enter_1_twice(void) {
    enter(1);
    enter(1);
}
static void enter_1_thrice(void) {
    enter_1_twice();
    enter(1);
}
SCENARIO(synch2_spin_1x1, .about = "one turn each", .setup = spinning, .threads = {enter_0, enter_1}, .finish = finish)
SCENARIO(synch2_spin_1x2, .about = "one turn and two", .setup = spinning, .threads = {enter_0, enter_1_twice}, .finish = finish)
SCENARIO(synch2_spin_2x1, .about = "two turns and one", .setup = spinning, .threads = {enter_0_twice, enter_1}, .finish = finish)
SCENARIO(synch2_spin_2x2, .about = "two turns each", .setup = spinning, .threads = {enter_0_twice, enter_1_twice}, .finish = finish)
SCENARIO(synch2_spin_1x3, .about = "one turn and three", .setup = spinning, .threads = {enter_0, enter_1_thrice}, .finish = finish)
SCENARIO(synch2_sleep_0, .about = "one turn each, role 0 sleeps: no wake-up is lost", .setup = sleeping_0, .threads = {enter_0, enter_1},
         .finish = finish)
SCENARIO(synch2_sleep_1, .about = "one turn each, role 1 sleeps", .setup = sleeping_1, .threads = {enter_0, enter_1}, .finish = finish)

/* Both sleep. To keep the search short each sleeps at most once, and role 1 only where role 0 has its bell up
 * before: a second sleep, and a sleep beside one that is awake, are in the two above. */
SHARED unsigned sleeps[2]; /* each counted by its own thread */

static int sleep_once(const struct synch2_waiter *self, unsigned role, atom_u32 *bell, uint64_t deadline) {
    chk_assume(sleeps[role]++ == 0);
    if (role == 1) chk_assume(atom_load_rlx(&synch2_of(&door)->role[0].bell));
    return synch2_thread_waiter.sleep(self, role, bell, deadline);
}
static void sleeping_both(void) {
    set_up(0, 0);
    waiter.sleep = sleep_once;
}
SCENARIO(synch2_sleep_both, .about = "one turn each, both sleep, each at most once", .setup = sleeping_both, .threads = {enter_0, enter_1},
         .finish = finish, .deep_in = CHK_C11)

/* A second turn. To keep the search short, role 1 is inside when it begins, having waited for role 0, which is the
 * waker. Role 0 comes while role 1 takes the waker's role over, by asking or because it sees the bell up, and
 * returns. */
static void go_inside(void) {
    weft_synch2_enter(&door, 1);
    atom_store_rlx(&synch2_of(&door)->wait[1], 1); /* role 0 did not wake it but left */
}
static void inside_sleeping_0(void) {
    sleeping_0();
    go_inside();
}
static void inside_spinning(void) {
    spinning();
    go_inside();
}
static void leave_enter_1(void) {
    visit(1);
    enter(1);
}
/* Only the behaviours in which role 0 had its bell up before. */
static void leave_asleep_enter_1(void) {
    chk_assume(atom_load_rlx(&synch2_of(&door)->role[0].bell));
    leave_enter_1();
}
SCENARIO(synch2_change_spin, .about = "role 1, inside, leaves and comes back", .setup = inside_spinning,
         .threads = {enter_0, leave_enter_1}, .finish = finish)
SCENARIO(synch2_change_asleep, .about = "... while role 0 sleeps", .setup = inside_sleeping_0, .threads = {enter_0, leave_asleep_enter_1},
         .finish = finish, .deep_in = CHK_TSO | CHK_C11)

/* ---- At most one turn of the other goes first -------------------------------------------------------------------- */

/* The other is active just before this one is inside: it wants in, and is passed. */
static void count_passed(unsigned role, unsigned bound) {
    weft_synch2_enter(&door, role);
    bool other_waits = atom_load_rlx(&synch2_of(&door)->role[1 - role].active);
    passed[role] = 0;
    passed[1 - role] = other_waits ? passed[1 - role] + 1 : 0;
    chk_assert(passed[1 - role] <= bound, "the one that waits is not passed more often");
    visit(role);
}
static void passes_once_0(void) { count_passed(0, 1); }
static void passes_once_1(void) {
    count_passed(1, 1);
    count_passed(1, 1);
    count_passed(1, 1);
}
static void passes_never_0(void) { count_passed(0, 0); }
static void passes_never_1(void) { count_passed(1, 0); }
SCENARIO(synch2_bypass_1, .about = "three turns beside one that waits: it is passed at most once", .setup = spinning,
         .threads = {passes_once_0, passes_once_1}, .finish = finish)
SCENARIO(synch2_bypass_0, .about = "one turn each: not passing at all is too much to ask", .setup = spinning,
         .threads = {passes_never_0, passes_never_1}, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* ---- Try --------------------------------------------------------------------------------------------------------- */

static void try(unsigned role) {
    int error = weft_synch2_try(&door, role);
    chk_assert(error == 0 || error == WEFT_EBUSY, "in, or busy");
    if (error == 0) visit(role);
    else refused[role]++;
}
static void try_0(void) { try(0); }
static void try_1(void) { try(1); }
static void try_0_twice(void) {
    try(0);
    try(0);
}
static void enter_try_1(void) {
    enter(1);
    try(1);
}
static void try_enter_0(void) {
    try(0);
    enter(0);
}
SCENARIO(synch2_try_1x1, .about = "both try: at most one gets in, both may fail", .setup = spinning, .threads = {try_0, try_1},
         .finish = finish)
SCENARIO(synch2_try_against_enter, .about = "two tries against one that enters twice", .setup = spinning,
         .threads = {try_0_twice, enter_1_twice}, .finish = finish)
SCENARIO(synch2_try_then_enter, .about = "try, then enter, against enter, then try", .setup = spinning,
         .threads = {try_enter_0, enter_try_1}, .finish = finish)
SCENARIO(synch2_try_wakes_0, .about = "a try that fails wakes one that sleeps because of it", .setup = sleeping_0,
         .threads = {enter_0, try_1}, .finish = finish)
SCENARIO(synch2_try_wakes_1, .about = "... likewise, the other way round", .setup = sleeping_1, .threads = {try_0, enter_1},
         .finish = finish)

/* ---- Giving up --------------------------------------------------------------------------------------------------- */

static void enter_until(unsigned role, uint64_t deadline) {
    int error = weft_synch2_enter_until(&door, role, deadline);
    chk_assert(error == 0 || error == WEFT_ETIMEDOUT, "in, or too late");
    if (error == 0) visit(role);
    else refused[role]++;
}

/* A deadline in the past: gives up as soon as there is nothing to do for the other. */
static void late_enter_0(void) {
    enter_until(0, 0);
    enter(0);
}
static void enter_late_enter_1(void) {
    enter(1);
    enter_until(1, 0);
    enter(1);
}
static void late_enter_1(void) {
    enter_until(1, 0);
    enter(1);
}
SCENARIO(synch2_late_2x2, .about = "role 0 may give up, and comes back; role 1 takes two turns", .setup = spinning,
         .threads = {late_enter_0, enter_1_twice}, .finish = finish)
SCENARIO(synch2_late_1x3, .about = "role 1 takes a turn, may give up, and comes back", .setup = spinning,
         .threads = {enter_0, enter_late_enter_1}, .finish = finish)
static void late_0(void) { enter_until(0, 0); }
SCENARIO(synch2_late_change, .about = "role 0, the waker, may give up while role 1 takes its role over and returns",
         .setup = inside_spinning, .threads = {late_0, leave_enter_1}, .finish = finish)
SCENARIO(synch2_late_both, .about = "both may give up, and come back", .setup = spinning, .threads = {late_enter_0, late_enter_1},
         .finish = finish)

/* A deadline that comes while role 0 sleeps; at most once, so that the search ends. */
SHARED bool met;

static int sleep_until(const struct synch2_waiter *self, unsigned role, atom_u32 *bell, uint64_t deadline) {
    if (deadline != SYS_FOREVER && !met && chk_choose(2)) {
        met = true;
        return -ETIMEDOUT;
    }
    return synch2_thread_waiter.sleep(self, role, bell, SYS_FOREVER);
}
static void giving_up(void) {
    set_up(0, SYNCH2_NO_SLEEP);
    waiter.sleep = sleep_until;
}
static void until_0(void) {
    enter_until(0, 1);
    chk_assert(!refused[0] || met, "too late only after the deadline");
}
SCENARIO(synch2_give_up_asleep, .about = "role 0 may give up in its sleep", .setup = giving_up, .threads = {until_0, enter_1},
         .finish = finish, .deep_in = CHK_C11)
