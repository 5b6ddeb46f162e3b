/* actors SCENARIOS [step]: runs the scenarios on weft, with stackful actors or with step processes, and prints what happened, as
 * actors.escript does on Erlang. */
#include <weft/weft.h>

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8, ACTORS = 16, ENTRIES = 16, REFERENCES = 8, WORD = 24 };
enum tag { TAG_ASK = 1, TAG_ECHO, TAG_EXIT, TAG_TEXT, TAG_DOWN, TAG_EXITED };

/* ---- an actor: what it was told, and its monitors by name ------------------------------------------------------------------ */

struct entry {
    enum tag tag;
    weft_pid pid;
    int code;
    char text[WORD];
};
struct question {
    char operation[WORD], word[WORD], reference[WORD]; /* an empty operation: the log is asked for */
    weft_pid other, ends_before;                       /* the second: ends with 7, and the actor is told, before the operation is done */
};
struct answer {
    char text[WORD];
    weft_pid pid; /* of an actor that was spawned; of whereis */
    size_t count;
    struct entry log[ENTRIES];
};
struct actor {
    size_t count, references;
    struct entry log[ENTRIES];
    struct {
        char name[WORD];
        uint64_t reference;
    } known[REFERENCES];
};

static bool with_steps;

static void actor_told(struct actor *actor, struct entry entry) {
    if (actor->count < ENTRIES) actor->log[actor->count++] = entry;
}

static uint64_t *actor_reference(struct actor *actor, const char *name) {
    for (size_t i = 0; i < actor->references; i++)
        if (strcmp(actor->known[i].name, name) == 0) return &actor->known[i].reference;
    strcpy(actor->known[actor->references].name, name);
    return &actor->known[actor->references++].reference;
}

static void stackful_actor(void *unused);
static const weft_behavior step_actor;

static int actor_spawn(struct actor *actor, const struct question *question, weft_pid *pid) {
    unsigned flags = strcmp(question->operation, "spawn_link") == 0 ? WEFT_SPAWN_LINK : 0;
    uint64_t unused, *reference = &unused;
    if (strcmp(question->operation, "spawn_monitor") == 0) {
        flags = WEFT_SPAWN_MONITOR;
        reference = actor_reference(actor, question->reference);
    }
    if (with_steps) return weft_spawn_step(&step_actor, &(weft_spawn_options){.flags = flags, .monitor = {TAG_DOWN, reference}}, pid);
    return weft_spawn_with(stackful_actor, NULL, &(weft_stackful_options){.flags = flags, .monitor = {TAG_DOWN, reference}}, pid);
}

static const char *yes(bool is) { return is ? "ok" : "refused"; }

/* The answer is "ok" unless it says otherwise. */
static const char *actor_does(struct actor *actor, const struct question *question, weft_pid *pid) {
    const char *operation = question->operation;
    weft_pid other = question->other;
    if (strncmp(operation, "spawn", 5) == 0) return yes(actor_spawn(actor, question, pid) == 0);
    if (strcmp(operation, "monitor") == 0) return yes(weft_monitor(other, TAG_DOWN, actor_reference(actor, question->reference)) == 0);
    if (strcmp(operation, "demonitor") == 0) weft_demonitor(*actor_reference(actor, question->word), false);
    if (strcmp(operation, "demonitor_flush") == 0) weft_demonitor(*actor_reference(actor, question->word), true);
    if (strcmp(operation, "link") == 0) return weft_link(other) == WEFT_ENOPROC ? "noproc" : "ok";
    if (strcmp(operation, "unlink") == 0) weft_unlink(other);
    if (strcmp(operation, "trap") == 0) return yes(weft_trap_exit(strcmp(question->word, "on") == 0, TAG_EXITED) == 0);
    if (strcmp(operation, "alive") == 0) return weft_alive(other) ? "yes" : "no";
    if (strcmp(operation, "send") == 0) return yes(weft_send(other, TAG_TEXT, question->word, strlen(question->word) + 1) == 0);
    if (strcmp(operation, "register") == 0) return yes(weft_register(question->word, other) == 0);
    if (strcmp(operation, "unregister") == 0) return yes(weft_unregister(NULL, question->word) == 0);
    if (strcmp(operation, "send_name") == 0)
        return yes(weft_send_name(question->word, TAG_TEXT, question->reference, strlen(question->reference) + 1) == 0);
    if (strcmp(operation, "whereis") == 0) *pid = weft_whereis(question->word);
    return "ok";
}

