/* A flood of messages, in a program that has said how much memory messages may take.
 *
 *     memory_cap --self-test */
#include <weft/weft.h>

#include <stdio.h>

enum { DATA = 1, CAP = 8 << 20, PAYLOAD = 1000 };

/* Without a bound of its own: nothing but the limit of the whole program stops its senders. */
static void sink(void *gate) {
    weft_msg *message;
    if (weft_sem_acquire(gate, 1, WEFT_FOREVER) != 0) return;
    while (weft_recv(&message, weft_in(100 * WEFT_MILLISECOND)) == 0)
        weft_msg_free(message);
}

static int flood(weft_pid to, size_t *sent) {
    static const char payload[PAYLOAD];
    int error = 0;
    for (*sent = 0; *sent < 10 * CAP / PAYLOAD; (*sent)++)
        if ((error = weft_send(to, DATA, payload, sizeof payload)) != 0) break;
    return error;
}

static int app(int argc, char **argv) {
    weft_sem gate = WEFT_SEM_INIT(0);
    size_t sent = 0;
    (void)argc, (void)argv;
    weft_pid pid = weft_spawn_joinable(sink, &gate);
    if (!pid) return 1;
    int error = flood(pid, &sent);
    printf("the flood ends: %s\n", weft_strerror(error));
    printf("%s\n", sent * PAYLOAD <= CAP && sent * PAYLOAD > CAP / 2 ? "near the limit" : "elsewhere");
    weft_sem_release(&gate, 1); /* the receiver reads, and frees */
    weft_join(pid, NULL, WEFT_FOREVER);

    if ((pid = weft_spawn_joinable(sink, &gate)) == WEFT_NOBODY) return 1;
    error = weft_send(pid, DATA, "again", 5);
    printf("a message afterwards: %s\n", error ? weft_strerror(error) : "sent");
    weft_sem_release(&gate, 1);
    weft_join(pid, NULL, WEFT_FOREVER);
    return 0;
}

int main(int argc, char **argv) { return weft_main_with(&(weft_config){.max_mail_bytes = CAP}, argc, argv, app); }
/* Prints:
 * the flood ends: no room
 * near the limit
 * a message afterwards: sent
 */
