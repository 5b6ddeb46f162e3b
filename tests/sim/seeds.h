/* Runs a function in many simulations: one child for each seed, in a world of its own. */
#ifndef WEFT_TESTS_SIM_SEEDS_H
#define WEFT_TESTS_SIM_SEEDS_H

#include "sim.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEED_SECONDS = 60 };

struct seed_result {
    int status;     /* as waitpid has it */
    char line[256]; /* hash=... verdict=... */
    char said[1024];
};

static void seeds_read(int from, char *text, size_t size) {
    size_t used = 0;
    ssize_t n;
    while (used < size - 1 && (n = read(from, text + used, size - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = '\0';
}

/* One seed. `body` returns the program's exit status. */
static inline void seed_run(uint64_t seed, int (*body)(void), struct seed_result *result) {
    int line[2], said[2];
    char number[16];
    EXPECT(pipe(line) == 0 && pipe(said) == 0);
    fflush(NULL);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        snprintf(number, sizeof number, "%d", line[1]);
        setenv("WEFT_SIM_RESULT", number, 1);
        dup2(said[1], STDERR_FILENO);
        close(line[0]), close(said[0]), close(said[1]);
        alarm(SEED_SECONDS); /* of real time: it waits for something outside of the simulation */
        sim_start_again(seed);
        exit(body());
    }
    close(line[1]), close(said[1]);
    seeds_read(said[0], result->said, sizeof result->said);
    seeds_read(line[0], result->line, sizeof result->line);
    close(line[0]), close(said[0]);
    EXPECT_EQ(waitpid(child, &result->status, 0), child);
}

static inline bool seed_passed(const struct seed_result *result) {
    return WIFEXITED(result->status) && WEXITSTATUS(result->status) == 0 && strstr(result->line, "verdict=ok");
}

/* The test fails. A child of its own has told why, if it failed by EXPECT: test_fail would wait for it for ever. */
static inline void seed_failed(uint64_t seed, const struct seed_result *result, const char *why) __attribute__((noreturn));
static inline void seed_failed(uint64_t seed, const struct seed_result *result, const char *why) {
    printf("seed %llu: %s: status %x, %s, said: %s\n", (unsigned long long)seed, why, result->status, result->line, result->said);
    fflush(stdout);
    _exit(1);
}

/* Every seed passes; one in eight is run twice, and gives the same history. */
static inline void seeds_pass(uint64_t first, unsigned count, int (*body)(void)) {
    static struct seed_result result, again;
    for (uint64_t seed = first; seed < first + count; seed++) {
        test_doing("seed %llu", (unsigned long long)seed);
        seed_run(seed, body, &result);
        if (!seed_passed(&result)) seed_failed(seed, &result, "fails");
        if (seed % 8) continue;
        seed_run(seed, body, &again);
        if (strcmp(result.line, again.line) != 0) seed_failed(seed, &again, "has another history the second time");
    }
}

/* The first seed of `count` for which the simulation says `kind`; fails if there is none. */
static inline uint64_t seeds_find(uint64_t first, unsigned count, int (*body)(void), const char *kind, struct seed_result *result) {
    for (uint64_t seed = first; seed < first + count; seed++) {
        seed_run(seed, body, result);
        if (!seed_passed(result) && strstr(result->said, kind)) return seed;
    }
    test_fail(__FILE__, __LINE__, "none of %u seeds says '%s'", count, kind);
}

#endif
