/* The test runner tested: tests that must fail in each way a test can, and what the runner must say. Run by
 * tests/self/run. */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TEST(passes) { printf("not shown\n"); }

TEST(fails) {
    printf("shown on failure\n");
    test_seed(41);
    test_doing("SETTING=%d", 17);
    EXPECT_EQ(1 + 1, 3);
}

TEST(crashes) { abort(); }

TEST(exits) { exit(3); }

TEST_WITHIN(hangs, 1) {
    for (;;)
        sleep(1);
}

static void *fail_here(void *arg) {
    (void)arg;
    EXPECT(!"in a thread");
    return NULL;
}

TEST(fails_in_a_thread) {
    pthread_t thread;
    pthread_create(&thread, NULL, fail_here, NULL);
    pthread_join(thread, NULL);
}

TEST(leaves_a_process_behind) {
    if (fork() == 0) sleep(1000);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
