/* The command that is completed by a timer. The timer lies in the room that was made for the completion: command_room. */
#include "command/built_in.h"
#include "mail/send.h"
#include "sched/timer_event.h"
#include "sched/external_wait.h"

static struct message *sleeping_message(struct alarm *alarm) {
    return (struct message *)((unsigned char *)alarm - offsetof(struct message, data));
}

static void sleeping_ring(struct actor *actor, struct worker *self, struct alarm *alarm);

/* Many come at once, and none of what they touch has been touched for long: fetches what the next one needs. */
static void sleeping_prefetch(struct runtime *runtime, struct timer *next) {
    struct alarm *alarm = (struct alarm *)((unsigned char *)next - offsetof(struct alarm, timer));
    if (!next || alarm->ring != sleeping_ring) return;
    struct proc *proc = table_at(&runtime->table, pid_slot(sleeping_message(alarm)->from));
    __builtin_prefetch(&proc->state, 1);
    __builtin_prefetch(&proc->waits, 1);
}

static void sleeping_ring(struct actor *actor, struct worker *self, struct alarm *alarm) {
    struct message *message = sleeping_message(alarm);
    weft_pid pid = message->from;
    outside_end(actor);
    sleeping_prefetch(actor->runtime, alarm->timer.next);
    message->type = WEFT_COMPLETION;
    message->error = 0;
    message->size = 0;
    if (send_message(actor, self, pid, message) == 0) return;
    message_free(&actor->cache, message);
    count(&actor->counters.late);
}

int command_sleep(void *user, weft_completion completion, const void *data, size_t size) {
    struct message *message = completion.reserved;
    struct alarm *alarm = (struct alarm *)message->data;
    uint64_t nanoseconds, now = sys->now();
    (void)user;
    if (size != sizeof nanoseconds) return WEFT_EINVAL;
    memcpy(&nanoseconds, data, sizeof nanoseconds);
    message->tag = completion.tag;
    message->from = completion.pid;
    alarm_init(alarm, sleeping_ring);
    alarm->disposes = true;
    alarm_arm(my_worker, alarm, nanoseconds < WEFT_FOREVER - now ? now + nanoseconds : WEFT_FOREVER);
    return 0;
}
