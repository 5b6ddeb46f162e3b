/* Hot paths of stackful processes. */
#include "paths.h"

#include <stdint.h>
#include <stdlib.h>

static void yields(void *unused) {
    (void)unused;
    for (;;) {
        weft_yield();
        mark();
    }
}
static void yield_path(void *unused) {
    weft_spawn(yields, NULL);
    yields(unused);
}

static void returns(void *unused) { (void)unused; }
static void spawn_path(void *unused) {
    (void)unused;
    for (;;) {
        weft_spawn(returns, NULL);
        weft_yield();
        mark();
    }
}
/* Each begins on the stack of the one before. */
static void spawn_32_path(void *unused) {
    (void)unused;
    for (;;) {
        for (unsigned i = 0; i < 32; i++)
            weft_spawn(returns, NULL);
        weft_yield();
        mark();
    }
}

static void send_path(void *unused) {
    (void)unused;
    for (uint64_t i = 0;; i++) {
        weft_msg *message;
        weft_send(weft_self(), i, &i, sizeof i);
        mark();
        if (rounds % 32 == 0)
            while (weft_recv(&message, 0) == 0)
                weft_msg_free(message);
    }
}
static void receive_path(void *unused) {
    (void)unused;
    for (uint64_t i = 0;; i++) {
        weft_msg *message;
        if (i % 256 == 0)
            for (unsigned k = 0; k < 256; k++)
                weft_send(weft_self(), k, &i, sizeof i);
        weft_recv(&message, 0);
        weft_msg_free(message);
        mark();
    }
}

static void echoes(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_send(weft_msg_from(message), 0, weft_msg_data(message), weft_msg_len(message));
        weft_msg_free(message);
    }
}
static void round_trip_path(void *unused) {
    weft_pid echo = weft_spawn(echoes, NULL);
    (void)unused;
    for (uint64_t i = 0;; i++) {
        weft_msg *message;
        weft_send(echo, 0, &i, sizeof i);
        weft_recv(&message, WEFT_FOREVER);
        weft_msg_free(message);
        mark();
    }
}

static void hands_back(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_pid from = weft_msg_from(message);
        weft_msg_free(message);
        weft_handoff(from, 0, NULL, 0);
    }
}
static void handoff_path(void *unused) {
    weft_pid other = weft_spawn(hands_back, NULL);
    (void)unused;
    for (;;) {
        weft_msg *message;
        weft_handoff(other, 0, NULL, 0);
        weft_recv(&message, WEFT_FOREVER);
        weft_msg_free(message);
        mark();
    }
}

static void answers(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_reply(weft_msg_request(message), NULL, 0);
        weft_msg_free(message);
    }
}
static void call_path(void *unused) {
    weft_pid other = weft_spawn(answers, NULL);
    (void)unused;
    for (;;) {
        weft_msg *message;
        if (weft_call(other, 0, NULL, 0, &message, WEFT_FOREVER) == 0) weft_msg_free(message);
        mark();
    }
}

/* Wakes a process that waits, and does not let it run: the mark is between the two. */
static void wake_path(void *unused) {
    weft_pid echo = weft_spawn(echoes, NULL);
    (void)unused;
    for (;;) {
        weft_msg *message;
        weft_yield();
        while (weft_recv(&message, 0) == 0)
            weft_msg_free(message);
        weft_yield();
        mark();
        weft_send(echo, 0, NULL, 0);
        mark();
    }
}

static void repeats(void *opaque) {
    weft_chan **pair = opaque;
    uint64_t value;
    while (weft_chan_recv(pair[0], &value, WEFT_FOREVER) == 0)
        weft_chan_send(pair[1], &value, WEFT_FOREVER);
}
static void channel_path(void *unused) {
    weft_chan *pair[2];
    uint64_t value = 0;
    (void)unused;
    weft_chan_new(sizeof value, 0, &pair[0]);
    weft_chan_new(sizeof value, 0, &pair[1]);
    weft_spawn(repeats, pair);
    for (;;) {
        weft_chan_send(pair[0], &value, WEFT_FOREVER);
        weft_chan_recv(pair[1], &value, WEFT_FOREVER);
        mark();
    }
}
/* The same, where the side that answers selects between that channel and another. */
static void selects(void *opaque) {
    weft_chan **pair = opaque;
    uint64_t value;
    for (;;) {
        weft_case cases[] = {weft_case_recv(pair[0], &value), weft_case_recv(pair[2], NULL)};
        if (weft_select(cases, 2, WEFT_FOREVER) != 0) return;
        weft_chan_send(pair[1], &value, WEFT_FOREVER);
    }
}
static int by_address(const void *a, const void *b) {
    uintptr_t left = (uintptr_t) * (weft_chan *const *)a, right = (uintptr_t) * (weft_chan *const *)b;
    return left < right ? -1 : left > right;
}
static void select_path(void *unused) {
    weft_chan *pair[3];
    uint64_t value = 1;
    (void)unused;
    for (unsigned i = 0; i < 3; i++)
        weft_chan_new(sizeof value, 0, &pair[i]);
    qsort(pair, 3, sizeof *pair, by_address); /* a select locks in this order */
    weft_spawn(selects, pair);
    for (;;) {
        weft_chan_send(pair[0], &value, WEFT_FOREVER);
        weft_chan_recv(pair[1], &value, WEFT_FOREVER);
        mark();
    }
}
/* The round trip of two messages, where the side that answers selects between a message and a channel. */
static void selects_messages(void *quit) {
    weft_msg *message;
    for (;;) {
        weft_case cases[] = {weft_case_message(&message), weft_case_recv(quit, NULL)};
        if (weft_select(cases, 2, WEFT_FOREVER) != 0) return;
        weft_send(weft_msg_from(message), 0, NULL, 0);
        weft_msg_free(message);
    }
}
static void select_message_path(void *unused) {
    weft_chan *quit;
    (void)unused;
    weft_chan_new(0, 0, &quit);
    weft_pid other = weft_spawn(selects_messages, quit);
    for (;;) {
        weft_msg *message;
        weft_send(other, 0, NULL, 0);
        weft_recv(&message, WEFT_FOREVER);
        weft_msg_free(message);
        mark();
    }
}
/* A message that is there, received by a select between it and a channel. */
static void select_receive_path(void *unused) {
    weft_chan *quit;
    weft_msg *message;
    (void)unused;
    weft_chan_new(0, 0, &quit);
    for (uint64_t i = 0;; i++) {
        if (i % 256 == 0)
            for (unsigned k = 0; k < 256; k++)
                weft_send(weft_self(), k, &i, sizeof i);
        weft_case cases[] = {weft_case_message(&message), weft_case_recv(quit, NULL)};
        weft_select(cases, 2, 0);
        weft_msg_free(message);
        mark();
    }
}

