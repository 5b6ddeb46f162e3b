/* A service of datagrams has a port, too. */
#include "oracle.h"

#include <netinet/in.h>

static int program(int argc, char **argv) {
    weft_addr list[2];
    (void)argc, (void)argv;
    int count = weft_resolve("127.0.0.1", "syslog", NULL, list, 2, WEFT_FOREVER);
    MUST(count == 1, "the service is not found");
    MUST(((struct sockaddr_in *)&list[0].place)->sin_port == htons(514), "another port");
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
