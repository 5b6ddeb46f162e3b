/* Letters, moved and copied; requests and answers. */
#ifndef WEFT_TESTS_CROSS_MIX_MAIL_H
#define WEFT_TESTS_CROSS_MIX_MAIL_H

#include "mix.h"

/* sent = received + left in the mailboxes of processes that ended = released. The server lives to the end: it has all that was sent to
 * it. */
static struct {
    atom_u64 sent, received, released;
    atom_u64 posted, delivered; /* letters and hand-offs to the server */
    atom_u64 asked, heard;      /* requests to the server */
    atom_u64 unsure;            /* of these: the caller was cancelled, before it sent the request or after */
} mail;

struct letter {
    uint32_t sender, number, check;
    bool received;
};

static inline void letter_release(void *buffer, size_t size, void *user) {
    struct letter *letter = buffer;
    EXPECT(size == sizeof *letter && !user);
    EXPECT_EQ(letter->check, letter->sender * 31 + letter->number);
    atom_add_rlx(&mail.received, letter->received);
    atom_add_rel(&mail.released, 1);
    free(letter);
}

static inline void act_send(struct member *member) {
    bool posted = mix_below(member, 8) == 0;
    weft_pid to = posted ? mix.server : mix_any_member(member);
    struct letter *letter = malloc(sizeof *letter);
    *letter = (struct letter){.sender = member->id, .number = ++member->letters};
    letter->check = letter->sender * 31 + letter->number;
    atom_add_rlx(&mail.sent, 1);
    int error = weft_send_move(to, mix_below(member, TAGS), letter, sizeof *letter, letter_release, NULL);
    if (posted) EXPECT_EQ(error, 0);
    if (posted) atom_add_rlx(&mail.posted, 1);
    if (!error) return;
    EXPECT(error == WEFT_ENOPROC || error == WEFT_EFOREIGN);
    atom_sub_rlx(&mail.sent, 1);
    free(letter);
}

/* Letters of one sender with one tag come in order, and each once. */
static inline void letter_read(struct member *member, weft_msg *message) {
    struct letter *letter = weft_msg_data(message);
    uint64_t tag = weft_msg_tag(message);
    if (weft_msg_len(message) == sizeof *letter && tag < TAGS) {
        uint32_t *last = &member->last[letter->sender][tag];
        EXPECT(!letter->received);
        EXPECT(letter->number > *last);
        letter->received = true;
        *last = letter->number;
    }
    weft_msg_free(message);
}

static inline void act_recv(struct member *member) {
    weft_msg *message;
    uint64_t deadline = mix_deadline(member);
    int error = weft_recv(&message, deadline);
    mix_expect(error, deadline);
    if (!error) letter_read(member, message);
}
static inline void act_recv_tag(struct member *member) {
    weft_msg *message;
    uint64_t tag = mix_below(member, TAGS);
    uint64_t deadline = mix_deadline(member);
    int error = weft_recv_tag(tag, &message, deadline);
    mix_expect(error, deadline);
    if (error) return;
    EXPECT_EQ(weft_msg_tag(message), tag);
    letter_read(member, message);
}
static inline bool letter_is_even(const weft_msg *message, void *unused) { return (void)unused, weft_msg_tag(message) % 2 == 0; }
static inline void act_recv_match(struct member *member) {
    weft_msg *message;
    uint64_t deadline = mix_deadline(member);
    int error = weft_recv_match(letter_is_even, NULL, &message, deadline);
    mix_expect(error, deadline);
    if (!error) letter_read(member, message);
}
static inline void act_handoff(struct member *member) {
    (void)member;
    EXPECT_EQ(weft_handoff(mix.server, TAGS, NULL, 0), 0);
    atom_add_rlx(&mail.posted, 1);
}

/* ---- requests ------------------------------------------------------------------------------------------------------- */

