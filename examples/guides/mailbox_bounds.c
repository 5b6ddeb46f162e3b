/* What becomes of a hundred messages to a process that takes none, with each kind of bounded mailbox.
 *
 *     mailbox_bounds --self-test */
#include <weft/weft.h>

#include <stdio.h>

enum { ROOM = 8, MESSAGES = 100, NUMBER = 1, DOWN };
static weft_sem gate; /* the receiver begins when it is opened */

static void receiver(void *unused) {
    weft_msg *message;
    int first = 0, last = 0, count = 0;
    (void)unused;
    if (weft_sem_acquire(&gate, 1, WEFT_FOREVER) != 0) return;
    while (weft_recv(&message, weft_in(50 * WEFT_MILLISECOND)) == 0) {
        last = *(const int *)weft_msg_data(message);
        if (count++ == 0) first = last;
        weft_msg_free(message);
    }
    printf("    received %d: %d to %d\n", count, first, last);
}

/* Sends until an error; the deadline is for a mailbox that makes its senders wait. */
static void send_all(weft_pid to) {
    weft_mailbox_use use;
    for (int i = 1; i <= MESSAGES; i++) {
        int error = weft_send_until(to, NUMBER, &i, sizeof i, weft_in(20 * WEFT_MILLISECOND));
        if (!error) continue;
        printf("    message %d: %s\n", i, weft_strerror(error));
        return;
    }
    if (weft_mailbox_usage(to, &use) == 0)
        printf("    %zu wait in the mailbox, %llu were dropped\n", use.messages, (unsigned long long)use.dropped);
}

static int try(const char *name, enum weft_full when_full) {
    const weft_mailbox mailbox = {.messages = ROOM, .when_full = when_full};
    weft_stackful_options options = {.mailbox = &mailbox, .flags = WEFT_SPAWN_MONITOR, .monitor = {.tag = DOWN}};
    weft_pid pid;
    weft_msg *down;
    char text[80];
    weft_sem_init(&gate, 0);
    printf("%s\n", name);
    int error = weft_spawn_with(receiver, NULL, &options, &pid);
    if (error) return error;
    send_all(pid);
    weft_sem_release(&gate, 1);
    if ((error = weft_recv_tag(DOWN, &down, WEFT_FOREVER)) != 0) return error;
    printf("    it ended: %s\n", weft_reason_text(&weft_msg_notice(down)->reason, text, sizeof text));
    weft_msg_free(down);
    return 0;
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    int error = try("WEFT_FULL_BLOCK", WEFT_FULL_BLOCK);
    if (!error) error = try("WEFT_FULL_FAIL", WEFT_FULL_FAIL);
    if (!error) error = try("WEFT_FULL_DROP_OLDEST", WEFT_FULL_DROP_OLDEST);
    if (!error) error = try("WEFT_FULL_DROP_NEWEST", WEFT_FULL_DROP_NEWEST);
    if (!error) error = try("WEFT_FULL_END_RECEIVER", WEFT_FULL_END_RECEIVER);
    if (error) fprintf(stderr, "mailbox_bounds: %s\n", weft_strerror(error));
    return error ? 1 : 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * WEFT_FULL_BLOCK
 *     message 9: the deadline has passed
 *     received 8: 1 to 8
 *     it ended: normal
 * WEFT_FULL_FAIL
 *     message 9: no room
 *     received 8: 1 to 8
 *     it ended: normal
 * WEFT_FULL_DROP_OLDEST
 *     8 wait in the mailbox, 92 were dropped
 *     received 8: 93 to 100
 *     it ended: normal
 * WEFT_FULL_DROP_NEWEST
 *     8 wait in the mailbox, 92 were dropped
 *     received 8: 1 to 8
 *     it ended: normal
 * WEFT_FULL_END_RECEIVER
 *     message 9: no room
 *     it ended: error -105 (WEFT_ENOBUFS): no room
 */
