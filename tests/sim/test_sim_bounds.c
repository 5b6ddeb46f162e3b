/* Bounded mailboxes by seed: senders of all kinds, receivers that are slow, select, end or are killed, and start again.
 *
 * Oracle. Every message that a sender was told is accepted is handled by its receiver, or was in the mailbox, or in the hands, of one that has
 * ended; each sender's messages are handled in order. No mailbox holds more than its bound. Nobody waits at the end. */
#include "seeds.h"

#include <weft/weft.h>

enum { SENDERS = 4, EACH = 20, LIVES = 4, BOUND = 3, SEEDS = 60, OVER = 1000 };

static unsigned contradictions;
#define expect(holds) expect_at(holds, #holds, __LINE__)
static void expect_at(bool holds, const char *what, int line) {
    if (!holds) fprintf(stderr, "line %d: %s does not hold\n", line, what);
    contradictions += !holds;
}

/* What is known of each life of the receiver. The tag is the sender, the data the number of the message. */
static struct life {
    weft_pid pid;
    unsigned accepted[SENDERS], handled[SENDERS];
    uint64_t last[SENDERS]; /* number + 1 */
    bool over;
} lives[LIVES];
static unsigned living, senders_over;

static void handle(struct life *life, weft_msg *message) {
    uint64_t sender = weft_msg_tag(message), number;
    memcpy(&number, weft_msg_data(message), sizeof number);
    expect(number >= life->last[sender]);
    life->last[sender] = number + 1;
    life->handled[sender]++;
    weft_msg_free(message);
}
static void receives(void *arg) {
    struct life *life = arg;
    weft_msg *message;
    weft_mailbox_use use;
    for (;;) {
        if (weft_sim_random(4) == 0) weft_sleep(weft_sim_random(3) * WEFT_MILLISECOND);
        if (weft_sim_random(40) == 0) return;
        int error = weft_sim_random(3) ? weft_recv(&message, weft_in(WEFT_MILLISECOND))
                                       : weft_recv_tag(weft_sim_random(SENDERS), &message, weft_in(WEFT_MILLISECOND));
        if (error == WEFT_ECANCELED) return;
        if (error) continue;
        if (weft_msg_tag(message) == OVER) {
            weft_msg_free(message);
            return;
        }
        handle(life, message);
        expect(weft_mailbox_usage(weft_self(), &use) == 0 && use.messages <= BOUND + 1); /* one urgent message may be there besides */
    }
}

/* A message is sent to the receiver that lives, until one accepts it. */
static void sends(void *arg) {
    uint64_t me = (uintptr_t)arg;
    for (uint64_t i = 0; i < EACH && living < LIVES;) {
        struct life *life = &lives[living];
        uint64_t deadline = weft_sim_random(3) ? WEFT_FOREVER : weft_in(weft_sim_random(2) * WEFT_MILLISECOND);
        int error = weft_send_until(life->pid, me, &i, sizeof i, deadline);
        expect(error == 0 || error == WEFT_ENOPROC || (error == WEFT_ETIMEDOUT && deadline != WEFT_FOREVER));
        if (error == 0) life->accepted[me]++, i++;
        else weft_sleep(WEFT_MILLISECOND);
    }
    senders_over++;
}

struct step_self {
    uint64_t sender, number;
};
static int step_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(self, input, size);
    return 0;
}
static int step_sends(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct step_self *self = state;
    (void)events, (void)count;
    while (self->number < EACH && living < LIVES) {
        struct life *life = &lives[living];
        int error = weft_send(life->pid, self->sender, &self->number, sizeof self->number);
        if (error == 0) {
            life->accepted[self->sender]++, self->number++;
            continue;
        }
        expect(error == WEFT_EAGAIN || error == WEFT_ENOPROC);
        if (error == WEFT_EAGAIN) expect(weft_out_await_room(out, life->pid, 0) == 0);
        else expect(weft_out_sleep(out, 0, WEFT_MILLISECOND) == 0);
        weft_out_status(out, WEFT_STEP_BLOCKED);
        return 0;
    }
    senders_over++;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior step_behavior = {
    .name = "step sender", .state_size = sizeof(struct step_self), .init = step_init, .step = step_sends};

static void life_begin(struct life *life) {
    weft_mailbox mailbox = {.messages = BOUND};
    weft_stackful_options options = {.flags = WEFT_SPAWN_JOINABLE, .mailbox = &mailbox};
    expect(weft_spawn_with(receives, life, &options, &life->pid) == 0);
}
/* What it accepted and did not handle was in its mailbox, or put aside: not more than fits there, and one in its hands. */
static void life_judge(const struct life *life) {
    unsigned accepted = 0, handled = 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        expect(life->handled[i] <= life->accepted[i]);
        accepted += life->accepted[i], handled += life->handled[i];
    }
    expect(accepted - handled <= BOUND + 1);
}

static int program(int argc, char **argv) {
    weft_pid pid;
    (void)argc, (void)argv;
    life_begin(&lives[0]);
    for (uintptr_t i = 0; i < SENDERS - 1; i++)
        weft_spawn(sends, (void *)i);
    struct step_self step = {SENDERS - 1, 0};
    expect(weft_spawn_step(&step_behavior, &(weft_spawn_options){.input = &step, .input_size = sizeof step}, &pid) == 0);
    while (living < LIVES) {
        struct life *life = &lives[living];
        if (weft_sim_random(2)) {
            weft_sleep(weft_sim_random(20) * WEFT_MILLISECOND);
            weft_sim_random(2) ? weft_kill(life->pid) : weft_cancel(life->pid);
        } else if (senders_over == SENDERS) {
            weft_send_urgent(life->pid, OVER, NULL, 0);
        }
        if (weft_join(life->pid, NULL, weft_in(30 * WEFT_MILLISECOND)) == WEFT_ETIMEDOUT) continue;
        if (living + 1 < LIVES) life_begin(&lives[living + 1]);
        living++;
    }
    while (senders_over < SENDERS)
        weft_sleep(WEFT_MILLISECOND);
    for (unsigned i = 0; i < LIVES; i++)
        life_judge(&lives[i]);
    return contradictions == 0 ? 0 : 1;
}
static int program_main(void) {
    static const char *const workers[] = {"1", "2", "4"};
    setenv("WEFT_WORKERS", workers[weft_sim_seed() % 3], 1);
    return weft_main(0, NULL, program);
}

TEST_WITHIN(every_accepted_message_is_accounted_for, 300) { seeds_pass(test_seed(1), SEEDS * test_scale(), program_main); }

int main(int argc, char **argv) { return test_main(argc, argv); }
