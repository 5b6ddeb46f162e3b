/* Fetches pages by libcurl and keeps them in a database of SQLite, from processes: two libraries that block, and know nothing of weft.
 *
 *     cc fetch_store.c $(pkg-config --cflags --libs weft sqlite3 libcurl)
 *
 *     fetch_store DATABASE URL...       Ctrl-C ends it; what was fetched is in the database
 *     fetch_store --self-test           from a server of its own on loopback, with one worker for everything */
#include <weft/weft.h>

#include <curl/curl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STORE = 1, STOP, AT_A_TIME = 8, PAGE_MOST = 16 << 20 };
#define FETCH_TIME (30 * WEFT_SECOND)

static int fail(const char *what, const char *why) {
    fprintf(stderr, "fetch_store: %s: %s\n", what, why);
    return 1;
}

/* ---- the database: one process has the connection, and makes every call of the library in weft_blocking ------------------------------- */

struct page {
    const char *url;
    long status; /* of HTTP; 0: there was no answer, and the body says why */
    const char *body;
    size_t size;
};
struct database {
    const char *path;
    sqlite3 *connection;
    sqlite3_stmt *insert;
    const struct page *page; /* what is to be stored */
    int result;              /* SQLITE_OK, or why not */
};

/* The functions with a void * are called by weft_blocking: plain code of the library, and nothing of weft. */
static void open_it(void *arg) {
    struct database *db = arg;
    static const char table[] = "CREATE TABLE IF NOT EXISTS page (url TEXT PRIMARY KEY, status INTEGER, body BLOB)";
    static const char insert[] = "INSERT OR REPLACE INTO page VALUES (?, ?, ?)";
    db->result = sqlite3_open_v2(db->path, &db->connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL);
    if (db->result == SQLITE_OK) db->result = sqlite3_busy_timeout(db->connection, 5000); /* another program has it locked */
    if (db->result == SQLITE_OK) db->result = sqlite3_exec(db->connection, table, NULL, NULL, NULL);
    if (db->result == SQLITE_OK) db->result = sqlite3_prepare_v2(db->connection, insert, -1, &db->insert, NULL);
}
static void close_it(void *arg) {
    struct database *db = arg;
    sqlite3_finalize(db->insert);
    db->result = sqlite3_close(db->connection);
}
static void store_it(void *arg) {
    struct database *db = arg;
    const struct page *page = db->page;
    sqlite3_bind_text(db->insert, 1, page->url, -1, SQLITE_STATIC);
    sqlite3_bind_int64(db->insert, 2, page->status);
    sqlite3_bind_blob64(db->insert, 3, page->size ? page->body : "", page->size, SQLITE_STATIC);
    db->result = sqlite3_step(db->insert); /* writes, and waits for the disk */
    if (db->result == SQLITE_DONE) db->result = SQLITE_OK;
    sqlite3_reset(db->insert);
    sqlite3_clear_bindings(db->insert);
}

/* weft_blocking says WEFT_ECANCELED if this process was cancelled meanwhile, which is no matter here: the function was called. It is not called
 * only at the limit of threads, if the runtime is configured to fail then. */
static int in_library(struct database *db, void (*function)(void *db)) {
    db->result = SQLITE_BUSY;
    weft_blocking(function, db);
    return db->result;
}

static int database_init(void *state, void *path) {
    struct database *db = state;
    db->path = path;
    int result = in_library(db, open_it);
    if (result == SQLITE_OK) return 0;
    fail(path, sqlite3_errstr(result));
    in_library(db, close_it);
    return WEFT_EIO;
}
/* The request is the address of a page, which stays where it is until the answer. */
static int database_call(void *state, const weft_incoming *in) {
    struct database *db = state;
    memcpy(&db->page, in->data, sizeof db->page);
    int result = in_library(db, store_it);
    weft_reply(in->request, &result, sizeof result);
    return 0;
}
static void database_terminate(void *state, int code) {
    struct database *db = state;
    (void)code;
    int result = in_library(db, close_it);
    if (result != SQLITE_OK) fail(db->path, sqlite3_errstr(result));
}
static const weft_server_spec database_spec = {.name = "database",
                                               .state_size = sizeof(struct database),
                                               .init = database_init,
                                               .call = database_call,
                                               .terminate = database_terminate};

/* Shielded: the database looks at the page until it has answered. A disk takes as long as it takes. */
static int store(const struct page *page) {
    weft_msg *reply;
    int result = SQLITE_ERROR;
    weft_shield_begin();
    if (weft_call_name("database", STORE, &page, sizeof page, &reply, WEFT_FOREVER) == 0) {
        memcpy(&result, weft_msg_data(reply), sizeof result);
        weft_msg_free(reply);
    }
    weft_shield_end();
    return result;
}

