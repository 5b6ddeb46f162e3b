/* Functions that block their thread, tasks, files that are always ready, children, names. */
#ifndef WEFT_TESTS_CROSS_CALLS_BLOCKING_H
#define WEFT_TESTS_CROSS_CALLS_BLOCKING_H

#include "name/dns_server.h"
#include "raw.h"

/* ---- functions that block ------------------------------------------------------------------------------------------- */

static inline void posix_wait(sem_t *sem) {
    while (sem_wait(sem) != 0)
        EXPECT_EQ(errno, EINTR);
}
static inline void blocking_make(struct trial *trial) { EXPECT_EQ(sem_init(&trial->things.posix, 0, 0), 0); }
static inline void blocking_clean(struct trial *trial) {
    bool ran = atom_load_acq(&trial->things.fn_ended);
    EXPECT(ran || !atom_load_acq(&trial->came_back));
    EXPECT_EQ(sem_trywait(&trial->things.posix) == 0, !ran);
    EXPECT_EQ(sem_destroy(&trial->things.posix), 0);
}
static inline bool blocking_complete(struct trial *trial) {
    EXPECT_EQ(sem_post(&trial->things.posix), 0);
    return true;
}
/* In the call the function is a thread. */
static inline void blocking_fn(void *arg) {
    struct trial *trial = arg;
    EXPECT_EQ(weft_self(), WEFT_NOBODY);
    posix_wait(&trial->things.posix);
    atom_add_rel(&trial->things.fn_ended, 1);
}
static inline int blocking_judge(struct trial *trial, int error) {
    EXPECT_EQ(atom_load_acq(&trial->things.fn_ended), 1);
    EXPECT_EQ(weft_self(), trial->caller);
    return error;
}
static inline int blocking_wait(struct trial *trial, uint64_t deadline) {
    (void)deadline;
    return blocking_judge(trial, weft_blocking(blocking_fn, trial));
}
static inline int blocking_wait_long(struct trial *trial, uint64_t deadline) {
    (void)deadline;
    return blocking_judge(trial, weft_blocking_long(blocking_fn, trial));
}
static inline int blocking_wait_between(struct trial *trial, uint64_t deadline) {
    (void)deadline;
    weft_blocking_enter();
    weft_blocking_enter_long(); /* they nest */
    weft_blocking_leave();
    blocking_fn(trial);
    weft_blocking_leave();
    return blocking_judge(trial, 0);
}

/* Left to itself when the call gives up, with memory of its own. */
struct errand {
    sem_t sem;
    atom_u64 ended, abandoned;
};
static inline void errand_make(struct trial *trial) {
    trial->things.errand = calloc(1, sizeof *trial->things.errand);
    EXPECT_EQ(sem_init(&trial->things.errand->sem, 0, 0), 0);
}
static inline bool errand_complete(struct trial *trial) {
    EXPECT_EQ(sem_post(&trial->things.errand->sem), 0);
    return true;
}
static inline void errand_run(void *arg) {
    struct errand *errand = arg;
    posix_wait(&errand->sem);
    atom_add_rel(&errand->ended, 1);
}
static inline void errand_abandoned(void *arg) {
    struct errand *errand = arg;
    atom_add_rel(&errand->abandoned, 1);
}
static inline int errand_call(struct trial *trial, uint64_t deadline) {
    int error = weft_blocking_until(errand_run, trial->things.errand, errand_abandoned, deadline);
    if (!error) EXPECT_EQ(atom_load_acq(&trial->things.errand->ended), 1);
    return error == WEFT_ESTOPPING && trial->state->stops ? WEFT_ECANCELED : error;
}
static inline void errand_clean(struct trial *trial) {
    struct errand *errand = trial->things.errand;
    if (!trial->taken) await(&errand->abandoned);
    EXPECT_EQ(atom_load_acq(&errand->abandoned), trial->taken ? 0 : 1);
    EXPECT_EQ(sem_destroy(&errand->sem), 0);
    free(errand);
}

