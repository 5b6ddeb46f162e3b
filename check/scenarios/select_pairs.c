/* Select over pairs of things, the real sources: a moment, a message by its tag, a reply, a permit and a channel, the end of a process and a
 * message. As in select_mixed.c, one case happens, and what the other was for is still there. */
#include "mortal.h"
#include "small_fiber.h"

#include "life/zombie.h"
#include "proc/message.h"
#include "select/select.h"
#include "step/step.h"

enum { NOT_YET = 99, WANTED = 7, OTHER = 8 };
SHARED int chosen, error;
SHARED uint64_t in;
SHARED weft_msg *got;
SHARED int reason;
static struct message letter, other_letter;
static weft_chan *a;
static weft_sem sem;

static void set_up(void) {
    small_fibers(3);
    chosen = NOT_YET;
    chk_assert(weft_chan_new(sizeof(uint64_t), 1, &a) == 0, "made");
    weft_sem_init(&sem, 0);
    letter.tag = WANTED;
    other_letter.tag = OTHER;
    chk_name(&chan_of(a)->lock, "a.lock");
    chk_name(&sem_of(&sem)->lock, "sem.lock");
    chk_name(&sem_of(&sem)->word, "sem");
    chk_name(&small_box(0)->head, "box");
}
static void set_up_time(void) {
    set_up();
    chk_clock(small_now);
}

static void sends_letter(void) {
    small_process(1);
    small_send(0, &letter);
}
static void sends_on_a(void) {
    uint64_t element = 42;
    small_process(2);
    chk_assert(weft_chan_send(a, &element, 0) == 0, "there is room");
}
static void releases(void) {
    small_process(1);
    weft_sem_release(&sem, 1);
}
static void time_passes(void) { small_clock(0); }

static void select_two(weft_case first, weft_case second) {
    small_process(0);
    weft_case cases[] = {first, second};
    chosen = weft_select(cases, 2, WEFT_FOREVER);
    if (chosen >= 0) error = cases[chosen].error;
}
static void one_happened(void) { chk_assert((chosen == 0 || chosen == 1) && error == 0, "one has happened"); }
static void element_if(int number) {
    chk_assert(in == (chosen == number ? 42 : 0), "the element, if that was chosen");
    chk_assert(weft_chan_len(a) == (chosen != number), "else it is still there");
    chk_assert(!chan_of(a)->receivers.first, "no waiter is left in a list");
}
/* Whether a message is for process 0, in its box or put aside. */
static bool letter_is_there(uint64_t tag) {
    small_process(0);
    search_drain(my_worker, my_worker->current);
    return search_there(&(struct match){.tag = tag, .proc = my_worker->current});
}
static void letter_if(int number) {
    chk_assert((got == (weft_msg *)&letter) == (chosen == number), "the message, if that was chosen");
    chk_assert(letter_is_there(WANTED) == (chosen != number), "else it is still there");
}

/* ---- a moment ------------------------------------------------------------------------------------------------------------------- */

