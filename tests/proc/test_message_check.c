/* Received messages in debug builds: freed twice, used after that, never freed. In release builds nothing is checked, and nothing is said. */
#include "mailbox_helpers.h"
#include "proc/message_check.h"
#include "victim.h"

static void (*does)(weft_msg *message);
static void receives(void *arg) {
    weft_msg *message;
    (void)arg;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    does(message);
}
/* A runtime in which a process receives one message, with the tag 7, and does something with it. */
static void with_a_message(void) {
    weft_runtime *runtime;
    weft_pid pid;
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1}, &runtime), 0);
    EXPECT_EQ(weft_spawn_with(receives, NULL, &(weft_stackful_options){.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid), 0);
    EXPECT_EQ(weft_send(pid, 7, "abc", 3), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_stop(runtime, NULL, WEFT_FOREVER), 0);
    _exit(0);
}
static void try(struct child *child, void (*what)(weft_msg *message)) {
    does = what;
    child_run(child, with_a_message);
}

static void frees_twice(weft_msg *message) {
    weft_msg_free(message);
    weft_msg_free(message);
}
static void reads_freed(weft_msg *message) {
    weft_msg_free(message);
    atom_store_rlx(&victim_sink, (uint32_t)weft_msg_tag(message));
}
TEST(message_check_freed_twice_and_used_after_that) {
    struct child child;
    if (!MESSAGE_CHECKED) { /* undefined there; what is asked is that one use costs nothing */
        try(&child, weft_msg_free);
        EXPECT_EXIT(&child, 0);
        return;
    }
    try(&child, frees_twice);
    EXPECT(strstr(child.said, "weft_msg_free") && (strstr(child.said, "has been freed") || strstr(child.said, "AddressSanitizer")));
    try(&child, reads_freed);
    EXPECT(strstr(child.said, "weft_msg_tag") && (strstr(child.said, "has been freed") || strstr(child.said, "AddressSanitizer")));
}

/* Many are freed, and most of them are not with the worker any more, but in the depot. */
static unsigned which;
static void frees_one_of_many_twice(weft_msg *message) {
    enum { MANY = 300 };
    weft_msg *many[MANY];
    weft_msg_free(message);
    for (unsigned i = 0; i < MANY; i++)
        EXPECT_EQ(weft_send(weft_self(), i, &i, sizeof i), 0);
    for (unsigned i = 0; i < MANY; i++)
        EXPECT_EQ(weft_recv(&many[i], WEFT_FOREVER), 0);
    for (unsigned i = 0; i < MANY; i++)
        weft_msg_free(many[i]);
    weft_msg_free(many[which]);
}
TEST(message_check_freed_twice_in_the_depot) {
    static const unsigned some[] = {0, 1, 7, 17, 43, 44, 45, 46, 48, 63, 64, 100, 299};
    struct child child;
    for (unsigned i = 0; MESSAGE_CHECKED && i < sizeof some / sizeof *some; i++) {
        which = some[i];
        try(&child, frees_one_of_many_twice);
        EXPECT(strstr(child.said, "weft_msg_free") && (strstr(child.said, "has been freed") || strstr(child.said, "AddressSanitizer")));
    }
}

static void keeps(weft_msg *message) { EXPECT_EQ(weft_msg_tag(message), 7); }
static void keeps_a_reply(weft_msg *message) {
    weft_msg *reply;
    weft_pid echo = weft_spawn(receives, NULL);
    weft_msg_free(message);
    does = weft_msg_free;
    EXPECT_EQ(weft_call(echo, 8, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOPROC); /* it frees the request and ends */
    EXPECT_EQ(weft_send(weft_self(), 9, "abcd", 4), 0);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
}
/* By each way that a select takes: of one case, two and three, with a message that is there, and one that is waited for. */
static void sends_a_select(void *to) { EXPECT_EQ(weft_send(*(weft_pid *)to, 9, "abcd", 4), 0); }
static void keeps_selected(size_t count, bool waits) {
    weft_msg *message;
    weft_chan *chan;
    weft_pid self = weft_self();
    EXPECT_EQ(weft_chan_new(0, 0, &chan), 0);
    weft_case cases[] = {weft_case_message(&message), weft_case_recv(chan, NULL), weft_case_never()};
    if (waits) EXPECT(weft_spawn(sends_a_select, &self) != WEFT_NOBODY);
    else sends_a_select(&self);
    EXPECT_EQ(weft_select(cases, count, WEFT_FOREVER), 0);
    weft_chan_free(chan);
}
static size_t select_count;
static bool select_waits;
static void keeps_a_selected(weft_msg *message) {
    weft_msg_free(message);
    keeps_selected(select_count, select_waits);
}
TEST(message_check_names_what_a_select_has_received) {
    struct child child;
    setenv("WEFT_CHECK_MESSAGES", "1", 1);
    for (select_count = 1; select_count <= 3; select_count++)
        for (unsigned waits = 0; waits < 2; waits++) {
            select_waits = waits == 1;
            try(&child, keeps_a_selected);
            EXPECT_EXIT(&child, 0);
            EXPECT(!strstr(child.said, "never freed: tag 9, 4 bytes, from 0") == !MESSAGE_CHECKED);
        }
    unsetenv("WEFT_CHECK_MESSAGES");
}

TEST(message_check_names_what_was_never_freed) {
    struct child child;
    unsetenv("WEFT_CHECK_MESSAGES");
    try(&child, keeps);
    EXPECT_EXIT(&child, 0);
    EXPECT(!strstr(child.said, "never freed: tag 7, 3 bytes, from 0000000000000000, received by 0") == !MESSAGE_CHECKED);
    try(&child, keeps_a_reply);
    EXPECT_EXIT(&child, 0);
    EXPECT(!strstr(child.said, "never freed: tag 9, 4 bytes, from 0") == !MESSAGE_CHECKED);
    EXPECT(!strstr(child.said, "tag 7") && !strstr(child.said, "tag 8"));
    try(&child, weft_msg_free);
    EXPECT_EXIT(&child, 0);
    EXPECT(!child.said[0]);
    setenv("WEFT_CHECK_MESSAGES", "0", 1);
    try(&child, keeps);
    EXPECT_EXIT(&child, 0);
    EXPECT(!child.said[0]);
}

/* ---- locks ------------------------------------------------------------------------------------------------------------------ */

static weft_mutex mutex;
static void leaves_it_locked(weft_msg *message) {
    weft_msg_free(message);
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
}
TEST(message_check_locks_left_by_the_dead) {
    struct child child;
    try(&child, leaves_it_locked);
    EXPECT_EXIT(&child, 0);
    EXPECT(!strstr(child.said, "(process, ") == !MESSAGE_CHECKED);
    EXPECT(!strstr(child.said, "has ended and left 1 of weft's locks locked") == !MESSAGE_CHECKED);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
