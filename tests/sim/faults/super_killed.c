/* A supervisor is killed while it starts its children: its starter learns that it was killed, not that it was cancelled. */
#include "oracle.h"

static void child(void *arg) {
    (void)arg;
    if (weft_sleep(5 * MILLISECOND) == 0) weft_ready(0);
    weft_sleep(SECOND);
}

static void killer(void *arg) {
    weft_pid super;
    (void)arg;
    while (!(super = weft_whereis("super")))
        weft_yield();
    weft_kill(super);
}

static int program(int argc, char **argv) {
    const weft_child_spec children[] = {{.id = "one", .entry = child, .ready = true}, {.id = "two", .entry = child, .ready = true}};
    const weft_super_spec spec = {.name = "killed", .children = children, .count = 2};
    const weft_stackful_options options = {.register_as = "super"};
    weft_pid super;
    (void)argc, (void)argv;
    weft_spawn(killer, NULL);
    int error = weft_super_start(&spec, &options, &super, WEFT_FOREVER);
    MUST(error == WEFT_EKILLED, "the starter of a killed supervisor is told something else");
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
