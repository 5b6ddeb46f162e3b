/* A temporary folder, and commands run in its stead: it is gone when the work is done, has failed or was interrupted. One at a time. */
#ifndef WEFT_CLI_WORKSHOP_H
#define WEFT_CLI_WORKSHOP_H

/* Makes the folder; from now on SIGINT, SIGTERM and SIGHUP end the running command, remove the folder, and then end this program. -1, with a message, if it
 * cannot be made. `count`: of the files of one kind. */
int workshop_open(int count);
/* Removes it, and ends the program if a signal asked for that in the meantime. */
void workshop_close(void);
/* The path of a file in it: "object" 0 to count - 1, or "program" 0. Valid until the program ends. */
const char *workshop_file(const char *kind, int number);

/* A command's words. Zeroed is empty. */
enum { COMMAND_WORDS = 256 };
struct command {
    char *word[COMMAND_WORDS + 1];
    int words;
    char text[1024]; /* of command_add_words */
};
void command_add(struct command *command, const char *word);
/* The words of a text of less than 1,024 bytes, divided by spaces. Once a command. */
void command_add_words(struct command *command, const char *text);
/* Runs it and waits. 0 if it ended with status 0; else -1, with a message if it could not be started. Does not return if a signal came. */
int command_run(struct command *command);

#endif
