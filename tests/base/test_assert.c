/* The three levels of assertions: what they print, and that they end the program. */
#undef WEFT_DEBUG
#define WEFT_DEBUG 1
#include "base/assert.h"
#include "base/list.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `body` in a child; returns true when it aborted, with what it wrote to standard error in `text`. */
static bool aborts(void (*body)(void), char *text, size_t size) {
    int ends[2];
    EXPECT(pipe(ends) == 0);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        body();
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t n; used < size - 1 && (n = read(ends[0], text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = '\0';
    close(ends[0]);
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void panics(void) { WEFT_PANIC("queue %d holds %s", 7, "nothing"); }
static void ensures(void) { WEFT_ENSURE(1 + 1 == 3, "sum is %d", 2); }
static void asserts(void) { WEFT_ASSERT(1 + 1 == 3, "sum is %d", 2); }
static void misuses(void) { WEFT_MISUSE("weft_leave", "role 1 has not entered", "call weft_enter first"); }
static void holds(void) {
    WEFT_ENSURE(1 + 1 == 2, "never printed");
    WEFT_ASSERT(1 + 1 == 2, "never printed");
}
static void speaks_long(void) { WEFT_PANIC("%03000d", 7); }
static void links_twice(void) {
    struct list list;
    struct list_node node;
    list_init(&list);
    list_node_init(&node);
    list_push_back(&list, &node);
    list_push_back(&list, &node);
}

TEST(assert_panic_gives_the_facts) {
    char text[4096];
    EXPECT(aborts(panics, text, sizeof text));
    EXPECT(strstr(text, "weft: panic at "));
    EXPECT(strstr(text, "test_assert.c:"));
    EXPECT(strstr(text, " in panics: queue 7 holds nothing\n"));
}

TEST(assert_ensure_names_the_condition) {
    char text[4096];
    EXPECT(aborts(ensures, text, sizeof text));
    EXPECT(strstr(text, "sum is 2 [1 + 1 == 3 does not hold]\n"));
}

TEST(assert_debug_level_is_checked_in_debug_builds) {
    char text[4096];
    EXPECT(aborts(asserts, text, sizeof text));
    EXPECT(strstr(text, "sum is 2"));
    EXPECT(aborts(links_twice, text, sizeof text));
    EXPECT(strstr(text, "is in a list already"));
}

TEST(assert_misuse_names_function_fault_and_remedy) {
    char text[4096];
    EXPECT(aborts(misuses, text, sizeof text));
    EXPECT(strstr(text, "weft: misuse of weft_leave: role 1 has not entered; call weft_enter first\n") == text);
}

TEST(assert_is_silent_when_all_is_well) {
    char text[4096];
    EXPECT(!aborts(holds, text, sizeof text));
    EXPECT_EQ(strlen(text), 0);
}

TEST(assert_long_message_is_cut_and_ends_its_line) {
    char text[8192];
    EXPECT(aborts(speaks_long, text, sizeof text));
    EXPECT(strlen(text) < 1100);
    EXPECT(text[strlen(text) - 1] == '\n');
}

int main(int argc, char **argv) { return test_main(argc, argv); }
