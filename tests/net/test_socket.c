/* Sockets: datagrams by UDP, addresses, and listeners that share one. */
#include "net_helpers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* ---- UDP ---------------------------------------------------------------------------------------------------------------------------- */

static weft_addr udp_server_address;
static void udp_server(void *arg) {
    char data[100];
    weft_addr from;
    for (;;) {
        ssize_t n = weft_net_recv_from(net_unbox(arg), data, sizeof data, &from, WEFT_FOREVER);
        EXPECT(n >= 0);
        if (n == 0) break;
        EXPECT_EQ(weft_net_send_to(net_unbox(arg), data, (size_t)n, &from, WEFT_FOREVER), n);
    }
    EXPECT_EQ(weft_fd_close(net_unbox(arg)), 0);
    net_is_done();
}
static void udp(void *arg) {
    (void)arg;
    char data[100];
    weft_addr from;
    weft_fd server = weft_net_udp("127.0.0.1:0", NULL), client = weft_net_udp("127.0.0.1:0", NULL);
    EXPECT(server > 0 && client > 0);
    EXPECT_EQ(weft_net_name(server, &udp_server_address), 0);
    EXPECT(weft_spawn(udp_server, net_box(server)) != WEFT_NOBODY);
    for (unsigned i = 1; i <= 50; i++) {
        memset(data, (int)i, sizeof data);
        EXPECT_EQ(weft_net_send_to(client, data, i, &udp_server_address, WEFT_FOREVER), i);
        EXPECT_EQ(weft_net_recv_from(client, data, sizeof data, &from, WEFT_FOREVER), i);
        EXPECT_EQ(from.size, udp_server_address.size);
        EXPECT(memcmp(&from.place, &udp_server_address.place, from.size) == 0);
    }
    EXPECT_EQ(weft_net_send_to(client, data, 0, &udp_server_address, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_net_recv_from(client, data, sizeof data, NULL, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_close(client), 0);
    net_is_done();
}
static void udps(void) { net_run_until(udp, 2); }
TEST(datagrams) { rt_each(udps); }

/* ---- addresses, options, mistakes
 * ------------------------------------------------------------------------------------------------------ */

TEST(addresses) {
    static const char *const good[] = {"127.0.0.1:80",  "0.0.0.0:0",   "[::1]:65535", "[::]:1",
                                       "[fe80::1%7]:1", "unix:/tmp/x", "unix:@name",  "unix:@"};
    static const char *const bad[] = {"",
                                      "80",
                                      ":80",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "127.0.0.1:1x",
                                      "::1:80",
                                      "[::1]80",
                                      "[::1",
                                      "[]:1",
                                      "[fe80::1%]:1",
                                      "[fe80::1%no-such-one]:1",
                                      "[::1%lo:1",
                                      "unix:",
                                      "localhost:80",
                                      "1.2.3:4",
                                      "]:4"};
    weft_addr address;
    char text[WEFT_ADDR_TEXT];
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        EXPECT_EQ(weft_addr_parse(good[i], &address), 0);
        EXPECT(strcmp(weft_addr_text(&address, text, sizeof text), good[i]) == 0);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT_EQ(weft_addr_parse(bad[i], &address), WEFT_EINVAL);
    EXPECT_EQ(weft_addr_parse(NULL, &address), WEFT_EINVAL);
    EXPECT_EQ(weft_addr_parse("[fe80::1%lo]:1", &address), 0);
    EXPECT(strcmp(weft_addr_text(&address, text, sizeof text), "[fe80::1%1]:1") == 0);
    char longer[200];
    memset(longer, 'x', sizeof longer);
    memcpy(longer, "unix:", 5);
    longer[199] = '\0';
    EXPECT_EQ(weft_addr_parse(longer, &address), WEFT_EINVAL);
    EXPECT_EQ(weft_addr_parse("127.0.0.1:80", &address), 0);
    EXPECT(strcmp(weft_addr_text(&address, text, 5), "127.") == 0);
}

static void shard_reader(void *arg) {
    weft_fd fd = weft_net_accept(net_unbox(arg), NULL, WEFT_FOREVER);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void options(void *arg) {
    (void)arg;
    char where[WEFT_ADDR_TEXT];
    weft_fd door = net_listen_any(where, &(weft_listen_options){.reuse_port = true, .backlog = 5});
    weft_fd second = weft_net_listen(where, &(weft_listen_options){.reuse_port = true});
    EXPECT(second > 0);
    EXPECT_EQ(weft_net_listen(where, NULL), WEFT_EADDRINUSE);
    EXPECT_EQ(weft_net_listen("nonsense", NULL), WEFT_EINVAL);
    EXPECT(weft_spawn(shard_reader, net_box(door)) != WEFT_NOBODY);
    EXPECT(weft_spawn(shard_reader, net_box(second)) != WEFT_NOBODY);
    while (atom_load_acq(&net_done) < 2) { /* the kernel shares them out */
        weft_fd fd = weft_net_connect(where, weft_in(WEFT_SECOND));
        if (fd > 0) EXPECT_EQ(weft_fd_close(fd), 0);
        weft_sleep(100 * WEFT_MICROSECOND);
    }
    EXPECT_EQ(weft_fd_close(door), 0);
    EXPECT_EQ(weft_fd_close(second), 0);
    EXPECT_EQ(weft_net_connect(where, WEFT_FOREVER), WEFT_ECONNREFUSED);
    EXPECT_EQ(weft_net_connect("127.0.0.1", WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_net_connect("unix:/nowhere/at/all", WEFT_FOREVER), WEFT_ENOENT);
    EXPECT_EQ(weft_net_shutdown(door, WEFT_SIDE_BOTH), WEFT_EBADF);
    net_is_done();
}
static void options_all(void) { net_run_until(options, 3); }
TEST(listeners_share_an_address) { rt_each(options_all); }

int main(int argc, char **argv) { return test_main(argc, argv); }
