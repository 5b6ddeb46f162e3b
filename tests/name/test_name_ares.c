/* Names by c-ares, from a DNS server on loopback that delays, cuts, loses and lies (dns_server.h). */
#include "dns_server.h"
#include "net_helpers.h"

#include <sys/wait.h>

enum { SOON = 20 };
static uint64_t soon(void) { return weft_in(SOON * RT_SLOW * WEFT_SECOND); }

static weft_resolve_options asking(int family) {
    return (weft_resolve_options){.family = family, .resolver = "ares", .servers = dns.servers};
}
static int resolve(const char *host, int family, weft_addr *list, size_t most, uint64_t deadline) {
    weft_resolve_options options = asking(family);
    return weft_resolve(host, "77", &options, list, most, deadline);
}
static void expect_text(const weft_addr *address, const char *text) {
    char found[WEFT_ADDR_TEXT];
    weft_addr_text(address, found, sizeof found);
    if (strcmp(found, text) != 0) test_fail(__FILE__, __LINE__, "%s is not %s", found, text);
}
/* One address, or an error. */
static void expect(const char *host, int wanted) {
    weft_addr list[4];
    int n = resolve(host, AF_INET, list, 4, soon());
    if (n != wanted) test_fail(__FILE__, __LINE__, "%s: %d (%s), not %d", host, n, n < 0 ? weft_errname(n) : "", wanted);
    if (n == 1) expect_text(&list[0], "127.0.0.1:77");
}

/* Whether there is c-ares in this build and on this machine. */
static bool is_there(void) {
    weft_addr one;
    bool there =
        weft_resolve("x", "77", &(weft_resolve_options){.resolver = "ares", .servers = "not one"}, &one, 1, WEFT_FOREVER) != WEFT_ENOSYS;
    if (!there) printf("no c-ares here\n");
    return there;
}

static void each(void (*body)(void)) {
    if (!is_there()) return; /* asked from a thread: fine as well */
    dns_start();
    unsigned open = net_count_open();
    rt_each(body);
    /* The server closes its ends when it comes to it. What stays open is a leak: the time limit ends the test. */
    while (net_count_open() != open)
        usleep(1000);
    dns_stop();
}

/* ---- the library ------------------------------------------------------------------------------------------------------------------ */

/* The first process asks while no descriptors are left: it is told so, and the next one is served. */
static void want(void *arg) {
    (void)arg;
    weft_addr list[4];
    struct rlimit limit, none;
    weft_fd pair[2];
    EXPECT_EQ(weft_net_pair(pair), 0); /* the poll is there */
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(resolve("one.test.", AF_INET, list, 4, soon()), WEFT_EMFILE);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(resolve("one.test.", AF_INET, list, 4, soon()), 1);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    net_is_done();
}
/* Asked by a child: this program has not looked for it yet. */
static bool is_there_elsewhere(void) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(is_there() ? 0 : 1);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status == 0;
}
TEST(the_first_finds_no_descriptors) {
    if (!is_there_elsewhere()) return;
    dns_start();
    rt_start("ring", 2); /* before any process has asked in this program */
    net_run_until(want, 1);
    rt_stop();
    dns_stop();
}

/* ---- answers ------------------------------------------------------------------------------------------------------------------- */

static void plain(void *arg) {
    (void)arg;
    weft_addr list[DNS_MANY + 1];
    expect("one.test.", 1);
    expect("four.test.", 1);
    expect("ONE.Test.", 1);
    expect("chain.test.", 1);
    EXPECT_EQ(resolve("one.test.", 0, list, 8, soon()), 2);
    expect_text(&list[0], list[0].place.ss_family == AF_INET ? "127.0.0.1:77" : "[::1]:77");
    EXPECT(list[0].place.ss_family != list[1].place.ss_family);
    EXPECT_EQ(resolve("one.test.", AF_INET6, list, 8, soon()), 1);
    expect_text(&list[0], "[::1]:77");
    EXPECT_EQ(resolve("one.test.", 0, list, 1, soon()), 1); /* no room for more */
    EXPECT_EQ(resolve("four.test.", 0, list, 8, soon()), 1);
    EXPECT_EQ(resolve("four.test.", AF_INET6, list, 8, soon()), WEFT_ENOENT);
    EXPECT_EQ(resolve("half.test.", 0, list, 8, soon()), 1); /* what there is, though the other question failed */
    errno = 7;
    EXPECT_EQ(resolve("one.test.", 0, list, 8, soon()), 2);
    EXPECT_EQ(errno, 7);
    net_is_done();
}
static void plains(void) { net_run_until(plain, 1); }
TEST(answers) { each(plains); }

