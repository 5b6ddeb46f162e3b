#define _GNU_SOURCE
#include "cli/workshop.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[4096];
static int files;
static volatile sig_atomic_t asked; /* the signal that asks to end */
static volatile pid_t running;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static void ask(int signal_number) {
    asked = signal_number;
    if (running > 0) kill(running, signal_number);
}

/* A signal that is ignored, as under nohup, stays so. */
static void handle(void (*handler)(int)) {
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction action;
        sigaction(signals[i], NULL, &action);
        if (action.sa_handler == SIG_IGN) continue;
        memset(&action, 0, sizeof action);
        action.sa_handler = handler;
        sigaction(signals[i], &action, NULL);
    }
}

/* ---- the folder --------------------------------------------------------------------------------------------------------- */

int workshop_open(int count) {
    const char *below = getenv("TMPDIR");
    files = count;
    handle(ask);
    snprintf(folder, sizeof folder, "%.3000s/weft-check-XXXXXX", below && *below ? below : "/tmp");
    if (mkdtemp(folder)) return 0;
    fprintf(stderr, "weft check: no temporary folder %s: %s\n", folder, strerror(errno));
    return -1;
}

const char *workshop_file(const char *kind, int number) {
    char *path;
    if (asprintf(&path, "%s/%s%d%s", folder, kind, number, strcmp(kind, "object") == 0 ? ".o" : "") >= 0) return path;
    perror("weft check");
    exit(1);
}

void workshop_close(void) {
    unlink(workshop_file("program", 0));
    for (int i = 0; i < files; i++)
        unlink(workshop_file("object", i));
    rmdir(folder);
    handle(SIG_DFL);
    if (asked) raise(asked);
}

/* ---- commands ----------------------------------------------------------------------------------------------------------- */

void command_add(struct command *command, const char *word) {
    if (command->words == COMMAND_WORDS) {
        fprintf(stderr, "weft check: more than %d words for the compiler\n", COMMAND_WORDS);
        workshop_close();
        exit(2);
    }
    command->word[command->words++] = (char *)word;
}

void command_add_words(struct command *command, const char *text) {
    snprintf(command->text, sizeof command->text, "%s", text);
    for (char *rest = command->text, *word; (word = strsep(&rest, " "));)
        if (*word) command_add(command, word);
}

static int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    running = 0;
    return status;
}

int command_run(struct command *command) {
    pid_t child;
    if (asked) workshop_close();
    int why = posix_spawnp(&child, command->word[0], NULL, NULL, command->word, environ);
    if (why != 0) {
        fprintf(stderr, "weft check: the compiler %s cannot be run: %s (the environment variable CC names another)\n", command->word[0],
                strerror(why));
        return -1;
    }
    running = child;
    if (asked) kill(child, asked);
    int status = wait_for(child);
    if (asked) workshop_close();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
