/* A key-value server that keeps its data in memory, and snapshots of it in a file.
 *
 *     kv_server ADDRESS FILE       127.0.0.1:7001 /var/lib/kv/data; Ctrl-C or SIGTERM saves and ends it
 *     kv_server --self-test        in a folder of its own, at a free port of loopback
 *
 * Lines: SET key value, GET key, DEL key, COUNT, SAVE. What SAVE has answered with OK is on the disk.
 *
 *     app
 *     |-- store     the table: answers one request after the other, and never waits
 *     |-- saver     asks the store for an image of the table and writes it to the file, now and then, on SAVE and at the end
 *     `-- door      accepts; a process for each connection */
#include <weft/weft.h>

#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MOST = 4000, KEY_LONGEST = 250, CLIENTS_MOST = 10000 };
enum { SET = 1, GET, DEL, COUNT, IMAGE, SAVE, STOP }; /* tags of requests and messages */
#define SAVE_EVERY (30 * WEFT_SECOND)
#define IDLE_TIME (600 * WEFT_SECOND)
#define WRITE_TIME (10 * WEFT_SECOND)
#define ANSWER_TIME (5 * WEFT_SECOND)
#define DISK_TIME (60 * WEFT_SECOND)

static char file[4096], file_new[4096 + 4], folder[4096]; /* set before the first process begins */

/* ---- the table ------------------------------------------------------------------------------------------------------------------ */

struct entry {
    struct entry *next;
    uint32_t key_size, value_size;
    char bytes[]; /* the key, the value */
};
struct store {
    struct entry **lists;
    size_t list_count, count; /* list_count is a power of two */
    size_t bytes;             /* of all records in a file */
    uint64_t version;         /* changes since it began */
};
struct record { /* in a file; key and value follow */
    uint32_t key_size, value_size;
};
struct image { /* a whole file: this, and the records */
    char magic[8];
    uint64_t version, count, size, checksum; /* size and checksum are those of the records */
};
static const char magic[8] = "weftkv1";

static uint64_t fnv(const char *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3;
    return hash;
}

/* Where the entry of this key hangs, or would: the end of its list. */
static struct entry **place_of(struct store *store, const char *key, size_t size) {
    struct entry **place = &store->lists[fnv(key, size) & (store->list_count - 1)];
    while (*place && ((*place)->key_size != size || memcmp((*place)->bytes, key, size) != 0))
        place = &(*place)->next;
    return place;
}

/* Twice as many lists, so that they stay short. Without memory they become longer instead. */
static void grow(struct store *store) {
    struct store next = *store;
    next.list_count *= 2;
    next.lists = calloc(next.list_count, sizeof *next.lists);
    if (!next.lists) return;
    for (size_t i = 0; i < store->list_count; i++)
        for (struct entry *entry = store->lists[i], *after; entry; entry = after) {
            after = entry->next;
            entry->next = NULL;
            *place_of(&next, entry->bytes, entry->key_size) = entry;
        }
    free(store->lists);
    *store = next;
}

static void erase(struct store *store, struct entry **place) {
    struct entry *entry = *place;
    *place = entry->next;
    store->count--;
    store->bytes -= sizeof(struct record) + entry->key_size + entry->value_size;
    free(entry);
}

static int set(struct store *store, const char *key, size_t key_size, const char *value, size_t value_size) {
    struct entry *entry = malloc(sizeof *entry + key_size + value_size);
    if (!entry) return WEFT_ENOMEM;
    *entry = (struct entry){.key_size = (uint32_t)key_size, .value_size = (uint32_t)value_size};
    memcpy(entry->bytes, key, key_size);
    memcpy(entry->bytes + key_size, value, value_size);
    if (store->count >= store->list_count) grow(store);
    struct entry **place = place_of(store, key, key_size);
    if (*place) erase(store, place);
    entry->next = *place;
    *place = entry;
    store->count++;
    store->bytes += sizeof(struct record) + key_size + value_size;
    return 0;
}

/* ---- its image ------------------------------------------------------------------------------------------------------------------ */

