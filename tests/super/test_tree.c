/* Trees of supervisors; children that come and go while they run; step processes as children; names; dumps. */
#include "super_helpers.h"

#include <weft/info.h>
#include <weft/server.h>

/* ---- trees ---------------------------------------------------------------------------------------------------------------------- */

static const weft_child_spec leaves[] = {CHILD("B"), CHILD("C")};
static const weft_super_spec below = {.name = "below", .children = leaves, .count = 2, .intensity = 1, .period_ms = 3600000};
static const weft_child_spec top[] = {CHILD("A"), {.id = "below", .super = &below}, CHILD("D")};

static void tree(void *unused) {
    (void)unused;
    diary_clear();
    weft_pid super = super_started(&SPEC(top, .strategy = WEFT_REST_FOR_ONE));
    diary_is("ABCD");
    weft_pid first = child_pid(super, "below");
    child_order(child_pid(first, "C"), -5);
    diary_until(6);
    diary_is("ABCDcC");
    EXPECT_EQ(child_pid(super, "below"), first);
    child_order(child_pid(first, "B"), -5); /* the second failure: it gives up, and its supervisor starts it again */
    diary_until(12);
    diary_is("ABCDcCbcdBCD");
    EXPECT(child_pid(super, "below") != first);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
}
static void tree_body(void) { EXPECT_EQ(run(tree, NULL), 0); }
TEST(super_tree) { rt_each(tree_body); }

static void killed_tree(void *unused) {
    (void)unused;
    diary_clear();
    weft_pid super = super_started(&SPEC(top));
    EXPECT_EQ(weft_kill(super), 0);
    diary_until(8);
    EXPECT(strspn(diary.text + 4, "abcd") == 4);
}
static void killed_tree_body(void) { EXPECT_EQ(run(killed_tree, NULL), 0); }
TEST(super_tree_killed_at_its_root) { rt_each(killed_tree_body); }

/* ---- children that come and go ---------------------------------------------------------------------------------------------------- */

