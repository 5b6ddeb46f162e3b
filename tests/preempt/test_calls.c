/* Calls of the operating system that our signal has interrupted are begun again, one by one: each sleeps when the signal comes, and does after that
 * what it would have done. */
#include "preempt/loops.h"

#include "preempt/restart.h"

#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int ends[2]; /* the call is made at the first, and over when something happens at the second */
static char byte = 'x';
static struct iovec vector = {&byte, 1};
static struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
static struct sockaddr_storage address;
static socklen_t address_size;

/* ---- what is waited for -------------------------------------------------------------------------------------------------------------- */

/* A limit, without which the kernel would begin the calls again by itself. */
static void limit(int socket) {
    struct timeval long_after = {.tv_sec = 1000};
    EXPECT_EQ(setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &long_after, sizeof long_after), 0);
    EXPECT_EQ(setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &long_after, sizeof long_after), 0);
}
static void pair(void) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    limit(ends[0]);
}
static void pair_that_is_full(void) {
    char bytes[4096] = {0};
    pair();
    while (send(ends[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
    EXPECT_EQ(errno, EAGAIN);
}
static void one_byte(void) { EXPECT_EQ(write(ends[1], &byte, 1), 1); }
static void drain(void) {
    char bytes[4096];
    while (recv(ends[1], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
}

static void listener(int family) {
    address = (struct sockaddr_storage){.ss_family = (sa_family_t)family};
    if (family == AF_INET) ((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ends[1] = socket(family, SOCK_STREAM, 0);
    EXPECT_EQ(bind(ends[1], (struct sockaddr *)&address, family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(sa_family_t)), 0);
    EXPECT_EQ(listen(ends[1], 0), 0);
    address_size = sizeof address;
    EXPECT_EQ(getsockname(ends[1], (struct sockaddr *)&address, &address_size), 0);
    ends[0] = socket(family, SOCK_STREAM, 0);
    limit(ends[0]);
    limit(ends[1]);
}
static int more[8];
static void listener_that_is_full(int family) {
    listener(family);
    for (unsigned i = 0; i < 8; i++) {
        more[i] = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
        struct pollfd end = {more[i], POLLOUT, 0};
        if (connect(more[i], (struct sockaddr *)&address, address_size) == 0) continue;
        if (errno == EAGAIN || poll(&end, 1, 100) == 0) break;
    }
}
static void listener_unix(void) { listener(AF_UNIX); }
static void full_unix(void) { listener_that_is_full(AF_UNIX); }
static void full_inet(void) { listener_that_is_full(AF_INET); }
static void connect_it(void) { EXPECT_EQ(connect(ends[0], (struct sockaddr *)&address, address_size), 0); }
static void make_room(void) { EXPECT_EQ(listen(ends[1], 16), 0); }

static int ipc;
static void semaphores(void) { EXPECT((ipc = semget(IPC_PRIVATE, 1, 0600)) >= 0); }
static void semaphores_up(void) {
    struct sembuf up = {0, 1, 0};
    EXPECT_EQ(semop(ipc, &up, 1), 0);
}
static void messages(void) { EXPECT((ipc = msgget(IPC_PRIVATE, 0600)) >= 0); }
static void messages_send(void) {
    struct {
        long type;
        char text[8];
    } message = {1, {0}};
    EXPECT_EQ(msgsnd(ipc, &message, sizeof message.text, 0), 0);
}
static sem_t semaphore;
static void posix(void) { EXPECT_EQ(sem_init(&semaphore, 0, 0), 0); }
static void posix_up(void) { EXPECT_EQ(sem_post(&semaphore), 0); }

/* ---- the calls -------------------------------------------------------------------------------------------------------------------------- */

static struct timespec long_after = {1000, 0};

static long reads(void) { return read(ends[0], &byte, 1); }
static long readvs(void) { return readv(ends[0], &vector, 1); }
static long recvs(void) { return recv(ends[0], &byte, 1, 0); }
static long recvmsgs(void) { return recvmsg(ends[0], &header, 0); }
static long writes(void) { return write(ends[0], &byte, 1); }
static long writevs(void) { return writev(ends[0], &vector, 1); }
static long sends(void) { return send(ends[0], &byte, 1, 0); }
static long sendmsgs(void) { return sendmsg(ends[0], &header, 0); }
static long accepts(void) {
    int got = accept(ends[1], NULL, NULL);
    return got >= 0 ? 1 + 0 * close(got) : got;
}
static long connects(void) { return connect(ends[0], (struct sockaddr *)&address, address_size) + 1; }
static long semops(void) {
    struct sembuf down = {0, -1, 0};
    return semop(ipc, &down, 1) + 1;
}
static long msgrcvs(void) {
    struct {
        long type;
        char text[8];
    } message;
    return msgrcv(ipc, &message, sizeof message.text, 0, 0) == sizeof message.text;
}
static long sem_waits(void) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 1000;
    return sem_timedwait(&semaphore, &end) + 1;
}
static long polls(void) { return poll(&(struct pollfd){ends[0], POLLIN, 0}, 1, 1000000); }
static long ppolls(void) { return ppoll(&(struct pollfd){ends[0], POLLIN, 0}, 1, &long_after, NULL); }
static long selects(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    return select(ends[0] + 1, &set, NULL, NULL, NULL);
}

static const struct {
    const char *name;
    void (*prepare)(void), (*finish)(void);
    long (*call)(void); /* 1 is right */
    bool on_arm;        /* where the argument that its result replaces is found with all C libraries before 2.41 */
} calls[] = {
    {"poll", pair, one_byte, polls, true},
    {"ppoll", pair, one_byte, ppolls, true},
    {"select", pair, one_byte, selects, true},
    {"read", pair, one_byte, reads, true},
    {"readv", pair, one_byte, readvs, true},
    {"recv", pair, one_byte, recvs, true},
    {"recvmsg", pair, one_byte, recvmsgs, true},
    {"write", pair_that_is_full, drain, writes, true},
    {"writev", pair_that_is_full, drain, writevs, true},
    {"send", pair_that_is_full, drain, sends, true},
    {"sendmsg", pair_that_is_full, drain, sendmsgs, true},
    {"accept", listener_unix, connect_it, accepts, true},
    {"connect", full_unix, make_room, connects, true},
    {"connect (TCP)", full_inet, make_room, connects, true},
    {"semop", semaphores, semaphores_up, semops, false},
    {"msgrcv", messages, messages_send, msgrcvs, true},
    {"sem_timedwait", posix, posix_up, sem_waits, true},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static void caller(void *arg) {
    unsigned which = (unsigned)(uintptr_t)arg;
    atom_store_rlx(&numbers[0], thread_number());
    long result = calls[which].call();
    if (result != 1) printf("note: %s answers %ld, errno %d\n", calls[which].name, result, errno);
    EXPECT_EQ(result, 1);
    atom_add_rel(&done, 1);
}

static void call_once(unsigned which) {
    forget();
    ends[0] = ends[1] = -1;
    calls[which].prepare();
    uint64_t before = atom_load_rlx(&restarted_calls);
    victim_spawn(caller, (void *)(uintptr_t)which, 64 << 10, calls[which].name);
    while (atom_load_rlx(&restarted_calls) == before && atom_load_acq(&done) == 0) {
        if (atom_load_rlx(&numbers[0])) sys->thread_signal(atom_load_rlx(&numbers[0]), SIGURG);
        usleep(1000);
    }
    printf("note: %s: %lu times begun again\n", calls[which].name, atom_load_rlx(&restarted_calls) - before);
    EXPECT(atom_load_rlx(&restarted_calls) > before);
    calls[which].finish();
    rt_wait(&done, 1);
    close(ends[0]);
    close(ends[1]);
    for (unsigned i = 0; i < 8; i++)
        if (more[i] > 0) close(more[i]);
    memset(more, 0, sizeof more);
    if (ipc) semctl(ipc, 0, IPC_RMID), msgctl(ipc, IPC_RMID, NULL);
    ipc = 0;
}

TEST_WITHIN(calls_are_begun_again, 60) {
    PREEMPT_TEST_APPLIES();
    pre_start("ring", 1, 10000);
    for (unsigned i = 0; i < CALLS; i++) {
#if defined(__aarch64__)
        if (!calls[i].on_arm) continue;
#endif
        call_once(i);
    }
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