static struct image *image_of(const struct store *store) {
    struct image *image = malloc(sizeof *image + store->bytes);
    if (!image) return NULL;
    char *at = (char *)(image + 1);
    for (size_t i = 0; i < store->list_count; i++)
        for (const struct entry *entry = store->lists[i]; entry; entry = entry->next) {
            struct record record = {entry->key_size, entry->value_size};
            memcpy(at, &record, sizeof record);
            memcpy(at + sizeof record, entry->bytes, (size_t)record.key_size + record.value_size);
            at += sizeof record + record.key_size + record.value_size;
        }
    *image = (struct image){.version = store->version, .count = store->count, .size = store->bytes};
    image->checksum = fnv((char *)(image + 1), store->bytes);
    memcpy(image->magic, magic, sizeof magic);
    return image;
}

/* Trusts nothing that the file says. */
static int fill_from(struct store *store, const char *data, size_t size) {
    struct image image;
    struct record record;
    if (size < sizeof image) return WEFT_EINVAL;
    memcpy(&image, data, sizeof image);
    const char *at = data + sizeof image, *end = data + size;
    if (memcmp(image.magic, magic, sizeof magic) != 0 || image.size != size - sizeof image || image.checksum != fnv(at, image.size))
        return WEFT_EINVAL;
    while (at < end) {
        if ((size_t)(end - at) < sizeof record) return WEFT_EINVAL;
        memcpy(&record, at, sizeof record);
        at += sizeof record;
        if ((size_t)(end - at) < (size_t)record.key_size + record.value_size) return WEFT_EINVAL;
        int error = set(store, at, record.key_size, at + record.key_size, record.value_size);
        if (error) return error;
        at += (size_t)record.key_size + record.value_size;
    }
    return store->count == image.count ? 0 : WEFT_EINVAL;
}

/* ---- the store: a server --------------------------------------------------------------------------------------------------------- */

static void store_terminate(void *state, int code) {
    struct store *store = state;
    (void)code;
    for (size_t i = 0; i < store->list_count; i++)
        while (store->lists[i])
            erase(store, &store->lists[i]);
    free(store->lists);
}

static int store_init(void *state, void *unused) {
    struct store *store = state;
    char *data;
    size_t size;
    (void)unused;
    store->list_count = 1024;
    store->lists = calloc(store->list_count, sizeof *store->lists);
    if (!store->lists) return WEFT_ENOMEM;
    int error = weft_file_load(file, &data, &size);
    if (error == WEFT_ENOENT) return 0; /* the first time */
    if (!error) error = fill_from(store, data, size);
    weft_file_free(data, size);
    if (!error) return 0;
    fprintf(stderr, "kv_server: %s: %s\n", file, error == WEFT_EINVAL ? "not a snapshot, or damaged" : weft_strerror(error));
    store_terminate(store, error); /* weft calls it only if init has succeeded */
    return error;                  /* better no server than an empty one, which would soon overwrite the file */
}

/* If there is no memory for an answer, the process that has asked gets none, and gives up at its deadline. The store goes on: what it has in memory
 * is worth more than one answer. */
static void answer(weft_request request, const char *text, size_t size) { (void)weft_reply(request, text, size); }
static void answer_text(weft_request request, const char *text) { answer(request, text, strlen(text)); }

static void answer_image(struct store *store, weft_request request, const uint64_t *saved) {
    int error = 0;
    if (*saved != store->version) {
        struct image *image = image_of(store);
        if (image && weft_reply_move(request, image, sizeof *image + image->size, weft_release_free, NULL) == 0) return;
        free(image);
        error = WEFT_ENOMEM;
    }
    answer(request, (char *)&error, sizeof error);
}

/* The data is a key, 0, and a value; of IMAGE the version that has been saved. */
static int store_call(void *state, const weft_incoming *in) {
    struct store *store = state;
    const char *key = in->data;
    size_t key_size = in->request.tag <= DEL ? strnlen(key, in->size) : 0;
    struct entry **place = place_of(store, key, key_size);
    char text[32];
    switch (in->request.tag) {
    case SET:
        if (set(store, key, key_size, key + key_size + 1, in->size - key_size - 1) != 0) {
            answer_text(in->request, "ERROR no memory");
            break;
        }
        store->version++;
        answer_text(in->request, "OK");
        break;
    case GET:
        if (*place) answer(in->request, (*place)->bytes + key_size, (*place)->value_size);
        else answer_text(in->request, "NONE");
        break;
    case DEL:
        answer_text(in->request, *place ? "OK" : "NONE");
        if (*place) erase(store, place), store->version++;
        break;
    case COUNT:
        snprintf(text, sizeof text, "%zu", store->count);
        answer_text(in->request, text);
        break;
    case IMAGE: answer_image(store, in->request, in->data); break;
    default: answer_text(in->request, "ERROR");
    }
    return 0;
}

