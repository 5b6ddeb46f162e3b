/* Children in the simulated world: programs that are scripts or functions, and signals to them. */
#include "net_programs.h"

#include <weft/sim.h>

#include <signal.h>

enum { SEEDS = 100 };

static weft_child start(const char *program, unsigned pipes) {
    weft_child child;
    NEED(weft_child_start((const char *const[]){program, "3", NULL}, pipes, &child) == 0);
    return child;
}
static int status_of(weft_child child) {
    int status = -1;
    NEED(weft_waitpid(child.pid, &status, WEFT_FOREVER) == 0);
    NEED(weft_waitpid(child.pid, NULL, WEFT_FOREVER) == WEFT_ECHILD);
    return status;
}
static void hear(weft_fd from, const char *text) {
    char data[128];
    size_t n = net_read_to_end(from, data, sizeof data);
    NEED(n == strlen(text) && memcmp(data, text, n) == 0 && weft_fd_close(from) == 0);
}

/* ---- scripts --------------------------------------------------------------------------------------------------------------------- */

static void scripts(void) {
    weft_child child;
    weft_sim_program make = {.output = "cc x.c\n", .errors = "x.c: no such file\n", .status = 2, .duration = 3 * SECOND};
    NEED(weft_child_start((const char *const[]){"make", NULL}, 0, &child) == WEFT_ENOENT);
    NEED(weft_sim_child("make", &make) == 0 && weft_sim_child("true", NULL) == 0);
    uint64_t begun = weft_now();
    child = start("make", WEFT_CHILD_OUT | WEFT_CHILD_ERR);
    hear(child.out, "cc x.c\n");
    hear(child.err, "x.c: no such file\n");
    int status = status_of(child);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == 2 && weft_now() >= begun + 3 * SECOND);
    NEED(status_of(start("true", 0)) == 0);
    NEED(weft_sim_child("true", &(weft_sim_program){.status = 256}) == WEFT_EINVAL);
}
PROGRAM(scripts)
TEST_WITHIN(a_script_says_what_a_child_does, 120) { seeds_pass(1, SEEDS, scripts_body); }

static void echoes(void) {
    NEED(weft_sim_child("cat", &(weft_sim_program){.echoes = true, .output = "!"}) == 0);
    weft_child child = start("cat", WEFT_CHILD_IN | WEFT_CHILD_OUT);
    NEED(weft_fd_write_all(child.in, "a child of the world", 20, NULL, WEFT_FOREVER) == 0);
    NEED(weft_waitpid(child.pid, NULL, weft_in(SECOND)) == WEFT_ETIMEDOUT && weft_fd_close(child.in) == 0);
    hear(child.out, "a child of the world!");
    NEED(status_of(child) == 0);
}
PROGRAM(echoes)
TEST_WITHIN(a_child_echoes_its_input, 120) { seeds_pass(1, SEEDS, echoes_body); }

/* ---- signals --------------------------------------------------------------------------------------------------------------------- */

static void signals(void) {
    NEED(weft_sim_child("crash", &(weft_sim_program){.signal = SIGSEGV}) == 0);
    NEED(weft_sim_child("sleep", &(weft_sim_program){.duration = 1000 * SECOND}) == 0);
    NEED(weft_sim_child("cat", &(weft_sim_program){.echoes = true}) == 0);
    NEED(weft_sim_child("mule", &(weft_sim_program){.stubborn = true, .duration = 1000 * SECOND}) == 0);
    int status = status_of(start("crash", 0));
    NEED(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    uint64_t begun = weft_now();
    weft_child child = start("sleep", 0), reads = start("cat", WEFT_CHILD_IN | WEFT_CHILD_OUT), mule = start("mule", 0);
    NEED(kill(child.pid, 0) == 0 && kill(child.pid, SIGCONT) == 0 && kill(mule.pid, SIGTERM) == 0);
    NEED(kill(child.pid, SIGTERM) == 0 && kill(reads.pid, SIGINT) == 0 && kill(child.pid, SIGKILL) == 0);
    status = status_of(child);
    NEED(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM); /* the first one */
    hear(reads.out, "");
    status = status_of(reads);
    NEED(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT && weft_fd_close(reads.in) == 0);
    NEED(weft_waitpid(mule.pid, NULL, weft_in(SECOND)) == WEFT_ETIMEDOUT && kill(mule.pid, SIGKILL) == 0);
    status = status_of(mule);
    NEED(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && weft_now() < begun + 900 * SECOND);
    NEED(kill(child.pid, SIGTERM) == -1 && errno == ESRCH);
}
PROGRAM(signals)
TEST_WITHIN(signals_end_children, 120) { seeds_pass(1, SEEDS, signals_body); }

/* ---- functions ------------------------------------------------------------------------------------------------------------------- */

/* Answers each byte by the next one. */
static int next_main(const char *const *arguments, const int ends[3]) {
    char byte;
    while (read(ends[0], &byte, 1) == 1) {
        byte++;
        NEED(write(ends[1], &byte, 1) == 1);
    }
    return atoi(arguments[1]);
}

static void functions(void) {
    char byte = 'a';
    NEED(weft_sim_child("next", &(weft_sim_program){.main = next_main}) == 0);
    weft_child child = start("next", WEFT_CHILD_IN | WEFT_CHILD_OUT);
    for (int i = 0; i < 5; i++)
        NEED(weft_fd_write(child.in, &byte, 1, WEFT_FOREVER) == 1 && weft_fd_read(child.out, &byte, 1, WEFT_FOREVER) == 1);
    NEED(byte == 'f' && weft_fd_close(child.in) == 0);
    hear(child.out, "");
    int status = status_of(child);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    child = start("next", WEFT_CHILD_IN);
    NEED(kill(child.pid, SIGTERM) == 0 && WIFSIGNALED(status_of(child)) && weft_fd_close(child.in) == 0);
}
PROGRAM(functions)
TEST_WITHIN(a_function_is_a_program, 120) { seeds_pass(1, SEEDS, functions_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