static void cut(void *arg) {
    (void)arg;
    static weft_addr list[DNS_MANY + 1];
    uint64_t before = atom_load_acq(&dns.by_tcp);
    EXPECT_EQ(resolve("many.test.", AF_INET, list, DNS_MANY + 1, soon()), DNS_MANY);
    EXPECT(atom_load_acq(&dns.by_tcp) > before);
    EXPECT_EQ(resolve("many.test.", AF_INET, list, 7, soon()), 7);
    EXPECT_EQ(resolve("drip.test.", AF_INET, list, DNS_MANY + 1, soon()), DNS_MANY);
    EXPECT_EQ(resolve("drip.test.", 0, list, DNS_MANY + 1, soon()), DNS_MANY);
    int n = resolve("cut.test.", AF_INET, list, 7, soon()); /* the connection ends without an answer */
    EXPECT(n == WEFT_ECONNREFUSED || n == WEFT_EPROTO || n == WEFT_ETIMEDOUT);
    net_is_done();
}
static void cuts(void) { net_run_until(cut, 1); }
TEST(long_answers_come_by_tcp) { each(cuts); }

static void fail(void *arg) {
    (void)arg;
    expect("nx.test.", WEFT_ENOENT);
    expect("empty.test.", WEFT_ENOENT);
    expect("dead.test.", WEFT_ENOENT);
    expect("ring.test.", WEFT_ENOENT);
    expect("fail.test.", WEFT_EAGAIN);
    expect("refuse.test.", WEFT_EPROTO);
    net_is_done();
}
static void fails(void) { net_run_until(fail, 1); }
TEST(failures_have_their_codes) { each(fails); }

static void lie(void *arg) {
    (void)arg;
    weft_addr list[4];
    expect("wrongid.test.", 1);
    expect("wrongname.test.", 1);
    expect("wrongtype.test.", 1);
    expect("garbage.test.", 1);
    EXPECT(resolve("pointer.test.", AF_INET, list, 4, soon()) < 0);
    EXPECT(resolve("short.test.", AF_INET, list, 4, soon()) < 0);
    net_is_done();
}
static void lies(void) { net_run_until(lie, 1); }
TEST(lies_are_not_believed) { each(lies); }

/* Answers with a few wrong bytes: anything may come of it, but soon, and nothing is broken. */
static void fuzz(void *arg) {
    (void)arg;
    weft_addr list[16];
    weft_resolve_options options = asking(0);
    options.patience = 20 * WEFT_MILLISECOND;
    int n = weft_resolve("fuzz.test.", "77", &options, list, 16, weft_in(500 * WEFT_MILLISECOND));
    EXPECT(n != 0 && n <= 16 && n != WEFT_EINVAL && n != WEFT_ENOSYS);
    net_is_done();
}
static void fuzzes(void) {
    for (unsigned round = 0; round < test_scale(); round++) {
        atom_store_rlx(&net_done, 0);
        for (unsigned i = 0; i < 100; i++)
            net_spawn(fuzz, NULL);
        rt_wait(&net_done, 100);
    }
}
TEST(broken_answers) { each(fuzzes); }

/* ---- time ---------------------------------------------------------------------------------------------------------------------- */