/* Reads nothing: the notice stays in the mailbox. In vain, the test's time is up. */
static void actor_makes_it_end(weft_pid other) {
    weft_process_info info;
    int code = 7;
    weft_info(weft_self(), &info);
    uint64_t before = info.messages;
    weft_send(other, TAG_EXIT, &code, sizeof code);
    while (weft_alive(other) || info.messages <= before) {
        if (with_steps) sched_yield();
        else weft_yield();
        weft_info(weft_self(), &info);
    }
}

static void actor_answers(struct actor *actor, weft_request request, const struct question *question) {
    struct answer answer = {.pid = WEFT_NOBODY};
    if (question->ends_before) actor_makes_it_end(question->ends_before);
    if (*question->operation) {
        snprintf(answer.text, sizeof answer.text, "%s", actor_does(actor, question, &answer.pid));
    } else {
        answer.count = actor->count;
        memcpy(answer.log, actor->log, sizeof answer.log);
    }
    weft_reply(request, &answer, sizeof answer);
}

static struct entry entry_of(const weft_notice *notice, uint64_t tag, const void *data) {
    struct entry entry = {.tag = (enum tag)tag};
    if (notice) entry.pid = notice->pid, entry.code = notice->reason.code;
    else snprintf(entry.text, sizeof entry.text, "%s", (const char *)data);
    return entry;
}

/* ---- the two kinds ---------------------------------------------------------------------------------------------------------- */

static void stackful_actor(void *unused) {
    struct actor actor = {.count = 0};
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        uint64_t tag = weft_msg_tag(message);
        int code = tag == TAG_EXIT ? *(const int *)weft_msg_data(message) : 0;
        if (tag == TAG_ECHO) weft_reply(weft_msg_request(message), weft_msg_data(message), weft_msg_len(message));
        else if (tag == TAG_ASK) actor_answers(&actor, weft_msg_request(message), weft_msg_data(message));
        else if (tag != TAG_EXIT) actor_told(&actor, entry_of(weft_msg_notice(message), tag, weft_msg_data(message)));
        weft_msg_free(message);
        if (tag == TAG_EXIT) weft_exit(code);
    }
}

static int step_actor_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    for (size_t i = 0; i < count; i++) {
        const weft_event *event = &events[i];
        int code = event->tag == TAG_EXIT && event->type == WEFT_EVENT_MESSAGE ? *(const int *)event->data : 0;
        if (event->type == WEFT_EVENT_CANCEL || (event->tag == TAG_EXIT && code == 0)) weft_out_status(out, WEFT_STEP_DONE);
        else if (event->tag == TAG_EXIT) return -code; /* a step's error is negative: shown without its sign */
        else if (event->type == WEFT_EVENT_REQUEST && event->tag == TAG_ECHO)
            weft_reply(weft_event_request(event), event->data, event->size);
        else if (event->type == WEFT_EVENT_REQUEST) actor_answers(self, weft_event_request(event), event->data);
        else actor_told(self, entry_of(weft_event_notice(event), event->tag, event->data));
    }
    return 0;
}
static const weft_behavior step_actor = {.name = "actor", .state_size = sizeof(struct actor), .step = step_actor_step};

/* ---- the coordinator ---------------------------------------------------------------------------------------------------------- */

static struct world {
    size_t count, ended;
    struct {
        char name[WORD];
        weft_pid pid;
        bool ended;
        int code;
    } actors[ACTORS];
} world;

static void world_add(const char *name, weft_pid pid) {
    uint64_t reference;
    snprintf(world.actors[world.count].name, WORD, "%s", name);
    world.actors[world.count].pid = pid;
    world.actors[world.count++].ended = false;
    weft_monitor(pid, TAG_DOWN, &reference);
}

