/* Resolving names by c-ares. It is loaded when it is first needed, so that neither weft nor programs depend on it; a static program, which
 * cannot load libraries, does without. */
#include "name/name.h"

#include "net/op.h"

#if !WEFT_CARES

int name_ares_find(uint64_t deadline) {
    (void)deadline;
    return 0;
}
int name_ares(struct name *name) {
    (void)name;
    return WEFT_ENOSYS;
}

#else

#include <weft/blocking.h>
#include <weft/stack.h>
#include <weft/sync.h>

#define CARES_NO_DEPRECATED
#include <ares.h>
#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/time.h>

/* ---- the library ----------------------------------------------------------------------------------------------------------------- */

#define NAME_ARES_CALLS(X)                                                                                                                 \
    X(library_init)                                                                                                                        \
    X(init_options) X(destroy) X(set_servers_ports_csv) X(set_socket_functions) X(getaddrinfo) X(freeaddrinfo) X(process_fd) X(timeout)
static struct {
#define NAME_ARES_FIELD(call) __typeof__(ares_##call) *call;
    NAME_ARES_CALLS(NAME_ARES_FIELD)
} name_ares_library;

/* 0, or WEFT_ENOSYS: c-ares is not installed; or another error: why that is not known now. */
static int name_ares_open(void) {
    if (getauxval(AT_BASE) == 0) return WEFT_ENOSYS;             /* no loader: it would bring a C library of its own beside the program's */
    void *file = dlopen("libcares.so.2", RTLD_NOW | RTLD_LOCAL); /* for good */
    int spare = file ? 0 : sys->net->bell_open();                /* the loader does not say whether it was short of descriptors */
    if (!file && spare >= 0) sys->net->close(spare);
    if (!file) return spare < 0 ? spare : WEFT_ENOSYS;
    bool all = true;
#define NAME_ARES_FIND(call)                                                                                                               \
    if (all) all = (name_ares_library.call = (__typeof__(ares_##call) *)dlsym(file, "ares_" #call)) != NULL;
    NAME_ARES_CALLS(NAME_ARES_FIND)
    if (!all) return WEFT_ENOSYS;
    return name_ares_library.library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS ? 0 : WEFT_ENOMEM;
}
static void name_ares_load(void *error) {
    blocking_enter("weft_blocking_enter", false);
    *(int *)error = name_ares_open();
    blocking_leave();
}

/* Loading reads files, and needs a deep stack. */
static int name_ares_load_once(void *unused) {
    int error = 0, called = 0;
    (void)unused;
    if (worker_here()) called = bigstack(name_ares_load, &error, 256 << 10);
    else name_ares_load(&error);
    return called ? called : error;
}

/* A failure is not remembered: what was missing may be there later (descriptors, memory; the library too). */
int name_ares_find(uint64_t deadline) {
    static weft_once once = WEFT_ONCE_INIT;
    int error = weft_once_do(&once, name_ares_load_once, NULL, deadline);
    return error == WEFT_ENOSYS ? 0 : error ? error : 1;
}

/* ---- a query --------------------------------------------------------------------------------------------------------------------- */

/* One request to c-ares, and its answer. */
struct question {
    bool done;
    int status;
    struct ares_addrinfo *found;
};
struct query {
    struct name *name;
    ares_channel channel;
    int set;                         /* of its sockets */
    weft_fd handle;                  /* the set, for a process to wait for; WEFT_NO_FD in a thread */
    int error;                       /* of a registration: that socket's events would be lost */
    int shortage;                    /* why there was no socket */
    int refusal;                     /* the error in the last packet: c-ares then asks the next server, and does not report it in the end */
    struct question asked, alone[2]; /* for the families wanted; for each family alone */
    uint64_t apart;                  /* when to ask for each family alone */
};

/* The socket functions for c-ares, which reads errno, on the same thread. */
static ssize_t query_result(ssize_t result) {
    if (result >= 0) return result;
    errno = (int)-result;
    return -1;
}
static ares_socket_t query_open(int family, int type, int protocol, void *arg) {
    int number = sys->net->socket(family, type, protocol);
    if (number < 0) ((struct query *)arg)->shortage = number;
    return (ares_socket_t)query_result(number);
}
static int query_close(ares_socket_t number, void *arg) {
    (void)arg;
    return (int)query_result(sys->net->close(number));
}
static int query_connect(ares_socket_t number, const struct sockaddr *address, ares_socklen_t size, void *arg) {
    (void)arg;
    int error = sys->net->connect(number, address, size);
    return (int)query_result(error == -EINTR ? -EINPROGRESS : error);
}
/* Notes the error code in the header of a datagram. */
static void query_hear(struct query *query, const unsigned char *packet) {
    enum { SERVFAIL = 2, NOTIMP = 4, REFUSED = 5 };
    unsigned code = packet[3] & 0xf;
    query->refusal = code == SERVFAIL ? WEFT_EAGAIN : code == NOTIMP || code == REFUSED ? WEFT_EPROTO : 0;
}
static ares_ssize_t query_receive(ares_socket_t number, void *data, size_t size, int flags, struct sockaddr *from,
                                  ares_socklen_t *from_size, void *arg) {
    struct iovec part = {data, size};
    struct msghdr message = {.msg_name = from, .msg_namelen = from_size ? *from_size : 0, .msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;
    while ((n = sys->net->recvmsg(number, &message, flags)) == -EINTR) {}
    if (n >= 0 && from_size) *from_size = message.msg_namelen;
    if (n >= 12 && from) query_hear(arg, data);
    return query_result(n);
}
static ares_ssize_t query_send(ares_socket_t number, const struct iovec *parts, int count, void *arg) {
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)count};
    ssize_t n;
    (void)arg;
    while ((n = sys->net->sendmsg(number, &message, MSG_NOSIGNAL)) == -EINTR) {}
    return query_result(n);
}
static const struct ares_socket_functions query_functions = {query_open, query_close, query_connect, query_receive, query_send};

/* c-ares wants events of this socket, or no more. */
static void query_socket(void *arg, ares_socket_t number, int in, int out) {
    struct query *query = arg;
    uint32_t events = (in ? EPOLLIN : 0) | (out ? EPOLLOUT : 0);
    int error = 0;
    if (!events) {
        sys->net->poll_change(query->set, EPOLL_CTL_DEL, number, 0, 0); /* it may not be there */
    } else {
        error = sys->net->poll_change(query->set, EPOLL_CTL_MOD, number, events, (uint64_t)number);
        if (error == -ENOENT) error = sys->net->poll_change(query->set, EPOLL_CTL_ADD, number, events, (uint64_t)number);
    }
    if (error && !query->error) query->error = error;
}

static void query_done(void *arg, int status, int timeouts, struct ares_addrinfo *found) {
    (void)timeouts;
    *(struct question *)arg = (struct question){true, status, found};
}

static int query_code(const struct query *query, int status) {
    switch (status) {
    case ARES_SUCCESS: return 0;
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_ENONAME: return WEFT_ENOENT;
    case ARES_EBADNAME:
    case ARES_EBADFAMILY:
    case ARES_EBADSTR: return WEFT_EINVAL;
    case ARES_ESERVFAIL: return WEFT_EAGAIN;
    case ARES_ETIMEOUT: return WEFT_ETIMEDOUT;
    case ARES_ENOMEM: return WEFT_ENOMEM;
    case ARES_ECONNREFUSED: return query->refusal ? query->refusal : query->shortage ? query->shortage : WEFT_ECONNREFUSED;
    default: return WEFT_EPROTO;
    }
}

static void query_question(struct query *query, struct question *question, int family) {
    struct ares_addrinfo_hints hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    name_ares_library.getaddrinfo(query->channel, query->name->host, NULL, &hints, query_done, question);
}

/* Reads the configuration files, and sends the first packets. */
static int query_begin(struct query *query) {
    const struct name *name = query->name;
    struct ares_options options = {.sock_state_cb = query_socket, .sock_state_cb_data = query};
    int mask = ARES_OPT_SOCK_STATE_CB;
    if (name->patience) {
        uint64_t ms = name->patience / WEFT_MILLISECOND;
        options.timeout = ms < 1 ? 1 : ms > INT32_MAX ? INT32_MAX : (int)ms;
        mask |= ARES_OPT_TIMEOUTMS;
    }
    int status = name_ares_library.init_options(&query->channel, &options, mask);
    if (status != ARES_SUCCESS) {
        query->channel = NULL;
        return query_code(query, status);
    }
    name_ares_library.set_socket_functions(query->channel, &query_functions, query);
    if (name->servers && name_ares_library.set_servers_ports_csv(query->channel, name->servers) != ARES_SUCCESS) return WEFT_EINVAL;
    query_question(query, &query->asked, name->family);
    return query->error;
}

/* c-ares holds one family's addresses back until the other's answer has come, or it has given up on that, which takes it a minute. So a
 * question for both that is not answered soon is asked once more, for each family alone, and then the first addresses that come are the
 * answer. */
static uint64_t query_apart(const struct name *name) {
    if (name->family != AF_UNSPEC) return WEFT_FOREVER;
    uint64_t now = sys->now(), some = name->deadline > now ? (name->deadline - now) / 4 : 0;
    return now + (some < WEFT_SECOND ? some : WEFT_SECOND);
}
static void query_part(struct query *query) {
    query->apart = WEFT_FOREVER;
    query_question(query, &query->alone[0], AF_INET);
    query_question(query, &query->alone[1], AF_INET6);
}

/* The question whose answer counts; NULL: there is none yet. */
static const struct question *query_answer(const struct query *query) {
    if (query->asked.done) return &query->asked;
    for (unsigned i = 0; i < 2; i++)
        if (query->alone[i].done && query->alone[i].status == ARES_SUCCESS) return &query->alone[i];
    return NULL;
}

/* Waits until there is something for c-ares to do: 0, or an error. */
static int query_wait(struct query *query, struct epoll_event *events, int most, int *count) {
    struct timeval most_left = {1, 0}, place, *left = name_ares_library.timeout(query->channel, &most_left, &place);
    uint64_t deadline = query->name->deadline;
    uint64_t until = weft_in((uint64_t)left->tv_sec * WEFT_SECOND + (uint64_t)left->tv_usec * WEFT_MICROSECOND);
    if (until > query->apart) until = query->apart;
    if (until > deadline) until = deadline;
    int ready = query->handle ? weft_fd_wait(query->handle, WEFT_READABLE, until) : 0;
    if (ready < 0 && ready != WEFT_ETIMEDOUT) return ready;
    int n = sys->net->poll_wait(query->set, events, most, query->handle ? 0 : until);
    if (n < 0 && n != -EINTR) return n;
    *count = n < 0 ? 0 : n;
    return n <= 0 && deadline != WEFT_FOREVER && sys->now() >= deadline ? wait_late() : 0;
}

static int query_go_on(struct query *query) {
    struct epoll_event events[8];
    int count = 0, error = query_wait(query, events, sizeof events / sizeof *events, &count);
    if (error) return error;
    blocking_enter("weft_blocking_enter", false);
    if (count == 0) name_ares_library.process_fd(query->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* a timeout of its own may be due */
    for (int i = 0; i < count; i++) {
        ares_socket_t number = (ares_socket_t)events[i].data.u64;
        uint32_t said = events[i].events, bad = EPOLLERR | EPOLLHUP;
        name_ares_library.process_fd(query->channel, said & (EPOLLIN | bad) ? number : ARES_SOCKET_BAD,
                                     said & (EPOLLOUT | bad) ? number : ARES_SOCKET_BAD);
    }
    if (!query->asked.done && query->apart <= sys->now()) query_part(query);
    blocking_leave();
    return query->error;
}

static void query_collect(struct query *query, const struct question *answer) {
    for (struct ares_addrinfo_node *at = answer->found ? answer->found->nodes : NULL; at; at = at->ai_next)
        name_add(query->name, at->ai_addr, at->ai_addrlen);
}

/* Afterwards c-ares knows nothing of the query, whether it was done or not. */
static int query_end(struct query *query, int error) {
    const struct question *answer = error ? NULL : query_answer(query);
    if (answer) error = query_code(query, answer->status);
    if (answer && !error) query_collect(query, answer);
    blocking_enter("weft_blocking_enter", false);
    if (query->channel) name_ares_library.destroy(query->channel); /* calls query_done for unfinished questions */
    blocking_leave();
    struct question *const all[] = {&query->asked, &query->alone[0], &query->alone[1]};
    for (unsigned i = 0; i < 3; i++)
        if (all[i]->found) name_ares_library.freeaddrinfo(all[i]->found);
    return error;
}

static int query_run(struct query *query) {
    blocking_enter("weft_blocking_enter", false);
    int error = query_begin(query);
    blocking_leave();
    query->apart = query_apart(query->name);
    while (!error && !query_answer(query))
        error = query_go_on(query);
    return query_end(query, error);
}

/* With its set. */
static int query_ask(struct name *name) {
    struct query query = {.name = name, .set = sys->net->poll_open()};
    if (query.set < 0) return query.set;
    if (!worker_here()) { /* a thread */
        int error = query_run(&query);
        sys->net->close(query.set);
        return error;
    }
    query.handle = desc_open_or_close(query.set, 0, "weft_resolve");
    if (query.handle < 0) return (int)query.handle;
    int error = query_run(&query);
    desc_close(query.handle, false);
    return error;
}

/* c-ares keeps packets on the stack, and sorts. */
enum { QUERY_STACK = 64 << 10 };
struct query_call {
    struct name *name;
    int error;
};
static void query_main(void *arg) {
    struct query_call *call = arg;
    call->error = query_ask(call->name);
}

int name_ares(struct name *name) {
    struct query_call call = {.name = name};
    if (!worker_here()) return query_ask(name);
    struct proc *proc = fiber_whole_begin(); /* c-ares knows of the query until query_end */
    int error = bigstack(query_main, &call, QUERY_STACK);
    fiber_whole_end(proc);
    return error ? error : call.error;
}

#endif
