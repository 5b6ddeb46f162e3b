/* What the tests of bounded mailboxes share: a receiver that takes nothing until its gate is opened, stackful or a step process, and notes
 * what it has got. */
#ifndef WEFT_TESTS_BOUNDS_HELPERS_H
#define WEFT_TESTS_BOUNDS_HELPERS_H

#include "mailbox_helpers.h"

enum { GOT_MOST = 4096 };

struct receiver {
    weft_pid pid;
    atom_u64 begun, open, count, ended; /* `open`: receive now */
    uint64_t got[GOT_MOST];             /* tags */
    unsigned flags;                     /* of spawning */
    uint64_t want;                      /* ends after so many; 0: when it is cancelled */
};

static inline void receiver_note(struct receiver *self, uint64_t tag) {
    uint64_t count = atom_load_rlx(&self->count);
    EXPECT(count < GOT_MOST);
    self->got[count] = tag;
    atom_store_rel(&self->count, count + 1);
}
static inline bool receiver_has_all(struct receiver *self) { return self->want && atom_load_rlx(&self->count) >= self->want; }

static inline void receiver_main(void *arg) {
    struct receiver *self = arg;
    weft_msg *message;
    atom_store_rel(&self->begun, 1);
    while (!atom_load_acq(&self->open) && weft_sleep(WEFT_MILLISECOND) == 0) {}
    while (!receiver_has_all(self) && weft_recv(&message, WEFT_FOREVER) == 0) {
        receiver_note(self, weft_msg_tag(message));
        weft_msg_free(message);
    }
    atom_store_rel(&self->ended, 1);
}

/* The first step lasts until the gate is opened. */
static inline int receiver_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct receiver *self = *(struct receiver **)state;
    atom_store_rel(&self->begun, 1);
    for (; !atom_load_acq(&self->open); usleep(100)) {}
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        else receiver_note(self, events[i].tag);
    }
    if (receiver_has_all(self)) weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static inline int receiver_init(void *state, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(state, input, size);
    return 0;
}
static const weft_behavior receiver_behavior = {
    .name = "receiver", .state_size = sizeof(void *), .init = receiver_init, .step = receiver_step};

static inline weft_pid receiver_spawn(struct receiver *self, bool stackful, const weft_mailbox *mailbox) {
    weft_stackful_options with = {.runtime = rt.runtime, .name = "receiver", .flags = self->flags, .mailbox = mailbox};
    weft_spawn_options step = {.runtime = rt.runtime, .input = &self, .input_size = sizeof self, .flags = self->flags, .mailbox = mailbox};
    int error = stackful ? weft_spawn_with(receiver_main, self, &with, &self->pid) : weft_spawn_step(&receiver_behavior, &step, &self->pid);
    EXPECT_EQ(error, 0);
    while (!atom_load_acq(&self->begun))
        usleep(100);
    return self->pid;
}
static inline void receiver_open(struct receiver *self) { atom_store_rel(&self->open, 1); }
static inline void receiver_wait(struct receiver *self, uint64_t count) { rt_wait(&self->count, count); }

static inline weft_mailbox_use usage(weft_pid pid) {
    weft_mailbox_use use;
    EXPECT_EQ(weft_mailbox_usage(pid, &use), 0);
    return use;
}
/* Until so many senders wait there. */
static inline void wait_for_senders(weft_pid pid, size_t count) {
    while (usage(pid).waiting != count)
        usleep(100);
}
static inline void sleep_for_senders(weft_pid pid, size_t count) {
    while (usage(pid).waiting != count)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
}

/* With a stackful receiver and with a step process. Two workers: the step process holds one. */
static inline void bounds_both(void (*body)(bool stackful)) {
    for (unsigned kind = 0; kind < 2; kind++) {
        rt_start("ring", 3);
        body(kind == 0);
        rt_stop();
    }
}

#endif