static void give_up(void *arg) {
    (void)arg;
    weft_addr list[4];
    weft_resolve_options patient = asking(0);
    patient.patience = 1000 * WEFT_SECOND; /* does not give up by itself */
    uint64_t deadline = weft_in(30 * WEFT_MILLISECOND);
    EXPECT_EQ(weft_resolve("silent.test.", "77", &patient, list, 4, deadline), WEFT_ETIMEDOUT);
    EXPECT(weft_now() >= deadline);
    int n = resolve("late.test.", 0, list, 4,
                    weft_in(20 * WEFT_MILLISECOND)); /* the answer comes when no process waits for it; or we are late too */
    EXPECT(n == WEFT_ETIMEDOUT || n == 2);
    uint64_t before = atom_load_acq(&dns.questions);
    EXPECT_EQ(resolve("one.test.", 0, list, 4, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(resolve("one.test.", 0, list, 4, weft_now() - 1), WEFT_ETIMEDOUT);
    EXPECT_EQ(atom_load_acq(&dns.questions), before); /* no server was asked */
    expect("late.test.", 1);
    net_is_done();
}
static void give_ups(void) { net_run_until(give_up, 1); }
TEST(deadlines) { each(give_ups); }

/* One family's answer is here, the other's never comes: what there is, long before the time is over. */
static void lame(void *arg) {
    (void)arg;
    weft_addr list[4];
    static const char *const hosts[] = {"no6.test.", "no4.test."}, *const texts[] = {"127.0.0.1:77", "[::1]:77"};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t deadline = weft_in(60 * WEFT_SECOND);
        EXPECT_EQ(resolve(hosts[i], 0, list, 4, deadline), 1);
        expect_text(&list[0], texts[i]);
        EXPECT(weft_now() < deadline - 30 * WEFT_SECOND);
        EXPECT_EQ(resolve(hosts[i], 0, list, 4, soon()), 1);
        expect_text(&list[0], texts[i]);
    }
    EXPECT_EQ(resolve("no6.test.", AF_INET6, list, 4, weft_in(50 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    net_is_done();
}
static void lames(void) { net_run_until(lame, 1); }
TEST(one_family_is_enough) { each(lames); }

static void lose(void *arg) {
    (void)arg;
    weft_addr list[4];
    weft_resolve_options options = asking(AF_INET);
    options.patience = 200 * WEFT_MILLISECOND;
    EXPECT_EQ(weft_resolve("lossy.test.", "77", &options, list, 4, soon()), 1); /* asked three times */
    options.patience = 10 * WEFT_MILLISECOND;
    EXPECT_EQ(weft_resolve("silent.test.", "77", &options, list, 4, WEFT_FOREVER), WEFT_ETIMEDOUT); /* it does end by itself */

    char servers[128]; /* the first is not there, or does not answer; the second does */
    snprintf(servers, sizeof servers, "127.0.0.1:1,%s", dns.servers);
    options.servers = servers;
    options.patience = WEFT_SECOND;
    EXPECT_EQ(weft_resolve("one.test.", "77", &options, list, 4, soon()), 1);
    options.servers = "127.0.0.1:1";
    EXPECT_EQ(weft_resolve("one.test.", "77", &options, list, 4, soon()), WEFT_ECONNREFUSED);
    options.servers = "what is this";
    EXPECT_EQ(weft_resolve("one.test.", "77", &options, list, 4, soon()), WEFT_EINVAL);
    net_is_done();
}
static void loses(void) { net_run_until(lose, 1); }
TEST(questions_get_lost) { each(loses); }

/* Cancelled before it asks, while it waits, and at any moment around the answer. */
static void cancelled(void *arg) {
    (void)arg;
    weft_addr list[4];
    EXPECT_EQ(resolve("silent.test.", 0, list, 4, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(resolve("silent.test.", 0, list, 4, WEFT_FOREVER), WEFT_ECANCELED);
    net_is_done();
}
static void cancelled_maybe(void *arg) {
    (void)arg;
    weft_addr list[4];
    int n = resolve("one.test.", 0, list, 4, WEFT_FOREVER);
    EXPECT(n == 2 || n == WEFT_ECANCELED);
    net_is_done();
}
static void cancels(void) {
    atom_store_rlx(&net_done, 0);
    for (unsigned i = 0; i < 10; i++) {
        weft_pid pid = net_spawn(cancelled, NULL);
        usleep(i < 5 ? 0 : 5000);
        EXPECT_EQ(weft_cancel(pid), 0);
    }
    rt_wait(&net_done, 10);
    atom_store_rlx(&net_done, 0);
    for (unsigned i = 0; i < 40; i++) {
        weft_pid pid = net_spawn(cancelled_maybe, NULL);
        usleep(i * 20);
        weft_cancel(pid); /* it may have ended */
    }
    rt_wait(&net_done, 40);
}
TEST(cancellations) { each(cancels); }

/* A process that is asking when the runtime stops is told so. */
static void asks_for_ever(void *arg) {
    (void)arg;
    weft_addr list[4];
    EXPECT_EQ(resolve("silent.test.", 0, list, 4, WEFT_FOREVER), WEFT_ECANCELED);
}
static void stops(void) {
    uint64_t before = atom_load_acq(&dns.questions);
    for (unsigned i = 0; i < 20; i++)
        net_spawn(asks_for_ever, NULL);
    rt_wait(&dns.questions, before + 20);
}
TEST(runtime_stops_meanwhile) { each(stops); }

/* ---- many at once ---------------------------------------------------------------------------------------------------------------- */

enum { CROWD = 300 };
static void waits(void *arg) {
    (void)arg;
    weft_addr list[4];
    weft_resolve_options options = asking(0);
    options.patience = WEFT_SECOND; /* the server's socket has no room for all */
    EXPECT_EQ(weft_resolve("late.test.", "77", &options, list, 4, soon()), 2);
    net_is_done();
}
static void crowd(void) {
    atom_store_rlx(&net_done, 0);
    uint64_t begun = weft_now();
    for (unsigned i = 0; i < CROWD; i++)
        net_spawn(waits, NULL);
    rt_wait(&net_done, CROWD);
    uint64_t took = (weft_now() - begun) / WEFT_MILLISECOND;
    printf("%u names in %u ms\n", CROWD, (unsigned)took);
    EXPECT(took >= DNS_LATE_MS && took < CROWD * DNS_LATE_MS / 3); /* not one after the other */
}
TEST(many_at_once) { each(crowd); }

/* From small stacks, and from threads that are not workers. */
static void smalls(void) {
    weft_pid pid;
    atom_store_rlx(&net_done, 0);
    EXPECT_EQ(weft_spawn_with(waits, NULL, &(weft_stackful_options){.runtime = rt.runtime, .stack_size = 16 << 10}, &pid), 0);
    rt_wait(&net_done, 1);
    plain(NULL);
    give_up(NULL);
    lose(NULL);
}
TEST(small_stacks_and_threads) { each(smalls); }

/* ---- connecting ------------------------------------------------------------------------------------------------------------------ */

static void connects(void *arg) {
    (void)arg;
    char where[WEFT_ADDR_TEXT];
    weft_fd door = net_listen_any(where, NULL), fd, guest;
    const char *port = strrchr(where, ':') + 1;
    const char *const names[] = {"one.test.", "two.test.", "localhost", "127.0.0.1"};
    for (unsigned i = 0; i < 4; i++) {
        fd = weft_net_connect_name(names[i], port, soon());
        EXPECT(fd > 0);
        EXPECT((guest = weft_net_accept(door, NULL, soon())) > 0);
        EXPECT_EQ(weft_fd_close(fd), 0);
        EXPECT_EQ(weft_fd_close(guest), 0);
    }
    EXPECT_EQ(weft_fd_close(door), 0);
    EXPECT_EQ(weft_net_connect_name("two.test.", port, soon()), WEFT_ECONNREFUSED);
    EXPECT_EQ(weft_net_connect_name("nx.test.", port, soon()), WEFT_ENOENT);
    EXPECT_EQ(weft_net_connect_name("silent.test.", port, weft_in(20 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    net_is_done();
}
static void connections(void) { net_run_until(connects, 1); }
TEST(connect_by_name) {
    if (!is_there()) return;
    dns_start();
    setenv("WEFT_NAMESERVERS", dns.servers, 1);
    setenv("WEFT_RESOLVER", "ares", 1);
    rt_each(connections);
    dns_stop();
}

/* ---- faults ---------------------------------------------------------------------------------------------------------------------- */

static void with_fault(enum sys_net_call call, int error) {
    weft_addr list[4];
    uint64_t now = atom_load_rlx(&sys_script.counts.net[call]);
    sys_script.net[call].after = now;
    sys_script.net[call].times = 0;
    sys_script.net[call].error = error;
    int n = resolve("one.test.", AF_INET, list, 4, soon());
    sys_script.net[call].error = 0;
    if (n != error) test_fail(__FILE__, __LINE__, "call %d fails with %d: %d", call, error, n);
}
static void faults(void *arg) {
    (void)arg;
    with_fault(SYS_NET_POLL_OPEN, -EMFILE);
    with_fault(SYS_NET_SOCKET, -EMFILE);
    with_fault(SYS_NET_SOCKET, -ENFILE);
    with_fault(SYS_NET_POLL_CHANGE, -ENOSPC);
    with_fault(SYS_NET_POLL_CHANGE, -ENOMEM);
    sys_script.net[SYS_NET_POLL_CHANGE].after = atom_load_rlx(&sys_script.counts.net[SYS_NET_POLL_CHANGE]) + 1; /* c-ares's socket */
    sys_script.net[SYS_NET_POLL_CHANGE].times = 1;
    sys_script.net[SYS_NET_POLL_CHANGE].error = -ENOSPC;
    weft_addr list[4];
    EXPECT_EQ(resolve("one.test.", AF_INET, list, 4, soon()), WEFT_ENOSPC);
    sys_script.net[SYS_NET_POLL_CHANGE].error = 0;
    sys_script.net_eintr_every = 3;
    for (unsigned i = 0; i < 5; i++) {
        expect("one.test.", 1);
        EXPECT_EQ(resolve("many.test.", AF_INET, list, 4, soon()), 4);
    }
    sys_script.net_eintr_every = 0;
    expect("one.test.", 1);
    net_is_done();
}
static void faulty(void) { net_run_until(faults, 1); }
TEST(faults_reach_the_process_that_asks) { each(faulty); }

int main(int argc, char **argv) { return test_main(argc, argv); }
