/* `weft sim`: runs a program in simulation, with many seeds, one seed, or a script of decisions.
 *
 * The program is a weft program with the simulating library. It talks to this command by the environment and two descriptors:
 *
 *   WEFT_SIM_SERVE=IN,OUT      it writes `weft-sim 1` to OUT and is a server: for each line `SEED` from IN it forks a child that goes on to
 * main,
 *                              and when that has ended writes `SEED STATUS RESULT-LINE` to OUT, with STATUS from waitpid
 *   WEFT_SIM_FAULTS=LIST       which faults may happen
 *   WEFT_SIM_RECORD=FILE       the child writes its history there: lines `event TIME THREAD MACHINE PID WHAT DETAIL` (PID in base 16) and
 *                              `draw THREAD KIND NUMBER VALUE BOUND MACHINE TIME`
 *   WEFT_SIM_RECORD_DRAWS=FILE the lines `draw` alone
 *   WEFT_SIM_SCRIPT=FILE       decisions come from this file (sim/script.h); those that are not in it are 0, the harmless choice
 *   WEFT_SIM_QUIET=LIST        seeds are quiet (sim/draw.h), without decisions of the kinds in the list
 *
 * A program that finds one of them wrong says so and ends with status 2, without a hello. A result line is `hash=%016x points=%u switches=%u time=%u verdict=WORD`. sim/start.c and sim/record.c are the program's side.
 *
 * Words: an *attempt* is one run of the program; its *outcome* is what came of it; a *sweep* is an attempt for each of many seeds. */
#ifndef WEFT_CLI_SIM_H
#define WEFT_CLI_SIM_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Exit statuses of the command. */
enum { SIM_PASSED = 0, SIM_FAILED = 1, SIM_REFUSED = 2, SIM_INTERRUPTED = 130 };
/* Exit status of a program that the simulation itself has ended; its result line has the verdict. */
enum { SIM_VERDICT_STATUS = 86 };

/* The command is to end: Ctrl-C, or SIGTERM. */
extern volatile sig_atomic_t sim_interrupted;

/* ---- options: sim_options.c ------------------------------------------------------------------------------------------ */

struct sim_options {
    char **program;      /* with its arguments, and NULL */
    const char *library; /* folder of the simulating shared library, or NULL */
    uint64_t seeds, first;
    uint64_t replay;    /* a seed, or 0 */
    const char *script; /* a file, or NULL */
    size_t decisions;   /* that are in it */
    const char *faults; /* as given, or NULL */
    const char *trace;  /* file for the trace viewer, or NULL */
    const char *save;   /* file for the shrunk script, or NULL */
    uint64_t jobs;
    uint64_t limit;        /* seconds of real time that an attempt may take */
    uint64_t shrink_limit; /* seconds of real time for shrinking */
    uint64_t rows;         /* rows of the history that are shown at most */
    bool all;              /* rows inside of the runtime are shown too */
    bool keep_going, twice, shrink;
};

/* Reads the command line. Returns -1, or the exit status if there is nothing more to do. */
int options_read(struct sim_options *options, int argc, char **argv);
/* Prints the command that repeats an attempt with these options: for the seed, or the script unless that is NULL. */
void options_print_again(FILE *to, const struct sim_options *options, uint64_t seed, const char *script);

/* ---- outcomes: sim_verdict.c ----------------------------------------------------------------------------------------- */

enum { SAID_MAX = 65536 };

/* What a program has said on standard error (and output, when it is shown): SAID_MAX bytes of it, the first and the last. */
struct said {
    size_t size;
    char text[SAID_MAX + 1];
};

struct outcome {
    uint64_t seed;
    int status;    /* as waitpid gives it */
    bool stuck;    /* killed: its time was over */
    bool reported; /* a whole result line came: the numbers below are known */
    uint64_t hash, points, switches, time;
    char word[32]; /* the simulation's verdict */
    struct said said;
};

/* Takes the numbers from a result line, if it is one. */
void outcome_report(struct outcome *outcome, const char *line);
bool outcome_failed(const struct outcome *outcome);
/* Whether two attempts of one seed went the same way. */
bool outcome_same(const struct outcome *one, const struct outcome *other);

enum { VERDICT_MAX = 256 };
/* The verdict in a line: "deadlock", "signal 6 (Aborted): x.c:3: main: Assertion `a' failed." */
void verdict_text(const struct outcome *outcome, char *text, size_t size);
/* The same without what differs from attempt to attempt: equal for two failures of one kind. */
void verdict_kind(const struct outcome *outcome, char *kind, size_t size);

/* ---- the program: sim_program.c -------------------------------------------------------------------------------------- */

/* How a program is started. */
struct task {
    bool loud;                   /* standard output is kept with standard error; otherwise it is thrown away */
    const char *script, *record; /* files, or NULL */
    bool draws_only;             /* decisions are recorded, and no events */
    const char *quiet;           /* kinds of decisions that quiet seeds do without; NULL: seeds as they are */
    uint64_t limit_ms;           /* of real time, for a seed */
    int cpu;                     /* -1: any */
};

struct program {
    pid_t pid;
    int ended; /* readable once it has ended: a descriptor of the process */
    int to, from, said;
};