static size_t world_find(const char *name) {
    size_t i = 0;
    while (i < world.count && strcmp(world.actors[i].name, name) != 0)
        i++;
    return i;
}
static weft_pid world_pid(const char *name) { return world_find(name) < world.count ? world.actors[world_find(name)].pid : WEFT_NOBODY; }
static const char *world_name(weft_pid pid) {
    for (size_t i = 0; i < world.count; i++)
        if (world.actors[i].pid == pid) return world.actors[i].name;
    return "?";
}

static bool world_is_actor(weft_pid pid) { return strcmp(world_name(pid), "?") != 0; }

/* Notes one end, until the deadline. */
static bool world_one_ended(uint64_t deadline) {
    weft_msg *message;
    if (weft_recv_tag(TAG_DOWN, &message, deadline) != 0) return false;
    const weft_notice *notice = weft_msg_notice(message);
    for (size_t i = 0; i < world.count; i++)
        if (world.actors[i].pid == notice->pid) world.actors[i].ended = true, world.actors[i].code = notice->reason.code;
    world.ended++;
    weft_msg_free(message);
    return true;
}
static void world_until_dead(size_t number) {
    uint64_t deadline = weft_in(30 * WEFT_SECOND);
    while (world.ended < number)
        if (!world_one_ended(deadline)) {
            printf("never: dead %zu\n", number);
            return;
        }
}

static bool ask(weft_pid actor, const struct question *question, struct answer *answer) {
    weft_msg *reply;
    *answer = (struct answer){.count = 0};
    if (weft_call(actor, TAG_ASK, question, sizeof *question, &reply, WEFT_FOREVER) != 0) return false;
    memcpy(answer, weft_msg_data(reply), sizeof *answer);
    weft_msg_free(reply);
    return true;
}

static void world_until_told(const char *name, size_t number) {
    struct answer answer;
    for (unsigned times = 0; times < 15000; times++) {
        if (ask(world_pid(name), &(struct question){.word = ""}, &answer) && answer.count >= number) return;
        weft_sleep(2 * WEFT_MILLISECOND);
    }
    printf("never: got %s %zu\n", name, number);
}

