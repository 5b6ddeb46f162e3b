/* Processes that wait for room in each other's mailboxes are reported, by name and once; and nothing else is. */
#include "bounds_helpers.h"

enum { MOST = 5 };
static const weft_mailbox one = {.messages = 1};
static struct member {
    weft_pid pid;
    struct member *next;
    atom_u64 filled, go, done;
    uint64_t deadline;
    int error;
} members[MOST];

/* Fills the mailbox of the next, and when told so, sends there once more. */
static void member_main(void *arg) {
    struct member *self = arg;
    while (!atom_load_acq(&self->go) && weft_sleep(WEFT_MILLISECOND) == 0) {}
    self->error = weft_send_until(self->next->pid, 2, NULL, 0, self->deadline);
    atom_store_rel(&self->done, 1);
    while (weft_sleep(WEFT_MILLISECOND) == 0) {}
}

static void members_spawn(unsigned count, uint64_t deadline) {
    static const char *const names[MOST] = {"anna", "bert", "carl", "dora", "emil"};
    for (unsigned i = 0; i < count; i++) {
        members[i] = (struct member){.next = &members[(i + 1) % count], .deadline = deadline};
        weft_stackful_options options = {.runtime = rt.runtime, .name = names[i], .mailbox = &one};
        EXPECT_EQ(weft_spawn_with(member_main, &members[i], &options, &members[i].pid), 0);
    }
    for (unsigned i = 0; i < count; i++)
        EXPECT_EQ(weft_send(members[i].pid, 1, NULL, 0), 0);
}
static void members_go(unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++)
        atom_store_rel(&members[i].go, 1);
    for (unsigned i = from; i < to; i++)
        wait_for_senders(members[i].next->pid, 1);
}

static unsigned times(const char *text, const char *part) {
    unsigned count = 0;
    while ((text = strstr(text, part)) != NULL)
        text++, count++;
    return count;
}

/* Until a circle of so many is reported; and a while longer, in case it is reported again. */
static void wait_for_report(unsigned count) {
    while (times(rt_stderr_text(), "sends to") < count)
        usleep(100);
    rt_pause(20 * RT_MS);
}

static void circle_of(unsigned count) {
    char line[64];
    rt_stderr_begin();
    members_spawn(count, WEFT_FOREVER);
    members_go(0, count - 1);
    members_go(count - 1, count);
    wait_for_report(count);
    const char *said = rt_stderr_end();
    snprintf(line, sizeof line, "weft: %u processes wait for room in each other's mailboxes", count);
    EXPECT_EQ(times(said, line), 1);
    EXPECT_EQ(times(said, "sends to"), count);
    EXPECT(strstr(said, "anna") && strstr(said, "bert"));
    EXPECT(strstr(said, count > 2 ? "carl" : "bert"));
    EXPECT(strstr(rt_dump_text(), "in weft_send_until of 0"));
    for (unsigned i = 0; i < count; i++)
        weft_cancel(members[i].pid);
    for (unsigned i = 0; i < count; i++)
        rt_wait(&members[i].done, 1);
}
static void circles_body(void) {
    circle_of(2);
    circle_of(MOST);
}
TEST(circles_are_reported_once) { rt_each(circles_body); }

/* Those that block all at once. */
static void together_body(void) {
    rt_stderr_begin();
    members_spawn(MOST, WEFT_FOREVER);
    members_go(0, MOST);
    wait_for_report(MOST);
    const char *said = rt_stderr_end();
    EXPECT_EQ(times(said, "weft: 5 processes"), 1);
}
TEST(circles_that_close_at_once_are_reported_once) { rt_each(together_body); }

static void not_body(void) {
    rt_stderr_begin();
    members_spawn(3, WEFT_FOREVER);
    members_go(0, 2); /* the third does not send: no circle */
    rt_pause(10 * RT_MS);
    for (unsigned i = 0; i < 3; i++)
        weft_cancel(members[i].pid);
    rt_wait_until_none_lives();
    members_spawn(3, weft_in(3600 * WEFT_SECOND)); /* with deadlines it is none either */
    members_go(0, 3);
    rt_pause(10 * RT_MS);
    const char *said = rt_stderr_end();
    EXPECT_EQ(times(said, "wait for room"), 0);
}
TEST(what_is_no_circle_is_not_reported) { rt_each(not_body); }

/* Two that talk in turns: each waits for room now and then, never both. */
enum { ROUNDS = 2000 };
static weft_pid partners[2];
static void partner(void *arg) {
    uintptr_t me = (uintptr_t)arg;
    expect_next(0); /* both are there */
    for (unsigned i = 0; i < ROUNDS / RT_SLOW; i++) {
        if (me) EXPECT_EQ(weft_send(partners[0], 1, NULL, 0), 0);
        expect_next(1);
        if (!me) EXPECT_EQ(weft_send(partners[1], 1, NULL, 0), 0);
    }
}
static void partners_main(void *unused) {
    weft_stackful_options options = {.flags = WEFT_SPAWN_JOINABLE, .mailbox = &one};
    (void)unused;
    for (uintptr_t i = 0; i < 2; i++)
        EXPECT_EQ(weft_spawn_with(partner, (void *)i, &options, &partners[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(weft_send(partners[i], 0, NULL, 0), 0);
    EXPECT_EQ(run_join(partners[0]), 0);
    EXPECT_EQ(run_join(partners[1]), 0);
}
static void partners_body(void) {
    rt_stderr_begin();
    EXPECT_EQ(run(partners_main, NULL), 0);
    EXPECT_EQ(times(rt_stderr_end(), "wait for room"), 0);
}
TEST(partners_are_no_circle) { rt_each(partners_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
