/* Programs of children: see child_program.h. */
#include "world/child_program.h"

#include "base/sized.h"
#include "sim.h"

#include <weft/errors.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct child_program {
    struct child_program *next;
    weft_sim_program does;
    char name[];
};
static struct child_program *child_programs; /* the last that was told first: older ones stay for children that run them */

static void *program_copy(const void *data, size_t size) {
    void *copy = malloc(size);
    if (!copy) sim_fail("memory", "the simulation itself has none left");
    return memcpy(copy, data, size);
}
static const char *program_copy_text(const char *text) { return text ? program_copy(text, strlen(text) + 1) : NULL; }

int weft_sim_child_sized(const char *name, const weft_sim_program *does, size_t size) {
    weft_sim_program mine;
    does = sized_read(does, size, &mine, sizeof mine);
    sim_effect("program", 0);
    if (!does || does->status < 0 || does->status > 255 || does->signal < 0 || does->signal > 64) return WEFT_EINVAL;
    size_t length = strlen(name) + 1;
    struct child_program *program = malloc(sizeof *program + length);
    if (!program) sim_fail("memory", "the simulation itself has none left");
    *program = (struct child_program){.next = child_programs, .does = *does};
    program->does.output = program_copy_text(does->output);
    program->does.errors = program_copy_text(does->errors);
    memcpy(program->name, name, length);
    child_programs = program;
    return 0;
}

const weft_sim_program *child_program_find(const char *name) {
    struct child_program *program = child_programs;
    while (program && strcmp(program->name, name) != 0)
        program = program->next;
    return program ? &program->does : NULL;
}

/* ---- running one ------------------------------------------------------------------------------------------------------------- */

/* False: the reader has gone, or the child is killed. */
static bool program_write(int end, const char *data, size_t size, const bool *killed) {
    while (size > 0 && !*killed) {
        ssize_t n = write(end, data, size);
        if (n < 0) return false;
        data += n;
        size -= (size_t)n;
    }
    return !*killed;
}

static void program_echo(const int ends[3], const bool *killed) {
    char data[4096];
    for (ssize_t n; !*killed && (n = read(ends[0], data, sizeof data)) > 0;)
        if (!program_write(ends[1], data, (size_t)n, killed)) return;
}

static void program_say(int end, const char *text, const bool *killed) {
    if (text) program_write(end, text, strlen(text), killed);
}

int child_program_run(const weft_sim_program *program, const char *const *arguments, const int ends[3], const bool *killed) {
    uint64_t until = sim_in(program->duration);
    if (program->main) return program->main(arguments, ends);
    if (program->echoes) program_echo(ends, killed);
    program_say(ends[1], program->output, killed);
    program_say(ends[2], program->errors, killed);
    while (!*killed && sim_now() < until)
        sim_block("a child's time", killed, until);
    return program->status;
}
