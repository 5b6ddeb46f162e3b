/* The command of step processes that selects: done by a helper (command/job.h), with copies of the cases. What a case reads or writes is in the
 * job: elements to be sent behind the cases, and after them room for the largest result, which begins with a weft_selected. */
#include "command/job.h"
#include "command/yield.h"
#include "sync/chan.h"
#include "sys/deadline.h"

#include <weft/select.h>

enum { SELECT_COMMAND_MAIL = 1 << WEFT_CASE_MESSAGE | 1 << WEFT_CASE_TAG | 1 << WEFT_CASE_REPLY };

/* Not of the mailbox, and not of a channel of bytes, whose elements point to memory of the process's. */
static bool selecting_may(const weft_case *one) {
    bool of_bytes = one->kind <= WEFT_CASE_RECV && one->chan && chan_of(one->chan)->of_bytes;
    return one->kind <= WEFT_CASE_END && !(SELECT_COMMAND_MAIL >> one->kind & 1) && !of_bytes;
}

/* How many bytes of the program's own a case comes with, and goes with. */
static size_t selecting_sent(const weft_case *one) {
    bool sends = one->kind == WEFT_CASE_SEND && one->chan && !chan_of(one->chan)->of_bytes;
    return sends ? chan_of(one->chan)->element_size : 0;
}
static size_t selecting_got(const weft_case *one) {
    if (one->kind == WEFT_CASE_RECV && one->chan) return chan_of(one->chan)->element_size;
    return one->kind == WEFT_CASE_END ? sizeof(int) : 0;
}

struct selecting {
    struct command_select *head; /* the first of the job's data */
    weft_case *cases;
    unsigned char *elements;
    size_t sent, got; /* bytes of all elements that are sent; of the largest result */
};

static struct selecting selecting_of(void *data) {
    struct command_select *head = data;
    weft_case *cases = (weft_case *)(void *)(head + 1);
    struct selecting parts = {head, cases, (unsigned char *)(cases + head->count), 0, 0};
    for (uint32_t i = 0; i < head->count; i++) {
        size_t got = selecting_got(&cases[i]);
        parts.sent += selecting_sent(&cases[i]);
        if (got > parts.got) parts.got = got;
    }
    return parts;
}

/* At the end of the job's data, where it is aligned. */
static weft_selected *selecting_result(struct job *job, const struct selecting *parts) {
    return (weft_selected *)(void *)(job->data + job->size - sizeof(weft_selected) - parts->got);
}

/* The cases read from the copies of elements, and write behind the result. */
static void selecting_place(const struct selecting *parts, weft_selected *result) {
    unsigned char *element = parts->elements;
    for (uint32_t i = 0; i < parts->head->count; i++) {
        weft_case *one = &parts->cases[i];
        if (one->kind == WEFT_CASE_SEND) one->element = element;
        if (one->kind == WEFT_CASE_RECV || one->kind == WEFT_CASE_END) one->element = result + 1;
        element += selecting_sent(one);
    }
}

static void selecting_run(struct job *job) {
    struct selecting parts = selecting_of(job->data);
    weft_selected *result = selecting_result(job, &parts);
    selecting_place(&parts, result);
    int which = weft_select_with(parts.cases, parts.head->count, parts.head->flags, parts.head->deadline);
    bool happened = which >= 0;
    *result = (weft_selected){which, happened ? parts.cases[which].error : 0};
    size_t got = happened && result->error == 0 ? selecting_got(&parts.cases[which]) : 0;
    job_answer(job, happened ? 0 : which, result, happened ? sizeof *result + got : 0);
}

int command_select(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user;
    struct selecting parts = selecting_of((void *)(uintptr_t)data);
    for (uint32_t i = 0; i < parts.head->count; i++)
        if (!selecting_may(&parts.cases[i])) return WEFT_EINVAL;
    size_t room = (size + parts.got + sizeof(weft_selected) + 15) / 16 * 16 + parts.got % 16;
    struct job *job = job_new(completion, selecting_run, room, data, size);
    if (!job) return WEFT_ENOMEM;
    job->waits = true;
    return job_start(job);
}

/* Cases, and behind them the elements, in one piece. */
static unsigned char *selecting_pack(const weft_case *cases, size_t count, size_t *size) {
    *size = count * sizeof *cases;
    for (size_t i = 0; i < count; i++)
        *size += selecting_sent(&cases[i]);
    unsigned char *packed = sys->alloc(*size + 1), *end = packed + count * sizeof *cases;
    if (!packed) return NULL;
    if (count > 0) memcpy(packed, cases, count * sizeof *cases);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = selecting_sent(&cases[i]);
        if (bytes > 0) memcpy(end, cases[i].element, bytes);
        end += bytes;
    }
    return packed;
}

int weft_out_select(weft_out *out, uint64_t tag, const weft_case *cases, size_t count, unsigned flags, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct command_select head = {(uint32_t)count, flags, deadline};
    size_t size;
    if (count > UINT32_MAX / sizeof *cases) return WEFT_EINVAL;
    unsigned char *packed = selecting_pack(cases, count, &size);
    if (!packed) return WEFT_ENOMEM;
    int error = yield_two(out, COMMAND_SELECT, tag, &head, sizeof head, packed, size);
    sys->free(packed, size + 1);
    return error;
}
