/* A log that three machines keep together, as in Raft (Ongaro, Ousterhout 2014): a leader, elected by a majority, gives each entry a place, and
 * acknowledges it when a majority has it on the disk. Machines crash and come back, connections are cut and heal; an entry that was
 * acknowledged is never lost.
 *
 *     weft sim ./replicated_log --seeds 1000 --faults crash
 *
 * PLANTED=1 and PLANTED=2 each take one sync away. Most seeds do not notice; docs/simulation.md finds those that do. */
#include <weft/weft.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#ifndef PLANTED
#define PLANTED 0 /* 1: a follower answers before the entry is on its disk. 2: a vote is not synced */
#endif
#ifndef LIFE
#define LIFE (5 * WEFT_SECOND) /* how long the client tries */
#endif

enum { NODES = 3, MAJORITY = 2, PLACES = 256, TERMS = 1024, VALUES = 6, PORT = 7000 };
#define MS WEFT_MILLISECOND

/* ---- what the nodes say to each other ---------------------------------------------------------------------------------------------- */

enum kind { VOTE = 1, APPEND, PUT };

struct entry {
    uint64_t term, value;
};
struct request {
    uint64_t kind, from, term;
    uint64_t place, place_term; /* VOTE: the candidate's last entry. APPEND: the entry before */
    uint64_t committed, count;  /* APPEND: 0 or 1 entries */
    struct entry entry;
};
struct answer {
    uint64_t yes, term;
};

static bool ask(unsigned node, const struct request *request, struct answer *answer, uint64_t patience) {
    char address[32];
    uint64_t deadline = weft_in(patience);
    snprintf(address, sizeof address, "10.0.0.%u:%d", node + 1, PORT);
    weft_fd fd = weft_net_connect(address, deadline);
    if (fd < 0) return false;
    bool done = weft_fd_write_all(fd, request, sizeof *request, NULL, deadline) == 0 &&
                weft_fd_read_all(fd, answer, sizeof *answer, NULL, deadline) == 0;
    weft_fd_close(fd);
    return done;
}

/* ---- a node ---------------------------------------------------------------------------------------------------------------------- */

enum role { FOLLOWER, CANDIDATE, LEADER };

/* The numbers of nodes are those of their machines: 1, 2, 3. Places of entries count from 1. */
static struct node {
    weft_mutex lock;
    int file;
    uint64_t term, vote; /* vote: a node, or 0 */
    struct entry log[PLACES];
    uint64_t last, committed;
    enum role role;
    uint64_t heard; /* when it last heard of a leader, or gave its vote */
    uint64_t next[NODES + 1], has[NODES + 1];
} nodes[NODES + 1];

static struct node *here(void) { return &nodes[weft_sim_here()]; }

/* ---- the observer: sees all machines, and remembers what they forget -------------------------------------------------------------------- */

static struct {
    bool acknowledged[VALUES + 1];
    uint64_t leader[TERMS];
    struct entry committed[PLACES];
    bool two_leaders, lost, disagree;
} seen;

static bool is_false(void *arg) { return !*(bool *)arg; }

static bool node_has(const struct node *node, uint64_t value) {
    for (uint64_t place = 1; place <= node->last; place++)
        if (node->log[place].value == value) return true;
    return false;
}

static void observe_leader(const struct node *node) {
    uint64_t *leader = &seen.leader[node->term], number = (uint64_t)(node - nodes);
    if (*leader && *leader != number) seen.two_leaders = true;
    *leader = number;
    for (uint64_t value = 1; value <= VALUES; value++)
        if (seen.acknowledged[value] && !node_has(node, value)) seen.lost = true;
}

static void observe_commit(const struct node *node, uint64_t place) {
    struct entry *first = &seen.committed[place], found = node->log[place];
    if (first->term && (first->term != found.term || first->value != found.value)) seen.disagree = true;
    *first = found;
}

/* ---- the disk: records one after the other; what is wrong or missing at the end was never acknowledged ------------------------------------ */

enum { RECORD_TERM = 1, RECORD_ENTRY };
struct record {
    uint64_t kind, place, term, value, sum;
};