/* ---- fetching: a thread of its own for each transfer, which can be left to itself ------------------------------------------------------ */

struct transfer { /* allocated: it outlives the process that gives it up */
    CURL *curl;
    CURLcode result;
    char *body;
    size_t size;
};
static atomic_bool stopping;

static size_t add_bytes(char *data, size_t one, size_t count, void *arg) {
    struct transfer *transfer = arg;
    (void)one; /* it is always 1 */
    char *body = transfer->size + count <= PAGE_MOST ? realloc(transfer->body, transfer->size + count + 1) : NULL;
    if (!body) return 0; /* ends the transfer with CURLE_WRITE_ERROR */
    memcpy(body + transfer->size, data, count);
    transfer->body = body;
    transfer->size += count;
    return count;
}
/* libcurl calls this at least once a second. */
static int goes_on(void *unused, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)unused, (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&stopping); /* not 0: give up */
}

static void transfer_free(void *arg) {
    struct transfer *transfer = arg;
    curl_easy_cleanup(transfer->curl);
    free(transfer->body);
    free(transfer);
}
static void transfer_run(void *arg) {
    struct transfer *transfer = arg;
    transfer->result = curl_easy_perform(transfer->curl);
}

static struct transfer *transfer_new(const char *url, uint64_t time) {
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) return NULL;
    CURL *curl = transfer->curl = curl_easy_init();
    if (curl && curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK && /* no SIGALRM, and no siglongjmp out of its handler */
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(time / WEFT_MILLISECOND)) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, add_bytes) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, goes_on) == CURLE_OK && curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK)
        return transfer;
    transfer_free(transfer);
    return NULL;
}

struct fetch {
    const char *url;
    uint64_t time;
};
static weft_sem places = WEFT_SEM_INIT(AT_A_TIME);

static void fetch(void *arg) {
    const struct fetch *fetch = arg;
    struct page page = {.url = fetch->url};
    if (weft_sem_acquire(&places, 1, WEFT_FOREVER) != 0) return;
    struct transfer *transfer = transfer_new(fetch->url, fetch->time);
    /* The deadline is for what libcurl does not bound by itself. Whatever the error, the transfer is not ours any more. */
    int error = transfer ? weft_blocking_until(transfer_run, transfer, transfer_free, weft_in(fetch->time + WEFT_SECOND)) : WEFT_ENOMEM;
    weft_sem_release(&places, 1);
    if (error == WEFT_ECANCELED) return;
    if (error || transfer->result != CURLE_OK) {
        page.body = error ? weft_strerror(error) : curl_easy_strerror(transfer->result);
        page.size = strlen(page.body);
    } else {
        curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &page.status);
        page.body = transfer->body, page.size = transfer->size;
    }
    int stored = store(&page);
    if (stored != SQLITE_OK) fail(fetch->url, sqlite3_errstr(stored));
    if (!error) transfer_free(transfer);
}

struct work {
    char *path;
    struct fetch *fetches;
    size_t count;
};

/* Ends when all pages are stored, or, when it is cancelled, those that had come. */
static void fetch_all(void *arg) {
    struct work *work = arg;
    weft_scope scope;
    weft_pid database;
    weft_stackful_options options = {.register_as = "database", .stack_size = 256 << 10}; /* for SQLite: it is called on this stack */
    int error = weft_server_start(&database_spec, work->path, &options, &database, weft_in(60 * WEFT_SECOND));
    if (error) weft_exit(error);
    weft_scope_begin_with(&scope, WEFT_SCOPE_APART, WEFT_FOREVER);
    for (size_t i = 0; i < work->count && !error; i++)
        error = weft_scope_spawn(&scope, fetch, &work->fetches[i]);
    int ended = weft_scope_end(&scope);
    weft_shield_begin();
    weft_server_stop(database, WEFT_FOREVER);
    weft_shield_end();
    weft_exit(error ? error : ended);
}

static int run(struct work *work) {
    weft_msg *stop;
    int reason = 0, error = weft_signal_watch(SIGINT, weft_self(), STOP);
    if (!error) error = weft_signal_watch(SIGTERM, weft_self(), STOP);
    if (error) return fail("signals", weft_strerror(error));
    weft_pid all = weft_spawn_joinable(fetch_all, work);
    if (!all) return fail("start", weft_strerror(-errno));
    weft_case events[] = {weft_case_tag(STOP, &stop), weft_case_end(all, &reason)};
    if (weft_select(events, 2, WEFT_FOREVER) == 0) {
        weft_msg_free(stop);
        atomic_store(&stopping, true); /* for transfers that are under way */
        weft_cancel(all);
        error = weft_join(all, &reason, WEFT_FOREVER);
    }
    if (error || reason) return fail("ended", weft_strerror(error ? error : reason));
    return 0;
}

