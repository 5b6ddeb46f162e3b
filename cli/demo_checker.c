/* `weft demo checker`: the story of synch2, told with the model checker, which takes a protocol, tries every
 * interleaving, and tells why it fails or that it does not. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEP_WORDS = 8 };

struct step {
    const char *title;
    const char *story;
    const char *words[STEP_WORDS]; /* what the model checker is asked */
};

static const struct step steps[] = {
    {"The simplest",
     "Two threads, and nothing in front of the room that only one may be in.",
     {"--model", "sc", "--show", "synch2_simplest"}},
    {"The safe",
     "Each says that it is active and waits while the other is. The one that gets in is alone, but when both say so first, "
     "both\nwait for ever.",
     {"--model", "sc", "--show", "synch2_safe", "synch2_safe_excludes"}},
    {"Almost wait-free, as first written",
     "One of the two, the waker, lets the other go first when both wait. As first written down, it marks the wrong "
     "thread\nas waiting, which then walks in beside the other.",
     {"--model", "sc", "--show", "synch2_almost_printed"}},
    {"Almost wait-free, the right thread marked",
     "Now it is safe, but the waker always gives way: the other may pass it again and again.",
     {"--model", "sc", "synch2_almost", "synch2_almost_twice", "synch2_almost_starves"}},
    {"A waker that changes",
     "To be fair, the one that has been inside becomes the waker. But the one that waits may still believe that it is the "
     "waker:\nfor a moment there are two.",
     {"--model", "sc", "--show", "synch2_dynamic"}},
    {"The final protocol, as first written",
     "The new waker announces the change and waits until it is acknowledged. The other one acknowledges only while it "
     "is\nthe waker itself, which it no longer is: both hang.",
     {"--model", "sc", "--show", "synch2_final_printed"}},
    {"The corrected protocol",
     "Acknowledge first, whichever is the waker, and wake only if there was nothing to acknowledge. No interleaving "
     "breaks\nit: in sequential consistency, on x86 (TSO), or as C11 allows.",
     {"synch2_corrected", "synch2_corrected_1x2", "synch2_corrected_2x2"}},
    {"Real machines reorder",
     "Two full fences are needed, after `active = true` and after `waker = i`. With only the first, as a store buffer "
     "of\nx86 allows, it breaks again; with both it holds.",
     {"--model", "tso", "synch2_fences_neither", "synch2_fences_only_active", "synch2_fences_only_waker", "synch2_fences_both"}},
    {"The part itself",
     "src/sync/synch2.c, the file that is in the library: two turns each, the one that waits is passed at most once, and "
     "never\nbeing passed would be too much to ask. (`weft check synch2` goes on, with waiters that sleep.)",
     {"--model", "c11", "synch2_spin_2x2", "synch2_bypass_1", "synch2_bypass_0"}},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

struct tally {
    unsigned passed, failed;
};

/* Starts the checker with its output in a pipe; NULL, with a message, if it cannot. */
static FILE *start(const char *checker, const char *const words[], pid_t *child) {
    char *arguments[STEP_WORDS + 2] = {(char *)checker};
    for (int i = 0; i < STEP_WORDS && words[i]; i++)
        arguments[i + 1] = (char *)words[i];
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0 || (*child = fork()) < 0) {
        fprintf(stderr, "weft demo: %s\n", strerror(errno));
        return NULL;
    }
    if (*child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(checker, arguments);
        fprintf(stderr, "weft demo: %s: %s\n", checker, strerror(errno));
        _exit(127);
    }
    close(ends[1]);
    return fdopen(ends[0], "r");
}

/* Shows one step; false if the checker could not be asked. */
static bool tell(const char *checker, const struct step *step, unsigned number, struct tally *tally) {
    bool terminal = isatty(STDOUT_FILENO);
    printf("%s%u. %s%s\n%s\n\n", terminal ? "\033[1m" : "", number, step->title, terminal ? "\033[0m" : "", step->story);
    pid_t child;
    FILE *lines = start(checker, step->words, &child);
    if (!lines) return false;
    char *line = NULL;
    size_t room = 0;
    struct tally found = {0, 0};
    while (getline(&line, &room, lines) > 0)
        if (sscanf(line, "%u passed, %u failed", &found.passed, &found.failed) != 2) printf("    %s", line);
    free(line);
    fclose(lines);
    int status = 0;
    waitpid(child, &status, 0);
    printf("\n");
    if (!found.passed && !found.failed) {
        fprintf(stderr, "weft demo: the model checker gave no verdict (status %d)\n", WEXITSTATUS(status));
        return false;
    }
    tally->passed += found.passed;
    tally->failed += found.failed;
    return true;
}

int demo_checker(void) {
    char checker[4096];
    if (cli_find_checker(checker, sizeof checker) != 0) return 1;
    printf("synch2 lets two threads take turns in a room for one, with loads and stores alone. Below are the stages of its\n"
           "design. For each, the model checker tries all interleavings of a small program and prints its verdict: EXHAUSTED\n"
           "(all were tried, none is wrong) or VIOLATION, with the steps that lead there, a column for each thread.\n\n");
    struct tally tally = {0, 0};
    for (unsigned i = 0; i < STEPS; i++)
        if (!tell(checker, &steps[i], i + 1, &tally)) return 1;
    printf("%u verdicts as foretold, %u not.\n\n", tally.passed, tally.failed);
    printf("Go on with `weft check --list`, `weft check deque`, `weft bench`, and docs/synch2.md for the proofs.\n");
    return tally.failed ? 1 : 0;
}
