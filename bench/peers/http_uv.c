/* The peer of `weft bench http` and `echo`: the same with libuv, in one thread.
 *
 *     http_uv [http|echo]
 *
 * Prints its address and runs until it is killed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";

static int echoes;

struct guest {
    uv_tcp_t tcp;
    size_t kept;
    char data[4096];
};

static void gone(uv_handle_t *handle) { free(handle); }

static void give_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
    struct guest *guest = (struct guest *)handle;
    (void)size;
    *buffer = uv_buf_init(guest->data + guest->kept, (unsigned)(sizeof guest->data - guest->kept));
}

/* As libuv's own users do: at once if it can be, which is the faster way. */
static int respond(struct guest *guest) {
    uv_buf_t buffer = uv_buf_init((char *)answer, sizeof answer - 1);
    return uv_try_write((uv_stream_t *)guest, &buffer, 1) == (int)sizeof answer - 1;
}

static void has_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
    struct guest *guest = (struct guest *)stream;
    (void)buffer;
    int good = n >= 0;
    if (good && echoes) {
        uv_buf_t same = uv_buf_init(guest->data, (unsigned)n);
        good = uv_try_write(stream, &same, 1) == (int)n;
    } else if (good) {
        guest->kept += (size_t)n;
    }
    char *at = guest->data, *end;
    while (good && (end = memmem(at, guest->kept - (size_t)(at - guest->data), "\r\n\r\n", 4)) != NULL) {
        good = respond(guest);
        at = end + 4;
    }
    guest->kept -= (size_t)(at - guest->data);
    memmove(guest->data, at, guest->kept);
    if (!good) uv_close((uv_handle_t *)stream, gone);
}

static void has_guest(uv_stream_t *door, int status) {
    struct guest *guest = status == 0 ? calloc(1, sizeof *guest) : NULL;
    if (!guest) return;
    uv_tcp_init(door->loop, &guest->tcp);
    if (uv_accept(door, (uv_stream_t *)guest)) {
        uv_close((uv_handle_t *)guest, gone);
        return;
    }
    uv_tcp_nodelay(&guest->tcp, 1);
    uv_read_start((uv_stream_t *)guest, give_room, has_read);
}

int main(int argc, char **argv) {
    echoes = argc > 1 && strcmp(argv[1], "echo") == 0;
    uv_tcp_t door;
    struct sockaddr_in place;
    int size = sizeof place;
    signal(SIGPIPE, SIG_IGN);
    uv_tcp_init(uv_default_loop(), &door);
    uv_ip4_addr("127.0.0.1", 0, &place);
    if (uv_tcp_bind(&door, (const struct sockaddr *)&place, 0) || uv_listen((uv_stream_t *)&door, 4096, has_guest)) return 1;
    uv_tcp_getsockname(&door, (struct sockaddr *)&place, &size);
    printf("127.0.0.1:%d\n", ntohs(place.sin_port));
    fflush(stdout);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
