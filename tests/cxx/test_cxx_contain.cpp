/* Faults that are contained in a program with C++: what was deferred is done, destructors do not run, and exceptions of others are not harmed. */
#include "cxx_helpers.hpp"

static int *volatile null_pointer = (int *)16;
static std::atomic<unsigned> destroyed, deferred, caught;
struct marker {
    ~marker() { destroyed++; }
};
static void says(void *) { deferred++; }

static void faults(void *) {
    marker mine;
    EXPECT_EQ(weft_defer(says, nullptr), 0);
    *null_pointer = 1;
}
static void faults_while_catching(void *) {
    marker mine;
    EXPECT_EQ(weft_defer(says, nullptr), 0);
    try {
        throw 7;
    } catch (int) {
        *null_pointer = 1;
    }
}
/* Beside them, and after them on the same threads. */
static void throws(void *) {
    for (unsigned i = 0; i < 50; i++) {
        marker mine;
        try {
            weft_yield();
            throw i;
        } catch (unsigned thrown) {
            weft_yield();
            EXPECT_EQ(thrown, i);
            caught++;
        }
    }
}
static weft_pid joinable(weft_entry entry) {
    weft_stackful_options options = {};
    weft_pid pid = WEFT_NOBODY;
    options.runtime = cxx_runtime;
    options.flags = WEFT_SPAWN_JOINABLE;
    EXPECT_EQ(weft_spawn_with(entry, nullptr, &options, &pid), 0);
    return pid;
}
static int reason_of(weft_pid pid) {
    int reason = 1;
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    return reason;
}
static void contained() {
    destroyed = deferred = caught = 0;
    for (unsigned i = 0; i < 5; i++) {
        weft_pid one = joinable(faults), two = joinable(faults_while_catching), three = joinable(throws);
        EXPECT_EQ(reason_of(one), WEFT_EFAULTED);
        EXPECT_EQ(reason_of(two), WEFT_EFAULTED);
        EXPECT_EQ(reason_of(three), 0);
    }
    EXPECT_EQ(deferred, 10);
    EXPECT_EQ(caught, 250);
    EXPECT_EQ(destroyed, 250);
}
TEST(contain_beside_exceptions) {
    if (CXX_SLOW > 1) return; /* sanitizers have handlers of their own */
    setenv("WEFT_CONTAIN_FAULTS", "1", 1);
    cxx_each(contained);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