static void comes_and_goes(void *unused) {
    const weft_child_spec more = CHILD("D"), one[] = {CHILD("A")};
    weft_pid pid, again;
    (void)unused;
    diary_clear();
    weft_pid super = super_started(&SPEC(one));
    EXPECT_EQ(weft_super_add(super, &more, &pid, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_add(super, &more, &pid, WEFT_FOREVER), WEFT_EEXIST);
    EXPECT_EQ(weft_super_add(super, &(weft_child_spec){.id = "?"}, &pid, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(child_pid(super, "D"), pid);
    EXPECT_EQ(weft_super_stop_child(super, "D", WEFT_FOREVER), 0);
    EXPECT_EQ(child_pid(super, "D"), WEFT_NOBODY);
    EXPECT_EQ(weft_super_restart_child(super, "D", &pid, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_restart_child(super, "D", &again, WEFT_FOREVER), 0);
    EXPECT(pid != again && !weft_alive(pid) && weft_alive(again));
    EXPECT_EQ(weft_super_remove(super, "D", WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_remove(super, "D", WEFT_FOREVER), WEFT_ENOENT);
    EXPECT_EQ(weft_super_spawn(super, NULL, &pid, WEFT_FOREVER), WEFT_ENOENT);
    diary_is("ADdDdDd");
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_add(super, &more, &pid, WEFT_FOREVER), WEFT_ENOPROC);
}
static void comes_and_goes_body(void) { EXPECT_EQ(run(comes_and_goes, NULL), 0); }
TEST(super_children_come_and_go) { rt_each(comes_and_goes_body); }

/* A temporary child, and one after the pattern, are forgotten when they are stopped. */
static void forgotten(void *unused) {
    const weft_child_spec pattern = CHILD("P"), one[] = {CHILD("A"), CHILD("T", .restart = WEFT_TEMPORARY)};
    weft_child_info children[4];
    weft_pid pid;
    (void)unused;
    diary_clear();
    weft_pid super = super_started(&SPEC(one, .pattern = &pattern));
    EXPECT_EQ(weft_super_spawn(super, (void *)"P", &pid, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_children(super, children, 4, WEFT_FOREVER), 3);
    EXPECT_EQ(weft_super_stop_child(super, "T", WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_stop_child(super, children[2].id, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_children(super, children, 4, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_super_restart_child(super, "T", &pid, WEFT_FOREVER), WEFT_ENOENT);
    EXPECT_EQ(weft_super_stop_child(super, "A", WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_children(super, children, 4, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    diary_is("ATPtpa");
}
static void forgotten_body(void) { EXPECT_EQ(run(forgotten, NULL), 0); }
TEST(super_forgets_temporary_children_that_are_stopped) { rt_each(forgotten_body); }

static atom_u64 begun;
static void counted(void *cell) {
    weft_msg *message;
    atom_add_rlx((atom_u64 *)cell, 1);
    atom_add_rel(&begun, 1); /* last: the test looks at the cells once all have begun */
    if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
    weft_exit(-5);
}
static void crowd(void *unused) {
    enum { N = 300 };
    static atom_u64 cells[N];
    static const weft_child_spec pattern = {.entry = counted, .restart = WEFT_TRANSIENT};
    weft_pid super = super_started(&(weft_super_spec){.name = "crowd", .pattern = &pattern, .intensity = 2 * N, .period_ms = 3600000}),
             pids[N];
    (void)unused;
    atom_store_rlx(&begun, 0);
    for (unsigned i = 0; i < N; i++) {
        atom_store_rlx(&cells[i], 0);
        EXPECT_EQ(weft_super_spawn(super, &cells[i], &pids[i], WEFT_FOREVER), 0);
    }
    for (unsigned i = 0; i < N; i += 2)
        weft_send(pids[i], 0, NULL, 0);
    while (atom_load_acq(&begun) < N + N / 2)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_super_children(super, NULL, 0, WEFT_FOREVER), N);
    for (unsigned i = 0; i < N; i++)
        EXPECT_EQ(atom_load_rlx(&cells[i]), i % 2 ? 1 : 2);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
}
/* Each argument is owned by one child, or is discarded: killed before they begin, some are. */
static atom_u64 owned, given_back;
static void gives_back(void *cell) { atom_add_rlx((atom_u64 *)cell, 1); }
static void owns(void *cell) {
    atom_add_rlx(&owned, 1);
    EXPECT_EQ(weft_defer(gives_back, cell), 0);
    weft_msg *message;
    if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
}
static void discarded(void *cell) {
    atom_add_rlx(&given_back, 1);
    gives_back(cell);
}
static void stillborn(void *unused) {
    enum { N = 200 };
    static atom_u64 cells[N];
    static const weft_child_spec pattern = {.entry = owns, .restart = WEFT_TEMPORARY, .discard = discarded};
    weft_pid super = super_started(&(weft_super_spec){.name = "owners", .pattern = &pattern}), pid;
    (void)unused;
    atom_store_rlx(&owned, 0);
    atom_store_rlx(&given_back, 0);
    for (unsigned i = 0; i < N; i++) {
        atom_store_rlx(&cells[i], 0);
        EXPECT_EQ(weft_super_spawn(super, &cells[i], &pid, WEFT_FOREVER), 0);
        if (i % 3) weft_kill(pid);
    }
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    EXPECT_EQ(atom_load_rlx(&owned) + atom_load_rlx(&given_back), N);
    for (unsigned i = 0; i < N; i++)
        EXPECT_EQ(atom_load_rlx(&cells[i]), 1);
}
static void stillborn_body(void) { EXPECT_EQ(run(stillborn, NULL), 0); }
TEST(super_discards_the_arguments_of_children_that_never_begin) { rt_each(stillborn_body); }

static void crowd_body(void) { EXPECT_EQ(run(crowd, NULL), 0); }
TEST(super_many_children_after_a_pattern) { rt_each(crowd_body); }

/* ---- step processes, and names --------------------------------------------------------------------------------------------------- */

static int step_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method;
    return size == sizeof(int) ? *(const int *)input : WEFT_EINVAL;
}
static int step_ends(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        else return -9;
    }
    return 0;
}
static const weft_behavior stepping = {.name = "stepping", .init = step_init, .step = step_ends};

static void steps(void *unused) {
    int fine = 0, wrong = -8;
    const weft_child_spec good[] = {{.id = "s", .behavior = &stepping, .arg = &fine, .input_size = sizeof fine, .register_as = "stepper"}};
    const weft_child_spec bad[] = {{.id = "s", .behavior = &stepping, .arg = &wrong, .input_size = sizeof wrong}};
    weft_pid super;
    (void)unused;
    EXPECT_EQ(weft_super_start(&SPEC(bad), NULL, &super, WEFT_FOREVER), -8);
    super = super_started(&SPEC(good));
    weft_pid pid = weft_whereis("stepper");
    EXPECT_EQ(pid, child_pid(super, "s"));
    EXPECT_EQ(weft_send(pid, 0, NULL, 0), 0);
    weft_pid again;
    while ((again = weft_whereis("stepper")) == WEFT_NOBODY || again == pid)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(again, child_pid(super, "s"));
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_whereis("stepper"), WEFT_NOBODY);
}
static void steps_body(void) { EXPECT_EQ(run(steps, NULL), 0); }
TEST(super_of_step_processes_with_names) { rt_each(steps_body); }

/* ---- not a supervisor --------------------------------------------------------------------------------------------------------------- */

static void waits_long(void *unused) {
    weft_msg *message;
    (void)unused;
    if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
}
/* Refused at once, whatever the deadline: it would never answer. */
static void refused_by(weft_pid pid, int error) {
    const weft_child_spec more = CHILD("D"), nested = {.id = "below", .super = &below};
    EXPECT_EQ(weft_super_add(pid, &more, NULL, WEFT_FOREVER), error);
    EXPECT_EQ(weft_super_add(pid, &nested, NULL, WEFT_FOREVER), error);
    EXPECT_EQ(weft_super_spawn(pid, NULL, NULL, WEFT_FOREVER), error);
    EXPECT_EQ(weft_super_stop_child(pid, "A", WEFT_FOREVER), error);
    EXPECT_EQ(weft_super_restart_child(pid, "A", NULL, WEFT_FOREVER), error);
    EXPECT_EQ(weft_super_remove(pid, "A", WEFT_FOREVER), error);
    EXPECT_EQ(weft_super_children(pid, NULL, 0, WEFT_FOREVER), error);
    EXPECT_EQ(weft_super_dump(pid, STDERR_FILENO, WEFT_FOREVER), error);
}
static void strangers(void *unused) {
    int fine = 0;
    weft_pid stackful = weft_spawn(waits_long, NULL), step;
    (void)unused;
    EXPECT_EQ(weft_spawn_step(&stepping, &(weft_spawn_options){.input = &fine, .input_size = sizeof fine}, &step), 0);
    refused_by(stackful, WEFT_EINVAL);
    refused_by(step, WEFT_EINVAL);
    refused_by(weft_self(), WEFT_EINVAL);
    EXPECT_EQ(weft_cancel(step), 0);
    EXPECT_EQ(weft_cancel(stackful), 0);
    while (weft_alive(stackful))
        weft_sleep(WEFT_MILLISECOND);
    refused_by(stackful, WEFT_ENOPROC);
    refused_by(stackful ^ UINT64_C(0xff00000000000000), WEFT_EFOREIGN);
}
static void strangers_body(void) { EXPECT_EQ(run(strangers, NULL), 0); }
TEST(super_calls_to_others_are_refused) { rt_each(strangers_body); }

/* Misuse is named by the call that was made. */
static unsigned misused;
static int misuses(void *self, const weft_event *events, size_t count, weft_out *out) {
    static const weft_server_spec server = {.name = "server"};
    static const weft_child_spec more = CHILD("D");
    weft_pid pid = weft_self(), other;
    (void)self, (void)events, (void)count, (void)out;
    switch (misused) {
    case 0: return weft_super_start(&SPEC(top), NULL, &other, WEFT_FOREVER);
    case 1: return weft_super_stop(pid, WEFT_FOREVER);
    case 2: return weft_super_add(pid, &more, NULL, WEFT_FOREVER);
    case 3: return weft_super_spawn(pid, NULL, NULL, WEFT_FOREVER);
    case 4: return weft_super_remove(pid, "A", WEFT_FOREVER);
    case 5: return (int)weft_super_children(pid, NULL, 0, WEFT_FOREVER);
    case 6: return weft_super_dump(pid, 2, WEFT_FOREVER);
    case 7: return weft_server_start(&server, NULL, NULL, &other, WEFT_FOREVER);
    default: return weft_server_stop(pid, WEFT_FOREVER);
    }
}
static const weft_behavior misusing = {.name = "misusing", .step = misuses};
static void misuse_body(void) {
    weft_runtime *runtime;
    weft_pid pid;
    if (weft_start(&(weft_config){.workers = 1}, &runtime)) _exit(99);
    weft_spawn_step(&misusing, &(weft_spawn_options){.runtime = runtime}, &pid);
    while (weft_alive(pid))
        usleep(1000);
    _exit(3);
}
TEST(super_misuse_names_the_call) {
    static const char *const calls[] = {
        "misuse of weft_super_start:", "misuse of weft_super_stop:",   "misuse of weft_super_add:",
        "misuse of weft_super_spawn:", "misuse of weft_super_remove:", "misuse of weft_super_children:",
        "misuse of weft_super_dump:",  "misuse of weft_server_start:", "misuse of weft_server_stop:",
    };
    for (misused = 0; misused < sizeof calls / sizeof calls[0]; misused++)
        EXPECT_ABORT(misuse_body, calls[misused], "outside of a stackful process");
}

/* ---- a child that unlinks itself ------------------------------------------------------------------------------------------------------- */

static atom_u64 naughty_super;
static void unlinks(void *letter) {
    weft_ready(0);
    while (atom_load_acq(&naughty_super) == WEFT_NOBODY)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_unlink(atom_load_acq(&naughty_super)), 0);
    noted_child(letter);
}
static void naughty(void *unused) {
    const weft_child_spec children[] = {{.id = "A", .entry = unlinks, .arg = (void *)"A", .ready = true}};
    (void)unused;
    diary_clear();
    atom_store_rel(&naughty_super, WEFT_NOBODY);
    weft_pid super = super_started(&SPEC(children));
    atom_store_rel(&naughty_super, super);
    diary_until(1);
    child_order(child_pid(super, "A"), -5); /* its end is told, and it is started again */
    diary_until(3);
    EXPECT_EQ(weft_super_restart_child(super, "A", NULL, WEFT_FOREVER), 0);
    diary_until(5);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    diary_is("AaAaAa");
}
static void naughty_body(void) { EXPECT_EQ(run(naughty, NULL), 0); }
TEST(super_of_children_that_unlink) { rt_each(naughty_body); }

/* ---- killed in the middle: nothing is lost (the helpers count the blocks of memory) -------------------------------------------- */

static void never_up(void *told) {
    atom_store_rel((atom_u64 *)told, 1);
    weft_sleep(3600 * WEFT_SECOND);
}
static void adds_below(void *super) {
    const weft_child_spec nested = {.id = "below", .super = &below};
    int error = weft_super_add(*(weft_pid *)super, &nested, NULL, WEFT_FOREVER);
    EXPECT(error == WEFT_ENOPROC || error == WEFT_ECANCELED); /* the latter: it was killed, and ends at its next call */
}
/* Requests with plans lie in the mailbox of a supervisor that is killed: of one the asker waits, of one it has given up, of one it was killed. */
static void killed_with_requests(void *unused) {
    static atom_u64 told;
    const weft_child_spec one[] = {CHILD("A")}, nested = {.id = "below", .super = &below},
                          slow = {.id = "slow", .entry = never_up, .arg = &told, .ready = true, .start_ms = 3600000};
    (void)unused;
    diary_clear();
    atom_store_rlx(&told, 0);
    weft_pid super = super_started(&SPEC(one)), asker, killed;
    EXPECT_EQ(weft_super_add(super, &slow, NULL, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    while (!atom_load_acq(&told)) /* from now on it reads nothing */
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_super_add(super, &nested, NULL, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    weft_stackful_options options = {.flags = WEFT_SPAWN_JOINABLE};
    EXPECT_EQ(weft_spawn_with(adds_below, &super, &options, &asker), 0);
    EXPECT_EQ(weft_spawn_with(adds_below, &super, &options, &killed), 0);
    weft_process_info info;
    do {
        weft_sleep(WEFT_MILLISECOND);
        EXPECT_EQ(weft_info(killed, &info), 0);
    } while (info.state != WEFT_STATE_WAITING || info.about_pid != super);
    EXPECT(strcmp(info.call, "weft_super_add") == 0);
    EXPECT_EQ(weft_kill(killed), 0);
    EXPECT_EQ(weft_join(killed, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_kill(super), 0);
    EXPECT_EQ(weft_join(asker, NULL, WEFT_FOREVER), 0);
}
static void killed_with_requests_body(void) { EXPECT_EQ(run(killed_with_requests, NULL), 0); }
TEST(super_killed_with_requests) { rt_each(killed_with_requests_body); }

/* The init of the first child kills the supervisor, which then spawns the second one, a supervisor, and ends before that has begun. */
static int kills_its_super(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    return weft_kill(weft_self());
}
static const weft_behavior killing = {.name = "killing", .init = kills_its_super, .step = step_ends};
static void killed_below(void *unused) {
    const weft_child_spec children[] = {{.id = "killing", .behavior = &killing}, {.id = "below", .super = &below}};
    weft_pid super;
    (void)unused;
    for (unsigned i = 0; i < 10; i++) {
        int error = weft_super_start(&SPEC(children), NULL, &super, WEFT_FOREVER);
        EXPECT(error == WEFT_EKILLED || error == 0); /* the latter: all were up on another worker before it had to wait */
        while (weft_alive(super))
            weft_sleep(WEFT_MILLISECOND);
    }
}
static void killed_below_body(void) { EXPECT_EQ(run(killed_below, NULL), 0); }
TEST(super_killed_while_it_starts_another) { rt_each(killed_below_body); }

/* ---- for a person ------------------------------------------------------------------------------------------------------------------ */

static void shown(void *unused) {
    int ends[2];
    char text[4096];
    (void)unused;
    diary_clear();
    EXPECT_EQ(pipe(ends), 0);
    weft_pid super = super_started(&SPEC(top));
    EXPECT_EQ(weft_super_dump(super, ends[1], WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    close(ends[1]);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    EXPECT(length > 0);
    text[length] = '\0';
    close(ends[0]);
    EXPECT(strstr(text, "supervisor ") && strstr(text, "\n  A ") && strstr(text, "\n  below ") && strstr(text, "\n    B ") &&
           strstr(text, "\n  D "));
}
static void shown_body(void) { EXPECT_EQ(run(shown, NULL), 0); }
TEST(super_tree_is_shown) { rt_each(shown_body); }

/* A dump finds the trees by itself, while they change. */
static void dumped(void *unused) {
    char line[128];
    (void)unused;
    diary_clear();
    EXPECT(!strstr(rt_dump_text(), "supervisor"));
    weft_pid super = super_started(&SPEC(top, .intensity = 1000, .period_ms = 1)), another = super_started(&SPEC(leaves));
    child_order(child_pid(super, "A"), -5);
    diary_until(8);
    while (child_pid(super, "A") == WEFT_NOBODY)
        weft_sleep(WEFT_MILLISECOND);
    const char *text = rt_dump_text();
    snprintf(line, sizeof line, "\n  supervisor %016lx (tested)\n    A %016lx, 1 restarts, last end: error -5", (unsigned long)super,
             (unsigned long)child_pid(super, "A"));
    EXPECT(strstr(text, line));
    snprintf(line, sizeof line, "\n    below %016lx, 0 restarts\n      B ", (unsigned long)child_pid(super, "below"));
    EXPECT(strstr(text, line) && strstr(text, "\n      C ") && strstr(text, "\n    D "));
    snprintf(line, sizeof line, "\n  supervisor %016lx (tested)\n    B ", (unsigned long)another);
    EXPECT(strstr(text, line));
    EXPECT_EQ(weft_super_stop(another, WEFT_FOREVER), 0);
    for (unsigned i = 0; i < 20; i++) {
        weft_kill(child_pid(super, i % 2 ? "below" : "A"));
        EXPECT(strstr(rt_dump_text(), "supervisor"));
    }
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    EXPECT(!strstr(rt_dump_text(), "supervisor"));
}
static void dumped_body(void) { EXPECT_EQ(run(dumped, NULL), 0); }
TEST(super_tree_in_a_dump) { rt_each(dumped_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