static void mutex_path(void *unused) {
    weft_mutex mutex = WEFT_MUTEX_INIT;
    (void)unused;
    for (;;) {
        weft_mutex_lock(&mutex, WEFT_FOREVER);
        weft_mutex_unlock(&mutex);
        mark();
    }
}

static void timer_path(void *unused) {
    (void)unused;
    for (;;) {
        weft_timer timer;
        weft_after(3600 * WEFT_SECOND, weft_self(), 0, NULL, 0, &timer);
        weft_timer_cancel(timer);
        mark();
    }
}

/* Held by one and wanted by the other: the first unlocks, which wakes the second, and wants it again. */
static weft_mutex wanted_by_two = WEFT_MUTEX_INIT;
static void wants(void *unused) {
    (void)unused;
    for (;;) {
        weft_mutex_lock(&wanted_by_two, WEFT_FOREVER);
        weft_yield();
        weft_mutex_unlock(&wanted_by_two);
        if (unused) mark();
    }
}
static void contended_path(void *unused) {
    (void)unused;
    weft_spawn(wants, NULL);
    wants(&wanted_by_two);
}

static weft_sem there, back;
static void releases(void *unused) {
    (void)unused;
    for (;;) {
        weft_sem_acquire(&there, 1, WEFT_FOREVER);
        weft_sem_release(&back, 1);
    }
}
static void semaphore_path(void *unused) {
    (void)unused;
    weft_sem_init(&there, 0);
    weft_sem_init(&back, 0);
    weft_spawn(releases, NULL);
    for (;;) {
        weft_sem_release(&there, 1);
        weft_sem_acquire(&back, 1, WEFT_FOREVER);
        mark();
    }
}

/* Armed, due at once, and received. */
static void fire_path(void *unused) {
    (void)unused;
    for (;;) {
        weft_msg *message;
        weft_timer timer;
        weft_after(1, weft_self(), 0, NULL, 0, &timer);
        weft_recv(&message, WEFT_FOREVER);
        weft_msg_free(message);
        mark();
    }
}

static void monitor_path(void *unused) {
    (void)unused;
    for (;;) {
        weft_msg *message;
        uint64_t reference;
        weft_spawn_monitor(returns, NULL, 0, &reference);
        weft_recv(&message, WEFT_FOREVER);
        weft_msg_free(message);
        mark();
    }
}

static void whereis_path(void *unused) {
    (void)unused;
    weft_register("someone", weft_self());
    for (;;) {
        weft_whereis("someone");
        mark();
    }
}

const struct path paths_stackful[] = {
    {"yield", yield_path, "ring", 1, 0},
    {"spawn-and-end", spawn_path, "ring", 1, 0},
    {"spawn-32-and-end", spawn_32_path, "ring", 1, 0},
    {"send-to-itself", send_path, "ring", 1, 0},
    {"receive", receive_path, "ring", 1, 0},
    {"round-trip", round_trip_path, "ring", 1, 0},
    {"round-trip-deque", round_trip_path, "deque", 1, 0},
    {"round-trip-line", round_trip_path, "line", 1, 0},
    {"handoff-round-trip", handoff_path, "ring", 1, 0},
    {"call", call_path, "ring", 1, 0},
    {"wake", wake_path, "ring", 2, 1},
    {"channel-round-trip", channel_path, "ring", 1, 0},
    {"select-channel", select_path, "ring", 1, 0},
    {"select-message", select_message_path, "ring", 1, 0},
    {"select-receive", select_receive_path, "ring", 1, 0},
    {"mutex", mutex_path, "ring", 1, 0},
    {"mutex-contended", contended_path, "ring", 1, 0},
    {"semaphore-round-trip", semaphore_path, "ring", 1, 0},
    {"timer-arm-and-cancel", timer_path, "ring", 1, 0},
    {"timer-arm-and-fire", fire_path, "ring", 1, 0},
    {"monitor-and-down", monitor_path, "ring", 1, 0},
    {"whereis", whereis_path, "ring", 1, 0},
    {NULL, NULL, NULL, 0, 0},
};