static const weft_server_spec store_spec = {
    .name = "store", .state_size = sizeof(struct store), .init = store_init, .call = store_call, .terminate = store_terminate};

static void store(void *unused) { weft_exit(weft_server_run(&store_spec, unused)); }

/* ---- the saver: a server, too ---------------------------------------------------------------------------------------------------- */

/* A new file, all of it on the disk, takes the place of the former one at once: after a crash there is one or the other, and both are whole. */
static int replace_file(const void *data, size_t size) {
    int fd = weft_file_open(file_new, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) return fd;
    int error = weft_file_write_all(fd, data, size, NULL, WEFT_FOREVER);
    if (!error) error = weft_file_sync(fd); /* the data, before the name says that it is there */
    int closed = weft_file_close(fd);
    if (!error) error = closed;
    if (!error) error = weft_file_rename(file_new, file);
    if (error) {
        weft_file_unlink(file_new);
        return error;
    }
    if ((fd = weft_file_open(folder, O_RDONLY | O_DIRECTORY, 0)) < 0) return fd;
    error = weft_file_sync(fd); /* and the name */
    weft_file_close(fd);
    return error;
}

static int save(uint64_t *saved) {
    weft_msg *reply;
    int error = weft_call_name("store", IMAGE, saved, sizeof *saved, &reply, weft_in(ANSWER_TIME));
    if (error) return error;
    const struct image *image = weft_msg_data(reply);
    if (weft_msg_len(reply) == sizeof error) memcpy(&error, image, sizeof error); /* 0: nothing has changed */
    else if ((error = replace_file(image, weft_msg_len(reply))) == 0) *saved = image->version;
    weft_msg_free(reply);
    if (error) fprintf(stderr, "kv_server: %s: not saved: %s\n", file, weft_strerror(error));
    return error;
}

static int saver_init(void *saved, void *unused) {
    (void)saved, (void)unused;
    return weft_every(SAVE_EVERY, weft_self(), SAVE, NULL, 0, NULL);
}
static int saver_call(void *saved, const weft_incoming *in) {
    answer_text(in->request, save(saved) == 0 ? "OK" : "ERROR not saved");
    return 0;
}
static int saver_tick(void *saved, const weft_incoming *in) {
    (void)in;
    save(saved); /* if it fails, the next one tries again */
    return 0;
}
static void saver_terminate(void *saved, int code) {
    (void)code;
    save(saved);
}
static const weft_server_spec saver_spec = {.name = "saver",
                                            .state_size = sizeof(uint64_t),
                                            .init = saver_init,
                                            .call = saver_call,
                                            .cast = saver_tick,
                                            .terminate = saver_terminate};

static void saver(void *unused) { weft_exit(weft_server_run(&saver_spec, unused)); }

/* ---- connections ----------------------------------------------------------------------------------------------------------------- */

struct lines {
    weft_fd fd;
    size_t start, end; /* what was read and not given out yet */
    char data[LINE_MOST + 2];
};

/* The next line, without its end: 0 and *line, valid until the next call. Or WEFT_EEOF, WEFT_EMSGSIZE, or what weft_fd_read says. */
static int line_next(struct lines *in, char **line, uint64_t deadline) {
    for (;;) {
        char *from = in->data + in->start, *end = memchr(from, '\n', in->end - in->start);
        if (end) {
            in->start = (size_t)(end + 1 - in->data);
            if (end > from && end[-1] == '\r') end--;
            *end = '\0';
            *line = from;
            return 0;
        }
        memmove(in->data, from, in->end - in->start);
        in->end -= in->start, in->start = 0;
        if (in->end == sizeof in->data) return WEFT_EMSGSIZE;
        ssize_t n = weft_fd_read(in->fd, in->data + in->end, sizeof in->data - in->end, deadline);
        if (n <= 0) return n < 0 ? (int)n : WEFT_EEOF;
        in->end += (size_t)n;
    }
}