static const char *reason(int code) {
    static char text[16];
    if (code == 0) return "normal";
    if (code == WEFT_EKILLED) return "killed";
    if (code == WEFT_ENOPROC) return "noproc";
    snprintf(text, sizeof text, "%d", code < 0 ? -code : code);
    return text;
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static void world_show(size_t i) {
    struct answer answer;
    char lines[ENTRIES][3 * WORD];
    ask(world.actors[i].pid, &(struct question){.word = ""}, &answer);
    for (size_t k = 0; k < answer.count; k++) {
        const struct entry *entry = &answer.log[k];
        if (entry->tag == TAG_TEXT) snprintf(lines[k], sizeof lines[k], "MSG %s", entry->text);
        else
            snprintf(lines[k], sizeof lines[k], "%s %s %s", entry->tag == TAG_DOWN ? "DOWN" : "EXIT", world_name(entry->pid),
                     reason(entry->code));
    }
    qsort(lines, answer.count, sizeof lines[0], by_text);
    printf("%s: %s", world.actors[i].name, world.actors[i].ended ? reason(world.actors[i].code) : "alive");
    for (size_t k = 0; k < answer.count; k++)
        printf("; %s", lines[k]);
    printf("\n");
}

static void world_finish(void) {
    weft_sleep(10 * WEFT_MILLISECOND);
    while (world_one_ended(0)) {}
    for (size_t i = 0; i < world.count; i++)
        world_show(i);
    for (size_t i = 0; i < world.count; i++)
        weft_kill(world.actors[i].pid);
    world_until_dead(world.count);
    world.count = world.ended = 0;
}

/* ---- operations ---------------------------------------------------------------------------------------------------------------- */

static void do_exit(const char *name, const char *why) {
    int code = atoi(why); /* `normal` is 0 */
    weft_send(world_pid(name), TAG_EXIT, &code, sizeof code);
}

static void do_operation(size_t count, char **words) {
    struct question question = {.other = WEFT_NOBODY};
    struct answer answer;
    bool after = count > 4 && strcmp(words[2], "after") == 0;
    char **from = words + (after ? 4 : 2), **end = words + count;
    const char *operation = from[0], *first = end - from > 1 ? from[1] : "", *second = end - from > 2 ? from[2] : "";
    if (after) question.ends_before = world_pid(words[3]);
    bool named = strcmp(operation, "register") == 0;
    snprintf(question.operation, WORD, "%s", operation);
    snprintf(question.reference, WORD, "%s", second);
    question.other = world_pid(named ? second : first);
    snprintf(question.word, WORD, "%s", strcmp(operation, "send") == 0 ? second : first);
    ask(world_pid(words[1]), &question, &answer);
    if (strncmp(operation, "spawn", 5) == 0) world_add(first, answer.pid);
    printf("%s", words[1]);
    for (size_t i = 2; i < count; i++)
        printf(" %s", words[i]);
    if (strcmp(operation, "whereis") == 0) printf(": %s\n", answer.pid ? world_name(answer.pid) : "none");
    else printf(": %s\n", answer.text);
}

/* By the coordinator. */
static void do_call(const char *name, const char *text) {
    weft_msg *reply = NULL;
    int error = weft_call_name(name, TAG_ECHO, text, strlen(text) + 1, &reply, WEFT_FOREVER);
    const char *answer = error == WEFT_ENOPROC ? "noproc" : error ? weft_strerror(error) : weft_msg_data(reply);
    printf("call %s %s: %s\n", name, text, answer);
    if (reply) weft_msg_free(reply);
}

struct name_list {
    size_t count;
    char names[ACTORS][WORD];
};
static void list_name(const char *name, weft_pid pid, void *user) {
    struct name_list *list = user;
    if (world_is_actor(pid) && list->count < ACTORS) snprintf(list->names[list->count++], WORD, "%s", name);
}
static void do_names(void) {
    struct name_list list = {.count = 0};
    weft_names(NULL, list_name, &list);
    qsort(list.names, list.count, sizeof list.names[0], by_text);
    printf("names:%s", list.count ? "" : " none");
    for (size_t i = 0; i < list.count; i++)
        printf(" %s", list.names[i]);
    printf("\n");
}

static void world_spawn(const char *name) {
    weft_pid pid = WEFT_NOBODY;
    int error = with_steps ? weft_spawn_step(&step_actor, &(weft_spawn_options){.flags = 0}, &pid)
                           : weft_spawn_with(stackful_actor, NULL, NULL, &pid);
    if (error) printf("spawn %s: %s\n", name, weft_strerror(error));
    world_add(name, pid);
}

static void line(size_t count, char **words) {
    if (strcmp(words[0], "scenario") == 0) {
        world_finish();
        printf("== %s\n", words[1]);
    } else if (strcmp(words[0], "spawn") == 0) {
        for (size_t i = 1; i < count; i++)
            world_spawn(words[i]);
    } else if (strcmp(words[0], "kill") == 0) {
        weft_kill(world_pid(words[1]));
    } else if (strcmp(words[0], "call") == 0) {
        do_call(words[1], words[2]);
    } else if (strcmp(words[0], "names") == 0) {
        do_names();
    } else if (strcmp(words[0], "dead") == 0) {
        world_until_dead((size_t)atoi(words[1]));
    } else if (strcmp(words[0], "got") == 0) {
        world_until_told(words[1], (size_t)atoi(words[2]));
    } else if (strcmp(words[2], "exit") == 0) {
        do_exit(words[1], words[3]);
    } else {
        do_operation(count, words);
    }
}

static int app(int argc, char **argv) {
    char text[128], *words[WORDS];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: actors SCENARIOS [step]\n");
        return 2;
    }
    with_steps = argc > 2;
    while (fgets(text, sizeof text, file)) {
        size_t count = 0;
        for (char *word = strtok(text, " \n"); word && count < WORDS; word = strtok(NULL, " \n"))
            words[count++] = word;
        if (count > 0 && *words[0] != '#') line(count, words);
    }
    world_finish();
    fclose(file);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
