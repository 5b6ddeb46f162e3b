/* Starting programs: children of the operating system's, with pipes or a terminal; one, or a pipeline. */
#include "base/sized.h"
#include "net/op.h"
#include "os/owned.h"

#include <weft/blocking.h>
#include <weft/child.h>

#include <fcntl.h>

enum {
    START_PIPES = WEFT_CHILD_IN | WEFT_CHILD_OUT | WEFT_CHILD_ERR,
    START_NULLS = WEFT_CHILD_NULL_IN | WEFT_CHILD_NULL_OUT | WEFT_CHILD_NULL_ERR,
    START_FLAGS = 2 * WEFT_CHILD_TERMINAL - 1,
};

struct start {
    int theirs[3]; /* the child's ends; -1: none */
    weft_fd ours[3], terminal;
};

/* ---- its descriptors ------------------------------------------------------------------------------------------------------------ */

/* A pipe for the child's descriptor `i`: its own end blocks, as programs expect. */
static int start_pipe(struct start *start, int i) {
    int pair[2], error = sys->net->pipe(pair);
    if (error) return error;
    int theirs = i == 0 ? pair[0] : pair[1], ours = i == 0 ? pair[1] : pair[0];
    start->theirs[i] = theirs;
    start->ours[i] = desc_open_or_close(ours, 0, "weft_child_start");
    if (start->ours[i] < 0) return (int)start->ours[i];
    error = sys->net->nonblocking(theirs, false);
    return error < 0 ? error : 0;
}

static int start_null(struct start *start, int i) {
    int number = sys->file->open("/dev/null", i == 0 ? O_RDONLY : O_WRONLY, 0);
    start->theirs[i] = number;
    return number < 0 ? number : 0;
}

static int start_terminal(struct start *start, const weft_child_options *options) {
    int pair[2], error = sys->net->terminal(options->rows, options->columns, pair);
    if (error) return error;
    start->theirs[0] = pair[1];
    start->terminal = desc_open_or_close(pair[0], 0, "weft_child_start");
    return start->terminal < 0 ? (int)start->terminal : 0;
}

static int start_descriptors_of(struct start *start, const weft_child_options *options) {
    int error = options->flags & WEFT_CHILD_TERMINAL ? start_terminal(start, options) : 0;
    for (int i = 0; i < 3 && !error; i++)
        if (options->pipes & 1u << i) error = start_pipe(start, i);
        else if (options->flags & (unsigned)WEFT_CHILD_NULL_IN << i) error = start_null(start, i);
    return error;
}

/* What the child gets as 0, 1 and 2. Its error output is its output if asked for, and a terminal is all three. */
static void start_ends(const struct start *start, unsigned flags, int ends[3]) {
    for (int i = 0; i < 3; i++)
        ends[i] = flags & WEFT_CHILD_TERMINAL ? start->theirs[0] : start->theirs[i];
    if (flags & WEFT_CHILD_ERR_TO_OUT) ends[2] = ends[1] >= 0 ? ends[1] : 1;
}

/* Theirs are the child's now; ours too are closed if there is none. */
static void start_close(struct start *start, bool failed) {
    for (int i = 0; i < 3; i++) {
        if (start->theirs[i] >= 0) sys->net->close(start->theirs[i]);
        if (failed && start->ours[i] > 0) desc_close(start->ours[i], false);
    }
    if (failed && start->terminal > 0) desc_close(start->terminal, false);
}

/* ---- one program ---------------------------------------------------------------------------------------------------------------- */

static bool start_makes_sense(const weft_child_options *options) {
    unsigned flags = options->flags, redirected = flags & (START_NULLS | WEFT_CHILD_ERR_TO_OUT);
    bool twice = options->pipes & flags / WEFT_CHILD_NULL_IN & START_PIPES;
    bool joined_twice = flags & WEFT_CHILD_ERR_TO_OUT && (options->pipes & WEFT_CHILD_ERR || flags & WEFT_CHILD_NULL_ERR);
    bool terminal = flags & WEFT_CHILD_TERMINAL && (options->pipes || redirected);
    return options->pipes <= START_PIPES && flags <= START_FLAGS && !twice && !joined_twice && !terminal;
}

static int start_run(const struct start *start, const char *const *arguments, const weft_child_options *options, pid_t *pid) {
    struct sys_start program = {
        .arguments = arguments,
        .environment = options->environment,
        .directory = options->directory,
        .group = options->flags & WEFT_CHILD_GROUP && !(options->flags & WEFT_CHILD_TERMINAL), /* a session is a group */
        .session = options->flags & WEFT_CHILD_TERMINAL,
        .limits = options->limits,
        .limit_count = options->limit_count,
    };
    start_ends(start, options->flags, program.ends);
    blocking_enter("weft_blocking_enter", false); /* until the program has been loaded */
    int error = sys->net->start(&program, pid);
    blocking_leave();
    return error;
}

