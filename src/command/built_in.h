/* The commands that every runtime knows: their numbers, the layout of their data, and their handlers. What they mean is said in
 * weft/command.h. Programs do not see numbers and layouts, so that both may change: a step process gives commands out by weft_out_read and the like. */
#ifndef WEFT_COMMAND_BUILT_IN_H
#define WEFT_COMMAND_BUILT_IN_H

#include <weft/command.h>
#include <weft/net.h>

/* The numbers are consecutive. */
#define COMMAND_SLEEP UINT32_C(0xffff0001) /* a uint64_t: so many nanoseconds */
#define COMMAND_READ UINT32_C(0xffff0002)  /* struct command_read */
#define COMMAND_WRITE UINT32_C(0xffff0003) /* struct command_write, and behind it the bytes */
#define COMMAND_OPEN UINT32_C(0xffff0004)  /* struct command_open, and behind it the path */
#define COMMAND_CLOSE UINT32_C(0xffff0005) /* an int, the descriptor */
#define COMMAND_SYNC UINT32_C(0xffff0006)  /* likewise */
#define COMMAND_CALL UINT32_C(0xffff0007)  /* weft_command_call, and behind it the data */
#define COMMAND_NET UINT32_C(0xffff0008)   /* struct command_net */
#define COMMAND_RESOLVE                                                                                                                    \
    UINT32_C(0xffff0009) /* the deadline, a uint64_t, and behind it host and service, both NUL-terminated; empty: not given */
#define COMMAND_CHILD UINT32_C(0xffff000a) /* struct command_child */
#define COMMAND_ROOM UINT32_C(0xffff000b)  /* a weft_pid: completed when that process's mailbox has space */
#define COMMAND_ASK UINT32_C(0xffff000c)   /* struct command_ask, and behind it the bytes of the request */
#define COMMAND_JOIN UINT32_C(0xffff000d)  /* struct command_ask: the process to join */
#define COMMAND_SELECT                                                                                                                     \
    UINT32_C(0xffff000e) /* struct command_select, and behind it the cases, and the elements to be sent, in the order of their cases */

struct command_read {
    int descriptor;
    size_t size;
    int64_t offset;
    uint64_t deadline;
};

struct command_write {
    int descriptor;
    int64_t offset;
    uint64_t deadline;
};

struct command_open {
    int flags;
    mode_t mode;
};

enum command_net_call {
    NET_ACCEPT,
    NET_CONNECT,
    NET_READ,
    NET_WRITE,
    NET_WAIT,
    NET_RECV_FROM,
    NET_SEND_TO,
    NET_SENDFILE,
    NET_CONNECT_NAME,
    NET_RELEASE,
};
/* Followed by: the address to connect to; host and service, each with its 0 byte; the bytes of a write; of send_to a weft_addr and the
 * bytes. */
struct command_net {
    enum command_net_call what;
    int file; /* of sendfile */
    weft_fd fd;
    size_t size;    /* at most, of a read; of a wait what for; of sendfile how many */
    int64_t offset; /* of sendfile; below 0: from the file's own position */
    uint64_t deadline;
};

/* Behind it: the arguments of a start, each with its 0 byte. */
struct command_child {
    pid_t pid; /* the child to wait for; 0: start one */
    unsigned pipes;
    uint64_t deadline;
};

struct command_ask {
    weft_pid to;
    uint64_t tag; /* of the request */
    uint64_t deadline;
};

struct command_select {
    uint32_t count, flags;
    uint64_t deadline;
};

int command_sleep(void *user, weft_completion completion, const void *data, size_t size);
int command_read(void *user, weft_completion completion, const void *data, size_t size);
int command_write(void *user, weft_completion completion, const void *data, size_t size);
int command_open(void *user, weft_completion completion, const void *data, size_t size);
int command_close(void *user, weft_completion completion, const void *data, size_t size);
int command_sync(void *user, weft_completion completion, const void *data, size_t size);
int command_call(void *user, weft_completion completion, const void *data, size_t size);
int command_net(void *user, weft_completion completion, const void *data, size_t size);        /* command/net_commands.c */
int command_resolve(void *user, weft_completion completion, const void *data, size_t size);    /* command/name_command.c */
int command_child(void *user, weft_completion completion, const void *data, size_t size);      /* command/child_commands.c */
int command_await_room(void *user, weft_completion completion, const void *data, size_t size); /* command/await_room.c */
int command_ask(void *user, weft_completion completion, const void *data, size_t size);        /* command/talk_commands.c */
int command_join(void *user, weft_completion completion, const void *data, size_t size);
int command_select(void *user, weft_completion completion, const void *data, size_t size); /* command/select_command.c */

#endif
