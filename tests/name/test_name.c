/* Names: what is known without asking; and names by the C library, which may take its time and be left alone with it. */
#include "command/built_in.h"
#include "net_helpers.h"

#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

static void expect_text(const weft_addr *address, const char *text) {
    char found[WEFT_ADDR_TEXT];
    weft_addr_text(address, found, sizeof found);
    if (strcmp(found, text) != 0) test_fail(__FILE__, __LINE__, "%s is not %s", found, text);
}
static int with(const char *host, const char *service, weft_resolve_options options, weft_addr *list, uint64_t deadline) {
    return weft_resolve(host, service, &options, list, 8, deadline);
}
static const weft_resolve_options any = {0}, four = {.family = AF_INET}, six = {.family = AF_INET6}, libc = {.resolver = "libc"};

/* ---- without asking ------------------------------------------------------------------------------------------------------------- */

static int no_server_asked(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    (void)hints, (void)found;
    test_fail(__FILE__, __LINE__, "asked for %s, %s", host ? host : "no host", service ? service : "no service");
}

static void expect_one(const char *host, const char *service, weft_resolve_options options, const char *text) {
    weft_addr list[8];
    EXPECT_EQ(with(host, service, options, list, 0), 1);
    expect_text(&list[0], text);
}
static void expect_own(const char *host, weft_resolve_options options, const char *first, const char *second) {
    weft_addr list[8];
    EXPECT_EQ(with(host, "80", options, list, 0), 2);
    expect_text(&list[0], first);
    expect_text(&list[1], second);
}

