/* A small DNS server on loopback, UDP and TCP, for the tests of names: a thread that speaks no weft. What it does with a question is told
 * by the first label of its name (dns_kinds); the rest is ignored. It answers questions for A (127.0.0.1 unless said otherwise) and, for
 * some names, AAAA (::1). */
#ifndef WEFT_TESTS_NAME_DNS_SERVER_H
#define WEFT_TESTS_NAME_DNS_SERVER_H

#include "base/atom.h"
#include "base/rng.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DNS_A = 1, DNS_CNAME = 5, DNS_AAAA = 28 };
enum { DNS_OK = 0, DNS_SERVFAIL = 2, DNS_NXDOMAIN = 3, DNS_REFUSED = 5 };
enum { DNS_MANY = 100, DNS_LATE_MS = 200, DNS_PENDING = 2048, DNS_MOST = 4096 };

struct dns_packet {
    unsigned char data[DNS_MOST];
    size_t size;
};

struct dns_question {
    const unsigned char *packet;
    size_t end; /* of the question */
    unsigned type;
    char kind[64];
    bool tcp;
};

static struct {
    int udp, tcp, stop[2];
    pthread_t thread;
    char servers[64];                        /* for weft_resolve_options */
    atom_u64 questions, by_tcp, connections; /* asked so far; of those by TCP; open now */
    unsigned lossy;                          /* times that it was asked */
    struct {
        uint64_t when;
        struct sockaddr_in to;
        size_t size;
        unsigned char data[128];
    } pending[DNS_PENDING];
    unsigned pending_count;
    struct rng rng;
} dns;

/* ---- packets ------------------------------------------------------------------------------------------------------------ */

static inline void dns_put(struct dns_packet *packet, const void *data, size_t size) {
    EXPECT(packet->size + size <= sizeof packet->data);
    memcpy(packet->data + packet->size, data, size);
    packet->size += size;
}
static inline void dns_put_16(struct dns_packet *packet, unsigned value) {
    dns_put(packet, (unsigned char[]){(unsigned char)(value >> 8), (unsigned char)value}, 2);
}
static inline void dns_put_name(struct dns_packet *packet, const char *name) {
    while (*name) {
        size_t length = strcspn(name, ".");
        dns_put(packet, &(unsigned char){(unsigned char)length}, 1);
        dns_put(packet, name, length);
        name += length + (name[length] == '.');
    }
    dns_put(packet, "", 1);
}
/* The owner is `name`, or the question's if that is NULL. */
static inline void dns_put_record(struct dns_packet *packet, const char *name, unsigned type, const void *data, size_t size) {
    if (name) dns_put_name(packet, name);
    else dns_put_16(packet, 0xc00c);
    dns_put_16(packet, type);
    dns_put_16(packet, 1);
    dns_put(packet, (unsigned char[]){0, 0, 0, 60}, 4);
    dns_put_16(packet, (unsigned)size);
    dns_put(packet, data, size);
    packet->data[7]++; /* answers */
}
static inline void dns_put_4(struct dns_packet *packet, const char *name, const char *address) {
    struct in_addr number;
    EXPECT_EQ(inet_pton(AF_INET, address, &number), 1);
    dns_put_record(packet, name, DNS_A, &number, 4);
}
static inline void dns_put_cname(struct dns_packet *packet, const char *name, const char *to) {
    struct dns_packet target = {.size = 0};
    dns_put_name(&target, to);
    dns_put_record(packet, name, DNS_CNAME, target.data, target.size);
}
/* Header and question of an answer. */
static inline void dns_begin(struct dns_packet *packet, const struct dns_question *question, unsigned code) {
    packet->size = 0;
    dns_put(packet, question->packet, question->end);
    packet->data[2] = 0x85; /* an answer, authoritative, recursion desired */
    packet->data[3] = (unsigned char)(0x80 | code);
    packet->data[4] = 0, packet->data[5] = 1;
    memset(packet->data + 6, 0, 6);
}
static inline void dns_truth(struct dns_packet *packet, const struct dns_question *question) {
    dns_begin(packet, question, DNS_OK);
    if (question->type == DNS_A) dns_put_4(packet, NULL, "127.0.0.1");
    if (question->type == DNS_AAAA) dns_put_record(packet, NULL, DNS_AAAA, &in6addr_loopback, 16);
}