/* ---- fork and join -------------------------------------------------------------------------------------------------- */

/* A task that waits, wherever it is run; and one that joins it. */
WEFT_TASK(int, cross_leaf, struct trial *, trial) {
    WEFT_TASK_WAIT_BEGIN();
    weft_shield_begin();
    int error = weft_sem_acquire(&trial->things.sem, 1, patient());
    weft_shield_end();
    WEFT_TASK_WAIT_END();
    return error;
}
WEFT_TASK(int, cross_tree, struct trial *, trial) {
    WEFT_FORK(cross_leaf, trial);
    for (uint64_t until = weft_now() + 20 * WEFT_MICROSECOND; weft_now() < until;) {} /* so that another worker may take it */
    return WEFT_JOIN(cross_leaf);
}
static inline int fork_wait(struct trial *trial, uint64_t deadline) {
    (void)deadline;
    return WEFT_RUN(cross_tree, trial);
}
static inline bool fork_complete(struct trial *trial) {
    weft_sem_release(&trial->things.sem, 1);
    return true;
}

/* ---- files that are always ready ------------------------------------------------------------------------------------ */

static const char file_text[] = "read by several";
static inline void file_make(struct trial *trial) {
    FILE *file = tmpfile();
    EXPECT(file);
    trial->things.raw[0] = dup(fileno(file));
    fclose(file);
    EXPECT_EQ(pwrite(trial->things.raw[0], file_text, sizeof file_text, 0), (ssize_t)sizeof file_text);
}
static inline void file_clean(struct trial *trial) { close(trial->things.raw[0]); }
static inline int file_judge(ssize_t got, const char *data) {
    if (got < 0) return (int)got;
    EXPECT_EQ(got, sizeof file_text);
    EXPECT(memcmp(data, file_text, sizeof file_text) == 0);
    return 0;
}
static inline int file_wait_pread(struct trial *trial, uint64_t deadline) {
    char data[sizeof file_text];
    (void)deadline;
    ssize_t got = weft_file_pread(trial->things.raw[0], data, sizeof data, 0);
    return file_judge(got, data);
}
static inline int file_wait_sync(struct trial *trial, uint64_t deadline) {
    (void)deadline;
    return weft_file_sync(trial->things.raw[0]);
}
static inline int file_wait_load(struct trial *trial, uint64_t deadline) {
    char path[64], *data = NULL;
    size_t size = 0;
    (void)deadline;
    snprintf(path, sizeof path, "/proc/self/fd/%d", trial->things.raw[0]);
    int error = weft_file_load(path, &data, &size);
    if (!error) EXPECT_EQ(file_judge((ssize_t)size, data), 0);
    weft_file_free(data, size);
    return error;
}

static inline int file_wait_stat(struct trial *trial, uint64_t deadline) {
    struct stat info;
    (void)deadline;
    int error = weft_file_fstat(trial->things.raw[0], &info);
    if (!error) EXPECT_EQ(info.st_size, sizeof file_text);
    return error;
}

/* ---- children of the operating system ------------------------------------------------------------------------------- */

static inline void child_make(struct trial *trial) {
    trial->things.child = raw_child(&trial->things.raw[0]);
    atom_store_rel(&trial->things.spawned, 1);
}
static inline bool child_complete(struct trial *trial) {
    if (atom_swap_acqrel(&trial->things.spawned, 0)) close(trial->things.raw[0]);
    return raw_child_ended(trial->things.child);
}
static inline int child_wait(struct trial *trial, uint64_t deadline) {
    int status = 0, error = weft_waitpid(trial->things.child, &status, deadline);
    if (!error) EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    return error;
}

/* ---- names ---------------------------------------------------------------------------------------------------------- */

