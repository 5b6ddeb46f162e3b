/* A request with a deadline: its parts are worked on by processes of their own, and what is not there in time is given up. */
#include <weft/weft.h>

#include <stdio.h>

static const char user_key; /* its address is the key */

static const char *user(void) { return weft_context_value(weft_own_context(), &user_key); }

static void profile(void *unused) {
    (void)unused;
    printf("profile of %s: found\n", user());
}

/* Inherits the context of the process that spawns it. */
static void page(void *unused) {
    (void)unused;
    weft_exit(weft_sleep(3600 * WEFT_SECOND)); /* a slow disk, say */
}
static void history(void *unused) {
    weft_pid pid = weft_spawn_joinable(page, NULL);
    int reason = 0, error;
    (void)unused;
    error = weft_join(pid, &reason, WEFT_FOREVER); /* no deadline here: the context's ends both */
    printf("history of %s: %s\n", user(), weft_strerror(error ? error : reason));
}

static int app(int argc, char **argv) {
    weft_context *request, *context;
    weft_pid first, second;
    (void)argc, (void)argv;
    if (weft_context_new(NULL, &request, weft_in(50 * WEFT_MILLISECOND)) != 0) return 1;
    if (weft_context_with(request, &user_key, "ada", &context) != 0) return 1;
    weft_stackful_options options = {.context = context, .flags = WEFT_SPAWN_JOINABLE};
    if (weft_spawn_with(profile, NULL, &options, &first) != 0) return 1;
    weft_join(first, NULL, WEFT_FOREVER);
    if (weft_spawn_with(history, NULL, &options, &second) != 0) return 1;
    weft_join(second, NULL, WEFT_FOREVER); /* by its deadline at the latest */
    weft_context_drop(context);
    weft_context_drop(request);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * profile of ada: found
 * history of ada: the process was cancelled
 */