/* ---- a test: a web server of processes, and what the database has afterwards ----------------------------------------------------------- */

static void answer(void *arg) {
    weft_fd fd = (weft_fd)(intptr_t)arg;
    char request[4096], header[128], body[5000];
    size_t got = 0;
    ssize_t n;
    unsigned number = 0;
    do {
        n = weft_fd_read(fd, request + got, sizeof request - 1 - got, weft_in(10 * WEFT_SECOND));
        got += n > 0 ? (size_t)n : 0;
        request[got] = '\0';
    } while (n > 0 && !strstr(request, "\r\n\r\n"));
    if (strncmp(request, "GET /slow", 9) == 0) weft_sleep(3600 * WEFT_SECOND); /* until it is cancelled */
    bool there = sscanf(request, "GET /page/%u", &number) == 1 && number * 1000 <= sizeof body;
    size_t size = there ? number * 1000 : 0;
    memset(body, 'a', sizeof body);
    int length = snprintf(header, sizeof header, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                          there ? "200 OK" : "404 Not Found", size);
    struct iovec parts[] = {{header, (size_t)length}, {body, size}};
    weft_fd_writev_all(fd, parts, 2, NULL, weft_in(10 * WEFT_SECOND));
    weft_fd_close(fd);
}
static void web_server(void *listener) {
    weft_fd fd;
    while ((fd = weft_net_accept((weft_fd)(intptr_t)listener, NULL, WEFT_FOREVER)) > 0)
        if (!weft_spawn(answer, (void *)(intptr_t)fd)) weft_fd_close(fd);
}

static int print_row(void *unused, int count, char **values, char **names) {
    (void)unused, (void)count, (void)names;
    printf("%s: %s\n", strrchr(values[0], '/'), values[1]);
    return 0;
}
static void print_rows(void *path) {
    static const char query[] =
        "SELECT url, CASE status WHEN 0 THEN CAST(body AS TEXT) ELSE status || ', ' || length(body) || ' bytes' END FROM page ORDER BY url";
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, query, print_row, NULL, NULL) != SQLITE_OK) fail(path, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static int self_test(void) {
    static const char *const pages[] = {"page/1", "page/2", "page/3", "page/4", "page/5", "missing", "slow"};
    enum { PAGES = sizeof pages / sizeof *pages };
    char path[64], urls[PAGES][WEFT_ADDR_TEXT + 32], where[WEFT_ADDR_TEXT];
    struct fetch fetches[PAGES];
    weft_addr place;
    weft_fd listener = weft_net_listen("127.0.0.1:0", NULL);
    if (listener < 0 || weft_net_name(listener, &place) != 0) return fail("self-test", "cannot listen");
    if (!weft_spawn(web_server, (void *)(intptr_t)listener)) return fail("self-test", "no process for the server");
    for (size_t i = 0; i < PAGES; i++) {
        snprintf(urls[i], sizeof urls[i], "http://%s/%s", weft_addr_text(&place, where, sizeof where), pages[i]);
        fetches[i] = (struct fetch){urls[i], strcmp(pages[i], "slow") == 0 ? 300 * WEFT_MILLISECOND : FETCH_TIME};
    }
    snprintf(path, sizeof path, "/tmp/fetch-self-test-%ld", (long)getpid());
    int status = run(&(struct work){path, fetches, PAGES});
    if (status == 0) weft_blocking(print_rows, path);
    weft_file_unlink(path);
    return status;
}

static int app(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--self-test") == 0) return self_test();
    if (argc < 3) {
        fprintf(stderr, "usage: fetch_store DATABASE URL... | --self-test\n");
        return 2;
    }
    size_t count = (size_t)argc - 2;
    struct fetch *fetches = calloc(count, sizeof *fetches);
    if (!fetches) return fail("start", "no memory");
    for (size_t i = 0; i < count; i++)
        fetches[i] = (struct fetch){argv[i + 2], FETCH_TIME};
    int status = run(&(struct work){argv[1], fetches, count});
    free(fetches);
    return status;
}

int main(int argc, char **argv) {
    bool test = argc == 2 && strcmp(argv[1], "--self-test") == 0;
    signal(SIGPIPE, SIG_IGN); /* with CURLOPT_NOSIGNAL that is the program's business */
    if (!sqlite3_threadsafe() || curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return fail("start", "libraries"); /* before there are threads */
    int status = weft_main_with(&(weft_config){.workers = test ? 1 : 0}, argc, argv, app);
    curl_global_cleanup();
    return status;
}
/* Prints:
 * /missing: 404, 0 bytes
 * /1: 200, 1000 bytes
 * /2: 200, 2000 bytes
 * /3: 200, 3000 bytes
 * /4: 200, 4000 bytes
 * /5: 200, 5000 bytes
 * /slow: Timeout was reached
 */