/* 0, or -1 with a message. */
int program_start(struct program *program, const struct sim_options *options, const struct task *task);
/* Whether it ends within this time. */
bool program_ends_within(const struct program *program, int ms);
/* Kills it and what it has started, and returns its status, as waitpid gives it. */
int program_end(struct program *program);
/* Reads what there is on `fd` without waiting. False at the end of file. */
bool program_read_said(int fd, struct said *said);
/* The processor for the `index`th server. */
int program_cpu(unsigned index);
/* Where the simulating shared library is: beside this command, or where it is installed. NULL if it is in neither place. */
const char *program_find_library(void);

/* Lines from a descriptor, as they come. */
struct lines {
    size_t size;
    bool ended;
    char text[512];
};
/* Reads what there is, without waiting. */
void lines_read(struct lines *lines, int fd);
/* Takes the next whole line out. Returns false if there is none. `line` has the size of lines.text. */
bool lines_next(struct lines *lines, char *line);

bool is_hello(const char *line);
/* Says why a program that has ended, or was given up, without a hello cannot be simulated. */
void program_no_hello(const struct sim_options *options, int status, bool gave_up, const struct said *said);

/* Milliseconds of the real clock. */
uint64_t now_ms(void);

/* ---- servers: sim_server.c ------------------------------------------------------------------------------------------- */

enum server_event { SERVER_NOTHING, SERVER_READY, SERVER_OUTCOME, SERVER_GONE, SERVER_BROKEN };

struct server {
    const struct sim_options *options;
    uint64_t limit_ms;
    struct program program;
    struct lines lines;
    bool greeted, busy;
    uint64_t since;         /* ms: when it was started, or was given its seed */
    struct outcome outcome; /* of the seed that it has */
};

int server_start(struct server *server, const struct sim_options *options, const struct task *task);
void server_end(struct server *server);
int server_give(struct server *server, uint64_t seed);
void server_polled(const struct server *server, struct pollfd fds[2]);
/* Reads what the server has to say. READY: it can be given seeds. OUTCOME: `outcome` is complete. GONE: the same, but the
 * server has been ended: the seed was stuck, or has ended the server. BROKEN: it is no simulated program, which has been said. */
enum server_event server_look(struct server *server);

/* ---- one attempt: sim_attempt.c ---------------------------------------------------------------------------------------- */

/* One seed with a server of its own. 0, or -1 with a message: the program cannot be run in simulation. -1 without one: interrupted. */
/* One seed with a server that has been started. Until there is an outcome, or none will come. */
enum server_event attempt_follow(struct server *server, uint64_t seed);
int attempt_run(struct outcome *outcome, const struct sim_options *options, const struct task *task, uint64_t seed);

/* ---- many attempts: sim_sweep.c, sim_failures.c ------------------------------------------------------------------------ */

int sweep(const struct sim_options *options);

/* Failures of one kind. */
struct failure {
    char kind[VERDICT_MAX];
    uint64_t count, seed; /* the lowest seed */
    struct outcome *outcome;
    struct outcome *other; /* of its second attempt when that went another way, or NULL */
    struct failure *next;
};

struct failures {
    uint64_t count;
    struct failure *first; /* in the order of their lowest seeds */
};

/* 0, or -1: no memory. `other`: the second attempt of the same seed if that went another way, or NULL. */
int failures_add(struct failures *failures, const struct outcome *outcome, const struct outcome *other);
void failures_free(struct failures *failures);
/* One failure in full: verdict, what the program said, how to replay. */
void failure_print(const struct failure *failure, const struct sim_options *options);
/* One line for each kind. */
void failures_print(const struct failures *failures);

/* ---- histories: sim_history.c, sim_trace.c --------------------------------------------------------------------------- */

/* More than a run may have (sim/sim.h). */
enum { THREADS_MAX = 1 << 15, MACHINES_MAX = 64 };

struct row {
    bool is_draw;
    uint64_t time;
    uint64_t thread;         /* THREADS_MAX or more: none, the world itself */
    uint64_t machine;        /* MACHINES_MAX or more: none */
    uint64_t pid;            /* 0: no process */
    const char *what;        /* an event's name, or a draw's kind */
    const char *detail;      /* of an event */
    uint64_t number, value;  /* of a draw */
    uint64_t bound;          /* of a draw: values are below; 0: the value is a thread */
    const struct row *event; /* of a draw: the event that came before it, or NULL */
};

struct history {
    char *text;
    struct row *rows;
    size_t count, draws;
    bool machines; /* there are several */
};

/* 0, or -1 with a message. */
int history_load(struct history *history, const char *path);
void history_free(struct history *history);
/* The last `rows` rows. `all`: those inside of the runtime too. */
void history_print(const struct history *history, uint64_t rows, bool all);
/* The decisions alone, each with what the thread was about to do. */
void history_print_draws(const struct history *history);
int history_write_trace(const struct history *history, const char *path);

/* An empty file with a name of its own, to be unlinked and freed. NULL, with a message. */
char *history_new_file(void);

/* ---- one seed or script: sim_replay.c, sim_shrink.c (with sim_failing.h) ------------------------------------------------------------------ */

int replay(const struct sim_options *options);
/* Looks for the fewest decisions that lead to the seed's failure, or to the same failure of another seed; writes what is left as a script and shows it. */
int shrink(const struct sim_options *options, uint64_t seed);
/* Prints the numbers of an outcome in a line. */
void outcome_print(FILE *to, const struct outcome *outcome);

#endif