static int put(weft_fd fd, const void *text, size_t size) {
    struct iovec parts[] = {{(void *)(uintptr_t)text, size}, {"\n", 1}};
    return weft_fd_writev_all(fd, parts, 2, NULL, weft_in(WRITE_TIME));
}

/* One line of a client, to the server that can answer it. 0, or an error of the connection. */
static int handle(weft_fd fd, char *line) {
    static const struct {
        const char *word;
        unsigned tag, words;
    } verbs[] = {{"SET", SET, 3}, {"GET", GET, 2}, {"DEL", DEL, 2}, {"COUNT", COUNT, 1}, {"SAVE", SAVE, 1}};
    char *rest = line, *word = strsep(&rest, " "), *key = rest ? strsep(&rest, " ") : NULL;
    unsigned words = !key ? 1 : !rest ? 2 : 3;
    weft_msg *reply;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(word, verbs[i].word) != 0) continue;
        if (words != verbs[i].words || (key && (!*key || strlen(key) > KEY_LONGEST))) break;
        bool to_disk = verbs[i].tag == SAVE; /* strsep has put a 0 between key and value, as the store wants it */
        size_t size = rest ? (size_t)(rest - key) + strlen(rest) : key ? strlen(key) : 0;
        int error =
            weft_call_name(to_disk ? "saver" : "store", verbs[i].tag, key, size, &reply, weft_in(to_disk ? DISK_TIME : ANSWER_TIME));
        if (error == WEFT_ECANCELED) return error;
        if (error) return put(fd, "ERROR try again", 15);
        error = put(fd, weft_msg_data(reply), weft_msg_len(reply));
        weft_msg_free(reply);
        return error;
    }
    return put(fd, "ERROR unknown request", 21);
}

static weft_sem places = WEFT_SEM_INIT(CLIENTS_MOST);

static void close_client(void *fd) {
    weft_fd_close((weft_fd)(intptr_t)fd);
    weft_sem_release(&places, 1);
}

static void client(void *arg) {
    struct lines in = {.fd = (weft_fd)(intptr_t)arg};
    char *line;
    if (weft_defer(close_client, arg) != 0) {
        close_client(arg);
        return;
    }
    while (line_next(&in, &line, weft_in(IDLE_TIME)) == 0)
        if (handle(in.fd, line) != 0) return;
}

