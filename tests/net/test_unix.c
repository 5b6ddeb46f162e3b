/* Pipes, vectors and files; sockets of the UNIX domain: datagrams, streams, descriptors that are passed. */
#include "net_helpers.h"

#include <signal.h>

/* ---- pipes, vectors, files --------------------------------------------------------------------------------------------------------- */

enum { VECTOR = 200, PART = 3000 };
static weft_fd vector_pipe[2];
static void vector_writer(void *arg) {
    (void)arg;
    static char data[PART];
    struct iovec parts[VECTOR];
    size_t written;
    for (unsigned i = 0; i < VECTOR; i++)
        parts[i] = (struct iovec){data, i % 5 ? PART : 0};
    memset(data, 'v', sizeof data);
    EXPECT_EQ(weft_fd_writev_all(vector_pipe[1], parts, VECTOR, &written, WEFT_FOREVER), 0);
    EXPECT_EQ(written, VECTOR / 5 * 4 * PART);
    EXPECT_EQ(weft_fd_close(vector_pipe[1]), 0);
    net_is_done();
}
static void vectors(void *arg) {
    (void)arg;
    char left[700], right[5000];
    EXPECT_EQ(weft_pipe(vector_pipe), 0);
    EXPECT(weft_spawn(vector_writer, NULL) != WEFT_NOBODY);
    size_t got = 0;
    ssize_t n;
    struct iovec parts[2] = {{left, sizeof left}, {right, sizeof right}};
    while ((n = weft_fd_readv(vector_pipe[0], parts, 2, WEFT_FOREVER)) > 0) {
        got += (size_t)n;
        EXPECT_EQ(left[0], 'v');
    }
    EXPECT_EQ(n, 0);
    EXPECT_EQ(got, VECTOR / 5 * 4 * PART);
    EXPECT_EQ(weft_fd_close(vector_pipe[0]), 0);
    net_is_done();
}
static void vectors_all(void) { net_run_until(vectors, 2); }
TEST(pipes_and_vectors) { rt_each(vectors_all); }

enum { FILE_SIZE = 1000000 };
static weft_fd file_pair[2];
static void file_sender(void *arg) {
    int file = (int)(intptr_t)arg;
    off_t offset = 1000;
    size_t sent;
    EXPECT_EQ(weft_fd_sendfile_all(file_pair[0], file, &offset, 2 * FILE_SIZE, &sent, WEFT_FOREVER), WEFT_EEOF);
    EXPECT_EQ(sent, FILE_SIZE - 1000);
    EXPECT_EQ(offset, FILE_SIZE);
    EXPECT_EQ(weft_net_shutdown(file_pair[0], WEFT_SIDE_WRITE), 0);
    net_is_done();
}
static void files(void *arg) {
    (void)arg;
    static char data[FILE_SIZE], got[FILE_SIZE];
    FILE *file = tmpfile();
    for (unsigned i = 0; i < FILE_SIZE; i++)
        data[i] = (char)(i * 31);
    EXPECT_EQ(fwrite(data, 1, FILE_SIZE, file), FILE_SIZE);
    fflush(file);
    net_tcp_pair(file_pair);
    EXPECT(weft_spawn(file_sender, (void *)(intptr_t)fileno(file)) != WEFT_NOBODY);
    weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(net_read_to_end(file_pair[1], got, sizeof got), FILE_SIZE - 1000);
    EXPECT(memcmp(got, data + 1000, FILE_SIZE - 1000) == 0);
    fclose(file);
    net_is_done();
}
static void files_all(void) { net_run_until(files, 2); }
TEST(sendfile_sends_the_file) { rt_each(files_all); }

/* ---- datagrams between UNIX sockets
 * ---------------------------------------------------------------------------------------------------- */

