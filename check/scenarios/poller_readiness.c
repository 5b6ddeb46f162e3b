/* Readiness: a process that found nothing waits, and is told of what comes; against a close, a deadline, a cancellation, another reader.
 *
 * The kernel's part is a cell that says how much there is to read. The thread that polls first lets something arrive and then tells the
 * readiness, which is the order the kernel keeps. */
#include "net/readiness.h"
#include "small_fiber.h"

enum { GENERATION = 1, NEXT = 2, END = 256 };

static struct readiness readiness;
static atom_u32 there; /* to be read; and END: the other side has ended, which a read says once there is nothing more */
static atom_u32 room;  /* to write to */
SHARED int answer[2];  /* of each reader: what it read, or an error */
SHARED unsigned reads[2];

static void set_up(void) {
    small_fibers(3);
    lock_init(&readiness.lock);
    readiness.cells[READINESS_IN].waiters = readiness.cells[READINESS_OUT].waiters = (struct waiters){NULL, NULL};
    atom_store_rlx(&readiness.cells[READINESS_IN].edges, 0);
    atom_store_rlx(&readiness.cells[READINESS_OUT].edges, 0);
    readiness_open(&readiness, GENERATION);
    atom_store_rlx(&there, 0);
    atom_store_rlx(&room, 0);
    chk_name(&readiness.lock.word, "readiness.lock");
    chk_name(&readiness.cells[READINESS_IN].edges, "edges");
    chk_name(&readiness.drained, "drained");
    chk_name(&readiness.ended, "ended");
    chk_name(&there, "there");
    chk_name(&room, "room");
}

/* ---- the kernel ---------------------------------------------------------------------------------------------------------- */

/* Takes up to `most`: how many, or -1 for EAGAIN; 0 is the end. */
static int take(unsigned most) {
    uint32_t some = atom_load_acq(&there);
    while (some % END > 0) {
        uint32_t part = some % END < most ? some % END : most;
        if (atom_cas_acqrel_acq(&there, &some, some - part)) return (int)part;
    }
    return some & END ? 0 : -1;
}
static void arrive(unsigned n) { atom_add_acqrel(&there, n); }
static void tell(void) { readiness_edge(&readiness, GENERATION, 1 << READINESS_IN, false, false); }

/* ---- readers -------------------------------------------------------------------------------------------------------------- */

/* As net/op.h does it. */
static int read_until(unsigned most, uint64_t deadline) {
    for (bool more = false;;) {
        uint64_t seen = readiness_seen(&readiness, READINESS_IN);
        int got = take(most);
        if (got >= 0) {
            if (more) readiness_pass(&readiness, READINESS_IN);
            return got;
        }
        int why = readiness_wait(&readiness, READINESS_IN, seen, deadline, "read_until");
        if (why < 0) return why;
        more = why == READINESS_MORE;
    }
}
static void read_one(unsigned process, uint64_t deadline) {
    small_process(process);
    answer[process] = read_until(1, deadline);
}
static void reader_0(void) { read_one(0, WEFT_FOREVER); }
static void reader_1(void) { read_one(1, WEFT_FOREVER); }
static void reader_0_soon(void) { read_one(0, SMALL_SOON); }
static void reader_twice(void) {
    reader_0();
    chk_assert(answer[0] == 1, "the first");
    reader_0();
}
static void thread_reads(void) {
    small_thread();
    answer[0] = read_until(1, WEFT_FOREVER);
}

/* ---- the others ----------------------------------------------------------------------------------------------------------- */

static void polls_one(void) {
    small_process(2);
    arrive(1);
    tell();
}
static void sysmon_polls_one(void) {
    small_thread();
    arrive(1);
    tell();
}
static void polls_one_and_one(void) {
    small_process(2);
    arrive(1);
    tell();
    arrive(1);
    tell();
}
static void polls_two_at_once(void) {
    small_process(2);
    arrive(2);
    tell();
}
static void closes(void) {
    small_thread();
    readiness_shut(&readiness);
}
static void cancels(void) {
    small_thread();
    small_cancel(0);
}
static void clock_comes_by(void) { small_clock(0); }

