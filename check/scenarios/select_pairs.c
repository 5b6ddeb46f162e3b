/* Select over pairs of things, the real sources: a moment, a message by its tag, a reply, a permit and a channel, the end of a process and a
 * message. As in select_mixed.c, one case happens, and what the other was for is still there. */
#include "select_cases.h"

enum { OTHER = WANTED + 1 };
static struct message other_letter = {.tag = OTHER};

static void set_up_time(void) {
    set_up();
    chk_clock(small_now);
}

static void releases(void) {
    small_process(1);
    weft_sem_release(&sem, 1);
}
static void time_passes(void) { small_clock(0); }

static void select_two(weft_case first, weft_case second) {
    small_process(0);
    weft_case cases[] = {first, second};
    select_one(cases, 2, WEFT_FOREVER);
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
    permit_if(0);
    element_if(1);
    weft_chan_free(a);
}
SCENARIO(select_permit_channel, .about = "a select for a permit and a channel || a permit is released || an element is sent",
         .setup = set_up, .threads = {permit_or_a, releases, sends_on_a}, .finish = permit_or_element)

/* ---- the end of a process and a message ------------------------------------------------------------------------------------------------ */

static void set_up_end(void) {
    set_up_child();
    small_process(0);
    queue_end(select_why(0));
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
    end_if(0);
}
static void whole_end_or_message(void) { select_two(weft_case_end(child, &reason), weft_case_message(&got)); }
static void end_alone(void) { end_alone_if(0); }
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

static struct wait twin_other_wait;
static struct waiter twin_other_waiter;

/* The moment has come, says the clock, and it leaves the channel's list without claiming the wait. */
static void twin_asks_clock(void) {
    twin_join(&chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    chosen = small_now() > SMALL_SOON ? 0 : (int)select_number(wait_for(&twin_wait, WEFT_FOREVER, "twin"));
    twin_leave(&chan_of(a)->lock);
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
    twin_join(&chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    chosen = (int)select_number(wait_for_any(&twin_wait, WEFT_FOREVER, "twin", twin_looks_at_oldest, NULL));
    twin_leave(&chan_of(a)->lock);
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
    twin_join(&chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    chosen = (int)select_number(wait_for_any(&twin_wait, WEFT_FOREVER, "twin", twin_takes_tag, NULL));
    twin_leave(&chan_of(a)->lock);
}
SCENARIO(select_twin_tag_first, .about = "a select that takes a message by its tag before it claims the wait: both happen", .setup = set_up,
         .threads = {twin_tag_first, sends_both_letters, sends_on_a}, .finish = tagged_or_element, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* A wait for the permit and one for the channel: the second may be claimed when the first has been. */
static void twin_two_waits(void) {
    chosen = 0;
    if (twin_takes_permit()) return;
    twin_join_by(&twin_other_wait, &twin_other_waiter, &chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    twin_join(&sem_of(&sem)->waiting, &sem_of(&sem)->lock, select_why(0));
    chosen = (int)select_number(wait_for(&twin_wait, WEFT_FOREVER, "twin"));
    waiter_leave(&twin_other_waiter, &chan_of(a)->lock);
}
SCENARIO(select_twin_permit_two_waits, .about = "a select with a wait for the permit and one for the channel: both happen", .setup = set_up,
         .threads = {twin_two_waits, releases, sends_on_a}, .finish = permit_or_element, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

static void set_up_twin_end(void) {
    set_up_end();
    twin_queue_end();
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
