/* Children of the operating system with pipes. */
#include "net_helpers.h"

#include <weft/child.h>

#include <signal.h>
#include <sys/wait.h>

enum { BYTES = 500000 };
static weft_child cat;
static void feeds(void *arg) {
    static char data[BYTES];
    (void)arg;
    for (unsigned i = 0; i < BYTES; i++)
        data[i] = (char)(i * 13);
    EXPECT_EQ(weft_fd_write(cat.in, data, BYTES, WEFT_FOREVER), BYTES);
    EXPECT_EQ(weft_fd_close(cat.in), 0);
    net_is_done();
}
/* Through cat and back. */
static void through_cat(void *arg) {
    static char got[BYTES + 1];
    int status;
    (void)arg;
    EXPECT_EQ(weft_child_start(&cat, (const char *const[]){"cat", NULL}, WEFT_CHILD_IN | WEFT_CHILD_OUT), 0);
    EXPECT(cat.in > 0 && cat.out > 0 && cat.err == WEFT_NO_FD);
    EXPECT(weft_spawn(feeds, NULL) != WEFT_NOBODY);
    EXPECT_EQ(weft_fd_read_all(cat.out, got, sizeof got, WEFT_FOREVER), BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        if (got[i] != (char)(i * 13)) EXPECT_EQ(got[i], (char)(i * 13));
    EXPECT_EQ(weft_fd_close(cat.out), 0);
    EXPECT_EQ(weft_waitpid(cat.pid, &status, WEFT_FOREVER), 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    net_is_done();
}
static void through_cats(void) { net_run_until(through_cat, 2); }
TEST(a_child_with_pipes) { rt_each(through_cats); }

/* Exit status, standard error, signals as a program expects them, and what cannot be started. */
static void several(void *arg) {
    static const char *const script[] = {"sh", "-c", "echo out; echo err >&2; kill -PIPE $$; exit 3", NULL};
    char text[64];
    weft_child child;
    int status;
    (void)arg;
    EXPECT_EQ(weft_child_start(&child, script, WEFT_CHILD_OUT | WEFT_CHILD_ERR), 0);
    EXPECT_EQ(weft_fd_read_all(child.out, text, sizeof text, WEFT_FOREVER), 4);
    EXPECT_EQ(weft_fd_read_all(child.err, text, sizeof text, WEFT_FOREVER), 4);
    EXPECT(memcmp(text, "err\n", 4) == 0);
    EXPECT_EQ(weft_waitpid(child.pid, &status, WEFT_FOREVER), 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    EXPECT_EQ(weft_fd_close(child.out), 0);
    EXPECT_EQ(weft_fd_close(child.err), 0);
    unsigned before = net_count_open();
    EXPECT_EQ(weft_child_start(&child, (const char *const[]){"/no/such/program", NULL}, 7), WEFT_ENOENT);
    EXPECT_EQ(weft_child_start(&child, (const char *const[]){"/dev/null", NULL}, 7), WEFT_EACCES);
    EXPECT_EQ(weft_child_start(&child, (const char *const[]){NULL}, 7), WEFT_EINVAL);
    EXPECT_EQ(weft_child_start(&child, script, 8), WEFT_EINVAL);
    static const enum sys_net_call calls[] = {SYS_NET_PIPE, SYS_NET_POLL_CHANGE, SYS_NET_NONBLOCKING, SYS_NET_START};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned after = 0; after < (calls[i] == SYS_NET_START ? 1 : 3); after++) {
            sys_script.net[calls[i]].after = atom_load_rlx(&sys_script.counts.net[calls[i]]) + after;
            sys_script.net[calls[i]].times = 1;
            sys_script.net[calls[i]].error = -ENOMEM;
            EXPECT_EQ(weft_child_start(&child, script, 7), WEFT_ENOMEM);
            sys_script.net[calls[i]].error = 0;
            EXPECT_EQ(net_count_open(), before); /* nothing is left open */
        }
    net_is_done();
}
static void severals(void) { net_run_until(several, 1); }
TEST(children_of_all_kinds) { rt_each(severals); }

int main(int argc, char **argv) { return test_main(argc, argv); }