/* Answers at once, later, or by way of another process. */
static inline void server_later(void *arg) {
    weft_request *request = arg;
    weft_sleep(50 * 1000);
    int error = weft_reply(*request, &request->tag, sizeof request->tag);
    EXPECT(error == 0 || error == WEFT_ENOPROC || error == WEFT_EFOREIGN);
    free(request);
    atom_add_rel(&mix.ended, 1);
}
static inline void server_answer(weft_msg *message, struct rng *rng) {
    weft_request request = weft_msg_request(message), *kept;
    if (rng_below(rng, 4)) {
        weft_reply(request, &request.tag, sizeof request.tag); /* the process that asked may have ended */
        return;
    }
    kept = malloc(sizeof *kept);
    *kept = request;
    atom_add_rlx(&mix.begun, 1);
    mix_spawn(server_later, kept);
}
static inline void server_main(void *arg) {
    struct member self = {.last = calloc(SENDERS, sizeof *self.last)};
    weft_msg *message;
    (void)arg;
    rng_seed(&self.rng, mix.seed, 1 << 20);
    for (bool over = false; !over;) {
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        over = weft_msg_tag(message) == MIX_END;
        bool request = weft_msg_request(message).reference != 0;
        if (request) server_answer(message, &self.rng);
        letter_read(&self, message);
        if (!over) atom_add_rel(request ? &mail.heard : &mail.delivered, 1);
    }
    free(self.last);
}

static inline void reply_check(weft_msg *reply, uint64_t tag) {
    uint64_t value;
    EXPECT_EQ(weft_msg_len(reply), sizeof value);
    memcpy(&value, weft_msg_data(reply), sizeof value);
    EXPECT_EQ(value, tag);
    weft_msg_free(reply);
}
static inline void act_call(struct member *member) {
    weft_msg *reply;
    uint64_t tag = TAGS + 1 + mix_below(member, 1000);
    uint64_t deadline = mix_below(member, 3) ? WEFT_FOREVER : mix_deadline(member);
    atom_add_rlx(&mail.asked, 1);
    int error = weft_call(mix.server, tag, NULL, 0, &reply, deadline);
    if (error == WEFT_ECANCELED) atom_add_rel(&mail.unsure, 1);
    mix_expect(error, deadline);
    if (!error) reply_check(reply, tag);
}
/* Several at once, heard in any order; some are given up. */
static inline void act_ask(struct member *member) {
    uint64_t references[4];
    unsigned count = 1 + mix_below(member, 4);
    for (unsigned i = 0; i < count; i++) {
        atom_add_rlx(&mail.asked, 1);
        EXPECT_EQ(weft_ask(mix.server, TAGS + 1 + i, NULL, 0, &references[i]), 0);
    }
    for (unsigned i = count; i-- > 0;) {
        weft_msg *reply;
        uint64_t deadline = mix_limit(member);
        int error = weft_recv_reply(references[i], &reply, deadline);
        mix_expect(error, deadline);
        if (error) weft_forget(references[i]);
        else reply_check(reply, TAGS + 1 + i);
    }
}

static inline void mail_open(void) {
    memset(&mail, 0, sizeof mail);
    mix.server = mix_spawn(server_main, NULL);
}
static inline void mail_close(void) {
    mix_balance("letters to the server", &mail.posted, &mail.delivered);
    mix_dismiss(mix.server); /* it has read all that was sent before */
    mix_balance("processes that answer", &mix.begun, &mix.ended);
    uint64_t asked = atom_load_acq(&mail.asked), heard = atom_load_acq(&mail.heard), unsure = atom_load_acq(&mail.unsure);
    if (heard > asked || heard + unsure < asked)
        test_fail(__FILE__, __LINE__, "requests: %llu in, %llu of them unsure, %llu out", (unsigned long long)asked,
                  (unsigned long long)unsure, (unsigned long long)heard);
}
/* When the runtime has stopped. */
static inline void mail_audit(void) {
    EXPECT_EQ(atom_load_acq(&mail.released), atom_load_acq(&mail.sent));
    printf("  %llu letters, %llu received; %llu requests\n", (unsigned long long)atom_load_acq(&mail.sent),
           (unsigned long long)atom_load_acq(&mail.received), (unsigned long long)atom_load_acq(&mail.asked));
}

#endif