enum { LETTERS = 500 / RT_SLOW };
static weft_fd letters_box;
static void letters_reader(void *arg) { /* slower than the writers */
    unsigned number, next[2] = {0, 0};
    weft_addr from;
    (void)arg;
    for (unsigned i = 0; i < 2 * LETTERS; i++) {
        EXPECT_EQ(weft_net_recv_from(letters_box, &number, sizeof number, &from, WEFT_FOREVER), sizeof number);
        EXPECT_EQ(number / 2, next[number % 2]++); /* each writer's in order */
        if (i % 50 == 0) weft_sleep(WEFT_MILLISECOND);
    }
    net_is_done();
}
static weft_addr letters_to;
static void letters_writer(void *arg) {
    weft_fd fd = weft_net_udp("unix:@", NULL);
    EXPECT(fd > 0);
    for (unsigned i = 0; i < LETTERS; i++) {
        unsigned number = 2 * i + (arg != NULL);
        EXPECT_EQ(weft_net_send_to(fd, &number, sizeof number, &letters_to, WEFT_FOREVER), sizeof number);
    }
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void letters_closed(void *arg) {
    EXPECT_EQ(weft_net_send_to(net_unbox(arg), "x", 1, &letters_to, WEFT_FOREVER), WEFT_ECLOSED);
    net_is_done();
}
static void letters(void *arg) {
    (void)arg;
    char data[16], text[WEFT_ADDR_TEXT];
    weft_addr from, own;
    letters_box = weft_net_udp("unix:@", NULL);
    weft_fd client = weft_net_udp("unix:@", NULL);
    EXPECT(letters_box > 0 && client > 0);
    EXPECT_EQ(weft_net_name(letters_box, &letters_to), 0);
    EXPECT_EQ(weft_net_name(client, &own), 0);
    EXPECT(strncmp(weft_addr_text(&own, text, sizeof text), "unix:@", 6) == 0 && text[6]);
    EXPECT_EQ(weft_net_send_to(client, "ask", 3, &letters_to, 0), 3); /* to and fro */
    EXPECT_EQ(weft_net_recv_from(letters_box, data, sizeof data, &from, WEFT_FOREVER), 3);
    EXPECT(from.size == own.size && memcmp(&from.place, &own.place, own.size) == 0);
    EXPECT_EQ(weft_net_send_to(letters_box, "answer", 6, &from, WEFT_FOREVER), 6);
    EXPECT_EQ(weft_net_recv_from(client, data, sizeof data, NULL, WEFT_FOREVER), 6);
    EXPECT(weft_spawn(letters_writer, NULL) != WEFT_NOBODY);
    EXPECT(weft_spawn(letters_writer, &letters_to) != WEFT_NOBODY);
    EXPECT(weft_spawn(letters_reader, NULL) != WEFT_NOBODY);
    while (atom_load_acq(&net_done) < 3)
        weft_sleep(WEFT_MILLISECOND);
    while (weft_net_send_to(client, "x", 1, &letters_to, 0) == 1) { /* until there is no room */
    }
    EXPECT_EQ(weft_net_send_to(client, "x", 1, &letters_to, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_net_send_to(client, "x", 1, &letters_to, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    uint64_t before = net_calls(SYS_NET_SENDMSG);
    EXPECT(weft_spawn(letters_closed, net_box(client)) != WEFT_NOBODY);
    net_wait_calls(SYS_NET_SENDMSG, before + 8); /* it pauses for longer than it tries by now */
    EXPECT_EQ(weft_fd_close(client), 0);
    while (atom_load_acq(&net_done) < 4)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_close(letters_box), 0);
    EXPECT_EQ(weft_net_udp("unix:/nowhere/at/all", NULL), WEFT_ENOENT);
    net_is_done();
}
static void letters_all(void) { net_run_until(letters, 5); }
TEST(datagrams_between_unix_sockets) { rt_each(letters_all); }

/* ---- UNIX sockets -------------------------------------------------------------------------------------------------------------------- */

static void unix_client(void *arg) {
    weft_fd fd = weft_net_connect(arg, WEFT_FOREVER);
    EXPECT(fd > 0);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(weft_net_send_fds(fd, "two", 3, ends, 2, WEFT_FOREVER), 3);
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(weft_net_send_fds(fd, "none", 4, NULL, 0, WEFT_FOREVER), 4);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void unix_server(weft_fd door) {
    char data[8];
    int got[4];
    size_t count = 4;
    weft_fd fd = weft_net_accept(door, NULL, WEFT_FOREVER);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_net_recv_fds(fd, data, 3, got, &count, WEFT_FOREVER), 3);
    EXPECT_EQ(count, 2);
    weft_fd in = weft_fd_adopt(got[0]), out = weft_fd_adopt(got[1]);
    EXPECT_EQ(weft_fd_write_all(out, "through", 7, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_fd_read(in, data, sizeof data, WEFT_FOREVER), 7);
    EXPECT_EQ(weft_fd_close(in), 0);
    EXPECT_EQ(weft_fd_close(out), 0);
    count = 4;
    EXPECT_EQ(weft_net_recv_fds(fd, data, sizeof data, got, &count, WEFT_FOREVER), 4);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(weft_net_recv_fds(fd, data, sizeof data, got, &count, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    EXPECT_EQ(weft_fd_close(door), 0);
}
/* No process accepts: the kernel has no room for more, says so at once, and does not tell when there is some. */
static weft_fd crowded_door;
static void crowded_acceptor(void *arg) {
    (void)arg;
    weft_fd fd = weft_net_accept(crowded_door, NULL, WEFT_FOREVER);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void crowded(void *arg) {
    weft_addr address;
    weft_fd fds[8], fd;
    unsigned count = 0;
    (void)arg;
    crowded_door = weft_net_listen("unix:@", &(weft_listen_options){.backlog = 1});
    EXPECT(crowded_door > 0);
    EXPECT_EQ(weft_net_name(crowded_door, &address), 0);
    while ((fd = weft_net_connect_to(&address, 0)) > 0 && count < 8)
        fds[count++] = fd;
    EXPECT(count > 0 && fd == WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_net_connect_to(&address, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT(weft_spawn(crowded_acceptor, NULL) != WEFT_NOBODY);
    fd = weft_net_connect_to(&address, WEFT_FOREVER);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    while (count > 0)
        EXPECT_EQ(weft_fd_close(fds[--count]), 0);
    while (atom_load_acq(&net_done) < 1)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_close(crowded_door), 0);
    net_is_done();
}
static void crowds(void) { net_run_until(crowded, 2); }
TEST(unix_listeners_without_room) { rt_each(crowds); }

static void unix_both(void *arg) {
    (void)arg;
    static char path[64], name[64];
    snprintf(path, sizeof path, "unix:/tmp/weft-test-%d", getpid());
    snprintf(name, sizeof name, "unix:@weft-test-%d", getpid());
    unlink(path + 5);
    char *both[] = {path, name};
    for (unsigned i = 0; i < 2; i++) {
        weft_fd door = weft_net_listen(both[i], NULL);
        EXPECT(door > 0);
        EXPECT(weft_spawn(unix_client, both[i]) != WEFT_NOBODY);
        unix_server(door);
    }
    unlink(path + 5);
    /* More than there is room for: none is left open. */
    weft_fd pair[2];
    int some[3] = {0, 1, 2}, room[1];
    size_t count = 1;
    char byte;
    unsigned before = net_count_open();
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT_EQ(weft_net_send_fds(pair[0], "x", 1, some, 3, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_net_recv_fds(pair[1], &byte, 1, room, &count, WEFT_FOREVER), WEFT_EMSGSIZE);
    EXPECT_EQ(count, 0);
    /* As many as there is room for, but there are no descriptors left, or one: none is left open either. */
    int three[3];
    struct rlimit before_limit, little;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_limit), 0);
    for (int spare = 0; spare < 2; spare++) {
        EXPECT_EQ(weft_net_send_fds(pair[0], "x", 1, some, 3, WEFT_FOREVER), 1);
        int next = dup(0); /* the lowest that is free */
        close(next);
        little = (struct rlimit){(rlim_t)(next + spare), before_limit.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &little), 0);
        count = 3;
        ssize_t n = weft_net_recv_fds(pair[1], &byte, 1, three, &count, WEFT_FOREVER);
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_limit), 0);
        EXPECT_EQ(n, WEFT_EMFILE);
    }
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    EXPECT_EQ(net_count_open(), before);
    net_is_done();
}
static void unixes(void) { net_run_until(unix_both, 3); }
TEST(unix_sockets_pass_descriptors) { rt_each(unixes); }

int main(int argc, char **argv) { return test_main(argc, argv); }