static void moment_or_a(void) { select_two(weft_case_moment(SMALL_SOON), weft_case_recv(a, &in)); }
static void moment_or_message(void) { select_two(weft_case_moment(SMALL_SOON), weft_case_message(&got)); }
static void moment_or_element(void) {
    one_happened();
    element_if(1);
    weft_chan_free(a);
}
static void moment_or_letter(void) {
    one_happened();
    letter_if(1);
    weft_chan_free(a);
}
SCENARIO(select_moment_channel, .about = "a select for a moment and a channel || the moment comes || an element is sent",
         .setup = set_up_time, .threads = {moment_or_a, time_passes, sends_on_a}, .finish = moment_or_element, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(select_moment_message, .about = "a select for a moment and a message || the moment comes || a message is sent",
         .setup = set_up_time, .threads = {moment_or_message, time_passes, sends_letter}, .finish = moment_or_letter)

/* ---- a message by its tag --------------------------------------------------------------------------------------------------------- */

static void tag_or_a(void) { select_two(weft_case_tag(WANTED, &got), weft_case_recv(a, &in)); }
static void sends_both_letters(void) {
    small_process(1);
    small_send(0, &other_letter);
    small_send(0, &letter);
}
static void tagged_or_element(void) {
    one_happened();
    letter_if(0);
    chk_assert(letter_is_there(OTHER), "the other message is still there");
    element_if(1);
    weft_chan_free(a);
}
static void tagged(void) {
    chk_assert(chosen == 0 && error == 0, "it has come");
    letter_if(0);
    chk_assert(letter_is_there(OTHER), "the other message is still there");
    weft_chan_free(a);
}
static void one_letter_or_element(void) {
    one_happened();
    letter_if(0);
    element_if(1);
    weft_chan_free(a);
}
SCENARIO(select_tag_channel, .about = "a select for a tag and a channel || a message with this tag || an element", .setup = set_up,
         .threads = {tag_or_a, sends_letter, sends_on_a}, .finish = one_letter_or_element)
SCENARIO(select_tag_channel_other, .about = "the same || messages with another tag and with this one || an element", .setup = set_up,
         .threads = {tag_or_a, sends_both_letters, sends_on_a}, .finish = tagged_or_element, .deep_in = CHK_ALL)
SCENARIO(select_tag, .about = "a select for a tag and a channel || messages with another tag and with this one", .setup = set_up,
         .threads = {tag_or_a, sends_both_letters}, .finish = tagged)

/* ---- a permit and a channel --------------------------------------------------------------------------------------------------------- */

static void permit_or_a(void) { select_two(weft_case_acquire(&sem, 1), weft_case_recv(a, &in)); }
static void permit_or_element(void) {
    one_happened();
    chk_assert(weft_sem_available(&sem) == (chosen != 0), "the permit is taken, or still there");
    chk_assert(!sem_of(&sem)->waiting.first, "no waiter is left in a list");
    element_if(1);
    weft_chan_free(a);
}
SCENARIO(select_permit_channel, .about = "a select for a permit and a channel || a permit is released || an element is sent",
         .setup = set_up, .threads = {permit_or_a, releases, sends_on_a}, .finish = permit_or_element)

/* ---- the end of a process and a message ------------------------------------------------------------------------------------------------ */

static weft_pid child;
static struct proc *child_proc;

static void set_up_child(void) {
    set_up();
    small_begin(POLICY_RING, 2, 4);
    struct worker *worker = small_play(0);
    chk_assert(weft_spawn_step(&mortal, &(weft_spawn_options){.runtime = (weft_runtime *)small, .flags = WEFT_SPAWN_JOINABLE}, &child) == 0,
               "spawned");
    child_proc = policy_pop(worker);
    chk_assert(child_proc == small_proc(child), "it can be claimed");
    chk_name(&small->monitor_locks[pid_slot(child) % MONITOR_LOCKS], "monitor.lock");
}
static void child_ends(void) { step_run(small_play(0), child_proc); }
/* Whether its result is kept; takes it. */
static bool result_is_kept(void) {
    struct reason kept = {0, NULL};
    struct monitor monitor;
    int found = monitor_join(&small_play(0)->local, child, &monitor, &kept);
    chk_assert(found == MONITOR_ENDED ? kept.code == REASON : found == WEFT_ENOPROC, "the result is kept, or was taken");
    return found == MONITOR_ENDED;
}

/* The process has a monitor there when the others begin: fewer orders. As select_wait goes on. */
static struct wait queued_wait;
static struct select_end queued_end;
static void queue_end(void) {
    small_process(0);
    wait_begin(&queued_wait);
    end_case_begin(&queued_end, &queued_wait, select_why(0));
    chk_assert(end_case_join(child, &queued_end), "it lives");
    chk_name(&queued_wait.claimed, "claimed");
}
static void set_up_end(void) {
    set_up_child();
    queue_end();
}
static uint32_t looks_for_letter(void *unused) {
    (void)unused;
    return mpsc_is_empty(small_box(0)) ? 0 : select_why(1);
}
static void end_or_message(void) {
    small_process(0);
    weft_case end = weft_case_end(child, &reason);
    chosen = (int)select_number(wait_for_any(&queued_wait, WEFT_FOREVER, "queued", looks_for_letter, NULL));
    end_case_leave(child, &queued_end);
    if (chosen == 0) error = end_case_take(&end, &queued_end);
    else got = (weft_msg *)message_of(mpsc_pop(small_box(0)));
}
static void end_or_letter(void) {
    one_happened();
    letter_if(1);
    chk_assert(reason == (chosen == 0 ? REASON : 0), "the reason, if that was chosen");
    chk_assert(result_is_kept() == (chosen != 0), "else the result is still there");
    weft_chan_free(a);
    small_end();
}
static void whole_end_or_message(void) { select_two(weft_case_end(child, &reason), weft_case_message(&got)); }
static void end_alone(void) {
    chk_assert(chosen == 0 && error == 0 && reason == REASON && !result_is_kept(), "the reason");
    weft_chan_free(a);
    small_end();
}
SCENARIO(select_end_message, .about = "a process waits for the end of another and a message || that ends || a message is sent",
         .setup = set_up_end, .threads = {end_or_message, child_ends, sends_letter}, .finish = end_or_letter)
SCENARIO(select_end_message_alone, .about = "a select for the end of a process and a message || that ends", .setup = set_up_child,
         .threads = {whole_end_or_message, child_ends}, .finish = end_alone)
SCENARIO(select_end_message_whole, .about = "the same || a message is sent", .setup = set_up_child,
         .threads = {whole_end_or_message, child_ends, sends_letter}, .finish = end_or_letter, .deep_in = CHK_ALL)

/* ---- a reply --------------------------------------------------------------------------------------------------------------------------- */

static uint64_t reference;
static struct {
    struct message message;
    struct message_head head;
} answer;

/* Process 0 has asked the other, which may answer, and ends. */
static void set_up_request(void) {
    set_up_child();
    small_process(0);
    cache_init(&my_worker->local.blocks, &small->pool);
    chk_assert(weft_ask(child, 0, NULL, 0, &reference) == 0, "asked");
    answer.message.type = MESSAGE_REPLY;
    answer.message.size = sizeof answer.head;
    message_head(&answer.message)->reference = reference;
    small_play(0);
}
static void child_answers_and_ends(void) {
    struct worker *worker = small_play(0);
    small_send(0, &answer.message);
    step_run(worker, child_proc);
}
static void reply_or_a(void) { select_two(weft_case_reply(reference, &got), weft_case_recv(a, &in)); }
static void end_request(void) {
    small_process(0);
    if (chosen != 0) weft_forget(reference);
    cache_flush(&my_worker->local.blocks);
    weft_chan_free(a);
    small_play(0);
    chk_assert(result_is_kept(), "for a join");
    small_end();
}
static void answered(void) {
    chk_assert(chosen == 0 && error == 0 && got == (weft_msg *)&answer.message, "an answer that was given before the end is received");
    end_request();
}
static void answered_or_element(void) {
    one_happened();
    chk_assert((got == (weft_msg *)&answer.message) == (chosen == 0), "the answer, if that was chosen");
    element_if(1);
    end_request();
}
static void unanswered(void) {
    chk_assert(chosen == 0 && error == WEFT_ENOPROC, "no answer will come");
    end_request();
}
SCENARIO(select_reply, .about = "a select for a reply and a channel || the one that was asked answers and ends", .setup = set_up_request,
         .threads = {reply_or_a, child_answers_and_ends}, .finish = answered)
SCENARIO(select_reply_none, .about = "a select for a reply and a channel || the one that was asked ends", .setup = set_up_request,
         .threads = {reply_or_a, child_ends}, .finish = unanswered)
static void child_answers(void) {
    small_process(1);
    small_send(0, &answer.message);
}
static void answered_or_element_alive(void) {
    step_run(small_play(0), child_proc);
    answered_or_element();
}
SCENARIO(select_reply_channel, .about = "a select for a reply and a channel || an answer || an element is sent", .setup = set_up_request,
         .threads = {reply_or_a, child_answers, sends_on_a}, .finish = answered_or_element_alive)

/* ---- twins that are wrong --------------------------------------------------------------------------------------------------------------- */

static struct wait twin_wait, twin_other_wait;
static struct waiter twin_waiter, twin_other_waiter;

static void twin_join(struct wait *wait, struct waiter *waiter, struct waiters *list, struct lock *lock, uint32_t why) {
    small_process(0);
    wait_begin(wait);
    waiter_init(waiter, wait, why);
    waiter->item = &in;
    waiter->amount = 1;
    lock_take(lock);
    waiters_add(list, waiter);
    lock_drop(lock);
}
static void twin_leave(struct waiter *waiter, struct lock *lock) {
    lock_take(lock);
    if (waiter->in) waiters_remove(waiter);
    lock_drop(lock);
}

/* The moment has come, says the clock, and it leaves the channel's list without claiming the wait. */
static void twin_asks_clock(void) {
    twin_join(&twin_wait, &twin_waiter, &chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    chosen = small_now() > SMALL_SOON ? 0 : (int)select_number(wait_for(&twin_wait, WEFT_FOREVER, "twin"));
    twin_leave(&twin_waiter, &chan_of(a)->lock);
}
SCENARIO(select_twin_moment_unclaimed, .about = "a select that takes a moment without a claim: the element that it was given is lost",
         .setup = set_up_time, .threads = {twin_asks_clock, time_passes, sends_on_a}, .finish = moment_or_element, .flawed_in = CHK_ALL,
         .flaw = CHK_NONE)

/* Looks at the oldest message only. */
static uint32_t twin_looks_at_oldest(void *unused) {
    (void)unused;
    struct mailbox *mailbox = &fiber_of(my_worker->current)->mailbox;
    search_drain(my_worker, my_worker->current);
    return mailbox->saved && message_of(mailbox->saved)->tag == WANTED ? select_why(0) : 0;
}
static void twin_oldest_tag(void) {
    twin_join(&twin_wait, &twin_waiter, &chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    chosen = (int)select_number(wait_for_any(&twin_wait, WEFT_FOREVER, "twin", twin_looks_at_oldest, NULL));
    twin_leave(&twin_waiter, &chan_of(a)->lock);
}
SCENARIO(select_twin_oldest_tag, .about = "a select for a tag that looks at the oldest message only", .setup = set_up,
         .threads = {twin_oldest_tag, sends_both_letters}, .finish = tagged, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* Takes the message with the tag and claims the wait afterwards. */
static uint32_t twin_takes_tag(void *unused) {
    struct match match = {.tag = WANTED, .proc = my_worker->current};
    (void)unused;
    if (!search_look(&match)) return 0;
    got = search_take(&match);
    return select_why(0);
}
static void twin_tag_first(void) {
    twin_join(&twin_wait, &twin_waiter, &chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    chosen = (int)select_number(wait_for_any(&twin_wait, WEFT_FOREVER, "twin", twin_takes_tag, NULL));
    twin_leave(&twin_waiter, &chan_of(a)->lock);
}
SCENARIO(select_twin_tag_first, .about = "a select that takes a message by its tag before it claims the wait: both happen", .setup = set_up,
         .threads = {twin_tag_first, sends_both_letters, sends_on_a}, .finish = tagged_or_element, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* A wait for the permit and one for the channel: the second may be claimed when the first has been. */
static void twin_two_waits(void) {
    small_process(0);
    lock_take(&sem_of(&sem)->lock);
    bool taken = sem_take(sem_of(&sem), 1, true);
    lock_drop(&sem_of(&sem)->lock);
    chosen = 0;
    if (taken) return;
    twin_join(&twin_other_wait, &twin_other_waiter, &chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    twin_join(&twin_wait, &twin_waiter, &sem_of(&sem)->waiting, &sem_of(&sem)->lock, select_why(0));
    chosen = (int)select_number(wait_for(&twin_wait, WEFT_FOREVER, "twin"));
    twin_leave(&twin_other_waiter, &chan_of(a)->lock);
}
SCENARIO(select_twin_permit_two_waits, .about = "a select with a wait for the permit and one for the channel: both happen", .setup = set_up,
         .threads = {twin_two_waits, releases, sends_on_a}, .finish = permit_or_element, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* A monitor that takes the result although the process has claimed the wait for a message. */
static bool twin_takes_result(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *told) {
    struct wake wake;
    (void)local, (void)self, (void)monitor;
    if (!wait_claim(&queued_wait, select_why(0), &wake)) return true;
    queued_end.reason = *told;
    queued_end.taken = true;
    wait_wake_inside(&wake);
    return true;
}
static void set_up_twin_end(void) {
    set_up_end();
    end_case_leave(child, &queued_end);
    queued_end.monitor.tell = twin_takes_result;
    chk_assert(end_case_join(child, &queued_end), "it lives");
}
SCENARIO(select_twin_end_lost, .about = "a select whose monitor takes the result of a process though a message was first: it is lost",
         .setup = set_up_twin_end, .threads = {end_or_message, child_ends, sends_letter}, .finish = end_or_letter, .flawed_in = CHK_ALL,
         .flaw = CHK_NONE)

/* Looks for the reply first, and asks then whether one will come: the answer may have come between the two. */
static uint32_t twin_asks_last(void *unused) {
    (void)unused;
    search_drain(my_worker, my_worker->current);
    if (ask_has_reply(my_worker, reference)) return select_why(0);
    return ask_is_gone(my_worker, reference) ? select_why(0) : 0;
}
static void twin_reply_missed(void) {
    small_process(0);
    wait_begin(&twin_wait);
    chosen = (int)select_number(wait_for_any(&twin_wait, WEFT_FOREVER, "twin", twin_asks_last, NULL));
    error = ask_take(my_worker, reference, &got);
}
SCENARIO(select_twin_reply_missed, .about = "a select that asks after its look for the reply whether one will come: an answer is missed",
         .setup = set_up_request, .threads = {twin_reply_missed, child_answers_and_ends}, .finish = answered, .flawed_in = CHK_ALL,
         .flaw = CHK_NONE)
