/* What the tests of supervisors share: children that note when they begin and end, and waiting until they have. */
#ifndef WEFT_TESTS_SUPER_HELPERS_H
#define WEFT_TESTS_SUPER_HELPERS_H

#include "mailbox_helpers.h"

/* What children did, in order: 'A' for "a begins", 'a' for "a ends". */
static struct {
    weft_mutex lock;
    char text[4096];
    size_t length;
} diary = {.lock = WEFT_MUTEX_INIT};

static inline void diary_note(char letter) {
    weft_mutex_lock(&diary.lock, WEFT_FOREVER);
    EXPECT(diary.length + 1 < sizeof diary.text);
    diary.text[diary.length++] = letter;
    diary.text[diary.length] = '\0';
    weft_mutex_unlock(&diary.lock);
}
static inline void diary_clear(void) { diary.text[diary.length = 0] = '\0'; }
static inline void diary_is(const char *text) {
    if (strcmp(diary.text, text) != 0) test_fail(__FILE__, __LINE__, "the diary is %s and not %s", diary.text, text);
}
/* Until there are so many notes; a test that waits in vain is ended by its watchdog. */
static inline void diary_until(size_t length) {
    for (;;) {
        weft_mutex_lock(&diary.lock, WEFT_FOREVER);
        bool enough = diary.length >= length;
        weft_mutex_unlock(&diary.lock);
        if (enough) return;
        weft_sleep(WEFT_MILLISECOND);
    }
}

enum { ORDER_EXIT = 1 }; /* a message: ends with the code that it holds */

static inline void child_leaves(void *letter) { diary_note((char)(uintptr_t)letter); }

/* Notes its beginning and its end; does what it is told; ends with WEFT_ECANCELED when it is cancelled. */
static inline void noted_child(void *letter) {
    char name = *(const char *)letter;
    weft_msg *message;
    EXPECT_EQ(weft_defer(child_leaves, (void *)(uintptr_t)(name + 'a' - 'A')), 0);
    diary_note(name);
    weft_ready(0);
    int error = weft_recv_tag(ORDER_EXIT, &message, WEFT_FOREVER);
    if (error) weft_exit(error);
    int code = *(const int *)weft_msg_data(message);
    weft_msg_free(message);
    weft_exit(code);
}

static inline void child_order(weft_pid pid, int code) { weft_send(pid, ORDER_EXIT, &code, sizeof code); }

/* The PID of a child, by its id. */
static inline weft_pid child_pid(weft_pid super, const char *id) {
    weft_child_info children[32];
    ssize_t count = weft_super_children(super, children, 32, WEFT_FOREVER);
    EXPECT(count >= 0);
    for (ssize_t i = 0; i < count; i++)
        if (strcmp(children[i].id, id) == 0) return children[i].pid;
    return WEFT_NOBODY;
}

#define CHILD(letter, ...)                                                                                                                 \
    { .id = letter, .entry = noted_child, .arg = (void *)(letter), .ready = true, __VA_ARGS__ }
#define SPEC(list, ...) ((weft_super_spec){.name = "tested", .children = list, .count = sizeof(list) / sizeof *(list), __VA_ARGS__})

static inline weft_pid super_started(const weft_super_spec *spec) {
    weft_pid super = WEFT_NOBODY;
    EXPECT_EQ(weft_super_start(spec, &(weft_stackful_options){.runtime = rt.runtime}, &super, WEFT_FOREVER), 0);
    return super;
}

#endif