static void number(void *arg) {
    (void)arg;
    weft_addr list[8];
    sys_script.net_lookup = no_server_asked;
    expect_one("192.0.2.1", "80", any, "192.0.2.1:80");
    expect_one("192.0.2.1", NULL, any, "192.0.2.1:0");
    expect_one("192.0.2.1", "0", any, "192.0.2.1:0");
    expect_one("192.0.2.1", "https", any, "192.0.2.1:443");
    expect_one("2001:db8::1", "65535", any, "[2001:db8::1]:65535");
    expect_one("::ffff:192.0.2.1", "1", any, "[::ffff:192.0.2.1]:1");
    expect_one("::1", "domain", (weft_resolve_options){.numeric = true}, "[::1]:53");
    expect_one("fe80::1%7", "1", any, "[fe80::1%7]:1");
    EXPECT_EQ(with("fe80::1%lo", "1", any, list, 0), 1);
    EXPECT_EQ(((struct sockaddr_in6 *)&list[0].place)->sin6_scope_id, if_nametoindex("lo"));
    EXPECT_EQ(with("fe80::1%nothing", "1", any, list, 0), WEFT_ENODEV);
    EXPECT_EQ(with("192.0.2.1", "1", six, list, 0), WEFT_ENOENT);
    EXPECT_EQ(with("::1", "1", four, list, 0), WEFT_ENOENT);

    expect_own("localhost", any, "[::1]:80", "127.0.0.1:80");
    expect_own("LocalHost.", any, "[::1]:80", "127.0.0.1:80");
    expect_own("some.thing.localhost", any, "[::1]:80", "127.0.0.1:80");
    expect_own(NULL, any, "[::1]:80", "127.0.0.1:80");
    expect_own(NULL, (weft_resolve_options){.passive = true}, "[::]:80", "0.0.0.0:80");
    expect_one("localhost", "80", four, "127.0.0.1:80");
    expect_one("localhost", "80", six, "[::1]:80");
    EXPECT_EQ(weft_resolve("localhost", "80", NULL, list, 1, 0), 1);

    EXPECT_EQ(with("some.name", "80", (weft_resolve_options){.numeric = true}, list, 0), WEFT_ENOENT);
    EXPECT_EQ(with("127.0.0.1", "no-such", (weft_resolve_options){.numeric = true}, list, 0), WEFT_ENOENT);
    EXPECT_EQ(with("some.name", "80", any, list, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(with("some.name", "80", any, list, weft_now()), WEFT_ETIMEDOUT);
    net_is_done();
}
static void numbers(void) { net_run_until(number, 1); }
TEST(numbers_and_localhost) { rt_each(numbers); }

static void nonsense(void *arg) {
    (void)arg;
    weft_addr list[8];
    char label[65], whole[300];
    sys_script.net_lookup = no_server_asked;
    memset(label, 'a', 64), label[64] = '\0';
    memset(whole, 'a', 299), whole[299] = '\0';
    for (unsigned i = 50; i < 299; i += 50)
        whole[i] = '.';
    const char *const names[] = {"",      ".",         "a..b",       ".a", "a b",       "a/b",   "a\nb",  "\xc3\xa4.test",
                                 "127.1", "1.2.3.4.5", "0x7f000001", "10", "1.2.3.0x4", "a\\.b", "[::1]", "1::2::3",
                                 "::1%",  label,       whole,        "*",  "a:b"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        int n = with(names[i], "80", any, list, WEFT_FOREVER);
        if (n != WEFT_EINVAL && n != WEFT_ENODEV) test_fail(__FILE__, __LINE__, "'%s': %d", names[i], n);
    }
    EXPECT_EQ(with("127.0.0.1", "", any, list, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(with("127.0.0.1", "65536", any, list, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(with("127.0.0.1", "1x", any, list, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(with("127.0.0.1", "99999999999999999999", any, list, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(with(NULL, NULL, any, list, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_resolve("127.0.0.1", "1", NULL, list, 0, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_resolve("127.0.0.1", "1", NULL, NULL, 1, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(with("127.0.0.1", "1", (weft_resolve_options){.family = AF_UNIX}, list, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(with("a.b", "1", (weft_resolve_options){.resolver = "oracle"}, list, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(with("a.b", "1", (weft_resolve_options){.resolver = "libc", .servers = "127.0.0.1"}, list, WEFT_FOREVER), WEFT_ENOSYS);
    EXPECT_EQ(weft_net_connect_name(NULL, "1", WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_net_connect_name("a", NULL, WEFT_FOREVER), WEFT_EINVAL);
    net_is_done();
}
static void nonsenses(void) { net_run_until(nonsense, 1); }
TEST(what_is_no_name) { rt_each(nonsenses); }

/* Step processes know numbers, and must not ask. */
static int step_asks(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    weft_addr list[8];
    EXPECT_EQ(with("127.0.0.1", "80", any, list, 0), 1);
    EXPECT_EQ(with("a.test", "80", any, list, 0), WEFT_ETIMEDOUT);
    with("a.test", "80", any, list, WEFT_FOREVER);
    return 0;
}
static void step_body(void) {
    static const weft_behavior behavior = {.step = step_asks, .name = "asks"};
    rt_start("ring", 1);
    rt_spawn(&behavior);
    pause();
}
TEST(step_processes_must_not_ask) { EXPECT_ABORT(step_body, "weft_resolve", "outside of a stackful process"); }

/* They yield a command instead. */
static atom_u64 commands_seen;
static int yields_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    unsigned *left = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_MESSAGE) {
            EXPECT_EQ(weft_out_resolve(out, 1, "127.0.0.1", "80", WEFT_FOREVER), 0);
            EXPECT_EQ(weft_out_resolve(out, 2, "there.test", "https", WEFT_FOREVER), 0);
            EXPECT_EQ(weft_out_resolve(out, 3, "not.test", NULL, WEFT_FOREVER), 0);
            EXPECT_EQ(weft_out_resolve(out, 4, NULL, "80", 0), 0);
            EXPECT_EQ(weft_out_resolve(out, 5, NULL, NULL, WEFT_FOREVER), 0);
            EXPECT_EQ(weft_out_yield(out, COMMAND_RESOLVE, 6, "12345678host", 12), 0);
            char longer[400];
            memset(longer, 'a', 399), longer[399] = '\0';
            EXPECT_EQ(weft_out_resolve(out, 7, longer, NULL, 0), WEFT_EINVAL);
            *left = 6;
        } else if (events[i].type == WEFT_EVENT_COMPLETION) {
            static const int errors[] = {0, 0, 0, WEFT_ENOENT, 0, WEFT_EINVAL, WEFT_EINVAL};
            const weft_addr *list = events[i].data;
            EXPECT_EQ(events[i].error, errors[events[i].tag]);
            EXPECT_EQ(events[i].size % sizeof *list, 0);
            EXPECT_EQ(events[i].size > 0, events[i].error == 0);
            if (events[i].tag == 1) expect_text(list, "127.0.0.1:80");
            if (events[i].tag == 2) EXPECT(list->place.ss_family == AF_INET || list->place.ss_family == AF_INET6);
            if (events[i].tag == 4) EXPECT_EQ(events[i].size, 2 * sizeof *list);
            if (--*left == 0) atom_add_rel(&commands_seen, 1);
        }
    }
    weft_out_status(out, atom_load_acq(&commands_seen) ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static int knows_localhost(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found);
static void yields_body(void) {
    static const weft_behavior behavior = {.name = "yields", .state_size = sizeof(unsigned), .step = yields_step};
    atom_store_rlx(&commands_seen, 0);
    sys_script.net_lookup = knows_localhost;
    EXPECT_EQ(weft_send(rt_spawn(&behavior), 0, NULL, 0), 0);
    rt_wait(&commands_seen, 1);
}
TEST(step_processes_yield_a_command) {
    setenv("WEFT_RESOLVER", "libc", 1);
    rt_each(yields_body);
}

/* ---- the C library --------------------------------------------------------------------------------------------------------------- */

/* The real one, where every system knows the name. */
static int knows_localhost(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    if (host && strcmp(host, "there.test") != 0) return -ENOENT;
    return linux_net_lookup(host ? "localhost" : NULL, service, hints, found);
}

static void real(void *arg) {
    (void)arg;
    weft_addr list[8];
    sys_script.net_lookup = knows_localhost;
    weft_resolve_options one = {.resolver = "libc", .family = AF_INET};
    EXPECT_EQ(with("there.test", "80", one, list, WEFT_FOREVER), 1);
    expect_text(&list[0], "127.0.0.1:80");
    EXPECT(with("there.test", "80", libc, list, WEFT_FOREVER) >= 1);
    EXPECT_EQ(with("not.test", "80", libc, list, WEFT_FOREVER), WEFT_ENOENT);
    EXPECT_EQ(with("there.test", "no-such-service-at-all", libc, list, WEFT_FOREVER), WEFT_ENOENT);
    errno = 7;
    EXPECT_EQ(with("there.test", "80", one, list, WEFT_FOREVER), 1);
    EXPECT_EQ(errno, 7);
    net_is_done();
}
static void reals(void) {
    net_run_until(real, 1);
    real(NULL); /* in a thread */
}
TEST(c_library) { rt_each(reals); }

/* A service that there is for datagrams only; of the system's list, if it has one. */
static void datagrams_only(void *arg) {
    static const char *const services[] = {"tftp", "bootps", "snmp-trap", "biff", "who", "timed"};
    weft_addr list[8];
    unsigned found = 0;
    (void)arg;
    for (unsigned i = 0; i < sizeof services / sizeof *services; i++) {
        char text[WEFT_ADDR_TEXT];
        struct servent *by_udp = getservbyname(services[i], "udp");
        int port = by_udp ? ntohs((uint16_t)by_udp->s_port) : 0;
        if (!port || getservbyname(services[i], "tcp")) continue;
        EXPECT_EQ(with("127.0.0.1", services[i], libc, list, WEFT_FOREVER), 1);
        snprintf(text, sizeof text, "127.0.0.1:%d", port);
        expect_text(&list[0], text);
        found++;
    }
    printf("%u services\n", found);
    net_is_done();
}
TEST(services_for_datagrams) {
    rt_start("ring", 1);
    net_run_until(datagrams_only, 1);
    rt_stop();
}

static int fails_with;
static int fails(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    (void)host, (void)service, (void)hints, (void)found;
    return fails_with;
}
static void fail(void *arg) {
    (void)arg;
    weft_addr list[8];
    sys_script.net_lookup = fails;
    static const int errors[] = {WEFT_EAGAIN, WEFT_ENOENT, WEFT_EPROTO, WEFT_ENOMEM, WEFT_EMFILE};
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        fails_with = errors[i];
        EXPECT_EQ(with("some.test", "80", libc, list, WEFT_FOREVER), errors[i]);
    }
    net_is_done();
}
/* While descriptors are short the C library is not asked: it remembers what it could not load. */
static atom_u64 lookups;
static int counts(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    (void)host, (void)service, (void)hints, (void)found;
    atom_add_rel(&lookups, 1);
    return WEFT_ENOENT;
}
static void fail_short(void *arg) {
    (void)arg;
    weft_addr list[8];
    sys_script.net_lookup = counts;
    sys_script.net[SYS_NET_BELL_OPEN].error = -EMFILE;
    EXPECT_EQ(with("some.test", "80", libc, list, WEFT_FOREVER), WEFT_EMFILE);
    EXPECT_EQ(atom_load_acq(&lookups), 0);
    sys_script.net[SYS_NET_BELL_OPEN].error = 0;
    EXPECT_EQ(with("some.test", "80", libc, list, WEFT_FOREVER), WEFT_ENOENT);
    EXPECT_EQ(atom_load_acq(&lookups), 1);
    net_is_done();
}
TEST(c_library_is_not_asked_in_want) {
    rt_start("ring", 2);
    net_run_until(fail_short, 1);
    rt_stop();
}

static void failures(void) { net_run_until(fail, 1); }
TEST(c_library_fails) { rt_each(failures); }

/* ---- one that takes its time ------------------------------------------------------------------------------------------------------- */

static atom_u64 slow_begun, slow_now, slow_peak, slow_ended, slow_let;
static int slow(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    uint64_t now = atom_add_rlx(&slow_now, 1) + 1, peak = atom_load_rlx(&slow_peak);
    while (now > peak && !atom_cas_rlx_rlx(&slow_peak, &peak, now)) {}
    atom_add_rel(&slow_begun, 1);
    while (atom_load_acq(&slow_let) == 0)
        usleep(500);
    int error = linux_net_lookup("localhost", service, hints, found);
    EXPECT(strcmp(host, "slow.test") == 0); /* still there */
    atom_sub_rlx(&slow_now, 1);
    atom_add_rel(&slow_ended, 1);
    return error;
}
static void slow_reset(void) {
    atom_store_rlx(&slow_begun, 0);
    atom_store_rlx(&slow_now, 0);
    atom_store_rlx(&slow_peak, 0);
    atom_store_rlx(&slow_ended, 0);
    atom_store_rlx(&slow_let, 0);
    atom_store_rlx(&net_done, 0);
    sys_script.net_lookup = slow;
}

static void times_out(void *arg) {
    (void)arg;
    char host[] = "slow.test"; /* gone when the lookup ends */
    weft_addr list[8];
    uint64_t deadline = weft_in(200 * WEFT_MILLISECOND);               /* time enough to begin it */
    EXPECT_EQ(with(host, "80", libc, list, deadline), WEFT_ETIMEDOUT); /* or it hangs: the lookup does not end */
    EXPECT(weft_now() >= deadline);
    memset(host, 0, sizeof host);
    net_is_done();
}
static void is_cancelled(void *arg) {
    (void)arg;
    weft_addr list[8];
    EXPECT_EQ(with("slow.test", "80", libc, list, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(with("slow.test", "80", libc, list, WEFT_FOREVER), WEFT_ECANCELED); /* not begun at all */
    net_is_done();
}
/* Everybody has given up and ended before the first lookup does; rt_stop waits for them, and finds all of the memory back. */
static void abandons(void) {
    slow_reset();
    for (unsigned i = 0; i < 5; i++)
        net_spawn(times_out, NULL);
    for (unsigned i = 0; i < 5; i++) {
        rt_wait(&slow_begun, 5 + i);
        weft_pid pid = net_spawn(is_cancelled, NULL);
        rt_wait(&slow_begun, 6 + i);
        EXPECT_EQ(weft_cancel(pid), 0);
    }
    rt_wait(&net_done, 10);
    EXPECT_EQ(atom_load_acq(&slow_begun), 10);
    EXPECT_EQ(atom_load_acq(&slow_ended), 0);
    atom_store_rel(&slow_let, 1);
    rt_wait(&slow_ended, 10);
}
TEST(slow_ones_are_abandoned) { rt_each(abandons); }

/* A step process that ends when its command has begun. */
static int leaves_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    bool over = false;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_MESSAGE && events[i].tag == 0)
            EXPECT_EQ(weft_out_resolve(out, 1, "slow.test", "80", WEFT_FOREVER), 0);
        else over = true;
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static void leaves(void) {
    static const weft_behavior behavior = {.name = "leaves", .step = leaves_step};
    slow_reset();
    weft_pid pid = rt_spawn(&behavior);
    EXPECT_EQ(weft_send(pid, 0, NULL, 0), 0);
    rt_wait(&slow_begun, 1);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    while (rt_stats().processes > 1) /* the lookup alone is left: the helper has given up */
        usleep(100);
    atom_store_rel(&slow_let, 1);
    rt_wait(&slow_ended, 1);
}
TEST(step_process_leaves_its_command) {
    setenv("WEFT_RESOLVER", "libc", 1);
    rt_each(leaves);
}

/* More than there may be at a time: the rest wait for a turn, in time or not; the workers go on meanwhile. */
enum { CROWD = 100, AT_ONCE = 64 };
static void waits(void *arg) {
    (void)arg;
    weft_addr list[8];
    EXPECT(with("slow.test", "80", libc, list, WEFT_FOREVER) >= 1);
    net_is_done();
}
static void waits_in_vain(void *arg) {
    (void)arg;
    weft_addr list[8];
    EXPECT_EQ(with("slow.test", "80", libc, list, weft_in(5 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    net_is_done();
}
static void ticks(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 20; i++)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    net_is_done();
}
static void crowd(void) {
    slow_reset();
    for (unsigned i = 0; i < CROWD; i++)
        net_spawn(waits, NULL);
    rt_wait(&slow_begun, AT_ONCE);
    net_spawn(ticks, NULL);
    net_spawn(waits_in_vain, NULL);
    rt_wait(&net_done, 2);
    EXPECT_EQ(atom_load_acq(&slow_begun), AT_ONCE);
    atom_store_rel(&slow_let, 1);
    rt_wait(&net_done, CROWD + 2);
    EXPECT_EQ(atom_load_acq(&slow_ended), CROWD);
    EXPECT_EQ(atom_load_acq(&slow_peak), AT_ONCE);
}
TEST(so_many_at_a_time) { rt_each(crowd); }

/* ---- connecting to one of two ------------------------------------------------------------------------------------------------------ */

static int two_addresses(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    EXPECT(strcmp(host, "two.test") == 0);
    int error = linux_net_lookup("127.0.0.2", service, hints, found);
    return error ? error : linux_net_lookup("127.0.0.1", service, hints, &(*found)->ai_next);
}
/* The first does not answer: its listener has no room. The second has its share of the time left. */
static void second_address(void *arg) {
    weft_addr address;
    char first[WEFT_ADDR_TEXT], second[WEFT_ADDR_TEXT];
    weft_fd full = weft_net_listen("127.0.0.2:0", &(weft_listen_options){.backlog = 1}), fd;
    (void)arg;
    EXPECT(full > 0);
    EXPECT_EQ(weft_net_name(full, &address), 0);
    weft_addr_text(&address, first, sizeof first);
    const char *port = strrchr(first, ':') + 1;
    snprintf(second, sizeof second, "127.0.0.1:%s", port);
    weft_fd door = weft_net_listen(second, NULL);
    EXPECT(door > 0);
    for (unsigned i = 0; (fd = weft_net_connect(first, weft_in(300 * WEFT_MILLISECOND))) > 0; i++)
        EXPECT(i < 10);
    EXPECT_EQ(fd, WEFT_ETIMEDOUT);
    sys_script.net_lookup = two_addresses;
    fd = weft_net_connect_name("two.test", port, weft_in(8 * WEFT_SECOND));
    EXPECT(fd > 0);
    EXPECT_EQ(weft_net_peer(fd, &address), 0);
    EXPECT(strcmp(weft_addr_text(&address, first, sizeof first), second) == 0);
    net_is_done();
}
TEST(the_second_address_has_its_share) {
    setenv("WEFT_RESOLVER", "libc", 1);
    rt_start("ring", 2);
    net_run_until(second_address, 1);
    rt_stop();
}

/* Every allocation fails once. */
static void remembers(void *arg) {
    (void)arg;
    weft_addr list[8];
    sys_script.net_lookup = knows_localhost;
    weft_resolve_options one = {.resolver = "libc", .family = AF_INET};
    EXPECT_EQ(with("there.test", "80", one, list, WEFT_FOREVER), 1);
    unsigned failed = 0;
    for (unsigned i = 1; i < 20; i++) {
        sys_scripted_recount();
        sys_script.alloc_fail_at = i;
        int n = with("there.test", "80", one, list, WEFT_FOREVER);
        sys_script.alloc_fail_at = 0;
        EXPECT(n == 1 || n == WEFT_ENOMEM || n == WEFT_ENOSTACK);
        failed += n != 1;
    }
    EXPECT(failed >= 1);
    net_is_done();
}
static void memory(void) { net_run_until(remembers, 1); }
TEST(no_memory) { rt_each(memory); }

int main(int argc, char **argv) { return test_main(argc, argv); }
