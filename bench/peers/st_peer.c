/* Peer of `weft compare`: State Threads, one thread. It has no messages: a mailbox is a queue of our own and a condition. */
#include "peer.h"

#include <st.h>

/* A ring that grows no further: a writer waits while it is full. A thread that waits is counted, so that none is signalled in vain. */
struct box {
    uint64_t *value;
    unsigned size, head, count, readers, writers;
    st_cond_t filled, emptied;
};

static void box_init(struct box *box, unsigned size) {
    *box = (struct box){.value = calloc(size, sizeof *box->value), .size = size, .filled = st_cond_new(), .emptied = st_cond_new()};
}

static inline void box_put(struct box *box, uint64_t value) {
    while (box->count == box->size) {
        box->writers++;
        st_cond_wait(box->emptied);
        box->writers--;
    }
    unsigned at = box->head + box->count;
    box->value[at < box->size ? at : at - box->size] = value;
    box->count++;
    if (box->readers > 0) st_cond_signal(box->filled);
}

static inline uint64_t box_get(struct box *box) {
    while (box->count == 0) {
        box->readers++;
        st_cond_wait(box->filled);
        box->readers--;
    }
    uint64_t value = box->value[box->head];
    if (++box->head == box->size) box->head = 0;
    box->count--;
    if (box->writers > 0) st_cond_signal(box->emptied);
    return value;
}

static void begin(void *(*body)(void *), void *arg) {
    if (!st_thread_create(body, arg, 0, 0)) {
        fprintf(stderr, "st_peer: no thread\n");
        exit(1);
    }
}

/* ---- switches and births: it has no call that yields, a sleep of nothing is what its users write ------------------------ */

static uint64_t turned, ended;
static unsigned yielding;

static void *yielder(void *arg) {
    for (uint64_t left = *(uint64_t *)arg; left > 0; left--, turned++)
        st_usleep(0);
    yielding--;
    return NULL;
}

static void yield_row(const struct peer_job *job) {
    uint64_t one = job->n / 2, other = job->n - one, start = peer_now();
    yielding = 2;
    begin(yielder, &one);
    begin(yielder, &other);
    while (yielding > 0)
        st_usleep(1000);
    peer_tell(job->n, peer_now() - start, turned);
}

static void *empty(void *unused) {
    (void)unused;
    ended++;
    return NULL;
}

static void spawn_row(const struct peer_job *job) {
    uint64_t start = peer_now();
    for (uint64_t i = 1; i <= job->n; i++) {
        begin(empty, NULL);
        if (i % PEER_BURST == 0) st_usleep(0);
    }
    while (ended < job->n)
        st_usleep(0);
    peer_tell(job->n, peer_now() - start, ended);
}

/* ---- messages ------------------------------------------------------------------------------------------------------------- */

struct pair {
    struct box there, back;
};

static void *pong(void *arg) {
    struct pair *pair = arg;
    for (;;)
        box_put(&pair->back, box_get(&pair->there));
    return NULL;
}

static void pingpong_row(const struct peer_job *job) {
    struct pair pair;
    uint64_t sum = 0;
    box_init(&pair.there, 1);
    box_init(&pair.back, 1);
    begin(pong, &pair);
    uint64_t start = peer_now();
    for (uint64_t left = job->n; left > 0; left--) {
        box_put(&pair.there, left);
        sum += box_get(&pair.back);
    }
    peer_tell(job->n, peer_now() - start, sum);
}

struct member {
    struct box box, *next, *arrived;
    uint64_t number;
};

static void *pass_on(void *arg) {
    struct member *self = arg;
    for (;;) {
        uint64_t left = box_get(&self->box);
        if (left > 1) box_put(self->next, left - 1);
        else box_put(self->arrived, self->number + 1);
    }
    return NULL;
}

