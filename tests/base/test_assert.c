/* The three levels of assertions: what they print, and that they end the program. */
#undef WEFT_DEBUG
#define WEFT_DEBUG 1
#include "base/assert.h"
#include "base/list.h"
#include "test.h"

#include <signal.h>
#include <string.h>

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

TEST(assert_panic_gives_the_facts) { EXPECT_ABORT(panics, "weft: panic at ", "test_assert.c:", " in panics: queue 7 holds nothing\n"); }

TEST(assert_ensure_names_the_condition) { EXPECT_ABORT(ensures, "sum is 2 [1 + 1 == 3 does not hold]\n"); }

TEST(assert_debug_level_is_checked_in_debug_builds) {
    EXPECT_ABORT(asserts, "sum is 2");
    EXPECT_ABORT(links_twice, "is in a list already");
}

TEST(assert_misuse_names_function_fault_and_remedy) {
    struct child child;
    child_run(&child, misuses);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT(strstr(child.said, "weft: misuse of weft_leave: role 1 has not entered; call weft_enter first\n") == child.said);
}

TEST(assert_is_silent_when_all_is_well) {
    struct child child;
    child_run(&child, holds);
    EXPECT_EXIT(&child, 0);
    EXPECT_EQ(strlen(child.said), 0);
}

TEST(assert_long_message_is_cut_and_ends_its_line) {
    struct child child;
    child_run(&child, speaks_long);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT(strlen(child.said) < 1100);
    EXPECT(child.said[strlen(child.said) - 1] == '\n');
}

int main(int argc, char **argv) { return test_main(argc, argv); }