/* The server that is asked is a socket which its completer answers from. */
static inline void name_make(struct trial *trial) {
    struct sockaddr_in *place = (struct sockaddr_in *)&trial->things.address.place;
    trial->things.address.size = sizeof *place;
    *place = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    trial->things.raw[0] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(trial->things.raw[0], (struct sockaddr *)place, sizeof *place), 0);
    EXPECT_EQ(getsockname(trial->things.raw[0], (struct sockaddr *)place, &trial->things.address.size), 0);
}
static inline int name_wait(struct trial *trial, uint64_t deadline) {
    char servers[32];
    weft_addr found;
    const struct sockaddr_in *place = (const struct sockaddr_in *)&trial->things.address.place;
    snprintf(servers, sizeof servers, "127.0.0.1:%u", ntohs(place->sin_port));
    weft_resolve_options options = {.family = AF_INET, .resolver = "ares", .servers = servers, .patience = 60 * WEFT_SECOND};
    int error = weft_resolve("one.test.", "77", &options, &found, 1, deadline);
    if (error < 0) return error;
    EXPECT_EQ(((struct sockaddr_in *)&found.place)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    return 0;
}
static inline bool name_complete(struct trial *trial) {
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    struct dns_packet packet;
    struct dns_question question;
    unsigned char data[DNS_MOST];
    ssize_t got = recvfrom(trial->things.raw[0], data, sizeof data, 0, (struct sockaddr *)&from, &size);
    if (got < 0) return false;
    EXPECT(dns_parse(&question, data, (size_t)got, false));
    dns_truth(&packet, &question);
    sendto(trial->things.raw[0], packet.data, packet.size, 0, (struct sockaddr *)&from, size); /* it may have given up */
    return true;
}
static inline void name_clean(struct trial *trial) { close(trial->things.raw[0]); }
static inline bool name_is_there(void) {
    weft_addr one;
    return weft_resolve("x", "77", &(weft_resolve_options){.resolver = "ares", .servers = "not one"}, &one, 1, WEFT_FOREVER) != WEFT_ENOSYS;
}

#define BLOCKING CALL_ONCE | CALL_NO_DEADLINE | CALL_TO_ITS_END
#define ALWAYS_READY CALL_INSTANT | CALL_NO_DEADLINE | CALL_REFUSES | CALL_LEVEL
#define CALLS_BLOCKING(CALL)                                                                                                               \
    CALL(blocking, .is = BLOCKING, .make = blocking_make, .wait = blocking_wait, .complete = blocking_complete, .clean = blocking_clean)   \
    CALL(blocking_long, .is = BLOCKING, .make = blocking_make, .wait = blocking_wait_long, .complete = blocking_complete,                  \
         .clean = blocking_clean)                                                                                                          \
    CALL(blocking_between, .is = BLOCKING | CALL_NOT_TOLD, .make = blocking_make, .wait = blocking_wait_between,                           \
         .complete = blocking_complete, .clean = blocking_clean)                                                                           \
    CALL(blocking_until, .is = CALL_ONCE | CALL_NOT_BEFORE, .make = errand_make, .wait = errand_call, .complete = errand_complete,         \
         .clean = errand_clean)                                                                                                            \
    CALL(fork_join, .is = BLOCKING | CALL_NOT_TOLD, .wait = fork_wait, .complete = fork_complete)                                          \
    CALL(file_pread, .is = ALWAYS_READY, .make = file_make, .wait = file_wait_pread, .clean = file_clean)                                  \
    CALL(file_sync, .is = ALWAYS_READY, .make = file_make, .wait = file_wait_sync, .clean = file_clean)                                    \
    CALL(file_stat, .is = ALWAYS_READY, .make = file_make, .wait = file_wait_stat, .clean = file_clean)                                    \
    CALL(file_load, .is = ALWAYS_READY, .make = file_make, .wait = file_wait_load, .clean = file_clean)                                    \
    CALL(waitpid, .is = CALL_REFUSES | CALL_PACKS, .gone = WEFT_ECHILD, .make = child_make, .wait = child_wait,                            \
         .complete = child_complete)                                                                                                       \
    CALL(resolve, .is = CALL_ONCE | CALL_NOT_BEFORE, .make = name_make, .wait = name_wait, .complete = name_complete, .clean = name_clean)

#endif
