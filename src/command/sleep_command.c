/* The command that is completed by a timer: sleep. The timer is in the message block that was reserved for the completion: command_room. */
#include "command/built_in.h"
#include "mail/send.h"
#include "sched/external_wait.h"
#include "sched/timer_event.h"

static struct message *sleeping_message(struct timer_event *event) {
    return (struct message *)((unsigned char *)event - offsetof(struct message, data));
}

static void sleeping_ring(struct local *local, struct worker *self, struct timer_event *event);

/* Many timers come due at once, and what they touch is not in the cache: fetches what the next one needs. */
static void sleeping_prefetch(struct runtime *runtime, struct timer *next) {
    struct timer_event *event = (struct timer_event *)((unsigned char *)next - offsetof(struct timer_event, timer));
    if (!next || event->ring != sleeping_ring) return;
    struct proc *proc = table_at(&runtime->table, pid_slot(sleeping_message(event)->from));
    __builtin_prefetch(&proc->state, 1);
    __builtin_prefetch(&proc->waits, 1);
}

static void sleeping_ring(struct local *local, struct worker *self, struct timer_event *event) {
    struct message *message = sleeping_message(event);
    weft_pid pid = message->from;
    external_wait_end(local);
    sleeping_prefetch(local->runtime, event->timer.next);
    message->type = WEFT_EVENT_COMPLETION;
    message->error = 0;
    message->size = 0;
    if (send_message(local, self, pid, message) == 0) return;
    message_free(&local->cache, message);
    count(&local->counters.late);
}

int command_sleep(void *user, weft_completion completion, const void *data, size_t size) {
    struct message *message = completion.reserved;
    struct timer_event *event = (struct timer_event *)message->data;
    uint64_t nanoseconds, now = sys->now();
    (void)user;
    if (size != sizeof nanoseconds) return WEFT_EINVAL;
    memcpy(&nanoseconds, data, sizeof nanoseconds);
    message->tag = completion.tag;
    message->from = completion.pid;
    timer_event_init(event, sleeping_ring);
    event->disposes = true;
    timer_event_arm(my_worker, event, nanoseconds < WEFT_FOREVER - now ? now + nanoseconds : WEFT_FOREVER);
    return 0;
}