/* False: not a question. */
static inline bool dns_parse(struct dns_question *question, const unsigned char *packet, size_t size, bool tcp) {
    size_t at = 12;
    *question = (struct dns_question){.packet = packet, .tcp = tcp};
    if (size < 17 || packet[at] == 0 || packet[at] > 63 || at + packet[at] >= size) return false;
    for (unsigned i = 0; i < packet[at]; i++)
        question->kind[i] = (char)(packet[at + 1 + i] | ((packet[at + 1 + i] & 0x40) ? 0x20 : 0));
    while (at < size && packet[at] != 0)
        at += packet[at] + 1u;
    if (at + 5 > size) return false;
    question->type = (unsigned)packet[at + 1] << 8 | packet[at + 2];
    question->end = at + 5;
    return true;
}

/* ---- kinds of answers ------------------------------------------------------------------------------------------------------- */

/* A kind writes one packet after the other, each to be sent, until it answers false. */
typedef bool dns_kind(struct dns_packet *packet, const struct dns_question *question, unsigned round);

static inline bool dns_one(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_truth(packet, question);
    return round == 0;
}
static inline bool dns_four(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_OK);
    if (question->type == DNS_A) dns_put_4(packet, NULL, "127.0.0.1");
    return round == 0;
}
static inline bool dns_half(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, question->type == DNS_A ? DNS_OK : DNS_SERVFAIL);
    if (question->type == DNS_A) dns_put_4(packet, NULL, "127.0.0.1");
    return round == 0;
}
/* No server listens at the first. */
static inline bool dns_two(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_OK);
    if (question->type == DNS_A) dns_put_4(packet, NULL, "127.0.0.9"), dns_put_4(packet, NULL, "127.0.0.1");
    return round == 0;
}
static inline bool dns_nx(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_NXDOMAIN);
    return round == 0;
}
static inline bool dns_fail(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_SERVFAIL);
    return round == 0;
}
static inline bool dns_refuse(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_REFUSED);
    return round == 0;
}
static inline bool dns_empty(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_OK);
    return round == 0;
}
static inline bool dns_silent(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    (void)packet, (void)question, (void)round;
    return false;
}
/* Too long for UDP: the answer is cut, and comes by TCP. */
static inline bool dns_many(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    char text[16];
    dns_begin(packet, question, DNS_OK);
    if (!question->tcp) packet->data[2] |= 2;
    for (unsigned i = 0; question->tcp && question->type == DNS_A && i < DNS_MANY; i++) {
        snprintf(text, sizeof text, "127.0.1.%u", i + 1);
        dns_put_4(packet, NULL, text);
    }
    return round == 0;
}
/* Cut, and by TCP there is nothing: the connection ends (dns_connection). */
static inline bool dns_cut(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_OK);
    packet->data[2] |= 2;
    return round == 0 && !question->tcp;
}
static inline bool dns_chain(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    char from[16], to[16];
    dns_begin(packet, question, DNS_OK);
    dns_put_cname(packet, NULL, "c1.test");
    for (unsigned i = 1; i < 8; i++) {
        snprintf(from, sizeof from, "c%u.test", i);
        snprintf(to, sizeof to, "c%u.test", i + 1);
        dns_put_cname(packet, from, to);
    }
    if (question->type == DNS_A) dns_put_4(packet, "c8.test", "127.0.0.1");
    return round == 0;
}
/* A chain that ends nowhere, and one that is a ring. */
static inline bool dns_dead(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_OK);
    dns_put_cname(packet, NULL, "c1.test");
    return round == 0;
}
static inline bool dns_ring(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_OK);
    dns_put_cname(packet, NULL, "c1.test");
    dns_put_cname(packet, "c1.test", "c2.test");
    dns_put_cname(packet, "c2.test", "c1.test");
    return round == 0;
}
/* Lies first, the truth after. */
static inline void dns_lie(struct dns_packet *packet, const struct dns_question *question) {
    dns_begin(packet, question, DNS_OK);
    dns_put_4(packet, NULL, "203.0.113.66");
}
static inline bool dns_wrongid(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    if (round == 0) dns_lie(packet, question), packet->data[0] ^= 0x55, packet->data[1] ^= 0xaa;
    else dns_truth(packet, question);
    return round <= 1;
}
static inline bool dns_wrongname(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    if (round == 0) dns_lie(packet, question), packet->data[13] = 'x';
    else dns_truth(packet, question);
    return round <= 1;
}
static inline bool dns_wrongtype(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    if (round == 0) dns_lie(packet, question), packet->data[question->end - 3] = 15;
    else dns_truth(packet, question);
    return round <= 1;
}
/* Nonsense of several lengths, none of it with the right number. */
static inline bool dns_garbage(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    static const size_t sizes[] = {0, 1, 11, 12, 40, 500};
    if (round == sizeof sizes / sizeof *sizes) dns_truth(packet, question);
    if (round >= sizeof sizes / sizeof *sizes) return round == sizeof sizes / sizeof *sizes;
    packet->size = sizes[round];
    for (size_t i = 0; i < packet->size; i++)
        packet->data[i] = (unsigned char)rng_below(&dns.rng, 256);
    packet->data[0] = (unsigned char)(question->packet[0] ^ 1);
    return true;
}
/* The right number and question, and then an owner that points to itself; or a record that is longer than the packet. */
static inline bool dns_pointer(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_begin(packet, question, DNS_OK);
    size_t at = packet->size;
    dns_put_4(packet, NULL, "203.0.113.66");
    packet->data[at] = (unsigned char)(0xc0 | at >> 8), packet->data[at + 1] = (unsigned char)at;
    return round == 0;
}
static inline bool dns_short(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_lie(packet, question);
    packet->size -= 2;
    return round == 0;
}
/* A true answer in which a few bytes are wrong. */
static inline bool dns_fuzz(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_chain(packet, question, 0);
    if (question->tcp) return true; /* asked to by a wrong bit; another thread */
    for (unsigned i = 0, n = 1 + (unsigned)rng_below(&dns.rng, 6); i < n; i++)
        packet->data[2 + rng_below(&dns.rng, (uint32_t)packet->size - 2)] = (unsigned char)rng_below(&dns.rng, 256);
    if (rng_below(&dns.rng, 4) == 0) packet->size = 12 + rng_below(&dns.rng, (uint32_t)packet->size - 12);
    return round == 0;
}
/* Of one family's questions nothing is ever heard. */
static inline bool dns_no6(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_truth(packet, question);
    return round == 0 && question->type == DNS_A;
}
static inline bool dns_no4(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_truth(packet, question);
    return round == 0 && question->type == DNS_AAAA;
}
/* Two of three questions are lost. */
static inline bool dns_lossy(struct dns_packet *packet, const struct dns_question *question, unsigned round) {
    dns_truth(packet, question);
    return round == 0 && ++dns.lossy % 3 == 0;
}

