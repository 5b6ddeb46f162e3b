/* Starting programs: children of the operating system's, with pipes to them. */
#include "base/sized.h"
#include "net/op.h"

#include <weft/blocking.h>
#include <weft/child.h>

struct start {
    int theirs[3]; /* the child's ends; -1: none */
    weft_fd ours[3];
};

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

int weft_child_start_sized(const char *const *arguments, unsigned pipes, weft_child *child, size_t child_size) {
    weft_child mine;
    struct start start = {{-1, -1, -1}, {0, 0, 0}};
    int error = 0;
    fiber_worker("weft_child_start");
    if (!arguments || !arguments[0] || pipes > 7) return WEFT_EINVAL;
    net_ignore_broken_pipes();
    for (int i = 0; i < 3 && !error; i++)
        if (pipes & 1u << i) error = start_pipe(&start, i);
    if (!error) {
        weft_blocking_enter(); /* until the program has been loaded */
        error = sys->net->start(arguments, start.theirs, &mine.pid);
        weft_blocking_leave();
    }
    for (int i = 0; i < 3; i++) {
        if (start.theirs[i] >= 0) sys->net->close(start.theirs[i]);
        if (error && start.ours[i] > 0) desc_close(start.ours[i], false);
    }
    if (error) return error;
    mine.in = start.ours[0];
    mine.out = start.ours[1];
    mine.err = start.ours[2];
    sized_write(child, child_size, &mine, sizeof mine);
    return 0;
}