static void none_waits(void) {
    chk_assert(!readiness.cells[READINESS_IN].waiters.first && !readiness.cells[READINESS_OUT].waiters.first,
               "no waiter is left in a list");
}
static void got_it(void) {
    none_waits();
    chk_assert(answer[0] == 1, "it was read");
}
static void got_it_or_not(void) {
    none_waits();
    chk_assert(answer[0] == 1 ? atom_load_rlx(&there) == 0 : answer[0] < 0 && atom_load_rlx(&there) == 1, "read, or still there");
}
static void both_got_one(void) {
    none_waits();
    chk_assert(answer[0] == 1 && answer[1] == 1, "both have read");
}

SCENARIO(poller_readiness, .about = "a process finds nothing and waits || something comes", .setup = set_up,
         .threads = {reader_0, polls_one}, .finish = got_it)
/* As a select that is called again (readiness.h, N6): the first has asked and found nothing, and a message has ended it. `late`: it remembers the edges that it has seen
 * after it asked. */
static void asks_and_reads(bool late) {
    small_process(0);
    uint64_t seen = readiness_seen(&readiness, READINESS_IN);
    if ((answer[0] = take(1)) >= 0) return;
    readiness_drain(&readiness, late ? readiness_seen(&readiness, READINESS_IN) : seen);
    do {
        seen = readiness_seen(&readiness, READINESS_IN);
        answer[0] = readiness_is_drained(&readiness, seen) ? -1 : take(1);
    } while (answer[0] < 0 && readiness_wait(&readiness, READINESS_IN, seen, WEFT_FOREVER, "asks_and_reads") >= 0);
}
static void asks_first(void) { asks_and_reads(false); }
static void twin_asks_first(void) { asks_and_reads(true); }
SCENARIO(poller_readiness_asked, .about = "a process has asked and found nothing, and waits without asking again || something comes",
         .setup = set_up, .threads = {asks_first, polls_one}, .finish = got_it)
