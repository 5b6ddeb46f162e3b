/* The smallest program with a stackful process: plain blocking C on a stack of its own. */
#include <weft/weft.h>

#include <stdio.h>

static void echo(void *arg) {
    weft_msg *m;
    (void)arg;
    while (weft_recv(&m, WEFT_FOREVER) == 0) { /* every blocking call takes a deadline */
        weft_send(weft_msg_from(m), weft_msg_tag(m), weft_msg_data(m), weft_msg_len(m));
        weft_msg_free(m);
    }
}

static int app(int argc, char **argv) { /* the first process; its return value is main's */
    weft_pid p = weft_spawn(echo, NULL);
    weft_msg *m;
    (void)argc, (void)argv;
    weft_send(p, 1, "hello", sizeof "hello");
    if (weft_recv(&m, weft_in(WEFT_SECOND)) != 0) return 1;
    printf("echo says %s\n", (char *)weft_msg_data(m));
    weft_msg_free(m);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * echo says hello
 */
