/* What the ports of the Savina suite share: parameters, random numbers, small structs as messages, and the verdict.
 *
 * A program computes its result a second time, without processes, and compares. Then it prints `NAME ok: ...`; if anything is wrong,
 * whichever process notices it says what on standard error and ends the program at once, with 1. */
#ifndef SAVINA_H
#define SAVINA_H

#include <weft/weft.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *savina_name = "savina";

__attribute__((noreturn, format(printf, 1, 2))) static inline void savina_wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", savina_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    fflush(NULL);
    _exit(1); /* not exit: the other processes are running */
}

#define SAVINA_CHECK(condition, ...)                                                                                                       \
    do {                                                                                                                                   \
        if (!(condition)) savina_wrong(__VA_ARGS__);                                                                                       \
    } while (0)

/* For calls whose failure would be a mistake. */
static inline void savina_must(int result, const char *what) { SAVINA_CHECK(result >= 0, "%s: %s", what, weft_strerror(result)); }

static inline void *savina_zeroed(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    SAVINA_CHECK(memory, "out of memory");
    return memory;
}

/* ---- parameters --------------------------------------------------------------------------------------------------- */

struct savina_parameter {
    const char *name; /* given as --name NUMBER */
    uint64_t *value;  /* its default, until then */
    uint64_t least, most;
    const char *meaning;
};

static inline void savina_help(FILE *out, const char *about, const struct savina_parameter *parameters, size_t count) {
    fprintf(out, "%s: %s\n", savina_name, about);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "  --%-12s %s (%" PRIu64 ")\n", parameters[i].name, parameters[i].meaning, *parameters[i].value);
    fprintf(out, "WEFT_POLICY and WEFT_WORKERS say how it is run.\n");
}

static inline bool savina_set(const struct savina_parameter *parameter, const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < parameter->least || value > parameter->most) return false;
    *parameter->value = value;
    return true;
}

/* In main, before the runtime is started. Ends the program after --help, and with 2 when it cannot make sense of the arguments. */
static inline void savina_begin(const char *name, const char *about, const struct savina_parameter *parameters, size_t count, int argc,
                                char **argv) {
    savina_name = name;
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        if (strcmp(argv[i], "--help") == 0) {
            savina_help(stdout, about, parameters, count);
            exit(0);
        }
        while (k < count && !(strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, parameters[k].name) == 0))
            k++;
        if (k < count && i + 1 < argc && savina_set(&parameters[k], argv[i + 1])) continue;
        if (k == count) fprintf(stderr, "%s: what is %s?\n", name, argv[i]);
        else
            fprintf(stderr, "%s: %s is a number from %" PRIu64 " to %" PRIu64 "\n", name, argv[i], parameters[k].least, parameters[k].most);
        savina_help(stderr, about, parameters, count);
        exit(2);
    }
}
#define SAVINA_BEGIN(name, about, parameters, argc, argv)                                                                                  \
    savina_begin(name, about, parameters, sizeof(parameters) / sizeof((parameters)[0]), argc, argv)

/* The verdict; `took` is what the run took, without the second computation. Returns the program's exit status. */
__attribute__((format(printf, 2, 3))) static inline int savina_ok(uint64_t took, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("%s ok: ", savina_name);
    vprintf(format, arguments);
    printf(", %.1f ms\n", (double)took / 1e6);
    va_end(arguments);
    return 0;
}

/* ---- random numbers ----------------------------------------------------------------------------------------------- */

/* SplitMix64: every start gives a sequence of its own, the same at every run. */
static inline uint64_t savina_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
static inline uint64_t savina_below(uint64_t *state, uint64_t limit) { return savina_random(state) % limit; }

/* ---- processes and messages --------------------------------------------------------------------------------------- */

static inline weft_pid savina_spawn(weft_scope *scope, weft_entry entry, void *arg) {
    weft_pid pid;
    savina_must(weft_scope_spawn_with(scope, entry, arg, NULL, &pid), "spawn");
    return pid;
}

static inline void savina_send(weft_pid to, uint64_t tag, const void *data, size_t size) {
    savina_must(weft_send(to, tag, data, size), "send");
}

/* What the message carries, if that has `size` bytes. */
static inline const void *savina_data(weft_msg *message, size_t size) {
    SAVINA_CHECK(weft_msg_len(message) == size, "a message with tag %" PRIu64 " has %zu bytes, not %zu", weft_msg_tag(message),
                 weft_msg_len(message), size);
    return weft_msg_data(message);
}

static inline weft_msg *savina_recv(void) {
    weft_msg *message;
    savina_must(weft_recv(&message, WEFT_FOREVER), "receive");
    return message;
}

/* The next message, copied out and freed; its tag. For processes all of whose messages have the same size. */
static inline uint64_t savina_recv_into(void *data, size_t size) {
    weft_msg *message = savina_recv();
    uint64_t tag = weft_msg_tag(message);
    if (size) memcpy(data, savina_data(message, size), size);
    weft_msg_free(message);
    return tag;
}

/* Asks and waits for the answer. */
static inline void savina_call(weft_pid to, uint64_t tag, const void *data, size_t size, void *answer, size_t answer_size) {
    weft_msg *reply;
    savina_must(weft_call(to, tag, data, size, &reply, WEFT_FOREVER), "call");
    if (answer_size) memcpy(answer, savina_data(reply, answer_size), answer_size);
    weft_msg_free(reply);
}

static inline void savina_reply(const weft_msg *message, const void *data, size_t size) {
    savina_must(weft_reply(weft_msg_request(message), data, size), "reply");
}

#endif