static void round_of(uint64_t hops, uint64_t members, uint64_t tokens) {
    struct member *all = calloc(members, sizeof *all);
    struct box arrived;
    uint64_t places = 0;
    if (tokens > hops) tokens = hops;
    box_init(&arrived, (unsigned)tokens);
    for (uint64_t i = 0; i < members; i++) {
        box_init(&all[i].box, (unsigned)(tokens / members + 1));
        all[i].next = &all[(i + 1) % members].box;
        all[i].arrived = &arrived;
        all[i].number = i;
        begin(pass_on, &all[i]);
    }
    box_put(&all[1 % members].box, members); /* a lap before the clock: every member has run then, and waits */
    box_get(&arrived);
    uint64_t start = peer_now();
    for (uint64_t t = 0; t < tokens; t++)
        box_put(&all[(t + 1) % members].box, peer_part(hops, tokens, t));
    for (uint64_t t = 0; t < tokens; t++)
        places += box_get(&arrived);
    peer_tell(hops, peer_now() - start, places);
}
static void ring_row(const struct peer_job *job) { round_of(job->n, job->size, 1); }
static void flight_row(const struct peer_job *job) { round_of(job->n, PEER_FLIGHT_MEMBERS, job->size); }

struct sender {
    struct box *to;
    uint64_t count;
};

static void *sends(void *arg) {
    struct sender *self = arg;
    for (uint64_t left = self->count; left > 0; left--)
        box_put(self->to, left);
    return NULL;
}

static void fanin_row(const struct peer_job *job) {
    static struct sender sender[PEER_SENDERS];
    struct box box;
    uint64_t sum = 0;
    box_init(&box, 1024);
    uint64_t start = peer_now();
    for (unsigned i = 0; i < PEER_SENDERS; i++) {
        sender[i] = (struct sender){&box, peer_part(job->n, PEER_SENDERS, i)};
        begin(sends, &sender[i]);
    }
    for (uint64_t i = 0; i < job->n; i++)
        sum += box_get(&box);
    peer_tell(job->n, peer_now() - start, sum);
}

/* ---- waiting and time ------------------------------------------------------------------------------------------------------- */

static uint64_t had;

static void *sits(void *arg) {
    box_get(arg);
    had++;
    box_get(arg);
    return NULL;
}

static void parked_row(const struct peer_job *job) {
    struct box *boxes = calloc(job->n, sizeof *boxes);
    double before = peer_rss();
    uint64_t start = peer_now();
    for (uint64_t i = 0; i < job->n; i++) {
        box_init(&boxes[i], 1);
        begin(sits, &boxes[i]);
        box_put(&boxes[i], i);
        if (i % PEER_BURST == 0) st_usleep(0);
    }
    while (had < job->n)
        st_usleep(0);
    peer_tell(job->n, peer_now() - start, had);
    printf(" bytes_each=%.1f", (peer_rss() - before) / (double)job->n);
}

static void *sleeps(void *microseconds) {
    st_usleep((st_utime_t)(uintptr_t)microseconds);
    had++;
    return NULL;
}

static void sleepers_row(const struct peer_job *job) {
    uint64_t cpu = peer_cpu(), start = peer_now();
    srandom(1);
    for (uint64_t i = 0; i < job->n; i++)
        begin(sleeps, (void *)(uintptr_t)((unsigned long)random() % 1000000));
    while (had < job->n)
        st_usleep(1000);
    uint64_t took = peer_now() - start;
    peer_tell(job->n, took, had);
    printf(" late_ms=%.3f cpu_s=%.4f", (double)took / 1e6 - 1000, (double)(peer_cpu() - cpu) / 1e9);
}

int main(int argc, char **argv) {
    static const struct peer_row rows[] = {{"yield", yield_row},   {"spawn", spawn_row},       {"pingpong", pingpong_row},
                                           {"ring", ring_row},     {"flight", flight_row},     {"fanin", fanin_row},
                                           {"parked", parked_row}, {"sleepers", sleepers_row}, {NULL, NULL}};
    st_set_eventsys(ST_EVENTSYS_ALT);
    if (st_init()) return 1;
    return peer_main(argc, argv, rows);
}
