/* Programs of the operating system's, started with options: shells whose ends the completer brings about. */
#ifndef WEFT_TESTS_CROSS_CALLS_PROGRAM_H
#define WEFT_TESTS_CROSS_CALLS_PROGRAM_H

#include "calls_ties.h"
#include "raw.h"

#include <poll.h>
#include <sys/resource.h>

static inline void program_start(struct trial *trial, const char *script, const weft_child_options *options) {
    EXPECT_EQ(weft_child_start_with((const char *const[]){"sh", "-c", script, NULL}, options, &trial->things.programs[0]), 0);
}
/* All that comes until this is its end; shielded. */
static inline void program_expect(weft_fd from, const char *end) {
    char text[100] = "";
    for (size_t size = 0; size < strlen(end) || strcmp(text + size - strlen(end), end) != 0;) {
        ssize_t got = weft_fd_read(from, text + size, sizeof text - size - 1, patient());
        if (got <= 0) test_fail(__FILE__, __LINE__, "read %zd after \"%s\"", got, text);
        size += (size_t)got;
        text[size] = 0;
    }
}
/* A shell that leads a group, with another program in it which has the pipe of its output too. */
static inline void program_make_of(struct trial *trial, const char *script, unsigned flags) {
    const weft_child *program = &trial->things.programs[0];
    weft_shield_begin();
    program_start(trial, script, &(weft_child_options){.pipes = WEFT_CHILD_IN | WEFT_CHILD_OUT, .flags = WEFT_CHILD_GROUP | flags});
    program_expect(program->out, "up\n");
    trial->things.raw[0] = raw_of(program->in);
    EXPECT_EQ(weft_fd_close(program->in), 0);
    weft_shield_end();
}
/* Its output ends: nothing is left of the group. */
static inline void program_clean(struct trial *trial) {
    char byte;
    weft_fd out = trial->things.programs[0].out;
    EXPECT_EQ(weft_fd_read(out, &byte, 1, patient()), 0);
    EXPECT_EQ(weft_fd_close(out), 0);
}

/* Neither heeds SIGTERM; the leader ends with its input, the other one when the group is killed. */
static inline void program_make_deaf(struct trial *trial) {
    program_make_of(trial, "trap '' TERM; sleep 100 & echo up; read line; exit 3", 0);
}
static inline bool program_complete_deaf(struct trial *trial) {
    if (!atom_swap_acqrel(&trial->things.spawned, 1)) close(trial->things.raw[0]);
    return raw_child_ended(trial->things.programs[0].pid);
}
static inline int program_wait_end(struct trial *trial, uint64_t deadline) {
    int status = 0, error = weft_child_end(trial->things.programs[0].pid, 60 * WEFT_SECOND, &status);
    (void)deadline;
    if (!error) EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    return error;
}

/* Its owner waits for it; the end of the owner ends it. The other one does not heed the signal, and is killed when the leader has ended. */
static inline void program_make_owned(struct trial *trial) {
    program_make_of(trial, "trap '' USR1; sleep 100 & trap - USR1; echo up; wait", WEFT_CHILD_OWNED);
    close(trial->things.raw[0]);
}
static inline bool program_complete_signal(struct trial *trial) {
    pid_t program = trial->things.programs[0].pid;
    if (!atom_swap_acqrel(&trial->things.spawned, 1)) EXPECT(weft_child_signal(program, SIGUSR1) == 0 || trial->state->ends);
    return raw_child_ended(program);
}
static inline int program_wait_owned(struct trial *trial, uint64_t deadline) {
    int status = 0, error = weft_waitpid(trial->things.programs[0].pid, &status, deadline);
    if (error == WEFT_ECHILD && trial->state->ends && !trial->things.has) {
        EXPECT(raw_child_ended(trial->things.programs[0].pid));
        trial->things.has = true;
        return 0;
    }
    if (!error) trial->things.has = true;
    if (!error) EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    return error;
}

/* A cancelled process may start programs. */
static inline int program_wait_start(struct trial *trial, uint64_t deadline) {
    static const char *const environment[] = {"CROSS=weft", NULL};
    const weft_child_limit limit = {.resource = RLIMIT_NOFILE, .soft = 64, .hard = 64};
    int status = 1;
    (void)deadline;
    program_start(trial, "echo $CROSS $(ulimit -n) >&2; pwd; read line || echo end",
                  &(weft_child_options){.pipes = WEFT_CHILD_OUT,
                                        .flags = WEFT_CHILD_NULL_IN | WEFT_CHILD_ERR_TO_OUT,
                                        .directory = "/",
                                        .environment = environment,
                                        .limits = &limit,
                                        .limit_count = 1});
    weft_shield_begin();
    program_expect(trial->things.programs[0].out, "weft 64\n/\nend\n");
    program_clean(trial);
    EXPECT_EQ(weft_waitpid(trial->things.programs[0].pid, &status, patient()), 0);
    weft_shield_end();
    EXPECT_EQ(status, 0);
    return 0;
}

