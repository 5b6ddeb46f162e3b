/* A scope whose deadline has passed lets no child in. */
#include "oracle.h"

static void child(void *arg) { (void)arg; }

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_scope scope;
    weft_scope_begin(&scope, weft_now());
    MUST(weft_scope_spawn(&scope, child, NULL) == WEFT_ECANCELED, "a child of a scope that is over");
    MUST(weft_scope_end(&scope) == WEFT_ETIMEDOUT, "a scope that is not over");
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
