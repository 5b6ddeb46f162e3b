/* What the tests of the network share: processes that are counted and waited for, and a listener on loopback. */
#ifndef WEFT_TESTS_NET_HELPERS_H
#define WEFT_TESTS_NET_HELPERS_H

#include "runtime_helpers.h"

#include <weft/weft.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

static atom_u64 net_done;

/* A process of the test's runtime, from anywhere. */
static inline weft_pid net_spawn(weft_entry entry, void *arg) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    return pid;
}
static inline void net_is_done(void) { atom_add_rel(&net_done, 1); }

/* Runs it as a process and waits for net_is_done, so many times. */
static inline void net_run_until(weft_entry entry, uint64_t count) {
    atom_store_rlx(&net_done, 0);
    net_spawn(entry, NULL);
    rt_wait(&net_done, count);
}

/* Descriptors that are open in this program. */
static inline unsigned net_count_open(void) {
    unsigned count = 0;
    for (int i = 0; i < 4096; i++)
        if (fcntl(i, F_GETFD) >= 0) count++;
    return count;
}

/* How often the system has been asked. A process that has asked in vain waits, or is about to, and uses the descriptor: so a close that
 * comes now is told to it, whatever the load of the machine. */
static inline uint64_t net_calls(enum sys_net_call call) { return atom_load_rlx(&sys_script.counts.net[call]); } /* rlx: a count */
static inline void net_wait_calls(enum sys_net_call call, uint64_t count) {
    while (net_calls(call) < count)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
}

/* As many descriptors as there may be. */
static inline rlim_t net_raise_limit(void) {
    struct rlimit limit;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit.rlim_cur;
}

static inline weft_fd net_listen_any(char *where, const weft_listen_options *options) {
    weft_addr address;
    weft_fd fd = weft_net_listen("127.0.0.1:0", options);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_net_name(fd, &address), 0);
    weft_addr_text(&address, where, WEFT_ADDR_TEXT);
    return fd;
}

/* A connected pair over TCP. */
static inline void net_tcp_pair(weft_fd pair[2]) {
    char where[WEFT_ADDR_TEXT];
    weft_fd door = net_listen_any(where, NULL);
    pair[0] = weft_net_connect(where, WEFT_FOREVER);
    EXPECT(pair[0] > 0);
    pair[1] = weft_net_accept(door, NULL, WEFT_FOREVER);
    EXPECT(pair[1] > 0);
    EXPECT_EQ(weft_fd_close(door), 0);
}

/* Reads until there is no more; how many bytes came, fewer than there is room for. */
static inline size_t net_read_to_end(weft_fd fd, void *data, size_t room) {
    size_t got;
    EXPECT_EQ(weft_fd_read_all(fd, data, room, &got, WEFT_FOREVER), WEFT_EEOF);
    return got;
}

static inline void *net_box(weft_fd fd) { return (void *)(intptr_t)fd; }
static inline weft_fd net_unbox(void *arg) { return (weft_fd)(intptr_t)arg; }

#endif