SCENARIO(poller_twin_asked, .about = "remembers the edges that it saw after it has asked", .setup = set_up,
         .threads = {twin_asks_first, polls_one}, .finish = got_it, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
SCENARIO(poller_readiness_sysmon, .about = "the same, told by a thread that is not a worker", .setup = set_up,
         .threads = {reader_0, sysmon_polls_one}, .finish = got_it)
SCENARIO(poller_readiness_thread, .about = "a thread that is not a worker waits || something comes", .setup = set_up,
         .threads = {thread_reads, polls_one}, .finish = got_it)
/* What the kernel does not tell: all waiters try again. */
static void retries(void) {
    small_process(2);
    arrive(1);
    readiness_retry(&readiness);
}
SCENARIO(poller_readiness_retry, .about = "a process reads || something comes of which the kernel says nothing: all try again",
         .setup = set_up, .threads = {reader_0, retries}, .finish = got_it)
SCENARIO(poller_readiness_twice, .about = "a process reads twice || something comes twice", .setup = set_up,
         .threads = {reader_twice, polls_one_and_one}, .finish = got_it)
SCENARIO(poller_readiness_close, .about = "a process waits || something comes || a close", .setup = set_up,
         .threads = {reader_0, polls_one, closes}, .finish = got_it_or_not, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(poller_readiness_deadline, .about = "a process waits || something comes || its deadline", .setup = set_up,
         .threads = {reader_0_soon, polls_one, clock_comes_by}, .finish = got_it_or_not)
SCENARIO(poller_readiness_cancel, .about = "a process waits || something comes || a cancellation", .setup = set_up,
         .threads = {reader_0, polls_one, cancels}, .finish = got_it_or_not)
SCENARIO(poller_readiness_close_deadline, .about = "a process waits || a close || its deadline", .setup = set_up,
         .threads = {reader_0_soon, closes, clock_comes_by}, .finish = none_waits)
SCENARIO(poller_readiness_all, .about = "a process waits || something comes || a close || its deadline (random: in full it is too large)",
         .setup = set_up, .threads = {reader_0_soon, polls_one, closes, clock_comes_by}, .finish = got_it_or_not, .random_runs = 5000)
SCENARIO(poller_readiness_two, .about = "two processes read one each || two come at once: one edge (N2)", .setup = set_up,
         .threads = {reader_0, reader_1, polls_two_at_once}, .finish = both_got_one, .deep_in = CHK_SC | CHK_TSO)

/* ---- a descriptor's next generation (readiness.h, N5) -------------------------------------------------------------------------- */

static void closes_and_opens(void) {
    small_thread();
    readiness_shut(&readiness);
    readiness_open(&readiness, NEXT);
}
static void tells_of_the_end(void) {
    small_process(2);
    readiness_edge(&readiness, GENERATION, 0, true, false);
}
static void next_is_untouched(void) {
    chk_assert(!atom_load_rlx(&readiness.ended), "what the kernel said of the former is not the next one's");
}
SCENARIO(poller_readiness_reuse, .about = "closed and opened again || an event of the former", .setup = set_up,
         .threads = {closes_and_opens, tells_of_the_end}, .finish = next_is_untouched)

/* ---- drained (readiness.h, N6) ----------------------------------------------------------------------------------------------- */

/* Asks for two at a time, and does not ask again while it knows better; but when its time is over it asks, as net/op.h does. */
static int read_knowing(uint64_t deadline) {
    for (bool more = false;;) {
        uint64_t seen = readiness_seen(&readiness, READINESS_IN);
        int got = deadline != 0 && readiness_is_drained(&readiness, seen) ? -1 : take(2);
        if (got >= 0) {
            if (got == 1) readiness_drain(&readiness, seen);
            if (more) readiness_pass(&readiness, READINESS_IN);
            return got;
        }
        int why = deadline == 0 ? WEFT_ETIMEDOUT : readiness_wait(&readiness, READINESS_IN, seen, deadline, "read_knowing");
        if (why == WEFT_ETIMEDOUT && deadline != 0) deadline = 0;
        else if (why < 0) return why;
        more = why == READINESS_MORE;
    }
}
static void reads_to_the_end(void) {
    small_process(0);
    for (int got; (got = read_knowing(WEFT_FOREVER)) > 0;)
        reads[0] += (unsigned)got;
}
static void polls_and_ends(void) {
    small_process(2);
    arrive(1);
    tell();
    arrive(1 + END); /* the end with the last of it */
    readiness_edge(&readiness, GENERATION, 1 << READINESS_IN, true, false);
}
static void read_all(void) {
    none_waits();
    chk_assert(reads[0] == 2, "all of it");
}
SCENARIO(poller_readiness_drained,
         .about = "a process reads to the end and skips needless reads || something comes, then more with the end", .setup = set_up,
         .threads = {reads_to_the_end, polls_and_ends}, .finish = read_all)

/* What came before the deadline is read, though no worker has polled it. */
static void set_up_drained(void) { set_up(), readiness_drain(&readiness, 0); }
static void reads_soon_knowing(void) {
    small_process(0);
    answer[0] = read_knowing(SMALL_SOON);
}
static void arrives_and_is_told_late(void) {
    arrive(1);
    small_clock(0);
    small_process(2);
    tell();
}
SCENARIO(poller_readiness_drained_deadline,
         .about = "a process waits and knows that there was nothing || something comes, its deadline, the edge", .setup = set_up_drained,
         .threads = {reads_soon_knowing, arrives_and_is_told_late}, .finish = got_it)

/* ---- both directions at once (readiness.h, N7) ------------------------------------------------------------------------------- */

enum { READABLE = 1, WRITABLE = 2 };
static int look(void) { return (atom_load_acq(&there) ? READABLE : 0) | (atom_load_acq(&room) ? WRITABLE : 0); }

/* As net/adopt.c does it. */
static void wait_for_either(uint64_t deadline) {
    small_process(0);
    do {
        uint64_t seen[2] = {readiness_seen(&readiness, READINESS_IN), readiness_seen(&readiness, READINESS_OUT)};
        answer[0] = look();
        if (!answer[0]) answer[0] = readiness_wait_either(&readiness, seen, deadline, "wait_for_either");
    } while (answer[0] == READINESS_AGAIN);
}
static void either(void) { wait_for_either(WEFT_FOREVER); }
static void either_soon(void) { wait_for_either(SMALL_SOON); }
static void room_comes(void) {
    small_process(1);
    atom_store_rel(&room, 1);
    readiness_edge(&readiness, GENERATION, 1 << READINESS_OUT, false, false);
}
static void both_come_at_once(void) {
    small_process(1);
    atom_store_rel(&room, 1);
    arrive(1);
    readiness_edge(&readiness, GENERATION, READINESS_BOTH, false, false);
}
static void is_told(void) {
    none_waits();
    chk_assert(answer[0] > 0, "it can read, or write");
}
static void is_told_or_closed(void) {
    none_waits();
    chk_assert(answer[0] > 0 || answer[0] == WEFT_ECLOSED, "told, or closed");
}
static void is_told_or_late(void) {
    none_waits();
    chk_assert(answer[0] > 0 || answer[0] == WEFT_ETIMEDOUT, "told, or too late");
}
static void both_are_served(void) {
    is_told();
    chk_assert(answer[1] == 1, "it was read");
}
/* The three largest in C11 only, which has all executions of the others. */
SCENARIO(poller_readiness_either, .about = "a process waits for either direction || something comes || there is room", .setup = set_up,
         .threads = {either, polls_one, room_comes}, .finish = is_told, .models = CHK_C11, .deep_in = CHK_C11)
SCENARIO(poller_readiness_either_at_once, .about = "a process waits for either direction || both come at once", .setup = set_up,
         .threads = {either, both_come_at_once}, .finish = is_told)
SCENARIO(poller_readiness_either_close, .about = "a process waits for either direction || there is room || a close", .setup = set_up,
         .threads = {either, room_comes, closes}, .finish = is_told_or_closed, .models = CHK_C11, .deep_in = CHK_C11)
SCENARIO(poller_readiness_either_deadline, .about = "a process waits for either direction || there is room || its deadline",
         .setup = set_up, .threads = {either_soon, room_comes, clock_comes_by}, .finish = is_told_or_late)
SCENARIO(poller_readiness_either_pass, .about = "one waits for either direction || another reads || two come at once: one edge (N2)",
         .setup = set_up, .threads = {either, reader_1, polls_two_at_once}, .finish = both_are_served, .models = CHK_C11,
         .deep_in = CHK_C11)

/* ---- twins that are wrong --------------------------------------------------------------------------------------------------- */

/* Waits without looking at the edges again. */
static void wait_blindly(bool looks_at_edges, uint64_t seen) {
    struct wait wait;
    struct waiter waiter;
    wait_begin(&wait);
    waiter_init(&waiter, &wait, 1);
    lock_take(&readiness.lock);
    if (looks_at_edges && atom_load_rlx(&readiness.cells[READINESS_IN].edges) != seen) {
        lock_drop(&readiness.lock);
        return;
    }
    if (waiters_wait(&readiness.cells[READINESS_IN].waiters, &waiter, &readiness.lock, WEFT_FOREVER, "twin") < 0)
        lock_drop(&readiness.lock);
    if (!readiness.open) answer[0] = WEFT_ECLOSED;
}
static void twin_blind(void) {
    small_process(0);
    while ((answer[0] = take(1)) < 0)
        wait_blindly(false, 0);
}
SCENARIO(poller_twin_blind, .about = "waits without looking whether an edge came since it tried", .setup = set_up,
         .threads = {twin_blind, polls_one}, .finish = got_it, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Looks at the number of edges after it has tried. */
static void twin_late(void) {
    small_process(0);
    while ((answer[0] = take(1)) < 0)
        wait_blindly(true, readiness_seen(&readiness, READINESS_IN));
}
SCENARIO(poller_twin_late, .about = "counts the edges after the system call instead of before", .setup = set_up,
         .threads = {twin_late, polls_one}, .finish = got_it, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Does not look whether it was closed. */
static void twin_careless(void) {
    small_process(0);
    uint64_t seen = readiness_seen(&readiness, READINESS_IN);
    if ((answer[0] = take(1)) < 0) wait_blindly(true, seen);
}
SCENARIO(poller_twin_closed, .about = "waits without looking whether it was closed", .setup = set_up, .threads = {twin_careless, closes},
         .finish = none_waits, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Keeps the rest of an edge for itself. */
static void twin_selfish(void) {
    unsigned process = chk_self();
    small_process(process);
    for (;;) {
        uint64_t seen = readiness_seen(&readiness, READINESS_IN);
        if ((answer[process] = take(1)) >= 0) return;
        if (readiness_wait(&readiness, READINESS_IN, seen, WEFT_FOREVER, "twin") < 0) return;
    }
}
SCENARIO(poller_twin_selfish, .about = "one edge for two, and the one that is woken tells no other", .setup = set_up,
         .threads = {twin_selfish, twin_selfish, polls_two_at_once}, .finish = both_got_one, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Waits in both lists, and does not take itself out of that where it was not found; or keeps the rest of an edge for itself. */
static void twin_wait_either(bool leaves, const uint64_t seen[2]) {
    static struct wait wait; /* not on the stack: it stays in a list */
    static struct waiter waiters[2];
    wait_begin(&wait);
    lock_take(&readiness.lock);
    bool edge = atom_load_rlx(&readiness.cells[READINESS_IN].edges) != seen[READINESS_IN] ||
                atom_load_rlx(&readiness.cells[READINESS_OUT].edges) != seen[READINESS_OUT];
    for (unsigned side = READINESS_IN; side <= READINESS_OUT && !edge; side++) {
        waiter_init(&waiters[side], &wait, 1);
        waiters_add(&readiness.cells[side].waiters, &waiters[side]);
    }
    lock_drop(&readiness.lock);
    if (edge) return;
    wait_for(&wait, WEFT_FOREVER, "twin");
    if (!leaves) return;
    lock_take(&readiness.lock);
    for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++)
        if (waiters[side].in) waiters_remove(&waiters[side]);
    lock_drop(&readiness.lock);
}
static void twin_either(bool leaves) {
    small_process(0);
    for (;;) {
        uint64_t seen[2] = {readiness_seen(&readiness, READINESS_IN), readiness_seen(&readiness, READINESS_OUT)};
        if ((answer[0] = look()) != 0) return;
        twin_wait_either(leaves, seen);
    }
}
static void twin_stays_in_a_list(void) { twin_either(false); }
static void twin_either_selfish(void) { twin_either(true); }
SCENARIO(poller_twin_either, .about = "waits for either direction, and stays in the other list", .setup = set_up,
         .threads = {twin_stays_in_a_list, polls_one}, .finish = is_told, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(poller_twin_either_selfish, .about = "waits for either direction, and tells no waiter that the edge was for others too",
         .setup = set_up, .threads = {twin_either_selfish, reader_1, polls_two_at_once}, .finish = both_are_served, .flawed_in = CHK_ALL,
         .flaw = CHK_LOST_WAKEUP)

/* Says that it was drained although the other side has ended. */
static void twin_believes(void) {
    small_process(0);
    for (int got; reads[1]++ < 8;) {
        uint64_t seen = readiness_seen(&readiness, READINESS_IN);
        got = atom_load_rlx(&readiness.drained) == seen + 1 ? -1 : take(2);
        if (got == 0) return;
        if (got == 1) readiness_drain(&readiness, seen);
        if (got < 0 && readiness_wait(&readiness, READINESS_IN, seen, WEFT_FOREVER, "twin") < 0) return;
    }
}
SCENARIO(poller_twin_drained, .about = "takes a short read for the last one although the end came with it", .setup = set_up,
         .threads = {twin_believes, polls_and_ends}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Gives up at its deadline without asking. */
static void twin_gives_up(void) {
    small_process(0);
    do {
        uint64_t seen = readiness_seen(&readiness, READINESS_IN);
        answer[0] = readiness_is_drained(&readiness, seen) ? -1 : take(1);
        if (answer[0] < 0) answer[0] = readiness_wait(&readiness, READINESS_IN, seen, SMALL_SOON, "twin");
    } while (answer[0] == READINESS_AGAIN);
}
SCENARIO(poller_twin_drained_deadline, .about = "gives up at its deadline without asking for what no worker has polled",
         .setup = set_up_drained, .threads = {twin_gives_up, arrives_and_is_told_late}, .finish = got_it, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)

/* Takes an event for one of the present generation. */
static void tells_any_process(void) {
    small_process(2);
    lock_take(&readiness.lock);
    if (readiness.open) atom_store_rlx(&readiness.ended, true);
    lock_drop(&readiness.lock);
}
SCENARIO(poller_twin_reuse, .about = "an event without a generation", .setup = set_up, .threads = {closes_and_opens, tells_any_process},
         .finish = next_is_untouched, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