/* `start` has ends that were made for it before. All is closed that is not the caller's in the end. */
static int start_program(struct start *start, const char *const *arguments, const weft_child_options *options, weft_child *child) {
    bool owned = options->flags & WEFT_CHILD_OWNED;
    struct owned *record = owned ? owned_new(options->flags & (WEFT_CHILD_GROUP | WEFT_CHILD_TERMINAL)) : NULL;
    int error = owned && !record ? WEFT_ENOMEM : start_descriptors_of(start, options);
    if (!error) error = start_run(start, arguments, options, &child->pid);
    start_close(start, error != 0);
    if (error && record) owned_free(record);
    if (error) return error;
    if (record) owned_begin(record, child->pid);
    child->in = start->ours[0];
    child->out = start->ours[1];
    child->err = start->ours[2];
    child->terminal = start->terminal;
    return 0;
}

int weft_child_start_with_sized(const char *const *arguments, const weft_child_options *options, size_t options_size, weft_child *child,
                                size_t child_size) {
    weft_child mine;
    weft_child_options given;
    struct start start = {.theirs = {-1, -1, -1}};
    fiber_worker("weft_child_start");
    options = sized_read(options, options_size, &given, sizeof given);
    if (!options || !arguments || !arguments[0] || !start_makes_sense(options)) return WEFT_EINVAL;
    net_ignore_broken_pipes();
    struct proc *proc = fiber_whole_begin();
    int error = start_program(&start, arguments, options, &mine);
    fiber_whole_end(proc);
    if (!error) sized_write(child, child_size, &mine, sizeof mine);
    return error;
}

int weft_child_start_sized(const char *const *arguments, unsigned pipes, weft_child *child, size_t child_size) {
    weft_child_options options = {.pipes = pipes};
    return weft_child_start_with_sized(arguments, &options, sizeof options, child, child_size);
}

/* ---- several -------------------------------------------------------------------------------------------------------------------- */

/* The options of the program `i` of `count`. */
static weft_child_options pipeline_options(const weft_child_options *options, size_t i, size_t count) {
    weft_child_options own = *options;
    if (i > 0) own.pipes &= ~(unsigned)WEFT_CHILD_IN, own.flags &= ~(unsigned)WEFT_CHILD_NULL_IN;
    if (i + 1 < count) own.pipes &= ~(unsigned)WEFT_CHILD_OUT, own.flags &= ~(unsigned)WEFT_CHILD_NULL_OUT;
    return own;
}

/* A pipe from one program to the next: both ends block. */
static int pipeline_pipe(int pair[2]) {
    int error = sys->net->pipe(pair);
    for (int i = 0; i < 2 && error >= 0; i++)
        error = sys->net->nonblocking(pair[i], false);
    return error < 0 ? error : 0;
}

/* Those that were started will not be used. */
static void pipeline_undo(weft_child *children, size_t count) {
    for (size_t i = 0; i < count; i++) {
        desc_close(children[i].in, false); /* without effect if it is WEFT_NO_FD */
        desc_close(children[i].out, false);
        desc_close(children[i].err, false);
        weft_child_end(children[i].pid, 0, NULL);
    }
}

/* *from: the end of the pipe to read from, for the program; then the next program's. */
static int pipeline_one(const char *const *arguments, const weft_child_options *options, bool last, int *from, weft_child *child) {
    struct start start = {.theirs = {*from, -1, -1}};
    int pair[2] = {-1, -1}, error = last ? 0 : pipeline_pipe(pair);
    *from = pair[0];
    start.theirs[1] = pair[1];
    if (!error) return start_program(&start, arguments, options, child);
    start_close(&start, true);
    return error;
}

int weft_pipeline_start_sized(const char *const *const *programs, size_t count, const weft_child_options *options, size_t options_size,
                              weft_child *children, size_t child_size) {
    weft_child_options given;
    int from = -1, error = 0;
    fiber_worker("weft_pipeline_start");
    options = sized_read(options, options_size, &given, sizeof given);
    if (!options || count == 0 || options->flags & WEFT_CHILD_TERMINAL || !start_makes_sense(options)) return WEFT_EINVAL;
    for (size_t i = 0; i < count; i++)
        if (!programs[i] || !programs[i][0]) return WEFT_EINVAL;
    net_ignore_broken_pipes();
    weft_child *all = sys->alloc(count * sizeof *all);
    if (!all) return WEFT_ENOMEM;
    struct proc *proc = fiber_whole_begin();
    size_t started = 0;
    for (; started < count && !error; started += !error) {
        weft_child_options own = pipeline_options(options, started, count);
        error = pipeline_one(programs[started], &own, started + 1 == count, &from, &all[started]);
    }
    if (error && from >= 0) sys->net->close(from);
    if (error) pipeline_undo(all, started);
    for (size_t i = 0; i < count && !error; i++)
        sized_write((unsigned char *)children + i * child_size, child_size, &all[i], sizeof all[i]);
    sys->free(all, count * sizeof *all);
    fiber_whole_end(proc);
    return error;
}
