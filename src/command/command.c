/* The way of a command from a step's yield to its handler, and of its result back. The message block of the completion is allocated when the
 * command is yielded, so that a result can always be delivered; the PID is noted then too, so that the result never reaches the next
 * process in the same slot. */
#include "command/job.h"
#include "command/yield.h"
#include "mail/send.h"
#include "sched/door.h"
#include "sched/external_wait.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"
#include "sched/timer_event.h"

/* A yielded command: in the list of its step's output, as a message whose data begins with this. */
struct yielded {
    uint32_t command;
    struct message *room;
    unsigned char data[];
};

/* Extra bytes in the room, for the handler that completes the command. */
static size_t command_room(uint32_t command) { return command == COMMAND_SLEEP ? sizeof(struct timer_event) : 0; }

static int yield_put(weft_out *out, uint32_t command, uint64_t tag, const void *head, size_t head_size, const void *data, size_t size) {
    struct message_cache *cache = &out->worker->local.cache;
    bool fits = size <= UINT32_MAX / 2; /* the size of a message has 32 bits */
    struct message *yield = fits ? message_new(cache, sizeof(struct yielded) + head_size + size) : NULL;
    struct message *room = message_new_room(cache, command_room(command));
    if (!yield || !room) {
        if (yield) message_free(cache, yield);
        if (room) message_free(cache, room);
        return WEFT_ENOMEM;
    }
    struct yielded *yielded = (struct yielded *)yield->data;
    yield->node.next = NULL;
    yield->tag = tag;
    yielded->command = command;
    yielded->room = room;
    if (head_size > 0) memcpy(yielded->data, head, head_size);
    if (size > 0) memcpy(yielded->data + head_size, data, size);
    *out->yields_end = yield;
    out->yields_end = (struct message **)&yield->node.next;
    return 0;
}

int yield_two(weft_out *out, uint32_t command, uint64_t tag, const void *head, size_t head_size, const void *data, size_t size) {
    local_enter(&out->worker->local, "weft_out_yield");
    int error = yield_put(out, command, tag, head, head_size, data, size);
    local_leave(&out->worker->local);
    return error;
}

int weft_out_yield(weft_out *out, uint32_t command, uint64_t tag, const void *data, size_t size) {
    return yield_two(out, command, tag, NULL, 0, data, size);
}

/* ---- the registry: only grows while the runtime lives ---------------------------------------------------------------- */

struct command {
    uint32_t number;
    weft_handler handler;
    void *user;
    struct command *next;
    bool registered; /* by the program */
};

static const struct command command_built_in[] = {
    {.number = COMMAND_SLEEP, .handler = command_sleep},
#if !WEFT_CHECK /* there are no processes that could block */
    {.number = COMMAND_READ, .handler = command_read},     {.number = COMMAND_WRITE, .handler = command_write},
    {.number = COMMAND_OPEN, .handler = command_open},     {.number = COMMAND_CLOSE, .handler = command_close},
    {.number = COMMAND_SYNC, .handler = command_sync},     {.number = COMMAND_CALL, .handler = command_call},
    {.number = COMMAND_NET, .handler = command_net},       {.number = COMMAND_RESOLVE, .handler = command_resolve},
    {.number = COMMAND_CHILD, .handler = command_child},   {.number = COMMAND_ROOM, .handler = command_await_room},
    {.number = COMMAND_ASK, .handler = command_ask},       {.number = COMMAND_JOIN, .handler = command_join},
    {.number = COMMAND_SELECT, .handler = command_select},
#endif
};

static const struct command *command_find(struct runtime *runtime, uint32_t number) {
    uint32_t own = number - COMMAND_SLEEP; /* their numbers follow each other */
    if (own < sizeof command_built_in / sizeof command_built_in[0]) return &command_built_in[own];
    const struct command *found = atom_load_acq(&runtime->commands); /* acq: pairs with the rel in weft_register_command */
    while (found && found->number != number)
        found = found->next;
    return found;
}

int weft_register_command(weft_runtime *opaque, uint32_t number, weft_handler handler, void *user) {
    struct runtime *runtime = (struct runtime *)opaque;
    if (number == 0 || !handler) return WEFT_EINVAL;
    struct command *command = sys->alloc(sizeof *command);
    if (!command) return WEFT_ENOMEM;
    lock_take(&runtime->lock);
    bool known = command_find(runtime, number) != NULL;
    *command = (struct command){number, handler, user, atom_load_rlx(&runtime->commands), true}; /* rlx: written under the lock */
    if (!known) atom_store_rel(&runtime->commands, command); /* rel: pairs with the acq in command_find */
    lock_drop(&runtime->lock);
    if (known) sys->free(command, sizeof *command);
    return known ? WEFT_EEXIST : 0;
}

