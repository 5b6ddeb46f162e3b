/* Selects of two cases, and the plain calls beside them: round trips, where the side that answers waits in one or the other. */
#include "paths.h"

enum { WANTED = 7 };
static weft_sem there, back, never;
static weft_chan *idle;
static weft_fd pipe_ends[2];
static weft_pid sleeper;

static void sleeps(void *unused) {
    weft_msg *message;
    (void)unused;
    weft_recv(&message, WEFT_FOREVER);
}
static void make_things(void) {
    weft_sem_init(&there, 0);
    weft_sem_init(&back, 0);
    weft_sem_init(&never, 0);
    weft_chan_new(sizeof(uint64_t), 0, &idle);
    weft_pipe(pipe_ends);
    sleeper = weft_spawn_joinable(sleeps, NULL);
}

/* ---- messages ---------------------------------------------------------------------------------------------------------------- */

/* What the side that answers waits with: 0, and the message. */
typedef int waits_for(weft_msg **message);

static void answers(void *how) {
    weft_msg *message;
    while (((waits_for *)how)(&message) == 0) {
        weft_send(weft_msg_from(message), WANTED, NULL, 0);
        weft_msg_free(message);
    }
}
static void message_path(waits_for *how) {
    make_things();
    weft_pid other = weft_spawn(answers, (void *)how);
    for (;;) {
        weft_msg *message;
        weft_send(other, WANTED, NULL, 0);
        weft_recv(&message, WEFT_FOREVER);
        weft_msg_free(message);
        mark();
    }
}
static int waits_plain(weft_msg **message) { return weft_recv(message, WEFT_FOREVER); }
static int waits_until(weft_msg **message) { return weft_recv(message, weft_in(3600 * WEFT_SECOND)); }
static int waits_tag(weft_msg **message) { return weft_recv_tag(WANTED, message, WEFT_FOREVER); }
static int waits_beside(weft_case wanted, weft_case other) {
    weft_case cases[] = {wanted, other};
    return weft_select(cases, 2, WEFT_FOREVER);
}
static int waits_or_permit(weft_msg **message) { return waits_beside(weft_case_message(message), weft_case_acquire(&never, 1)); }
static int waits_or_end(weft_msg **message) { return waits_beside(weft_case_message(message), weft_case_end(sleeper, NULL)); }
static int waits_or_fd(weft_msg **message) { return waits_beside(weft_case_message(message), weft_case_readable(pipe_ends[0])); }
static int waits_or_moment(weft_msg **message) {
    return waits_beside(weft_case_message(message), weft_case_moment(weft_in(3600 * WEFT_SECOND)));
}
static int waits_tag_or_channel(weft_msg **message) { return waits_beside(weft_case_tag(WANTED, message), weft_case_recv(idle, NULL)); }
static int waits_tag_or_permit(weft_msg **message) { return waits_beside(weft_case_tag(WANTED, message), weft_case_acquire(&never, 1)); }

#define MESSAGE_PATH(how)                                                                                                                  \
    static void how##_path(void *unused) {                                                                                                 \
        (void)unused;                                                                                                                      \
        message_path(how);                                                                                                                 \
    }
MESSAGE_PATH(waits_plain)
MESSAGE_PATH(waits_until)
MESSAGE_PATH(waits_tag)
MESSAGE_PATH(waits_or_permit)
MESSAGE_PATH(waits_or_end)
MESSAGE_PATH(waits_or_fd)
MESSAGE_PATH(waits_or_moment)
MESSAGE_PATH(waits_tag_or_channel)
MESSAGE_PATH(waits_tag_or_permit)

/* ---- permits --------------------------------------------------------------------------------------------------------------------- */

static void releases_selecting(void *other) {
    for (;;) {
        if (waits_beside(weft_case_acquire(&there, 1), *(weft_case *)other) != 0) return;
        weft_sem_release(&back, 1);
    }
}
static void permit_path(weft_case other) {
    weft_spawn(releases_selecting, &other);
    for (;;) {
        weft_sem_release(&there, 1);
        weft_sem_acquire(&back, 1, WEFT_FOREVER);
        mark();
    }
}
static void permit_or_channel_path(void *unused) {
    (void)unused;
    make_things();
    permit_path(weft_case_recv(idle, NULL));
}
static void permit_or_permit_path(void *unused) {
    (void)unused;
    make_things();
    permit_path(weft_case_acquire(&never, 1));
}

/* ---- descriptors: readable from the beginning --------------------------------------------------------------------------------------- */

static void fill_pipe(void) {
    make_things();
    weft_fd_write(pipe_ends[1], "x", 1, 0);
}
static void readable_path(void *unused) {
    (void)unused;
    fill_pipe();
    for (;;) {
        weft_fd_wait(pipe_ends[0], WEFT_READABLE, WEFT_FOREVER);
        mark();
    }
}
static void readable_or_channel_path(void *unused) {
    (void)unused;
    fill_pipe();
    for (;;) {
        waits_beside(weft_case_readable(pipe_ends[0]), weft_case_recv(idle, NULL));
        mark();
    }
}

/* ---- ends ------------------------------------------------------------------------------------------------------------------------------ */

static void returns_at_once(void *unused) { (void)unused; }
static void join_path(void *unused) {
    (void)unused;
    for (;;) {
        weft_join(weft_spawn_joinable(returns_at_once, NULL), NULL, WEFT_FOREVER);
        mark();
    }
}
static void end_or_channel_path(void *unused) {
    (void)unused;
    make_things();
    for (;;) {
        waits_beside(weft_case_end(weft_spawn_joinable(returns_at_once, NULL), NULL), weft_case_recv(idle, NULL));
        mark();
    }
}

const struct path paths_select[] = {
    {"message-plain", waits_plain_path, "ring", 1, 0},
    {"message-until", waits_until_path, "ring", 1, 0},
    {"message-tag", waits_tag_path, "ring", 1, 0},
    {"select-msg-permit", waits_or_permit_path, "ring", 1, 0},
    {"select-msg-end", waits_or_end_path, "ring", 1, 0},
    {"select-msg-fd", waits_or_fd_path, "ring", 1, 0},
    {"select-msg-moment", waits_or_moment_path, "ring", 1, 0},
    {"select-tag-channel", waits_tag_or_channel_path, "ring", 1, 0},
    {"select-tag-permit", waits_tag_or_permit_path, "ring", 1, 0},
    {"select-permit-channel", permit_or_channel_path, "ring", 1, 0},
    {"select-permit-permit", permit_or_permit_path, "ring", 1, 0},
    {"fd-wait", readable_path, "ring", 1, 0},
    {"select-fd-channel", readable_or_channel_path, "ring", 1, 0},
    {"join", join_path, "ring", 1, 0},
    {"select-end-channel", end_or_channel_path, "ring", 1, 0},
    {NULL, NULL, NULL, 0, 0},
};