/* Accepts until it is cancelled, and returns when all clients have ended. */
static void door(void *listener) {
    const weft_stackful_options options = {.name = "client", .discard = close_client};
    weft_scope clients;
    int error;
    weft_scope_begin_with(&clients, WEFT_SCOPE_APART, WEFT_FOREVER);
    while ((error = weft_sem_acquire(&places, 1, WEFT_FOREVER)) == 0) {
        weft_fd fd = weft_net_accept(*(weft_fd *)listener, NULL, WEFT_FOREVER);
        if (fd < 0) {
            weft_sem_release(&places, 1);
            error = (int)fd;
            break;
        }
        if (weft_scope_spawn_with(&clients, client, (void *)(intptr_t)fd, &options, NULL) != 0) close_client((void *)(intptr_t)fd);
    }
    weft_scope_cancel(&clients);
    weft_scope_end(&clients);
    weft_exit(error);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------------- */

static int start(weft_fd *listener, weft_pid *super) {
    const weft_child_spec children[] = {
        {.id = "store", .entry = store, .ready = true, .start_ms = 60000, .register_as = "store"},
        {.id = "saver", .entry = saver, .ready = true, .stop_ms = 60000, .register_as = "saver"},
        {.id = "door", .entry = door, .arg = listener},
    };
    const weft_super_spec spec = {.name = "app", .strategy = WEFT_REST_FOR_ONE, .children = children, .count = 3};
    return weft_super_start(&spec, &(weft_stackful_options){.flags = WEFT_SPAWN_JOINABLE}, super, weft_in(70 * WEFT_SECOND));
}

static int fail(const char *what, int error) {
    fprintf(stderr, "kv_server: %s: %s\n", what, weft_strerror(error));
    return 1;
}

static int set_paths(const char *path) {
    char copy[sizeof file];
    if (snprintf(file, sizeof file, "%s", path) >= (int)sizeof file) return WEFT_ENAMETOOLONG;
    snprintf(file_new, sizeof file_new, "%s.new", path);
    memcpy(copy, file, sizeof copy);
    snprintf(folder, sizeof folder, "%s", dirname(copy));
    return 0;
}

static int serve(const char *where, const char *path) {
    weft_pid super;
    weft_msg *stop = NULL;
    weft_addr place;
    char text[WEFT_ADDR_TEXT];
    int reason = 0, error = set_paths(path);
    if (error) return fail(path, error);
    weft_fd listener = weft_net_listen(where, NULL);
    if (listener < 0) return fail(where, (int)listener);
    if ((error = weft_signal_watch(SIGTERM, weft_self(), STOP)) != 0 || (error = weft_signal_watch(SIGINT, weft_self(), STOP)) != 0)
        return fail("signals", error);
    if ((error = start(&listener, &super)) != 0) return fail("start", error);
    if (weft_net_name(listener, &place) == 0) printf("listening at %s\n", weft_addr_text(&place, text, sizeof text)), fflush(stdout);
    weft_case events[] = {weft_case_tag(STOP, &stop), weft_case_end(super, &reason)};
    int which = weft_select(events, 2, WEFT_FOREVER);
    if (which == 1) return fail("gave up", reason); /* it has restarted its children too often */
    weft_msg_free(stop);
    error = weft_super_stop(super, WEFT_FOREVER); /* the door first, then the saver, which saves; the store last */
    weft_fd_close(listener);
    return error ? fail("stop", error) : 0;
}

/* ---- a test ---------------------------------------------------------------------------------------------------------------------- */

static void talk(const char *where, const char *const *requests) {
    struct lines in = {.fd = weft_net_connect(where, weft_in(10 * WEFT_SECOND))};
    char *line;
    for (; *requests; requests++) {
        int error = put(in.fd, *requests, strlen(*requests));
        if (!error) error = line_next(&in, &line, weft_in(10 * WEFT_SECOND));
        printf("%s: %s\n", *requests, error ? weft_strerror(error) : line);
    }
    weft_fd_close(in.fd);
}

/* Starts the server, asks, and stops it. */
static void life(const char *const *requests) {
    weft_addr place;
    char where[WEFT_ADDR_TEXT];
    weft_pid super;
    weft_fd listener = weft_net_listen("127.0.0.1:0", NULL);
    if (listener < 0 || weft_net_name(listener, &place) != 0) weft_exit(WEFT_EIO);
    int error = start(&listener, &super);
    if (!error) talk(weft_addr_text(&place, where, sizeof where), requests);
    if (!error) error = weft_super_stop(super, weft_in(60 * WEFT_SECOND));
    printf("%s\n", error ? weft_strerror(error) : "stopped");
    weft_fd_close(listener);
}

static void damage(void) {
    int fd = weft_file_open(file, O_WRONLY, 0);
    if (fd < 0 || weft_file_pwrite_all(fd, "?", 1, sizeof(struct image) + 9, NULL) != 0) printf("cannot damage the file\n");
    if (fd >= 0) weft_file_close(fd);
}

static int self_test(void) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/kv-self-test-%ld", (long)getpid());
    int error = weft_file_mkdir(path, 0700);
    if (error) return fail(path, error);
    snprintf(path + strlen(path), 16, "/data");
    set_paths(path);
    life((const char *const[]){"SET colour blue and green", "SET shape round", "GET colour", "SAVE", "DEL shape", "COUNT", "SET", NULL});
    life((const char *const[]){"COUNT", "GET colour", "GET shape", NULL});
    damage();
    life((const char *const[]){"COUNT", NULL});
    weft_file_unlink(file);
    weft_file_rmdir(folder);
    return 0;
}

static int app(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--self-test") == 0) return self_test();
    if (argc == 3) return serve(argv[1], argv[2]);
    fprintf(stderr, "usage: kv_server ADDRESS FILE | --self-test\n");
    return 2;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * SET colour blue and green: OK
 * SET shape round: OK
 * GET colour: blue and green
 * SAVE: OK
 * DEL shape: OK
 * COUNT: 1
 * SET: ERROR unknown request
 * stopped
 * COUNT: 1
 * GET colour: blue and green
 * GET shape: NONE
 * stopped
 * invalid argument
 */