static uint64_t sum_of(const struct record *record) {
    uint64_t sum = 0x9e3779b97f4a7c15;
    const uint64_t parts[] = {record->kind, record->place, record->term, record->value};
    for (unsigned i = 0; i < 4; i++)
        sum = (sum ^ parts[i]) * 0x100000001b3;
    return sum;
}

/* A machine whose disk fails stops. */
static void save(struct node *node, struct record record, bool synced) {
    record.sum = sum_of(&record);
    if (weft_file_write_all(node->file, &record, sizeof record, NULL, WEFT_FOREVER) || (synced && weft_file_sync(node->file)))
        weft_sim_crash(weft_sim_here());
    weft_sim_point("saved");
}
static void save_term(struct node *node, bool synced) { save(node, (struct record){RECORD_TERM, node->vote, node->term, 0, 0}, synced); }
static void save_entry(struct node *node, uint64_t place, bool synced) {
    save(node, (struct record){RECORD_ENTRY, place, node->log[place].term, node->log[place].value, 0}, synced);
}

static void replay(struct node *node, const struct record *record) {
    if (record->kind == RECORD_TERM) {
        node->term = record->term;
        node->vote = record->place;
    } else {
        node->log[record->place] = (struct entry){record->term, record->value};
        node->last = record->place;
    }
}

/* False: the file ends here. */
static bool load(struct node *node, struct record *record, off_t at) {
    int error = weft_file_pread_all(node->file, record, sizeof *record, at, NULL);
    if (error && error != WEFT_EEOF) weft_sim_crash(weft_sim_here());
    return error == 0 && record->sum == sum_of(record);
}

static void recover(struct node *node) {
    struct record record;
    off_t end = 0;
    node->file = weft_file_open("/log", O_RDWR | O_CREAT | O_APPEND, 0600);
    if (node->file < 0) weft_sim_crash(weft_sim_here());
    for (; load(node, &record, end); end += sizeof record)
        replay(node, &record);
    if (weft_file_truncate(node->file, end) || weft_file_sync(node->file)) weft_sim_crash(weft_sim_here());
}

/* ---- roles. All with the node's lock ----------------------------------------------------------------------------------------------------- */

static void step_down(struct node *node, uint64_t term) {
    node->role = FOLLOWER;
    if (term <= node->term) return;
    node->term = term;
    node->vote = 0;
    save_term(node, true);
}

static void commit_to(struct node *node, uint64_t place) {
    while (node->committed < place)
        observe_commit(node, ++node->committed);
}

/* An entry of the leader's own term that a majority has is committed, and with it those before. */
static void count_copies(struct node *node) {
    for (uint64_t place = node->last; place > node->committed && node->log[place].term == node->term; place--) {
        unsigned copies = 1;
        for (unsigned other = 1; other <= NODES; other++)
            copies += node->has[other] >= place;
        if (copies >= MAJORITY) commit_to(node, place);
    }
}

static uint64_t lead_with(struct node *node, uint64_t value) {
    node->log[++node->last] = (struct entry){node->term, value};
    save_entry(node, node->last, true);
    return node->last;
}

static void become_leader(struct node *node) {
    node->role = LEADER;
    observe_leader(node);
    weft_sim_point("leads");
    for (unsigned other = 1; other <= NODES; other++) {
        node->next[other] = node->last + 1;
        node->has[other] = 0;
    }
    lead_with(node, 0); /* an entry of its own term, to commit those of earlier terms with */
}

/* ---- answers ----------------------------------------------------------------------------------------------------------------------------- */

static bool on_vote(struct node *node, const struct request *request) {
    uint64_t last_term = node->log[node->last].term;
    bool newer = request->place_term > last_term || (request->place_term == last_term && request->place >= node->last);
    if (request->term > node->term) step_down(node, request->term);
    if (request->term < node->term || !newer || (node->vote && node->vote != request->from)) return false;
    node->heard = weft_now();
    if (node->vote == request->from) return true;
    node->vote = request->from;
    save_term(node, PLANTED != 2);
    return true;
}

