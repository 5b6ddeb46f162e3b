/* The `weft` command: one word picks what it does. */
#include "bench/bench.h"
#include "cli/cli.h"
#include "sys/setting.h"

#include <weft/version.h>

#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    const char *arguments;
    const char *about;
    int (*run)(int argc, char **argv);
};

static int settings(int argc, char **argv) {
    (void)argv;
    if (argc > 0) {
        fprintf(stderr, "usage: weft settings\n");
        return 2;
    }
#define SETTING_LINE(id, values, about) printf("%-20s  %-27s  %s\n", setting_name(SETTING_##id), values, about);
    EACH_SETTING(SETTING_LINE)
    return 0;
}

static const struct command commands[] = {
    {"demo", "[checker]", "a million processes; or the model checker at work", cli_demo},
    {"bench", "[NAME...]", "measure processes, weft's parts and this machine", bench_main},
    {"compare", "[--quick]", "measure weft beside Go, Tokio, Erlang and others, in one run", cli_compare},
    {"check", "[FILE.c...]", "explore your lock-free code, or weft's own, with the model checker", cli_check},
    {"sim", "PROGRAM", "run a program in simulation, with many seeds", cli_sim},
    {"settings", "", "the variables of the environment that programs with weft heed", settings},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void help(FILE *to) {
    fprintf(to, "usage: weft COMMAND [ARGUMENTS]\n\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  weft %-8s %-11s %s\n", commands[i].name, commands[i].arguments, commands[i].about);
    fprintf(to, "\n`weft COMMAND --help` says more about one; `weft --version` tells the version.\n");
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        help(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        printf("weft %s\n", weft_version_string());
        return 0;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0) return commands[i].run(argc - 2, argv + 2);
    if (name[0]) fprintf(stderr, "weft: there is no command `%s`\n", name);
    help(stderr);
    return 2;
}