static const struct {
    const char *name;
    dns_kind *kind;
} dns_kinds[] = {
    {"one", dns_one},
    {"late", dns_one},
    {"drip", dns_many},
    {"four", dns_four},
    {"half", dns_half},
    {"two", dns_two},
    {"nx", dns_nx},
    {"fail", dns_fail},
    {"refuse", dns_refuse},
    {"empty", dns_empty},
    {"silent", dns_silent},
    {"many", dns_many},
    {"cut", dns_cut},
    {"chain", dns_chain},
    {"dead", dns_dead},
    {"ring", dns_ring},
    {"wrongid", dns_wrongid},
    {"wrongname", dns_wrongname},
    {"wrongtype", dns_wrongtype},
    {"garbage", dns_garbage},
    {"pointer", dns_pointer},
    {"short", dns_short},
    {"fuzz", dns_fuzz},
    {"lossy", dns_lossy},
    {"no6", dns_no6},
    {"no4", dns_no4},
};

static inline dns_kind *dns_kind_of(const struct dns_question *question) {
    for (size_t i = 0; i < sizeof dns_kinds / sizeof *dns_kinds; i++)
        if (strcmp(question->kind, dns_kinds[i].name) == 0) return dns_kinds[i].kind;
    return dns_nx;
}

/* ---- the thread --------------------------------------------------------------------------------------------------------------- */

static inline uint64_t dns_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static inline void dns_by_udp(void) {
    unsigned char data[DNS_MOST];
    struct dns_packet packet;
    struct sockaddr_in from;
    struct dns_question question;
    socklen_t size = sizeof from;
    ssize_t n = recvfrom(dns.udp, data, sizeof data, 0, (struct sockaddr *)&from, &size);
    if (n < 0 || !dns_parse(&question, data, (size_t)n, false)) return;
    atom_add_rel(&dns.questions, 1);
    dns_kind *kind = dns_kind_of(&question);
    for (unsigned round = 0; kind(&packet, &question, round); round++)
        if (strcmp(question.kind, "late") != 0) {
            sendto(dns.udp, packet.data, packet.size, 0, (struct sockaddr *)&from, size);
        } else {
            EXPECT(dns.pending_count < DNS_PENDING && packet.size <= sizeof dns.pending->data);
            dns.pending[dns.pending_count].when = dns_now() + DNS_LATE_MS;
            dns.pending[dns.pending_count].to = from;
            dns.pending[dns.pending_count].size = packet.size;
            memcpy(dns.pending[dns.pending_count++].data, packet.data, packet.size);
        }
}