void command_destroy_all(struct runtime *runtime) {
    for (struct command *command = atom_load_rlx(&runtime->commands), *next; command; command = next) { /* rlx: no other thread is left */
        next = command->next;
        sys->free(command, sizeof *command);
    }
}

/* ---- completing ------------------------------------------------------------------------------------------------------ */

/* The message that carries a result: the room made for it, or a larger one if there is data, and memory for it. */
static struct message *completion_message(struct local *local, weft_completion completion, int error, const void *data, size_t size) {
    struct message *message = completion.reserved;
    if (size > message_capacity(message)) {
        struct message *larger = message_new(&local->cache, size);
        if (larger) {
            message_free(&local->cache, message);
            message = larger;
        } else {
            error = WEFT_ENOMEM;
            size = 0;
        }
    }
    if (size > 0) memcpy(message->data, data, size);
    message->size = (uint32_t)size;
    message->type = WEFT_EVENT_COMPLETION;
    message->tag = completion.tag;
    message->error = error;
    return message;
}

static int complete_with(struct local *local, struct worker *self, weft_completion completion, int error, const void *data, size_t size) {
    struct message *message = completion_message(local, completion, error, data, size);
    external_wait_end(local);
    int late = send_message(local, self, completion.pid, message);
    if (!late) return 0;
    message_free(&local->cache, message);
    count(&local->counters.late);
    return WEFT_ENOPROC;
}

/* In the runtime that has the instance number now; if it is another runtime than then, the room has gone. */
static int complete_here(struct local *local, struct worker *self, weft_completion completion, int error, const void *data, size_t size) {
    if (pid_generation(completion.pid) <= local->runtime->table.generation) return WEFT_ENOPROC; /* table B4 */
    return complete_with(local, self, completion, error, data, size);
}

int command_answer(weft_completion completion, int error, const void *data, size_t size) {
    struct rt_entry entry;
    if (!rt_enter(&entry, completion.pid, "weft_complete")) return WEFT_ENOPROC; /* the runtime has gone, and the room with it */
    int late = complete_here(entry.local, entry.self, completion, error, data, size);
    rt_leave(&entry);
    return late;
}

int weft_complete(weft_completion completion, int error, const void *data, size_t size) {
    heed(worker_here());
    return command_answer(completion, error, data, size);
}

void command_complete(struct worker *own, weft_completion completion, int error, const struct message_moved *result) {
    struct message *message = completion.reserved;
    message->class = MESSAGE_ROOM | MESSAGE_SHELL;
    message->type = MESSAGE_RESULT;
    message->tag = completion.tag;
    message->error = error;
    *message_moved(message) = *result;
    external_wait_end(&own->local);
    if (send_message(&own->local, own, completion.pid, message) == 0) return;
    count(&own->local.counters.late);
    message_free(&own->local.cache, message); /* last: dropping the result may wait, and return on another worker */
}

/* Calls the handler. One that the program has registered may call weft: sched/local.h. */
static int command_handle(struct worker *worker, const struct command *command, weft_completion completion, const void *data, size_t size) {
    if (!command->registered) return command->handler(command->user, completion, data, size);
    local_leave(&worker->local);
    int error = command->handler(command->user, completion, data, size);
    local_begin(&worker->local);
    return error;
}

__attribute__((noinline, cold)) void command_begin(struct worker *worker, struct proc *proc, struct message *yield) {
    struct yielded *yielded = (struct yielded *)yield->data;
    weft_completion completion = {
        .pid = proc_pid(proc),
        .tag = yield->tag,
        .reserved = yielded->room,
    };
    const struct command *command = command_find(worker->runtime, yielded->command);
    int error = WEFT_ENOENT;
    external_wait_begin(&worker->local); /* until it is completed */
    if (command) error = command_handle(worker, command, completion, yielded->data, yield->size - sizeof *yielded);
    if (error) complete_with(&worker->local, worker, completion, error, NULL, 0);
    message_free(&worker->local.cache, yield);
}
