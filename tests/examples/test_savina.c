/* The ports of the Savina suite (examples/savina): each checks its result by itself, here with every policy and several numbers of workers.
 *
 * A test turns into the program it tests, so that the runner's watchdog shows the program's own stacks if it hangs. */
#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The programs are beside this one's folder in the build: examples/savina for tests/examples. */
static void find(char *path, size_t size, const char *program) {
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    EXPECT(length > 0);
    self[length] = 0;
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(self, '/');
        EXPECT(slash);
        *slash = 0;
    }
    EXPECT((size_t)snprintf(path, size, "%s/examples/savina/%s", self, program) < size);
}

/* Becomes the program, with its default sizes but for one, which is scaled. */
static void become(const char *program, const char *parameter, unsigned size, const char *policy, const char *workers) {
    char path[PATH_MAX], option[64], number[32];
    find(path, sizeof path, program);
    snprintf(option, sizeof option, "--%s", parameter);
    snprintf(number, sizeof number, "%llu", (unsigned long long)size * test_scale());
    if (policy) setenv("WEFT_POLICY", policy, 1);
    else unsetenv("WEFT_POLICY");
    setenv("WEFT_WORKERS", workers, 1);
    execl(path, program, option, number, (char *)NULL);
    test_fail(__FILE__, __LINE__, "cannot run %s", path);
}

/* The exit status of a command line, and what it printed. */
static int run(const char *program, const char *rest, char *printed, size_t size) {
    char path[PATH_MAX], command[PATH_MAX + 64];
    find(path, sizeof path, program);
    snprintf(command, sizeof command, "'%s' %s 2>&1", path, rest);
    FILE *output = popen(command, "r");
    EXPECT(output);
    size_t length = fread(printed, 1, size - 1, output);
    printed[length] = 0;
    int status = pclose(output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The smallest sizes there are, a help text, and arguments that make no sense. */
static void talk(const char *program, const char *parameter, const char *smallest) {
    char printed[4096], rest[256];
    EXPECT_EQ(run(program, smallest, printed, sizeof printed), 0);
    snprintf(rest, sizeof rest, "%s ok: ", program);
    EXPECT(strncmp(printed, rest, strlen(rest)) == 0);
    EXPECT_EQ(run(program, "--help", printed, sizeof printed), 0);
    snprintf(rest, sizeof rest, "--%s ", parameter);
    EXPECT(strstr(printed, rest));
    snprintf(rest, sizeof rest, "--%s 1x", parameter);
    EXPECT_EQ(run(program, rest, printed, sizeof printed), 2);
    EXPECT(strstr(printed, "is a number from"));
    snprintf(rest, sizeof rest, "--%s", parameter);
    EXPECT_EQ(run(program, rest, printed, sizeof printed), 2);
    EXPECT_EQ(run(program, "surely", printed, sizeof printed), 2);
    EXPECT(strstr(printed, "what is surely?"));
}

#define SAVINA(program, parameter, size, smallest)                                                                                         \
    TEST(program##_ring) { become(#program, parameter, size, "ring", "2"); }                                                               \
    TEST(program##_deque) { become(#program, parameter, size, "deque", "2"); }                                                             \
    TEST(program##_line) { become(#program, parameter, size, "line", "2"); }                                                               \
    TEST(program##_1_worker) { become(#program, parameter, size, NULL, "1"); }                                                             \
    TEST(program##_2_workers) { become(#program, parameter, size, NULL, "2"); }                                                            \
    TEST(program##_4_workers) { become(#program, parameter, size, NULL, "4"); }                                                            \
    TEST(program##_talk) { talk(#program, parameter, smallest); }

SAVINA(threadring, "hops", 20000, "--processes 1 --hops 3")
SAVINA(counting, "messages", 50000, "--messages 0")
SAVINA(fjthroughput, "messages", 500, "--processes 1 --messages 0")
SAVINA(big, "pings", 200, "--processes 2 --pings 1")
SAVINA(philosophers, "rounds", 200, "--philosophers 2 --rounds 3")
SAVINA(sieve, "limit", 10000, "--limit 3 --primes 1")
SAVINA(radixsort, "values", 2000, "--values 2 --bits 1")
SAVINA(dictionary, "requests", 500, "--clients 3 --requests 10 --keys 1 --writes 50")
SAVINA(logisticmap, "terms", 1000, "--series 1 --terms 0")
SAVINA(bank, "transfers", 5000, "--accounts 2 --transfers 3")

int main(int argc, char **argv) { return test_main(argc, argv); }