/* Sends what is due; how long until the next, in ms, or -1. */
static inline int dns_send_late(void) {
    uint64_t now = dns_now(), next = UINT64_MAX;
    unsigned kept = 0;
    for (unsigned i = 0; i < dns.pending_count; i++)
        if (dns.pending[i].when <= now) {
            sendto(dns.udp, dns.pending[i].data, dns.pending[i].size, 0, (struct sockaddr *)&dns.pending[i].to, sizeof dns.pending[i].to);
        } else {
            if (dns.pending[i].when < next) next = dns.pending[i].when;
            dns.pending[kept++] = dns.pending[i];
        }
    dns.pending_count = kept;
    return kept ? (int)(next - now) : -1;
}

static inline bool dns_read(int connection, unsigned char *data, size_t size) {
    for (size_t n = 0; n < size;) {
        ssize_t got = recv(connection, data + n, size - n, 0);
        if (got <= 0) return false;
        n += (size_t)got;
    }
    return true;
}

/* One thread for each, until the other side closes it. "drip" answers in small pieces. */
static inline void *dns_connection(void *arg) {
    int connection = (int)(intptr_t)arg;
    unsigned char length[2], data[DNS_MOST];
    struct dns_packet packet;
    struct dns_question question;
    while (dns_read(connection, length, 2) && dns_read(connection, data, (size_t)length[0] << 8 | length[1]) &&
           dns_parse(&question, data, (size_t)length[0] << 8 | length[1], true)) {
        atom_add_rel(&dns.by_tcp, 1);
        if (!dns_kind_of(&question)(&packet, &question, 0)) break;
        length[0] = (unsigned char)(packet.size >> 8), length[1] = (unsigned char)packet.size;
        size_t piece = strcmp(question.kind, "drip") == 0 ? 100 : packet.size;
        send(connection, length, 1, MSG_NOSIGNAL);
        send(connection, length + 1, 1, MSG_NOSIGNAL);
        for (size_t at = 0; at < packet.size; at += piece) {
            send(connection, packet.data + at, packet.size - at < piece ? packet.size - at : piece, MSG_NOSIGNAL);
            if (piece < packet.size) usleep(1000);
        }
    }
    close(connection);
    atom_sub_rel(&dns.connections, 1);
    return NULL;
}

static inline void *dns_main(void *arg) {
    (void)arg;
    for (;;) {
        struct pollfd ends[] = {{dns.udp, POLLIN, 0}, {dns.tcp, POLLIN, 0}, {dns.stop[0], POLLIN, 0}};
        poll(ends, 3, dns_send_late());
        if (ends[2].revents) return NULL;
        if (ends[0].revents) dns_by_udp();
        if (ends[1].revents) {
            pthread_t thread;
            int connection = accept(dns.tcp, NULL, NULL);
            EXPECT(connection >= 0);
            atom_add_rel(&dns.connections, 1);
            EXPECT_EQ(pthread_create(&thread, NULL, dns_connection, (void *)(intptr_t)connection), 0);
            pthread_detach(thread);
        }
    }
}

static inline void dns_start(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    rng_seed(&dns.rng, test_seed(1), 0);
    for (int tries = 0;; tries++) { /* a port that is free for both */
        address.sin_port = 0;
        dns.udp = socket(AF_INET, SOCK_DGRAM, 0);
        dns.tcp = socket(AF_INET, SOCK_STREAM, 0);
        EXPECT_EQ(bind(dns.udp, (struct sockaddr *)&address, sizeof address), 0);
        EXPECT_EQ(getsockname(dns.udp, (struct sockaddr *)&address, &size), 0);
        if (bind(dns.tcp, (struct sockaddr *)&address, sizeof address) == 0) break;
        EXPECT(tries < 10);
        close(dns.udp);
        close(dns.tcp);
    }
    EXPECT_EQ(listen(dns.tcp, 64), 0);
    setsockopt(dns.udp, SOL_SOCKET, SO_RCVBUF, &(int){4 << 20}, sizeof(int)); /* as much as there is */
    EXPECT_EQ(pipe(dns.stop), 0);
    snprintf(dns.servers, sizeof dns.servers, "127.0.0.1:%u", ntohs(address.sin_port));
    EXPECT_EQ(pthread_create(&dns.thread, NULL, dns_main, NULL), 0);
}

static inline void dns_stop(void) {
    close(dns.stop[1]);
    pthread_join(dns.thread, NULL);
    while (atom_load_acq(&dns.connections) > 0)
        usleep(1000);
    close(dns.stop[0]);
    close(dns.udp);
    close(dns.tcp);
}

#endif
