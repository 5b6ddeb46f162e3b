/* The parts of the `weft` command. Each takes the arguments after its own name and returns the exit status. */
#ifndef WEFT_CLI_CLI_H
#define WEFT_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `weft check ARGS`: becomes weft-check, or with a FILE.c the program that check_own makes of it. Returns only if that cannot be. */
int cli_check(int argc, char **argv);
/* `weft check FILE.c...`: whether there is such a word before `--`. */
bool check_names_file(int argc, char **argv);
/* Compiles and links these files with the checker, and becomes the program that comes out. Returns, with a message, only if that cannot be. */
int check_own(int argc, char **argv);
/* `weft compare ARGS`: becomes tools/compare, which measures weft beside its peers. Returns, with a message, only if that cannot be. */
int cli_compare(int argc, char **argv);
/* `weft sim ARGS`: a program in simulation, by seeds. */
int cli_sim(int argc, char **argv);
/* `weft demo ARGS`: the guided run. */
int cli_demo(int argc, char **argv);

/* A million processes on each policy, or on one. Exit status 130 when interrupted. */
struct demo_options {
    uint64_t n;         /* processes */
    unsigned workers;   /* 0: as many as there are CPUs */
    const char *policy; /* NULL: each in turn */
};
int demo_processes(const struct demo_options *options);
/* A ticker beside processes that do not give way and others that block. */
int demo_hogs(const struct demo_options *options);
/* The story of synch2. */
int demo_checker(void);

/* The value of an option of `weft COMMAND`, which must be a number in 1..max; 0, with a message, if it is not. */
uint64_t cli_number(const char *command, const char *option, const char *text, uint64_t max);

/* Writes the model checker's path: beside this command, or where it is installed. -1, with a message, if it is in
 * neither place. */
int cli_find_checker(char *path, size_t size);
/* Writes the directory that this command is in, with a slash at its end. -1, with a message, if that is not known. */
int cli_directory(char *path, size_t size);

#endif