static bool on_append(struct node *node, const struct request *request) {
    uint64_t before = request->place, place = before + 1;
    if (request->term < node->term) return false;
    step_down(node, request->term);
    node->heard = weft_now();
    if (before > node->last || node->log[before].term != request->place_term) return false;
    if (request->count && (place > node->last || node->log[place].term != request->entry.term)) {
        node->log[place] = request->entry;
        node->last = place;
        save_entry(node, place, PLANTED != 1);
    }
    uint64_t known = before + request->count;
    commit_to(node, request->committed < known ? request->committed : known);
    return true;
}

/* Waits until the entry is committed, without the lock. */
static bool on_put(struct node *node, uint64_t value) {
    if (node->role != LEADER || node->last + 2 >= PLACES) return false;
    uint64_t place = lead_with(node, value), term = node->term;
    for (int i = 0; i < 100 && node->committed < place && node->term == term; i++) {
        weft_mutex_unlock(&node->lock);
        weft_sleep(2 * MS);
        weft_mutex_lock(&node->lock, WEFT_FOREVER);
    }
    return node->committed >= place && node->log[place].term == term && node->term == term;
}

static void serve(void *arg) {
    weft_fd fd = (weft_fd)(intptr_t)arg;
    struct node *node = here();
    struct request request;
    if (weft_fd_read_all(fd, &request, sizeof request, NULL, weft_in(500 * MS)) == 0) {
        weft_mutex_lock(&node->lock, WEFT_FOREVER);
        bool yes = request.kind == VOTE     ? on_vote(node, &request)
                   : request.kind == APPEND ? on_append(node, &request)
                                            : on_put(node, request.entry.value);
        struct answer answer = {yes, node->term};
        weft_mutex_unlock(&node->lock);
        weft_sim_point("answer");
        weft_fd_write_all(fd, &answer, sizeof answer, NULL, weft_in(500 * MS));
        weft_sim_point(request.kind == VOTE ? "voted" : "answered");
    }
    weft_fd_close(fd);
}

/* ---- what a node does by itself ------------------------------------------------------------------------------------------------------------ */

static void elect(struct node *node) {
    node->role = CANDIDATE;
    node->term++;
    node->vote = (uint64_t)(node - nodes);
    node->heard = weft_now();
    save_term(node, true);
    struct request request = {
        .kind = VOTE, .from = node->vote, .term = node->term, .place = node->last, .place_term = node->log[node->last].term};
    unsigned votes = 1;
    for (unsigned other = 1; other <= NODES && votes < MAJORITY; other++) {
        struct answer answer = {0, 0};
        if (other == request.from) continue;
        weft_mutex_unlock(&node->lock);
        bool heard = ask(other, &request, &answer, 30 * MS);
        weft_mutex_lock(&node->lock, WEFT_FOREVER);
        if (heard && answer.term > node->term) step_down(node, answer.term);
        if (node->role != CANDIDATE || node->term != request.term) return;
        votes += heard && answer.yes;
    }
    if (votes >= MAJORITY) become_leader(node);
}

/* The nodes have different patience, so that one of them is first. */
static void elections(void *arg) {
    struct node *node = here();
    uint64_t least = (40 + 10 * (uint64_t)(node - nodes)) * MS, more = 0, drawn_for = 0;
    (void)arg;
    for (;;) {
        weft_sleep(10 * MS);
        weft_mutex_lock(&node->lock, WEFT_FOREVER);
        uint64_t silence = weft_now() - node->heard;
        if (silence > least && drawn_for != node->heard) {
            drawn_for = node->heard;
            more = weft_sim_random(100) * MS;
        }
        if (node->role != LEADER && node->term < TERMS - 2 && silence > least + more) elect(node);
        weft_mutex_unlock(&node->lock);
    }
}

static struct request next_for(const struct node *node, unsigned other) {
    uint64_t place = node->next[other];
    struct request request = {.kind = APPEND, .from = (uint64_t)(node - nodes), .term = node->term, .committed = node->committed};
    request.place = place - 1;
    request.place_term = node->log[place - 1].term;
    request.count = place <= node->last;
    if (request.count) request.entry = node->log[place];
    return request;
}

