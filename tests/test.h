/* A test program: TEST functions, each run in a process of its own with a time limit, and one line a test.
 *
 *     TEST(ring_pops_in_order) { ...; EXPECT(ring_pop(&r) == 7); }
 *     int main(int argc, char **argv) { return test_main(argc, argv); }
 *
 * A program takes test names (or parts of names) as arguments; --list lists them; WEFT_TEST_SCALE multiplies the
 * sizes of stress tests (1 in `make test`, more in `make test-full`); WEFT_TEST_SEED replays one seed. */
#ifndef WEFT_TESTS_TEST_H
#define WEFT_TESTS_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct test {
    const char *name;
    void (*run)(void);
    unsigned seconds; /* limit; 0 means the default */
    struct test *next;
};

void test_register(struct test *test);
int test_main(int argc, char **argv);

void test_fail(const char *file, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));

/* At least 1. */
unsigned test_scale(void);
/* The seed given by the user, or `fallback`; printed when the test fails, so that it can be replayed. */
uint64_t test_seed(uint64_t fallback);
/* What the test is about to do, as settings that repeat it alone: printed, as a command, if it fails, however it does. */
void test_doing(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* By an emulator: what memory there is and how fast it goes is not ours to say. */
bool test_emulated(void);

#define TEST_WITHIN(id, limit)                                                                                                             \
    static void test_run_##id(void);                                                                                                       \
    static struct test test_##id = {#id, test_run_##id, limit, 0};                                                                         \
    __attribute__((constructor)) static void test_register_##id(void) { test_register(&test_##id); }                                       \
    static void test_run_##id(void)
#define TEST(id) TEST_WITHIN(id, 0)

#define EXPECT(condition)                                                                                                                  \
    do {                                                                                                                                   \
        if (!(condition)) test_fail(__FILE__, __LINE__, "expected %s", #condition);                                                        \
    } while (0)
#define EXPECT_EQ(a, b)                                                                                                                    \
    do {                                                                                                                                   \
        long long test_a = (long long)(a), test_b = (long long)(b);                                                                        \
        if (test_a != test_b) test_fail(__FILE__, __LINE__, "%s is %lld, %s is %lld", #a, test_a, #b, test_b);                             \
    } while (0)

/* ---- children: child.c ----------------------------------------------------------------------------------------------- */

struct child {
    int status;       /* as waitpid gives it */
    char said[16384]; /* on standard error */
};

/* Runs `body` in a process of the operating system, until that has ended. */
void child_run(struct child *child, void (*body)(void));
/* Forks. True: in the child, whose standard error is watched. False: in the parent, when the child has ended. */
bool child_fork(struct child *child);

#define EXPECT_DIED(child, number) child_expect_died(child, number, __FILE__, __LINE__)
#define EXPECT_EXIT(child, number) child_expect_exit(child, number, __FILE__, __LINE__)
#define EXPECT_SAID(child, text) child_expect_said(child, text, __FILE__, __LINE__)
/* `body`, in a child, aborts, and says all of these. */
#define EXPECT_ABORT(body, ...) child_expect_abort(body, (const char *const[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)

void child_expect_died(const struct child *child, int number, const char *file, int line);
void child_expect_exit(const struct child *child, int number, const char *file, int line);
void child_expect_said(const struct child *child, const char *text, const char *file, int line);
void child_expect_abort(void (*body)(void), const char *const parts[], const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