/* ---- bytes through programs ----------------------------------------------------------------------------------------- */

/* Writes once; what comes of it can be read when this is true, or has been. */
static inline bool program_pass(struct trial *trial, const char *text) {
    struct pollfd out = {.fd = trial->things.raw[1], .events = POLLIN};
    if (!atom_swap_acqrel(&trial->things.spawned, 1)) EXPECT_EQ(write(trial->things.raw[0], text, strlen(text)), (ssize_t)strlen(text));
    return poll(&out, 1, 0) > 0 || atom_load_acq(&trial->returned);
}
static inline int program_read(weft_fd from, const char *wanted, uint64_t deadline) {
    char text[16];
    ssize_t got = weft_fd_read(from, text, sizeof text, deadline);
    if (got < 0) return (int)got;
    EXPECT(got == (ssize_t)strlen(wanted) && memcmp(text, wanted, (size_t)got) == 0);
    return 0;
}
static inline void program_close(struct trial *trial, weft_fd fd) {
    EXPECT_EQ(weft_fd_close(fd), 0);
    for (unsigned i = 0; i < 2; i++)
        close(trial->things.raw[i]);
}

static inline void pipeline_make(struct trial *trial) {
    static const char *const cat[] = {"cat", NULL};
    static const char *const *const programs[] = {cat, cat};
    weft_child *all = trial->things.programs;
    EXPECT_EQ(weft_pipeline_start(programs, 2, &(weft_child_options){.pipes = WEFT_CHILD_IN | WEFT_CHILD_OUT}, all), 0);
    trial->things.raw[0] = raw_of(all[0].in);
    trial->things.raw[1] = raw_of(all[1].out);
    EXPECT_EQ(weft_fd_close(all[0].in), 0);
}
static inline bool pipeline_complete(struct trial *trial) { return program_pass(trial, "ab"); }
static inline int pipeline_wait(struct trial *trial, uint64_t deadline) {
    return program_read(trial->things.programs[1].out, "ab", deadline);
}
/* The end of its input passes through all of them. */
static inline void pipeline_clean(struct trial *trial) {
    program_close(trial, trial->things.programs[1].out);
    for (unsigned i = 0; i < 2; i++) {
        int status = 1;
        EXPECT_EQ(weft_waitpid(trial->things.programs[i].pid, &status, patient()), 0);
        EXPECT_EQ(status, 0);
    }
}

/* Of one byte: a terminal may pass a line on in pieces. */
static inline void terminal_make(struct trial *trial) {
    const weft_child *program = &trial->things.programs[0];
    weft_shield_begin();
    program_start(trial, "stty -echo; echo up; read line; printf g; read line", &(weft_child_options){.flags = WEFT_CHILD_TERMINAL});
    program_expect(program->terminal, "up\r\n");
    for (unsigned i = 0; i < 2; i++)
        trial->things.raw[i] = raw_of(program->terminal);
    weft_shield_end();
}
static inline bool terminal_complete(struct trial *trial) { return program_pass(trial, "x\n"); }
static inline int terminal_wait(struct trial *trial, uint64_t deadline) {
    return program_read(trial->things.programs[0].terminal, "g", deadline);
}
static inline void terminal_clean(struct trial *trial) {
    EXPECT_EQ(weft_child_end(trial->things.programs[0].pid, 0, NULL), 0);
    program_close(trial, trial->things.programs[0].terminal);
}

#define CALLS_PROGRAM(CALL)                                                                                                                \
    CALL(program_end, .is = CALL_ANYWHERE | CALL_NO_DEADLINE | CALL_TO_ITS_END | CALL_NOT_TOLD | CALL_ENDS | CALL_PACKS,                   \
         .gone = WEFT_ECHILD, .make = program_make_deaf, .wait = program_wait_end, .complete = program_complete_deaf,                      \
         .clean = program_clean)                                                                                                           \
    CALL(program_owned, .is = CALL_REFUSES | CALL_PACKS, .gone = WEFT_ECHILD, .make = program_make_owned, .wait = program_wait_owned,      \
         .complete = program_complete_signal, .clean = program_clean)                                                                      \
    CALL(program_start, .is = NEVER_WAITS | CALL_WHOLE | CALL_MAY_PACK, .wait = program_wait_start)                                        \
    CALL(program_pipeline, .is = CALL_ANYWHERE | CALL_PACKS, .make = pipeline_make, .wait = pipeline_wait, .complete = pipeline_complete,  \
         .clean = pipeline_clean)                                                                                                          \
    CALL(program_terminal, .is = CALL_ANYWHERE | CALL_PACKS, .make = terminal_make, .wait = terminal_wait, .complete = terminal_complete,  \
         .clean = terminal_clean)

#endif
