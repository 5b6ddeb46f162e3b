/* The owner of a scope is cancelled before it waits for its children: they are cancelled too, and it ends. */
#include "oracle.h"

static void waits(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0)
        weft_msg_free(message);
}

static void owns(void *arg) {
    weft_scope scope;
    (void)arg;
    weft_scope_begin(&scope, WEFT_FOREVER);
    weft_scope_spawn(&scope, waits, NULL);
    weft_scope_end(&scope);
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_pid pid = weft_spawn_joinable(owns, NULL);
    weft_cancel(pid);
    MUST(weft_join(pid, NULL, weft_in(SECOND)) == 0, "the owner waits for a child that is not cancelled");
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
