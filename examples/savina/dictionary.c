/* Concurrent dictionary: many processes read and write the entries of one dictionary, which is a process too.
 *
 * Each key is written by one client only, its owner, with values that grow. So an owner must read what it wrote last, no client may
 * see an entry go back, and at the end the dictionary must hold what its clients have written last. */
#include "savina.h"

static uint64_t clients = 20, requests = 500, writes = 10, keys = 256;
static const struct savina_parameter parameters[] = {
    {"clients", &clients, 1, 100000, "that use the dictionary"},
    {"requests", &requests, 0, UINT32_MAX, "made by each, one after the other"},
    {"writes", &writes, 0, 100, "so many of a hundred requests"},
    {"keys", &keys, 1, 1000000, "of the dictionary"},
};

enum { READ, WRITE, STOP };
struct entry {
    uint64_t key, value; /* a value is never 0: that is the answer for a key that is not there */
};

/* ---- the dictionary: open addressing, at least half empty ---------------------------------------------------------- */

struct table {
    struct entry *entries;
    uint64_t mask, used;
};

static struct entry *table_find(struct table *table, uint64_t key) {
    uint64_t hash = key, place = savina_random(&hash) & table->mask;
    while (table->entries[place].value && table->entries[place].key != key)
        place = (place + 1) & table->mask;
    return &table->entries[place];
}

static void table_grow(struct table *table) {
    struct table bigger = {.mask = 2 * table->mask + 1, .used = table->used};
    bigger.entries = savina_zeroed(bigger.mask + 1, sizeof *bigger.entries);
    for (uint64_t i = 0; i <= table->mask; i++)
        if (table->entries[i].value) *table_find(&bigger, table->entries[i].key) = table->entries[i];
    free(table->entries);
    *table = bigger;
}

static void dictionary(void *arg) {
    (void)arg;
    struct table table = {.entries = savina_zeroed(16, sizeof(struct entry)), .mask = 15};
    for (bool stop = false; !stop;) {
        weft_msg *message = savina_recv();
        const struct entry *wanted = savina_data(message, sizeof *wanted);
        struct entry *entry = table_find(&table, wanted->key);
        stop = weft_msg_tag(message) == STOP;
        if (weft_msg_tag(message) == WRITE) {
            bool fresh = !entry->value;
            *entry = *wanted;
            if (fresh && 2 * ++table.used > table.mask) {
                table_grow(&table);
                entry = table_find(&table, wanted->key);
            }
        }
        savina_reply(message, &entry->value, sizeof entry->value);
        weft_msg_free(message);
    }
    free(table.entries);
}

/* ---- its clients -------------------------------------------------------------------------------------------------- */

struct client {
    weft_pid dictionary;
    uint64_t index;
    uint64_t *last; /* of every key: what its owner wrote last; each client touches its own keys only */
};

static uint64_t use(weft_pid to, uint64_t tag, uint64_t key, uint64_t value) {
    struct entry entry = {key, value};
    savina_call(to, tag, &entry, sizeof entry, &value, sizeof value);
    return value;
}

/* A key that belongs to the client, near this one. False: there are more clients than keys, and it has none. */
static bool own_key(uint64_t index, uint64_t *key) {
    *key = *key - *key % clients + index;
    if (*key >= keys) *key = index;
    return *key < keys;
}

static void client(void *arg) {
    struct client *self = arg;
    uint64_t random = self->index, value, *seen = savina_zeroed(keys, sizeof *seen);
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t key = savina_below(&random, keys);
        bool owner = key % clients == self->index;
        if (savina_below(&random, 100) < writes) {
            if (!own_key(self->index, &key)) continue;
            self->last[key] = i + 1;
            value = use(self->dictionary, WRITE, key, i + 1);
            SAVINA_CHECK(value == i + 1, "client %" PRIu64 " wrote %" PRIu64 " and was told %" PRIu64, self->index, i + 1, value);
        } else {
            value = use(self->dictionary, READ, key, 0);
            SAVINA_CHECK(!owner || value == self->last[key],
                         "client %" PRIu64 " wrote %" PRIu64 " under the key %" PRIu64 " and reads %" PRIu64, self->index, self->last[key],
                         key, value);
            SAVINA_CHECK(value >= seen[key], "client %" PRIu64 " saw %" PRIu64 " under the key %" PRIu64 ", now %" PRIu64, self->index,
                         seen[key], key, value);
        }
        seen[key] = value;
    }
    free(seen);
}

/* What client `index` writes, without a dictionary. */
static uint64_t replay(uint64_t index, uint64_t *wanted) {
    uint64_t random = index, count = 0;
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t key = savina_below(&random, keys);
        if (savina_below(&random, 100) >= writes) continue;
        if (!own_key(index, &key)) continue;
        wanted[key] = i + 1;
        count++;
    }
    return count;
}

/* The dictionary outlives its clients: two scopes, one within the other. Returns what the clients took. */
static uint64_t run(uint64_t *contents) {
    weft_scope outer, inner;
    uint64_t began = weft_now();
    struct client *all = savina_zeroed(clients, sizeof *all);
    uint64_t *last = savina_zeroed(keys, sizeof *last);
    weft_scope_begin(&outer, WEFT_FOREVER);
    weft_pid pid = savina_spawn(&outer, dictionary, NULL);
    weft_scope_begin(&inner, WEFT_FOREVER);
    for (uint64_t i = 0; i < clients; i++) {
        all[i] = (struct client){.dictionary = pid, .index = i, .last = last};
        savina_spawn(&inner, client, &all[i]);
    }
    savina_must(weft_scope_end(&inner), "the clients");
    uint64_t took = weft_now() - began;
    for (uint64_t key = 0; key < keys; key++)
        contents[key] = use(pid, READ, key, 0);
    use(pid, STOP, 0, 0);
    savina_must(weft_scope_end(&outer), "the dictionary");
    free(last);
    free(all);
    return took;
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    uint64_t *contents = savina_zeroed(keys, sizeof *contents), *wanted = savina_zeroed(keys, sizeof *wanted), written = 0;
    uint64_t took = run(contents);
    for (uint64_t i = 0; i < clients; i++)
        written += replay(i, wanted);
    for (uint64_t key = 0; key < keys; key++)
        SAVINA_CHECK(contents[key] == wanted[key], "under the key %" PRIu64 " is %" PRIu64 ", not %" PRIu64, key, contents[key],
                     wanted[key]);
    free(contents);
    free(wanted);
    return savina_ok(took, "%" PRIu64 " clients, %" PRIu64 " requests each, %" PRIu64 " of all were writes", clients, requests, written);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("dictionary", "many processes read and write one dictionary", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
