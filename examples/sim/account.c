/* Two customers of one bank pay in 1 each: they ask for the balance, and then set the new one. */
#include <weft/weft.h>

#include <assert.h>
#include <string.h>

enum { GET, SET };
static int balance;

static void bank(void *arg) {
    weft_msg *m;
    (void)arg;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_msg_tag(m) == SET) memcpy(&balance, weft_msg_data(m), sizeof balance);
        weft_reply(weft_msg_request(m), &balance, sizeof balance);
        weft_msg_free(m);
    }
}

static int ask(weft_pid whom, int what, int value) {
    weft_msg *m;
    int answer;
    if (weft_call(whom, (uint64_t)what, &value, sizeof value, &m, WEFT_FOREVER) != 0) weft_exit(1);
    memcpy(&answer, weft_msg_data(m), sizeof answer);
    weft_msg_free(m);
    return answer;
}

static void customer(void *arg) {
    weft_pid to = *(weft_pid *)arg;
    ask(to, SET, ask(to, GET, 0) + 1);
}

static int app(int argc, char **argv) {
    weft_pid to = weft_spawn(bank, NULL);
    weft_pid first = weft_spawn_joinable(customer, &to);
    (void)argc, (void)argv;
    weft_sleep(WEFT_MICROSECOND);
    weft_pid second = weft_spawn_joinable(customer, &to);
    weft_join(first, NULL, WEFT_FOREVER);
    weft_join(second, NULL, WEFT_FOREVER);
    assert(balance == 2);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