static void appended(struct node *node, unsigned other, const struct request *request, const struct answer *answer) {
    if (answer->term > node->term) step_down(node, answer->term);
    if (node->role != LEADER || node->term != request->term) return;
    if (answer->yes) {
        uint64_t has = request->place + request->count;
        if (has > node->has[other]) node->has[other] = has;
        node->next[other] = has + 1;
        count_copies(node);
    } else if (node->next[other] > 1) {
        node->next[other]--;
    }
}

static void replicate(void *arg) {
    struct node *node = here();
    unsigned other = (unsigned)(uintptr_t)arg;
    for (;;) {
        weft_sleep(5 * MS);
        weft_mutex_lock(&node->lock, WEFT_FOREVER);
        bool leads = node->role == LEADER;
        struct request request = next_for(node, other);
        weft_mutex_unlock(&node->lock);
        struct answer answer;
        if (!leads || !ask(other, &request, &answer, 50 * MS)) continue;
        weft_mutex_lock(&node->lock, WEFT_FOREVER);
        appended(node, other, &request, &answer);
        weft_mutex_unlock(&node->lock);
    }
}

static int node_runs(int argc, char **argv) {
    (void)argc, (void)argv;
    struct node *node = here();
    char address[32];
    *node = (struct node){.heard = weft_now(), .next = {1, 1, 1, 1}};
    recover(node);
    snprintf(address, sizeof address, "10.0.0.%d:%d", weft_sim_here() + 1, PORT);
    weft_fd listener = weft_net_listen(address, NULL), fd;
    if (listener < 0) return 1;
    weft_spawn(elections, NULL);
    for (unsigned other = 1; other <= NODES; other++)
        if (other != (unsigned)weft_sim_here()) weft_spawn(replicate, (void *)(uintptr_t)other);
    while ((fd = weft_net_accept(listener, NULL, WEFT_FOREVER)) >= 0)
        weft_spawn(serve, (void *)(intptr_t)fd);
    return 1;
}

/* ---- the client -------------------------------------------------------------------------------------------------------------------------- */

static int client_runs(int argc, char **argv) {
    (void)argc, (void)argv;
    uint64_t end = weft_in(LIFE);
    unsigned node = 1;
    for (uint64_t value = 1; value <= VALUES && weft_now() < end;) {
        struct request request = {.kind = PUT, .entry.value = value};
        struct answer answer;
        if (ask(node, &request, &answer, 300 * MS) && answer.yes) {
            seen.acknowledged[value++] = true;
        } else {
            node = node % NODES + 1;
            weft_sleep(20 * MS);
        }
    }
    return 0;
}

/* ---- the simulation ------------------------------------------------------------------------------------------------------------------------ */

static void runs_node(void *arg) {
    (void)arg;
    weft_main(0, NULL, node_runs);
}
static void runs_client(void *arg) {
    (void)arg;
    weft_main(0, NULL, client_runs);
}

/* Now and then two machines do not reach each other for a while. */
static void disturb(void) {
    int one = 1 + (int)weft_sim_random(NODES), other = one % NODES + 1;
    weft_sim_partition(one, other, weft_sim_random(8) == 1);
}

int main(void) {
    if (!weft_sim_on()) return fputs("this program runs in a simulation: weft sim ./replicated_log\n", stderr), 1;
    weft_sim_always("there is one leader a term", is_false, &seen.two_leaders);
    weft_sim_always("a leader has every entry that was acknowledged", is_false, &seen.lost);
    weft_sim_always("all machines agree on what is committed", is_false, &seen.disagree);
    for (int i = 0; i < NODES; i++)
        if (weft_sim_machine("node", runs_node, NULL) != i + 1) return 1;
    int client = weft_sim_machine("client", runs_client, NULL);
    for (int tick = 1; weft_sim_wait(client, weft_in(15 * MS)) == WEFT_ETIMEDOUT; tick++) {
        if (tick % 3 == 0) disturb();
        for (int node = 1; node <= NODES; node++)
            if (weft_sim_wait(node, 0) == WEFT_EKILLED && weft_sim_random(3) == 0) weft_sim_restart(node);
    }
    return 0;
}
