/* However many parts it has, a vector is one datagram. */
#include "oracle.h"

enum { PARTS = 100 };

static int program(int argc, char **argv) {
    char sent[PARTS] = {0}, got[2 * PARTS];
    struct iovec parts[PARTS];
    weft_fd pair[2];
    weft_addr names[2];
    (void)argc, (void)argv;
    for (int i = 0; i < PARTS; i++)
        parts[i] = (struct iovec){&sent[i], 1};
    for (int i = 0; i < 2; i++)
        MUST((pair[i] = weft_net_udp("127.0.0.1:0", NULL)) > 0 && weft_net_name(pair[i], &names[i]) == 0, "socket");
    MUST(connect(weft_fd_number(pair[0]), (struct sockaddr *)&names[1].place, names[1].size) == 0, "connect");
    MUST(weft_fd_writev_all(pair[0], parts, PARTS, NULL, WEFT_FOREVER) == 0, "write");
    MUST(weft_net_recv_from(pair[1], got, sizeof got, NULL, WEFT_FOREVER) == PARTS, "another size");
    weft_fd_close(pair[0]), weft_fd_close(pair[1]);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
