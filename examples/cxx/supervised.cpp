// A server that is killed and crashed while its clients count: no request that it has acknowledged is lost.
//
//     app
//     ├── ledger        keeps what was acknowledged: a generic server with a name
//     ├── connections   a supervisor with a child for each connection
//     └── acceptor      accepts, and gives each connection to a new child
//
// One connection in some requests crashes by a null pointer, before or after it has told the ledger; a process without mercy kills
// connections and the acceptor all the while. Clients that lose their connection connect again and repeat the request.
#include <weft/life.hpp>
#include <weft/super.hpp>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <vector>

using namespace std::chrono_literals;

enum { CLIENTS = 4, REQUESTS = 500, CRASH_ONE_IN = 60 };
enum { RECORD = 1, COUNT };

// ---- the ledger -----------------------------------------------------------------------------------------------------------------

class ledger : public weft::server {
    std::vector<unsigned> times_ = std::vector<unsigned>(CLIENTS * REQUESTS); // more than once when its answer was lost

    int call(const weft_incoming &in) override {
        uint64_t number = *static_cast<const uint64_t *>(in.data);
        if (number >= times_.size()) return weft_reply(in.request, nullptr, 0);
        if (in.request.tag == RECORD) times_[number]++;
        return weft::try_reply(in.request, times_[number]);
    }
};

// How often the number was recorded; 0 also if the ledger does not answer.
static unsigned ask_ledger(uint64_t tag, uint64_t number) {
    weft::message reply;
    unsigned times = 0;
    bool answered = weft::try_call_name("ledger", tag, number, reply, 10s) == 0 && reply.try_as(times) == 0;
    return answered ? times : 0;
}

// ---- the server ------------------------------------------------------------------------------------------------------------------

static std::atomic<unsigned> crashes, kills;

static void maybe_crash() {
    static std::atomic<unsigned> turn;
    if ((turn++ * 2654435761U >> 8) % CRASH_ONE_IN != 0) return;
    crashes++;
    *static_cast<volatile int *>(nullptr) = 1;
}

static void close_connection(void *fd) { weft_fd_close(reinterpret_cast<weft_fd>(fd)); }

// Reads numbers, records each, and answers with it. A plain function, for the supervisor's pattern: a connection that is killed before it
// begins is closed by the pattern's `discard`, and one whose fault is contained by what it has deferred: destructors do not run then.
static void connection(void *arg) {
    weft_fd fd = reinterpret_cast<weft_fd>(arg);
    uint64_t number;
    if (weft_defer(close_connection, arg) != 0) return;
    while (weft_fd_read_all(fd, &number, sizeof number, nullptr, WEFT_FOREVER) == 0) {
        maybe_crash();
        if (ask_ledger(RECORD, number) == 0) return;
        maybe_crash();
        if (weft_fd_write_all(fd, &number, sizeof number, nullptr, WEFT_FOREVER) != 0) return;
    }
}

// The acceptor may be killed while it has a connection in hand: that one is closed then, also if a child has it by now. A descriptor's
// number is never used again, so closing one twice does no harm.
static void acceptor(weft_fd listener) {
    for (;;) {
        weft_fd fd = weft::check(weft_net_accept(listener, nullptr, WEFT_FOREVER), "weft_net_accept");
        bool given = false;
        weft::defer closes([&] {
            if (!given) weft_fd_close(fd);
        });
        weft_pid pid = WEFT_NOBODY;
        given = weft_super_spawn(weft::whereis("connections"), reinterpret_cast<void *>(fd), &pid, weft::deadline(10s)) == 0;
    }
}

// ---- its clients ------------------------------------------------------------------------------------------------------------------

class client {
    std::string address_;
    weft_fd fd_ = WEFT_NO_FD;

    void disconnect() {
        if (fd_ > 0) weft_fd_close(std::exchange(fd_, WEFT_NO_FD));
    }
    bool request(uint64_t number) {
        weft::deadline until = 10s;
        uint64_t answer = 0;
        if (fd_ <= 0) fd_ = weft_net_connect(address_.c_str(), until);
        bool answered = fd_ > 0 && weft_fd_write_all(fd_, &number, sizeof number, nullptr, until) == 0 &&
                        weft_fd_read_all(fd_, &answer, sizeof answer, nullptr, until) == 0 && answer == number;
        if (answered) return true;
        lost_connections++;
        disconnect();
        return false;
    }

  public:
    static std::atomic<unsigned> lost_connections, unacknowledged;

    explicit client(std::string address) : address_(std::move(address)) {}
    client(const client &) = delete;
    client &operator=(const client &) = delete;
    ~client() { disconnect(); }
    void run(uint64_t first) {
        for (uint64_t number = first; number < first + REQUESTS; number++) {
            int tries = 0;
            while (!request(number) && ++tries < 1000) {}
            if (tries == 1000 || ask_ledger(COUNT, number) == 0) unacknowledged++;
        }
    }
};
std::atomic<unsigned> client::lost_connections, client::unacknowledged;

// ---- without mercy ------------------------------------------------------------------------------------------------------------------

static void killer(weft_pid super) {
    std::vector<weft_child_info> children(64);
    for (unsigned turn = 1;; turn++) {
        weft::sleep(3ms);
        bool connections = turn % 8 != 0;
        ssize_t count =
            weft_super_children(connections ? weft::whereis("connections") : super, children.data(), children.size(), weft::deadline(1s));
        if (count <= 0) continue;
        size_t known = std::min(static_cast<size_t>(count), children.size());
        const weft_child_info &victim = children[connections ? turn % known : known - 1];
        if (victim.pid != WEFT_NOBODY && weft_kill(victim.pid) == 0) kills++;
    }
}

static std::string address_of(weft_fd listener) {
    weft_addr place;
    char text[WEFT_ADDR_TEXT];
    weft::check(weft_net_name(listener, &place), "weft_net_name");
    return weft_addr_text(&place, text, sizeof text);
}

static int app(int, char **) {
    weft_fd listener = weft::check(weft_net_listen("127.0.0.1:0", nullptr), "weft_net_listen");
    weft_child_spec each = {}, named = {};
    each.entry = connection;
    each.restart = WEFT_TEMPORARY;
    each.discard = close_connection;
    weft_super_spec connections = {};
    connections.name = "connections";
    connections.pattern = &each;

    weft::supervisor app("app", WEFT_REST_FOR_ONE);
    app.spec().intensity = 1000000;
    app.spec().period_ms = 1000;
    named.register_as = "ledger";
    named.ready = true;
    app.child(
        "ledger", [] { weft::serve(ledger()); }, named);
    named = {};
    named.id = named.register_as = "connections";
    named.super = &connections;
    app.child(named);
    app.child("acceptor", [listener] { acceptor(listener); });
    app.start(10s);
    {
        weft::process merciless([super = app.pid()] { killer(super); });
        weft::scope clients;
        for (uint64_t i = 0; i < CLIENTS; i++)
            clients.spawn([i, address = address_of(listener)] { client(address).run(i * REQUESTS); });
        clients.end();
    }
    app.stop();
    std::cerr << crashes << " crashes, " << kills << " kills, " << client::lost_connections << " connections lost\n";
    std::cout << CLIENTS * REQUESTS << " requests acknowledged, " << client::unacknowledged << " of them lost\n";
    return client::unacknowledged ? 1 : 0;
}

int main(int argc, char **argv) {
    weft_config config = {};
    config.contain_faults = true; // a null pointer ends the process that has used it, and not the program
    return weft::main(config, argc, argv, app);
}
/* Prints:
 * 2000 requests acknowledged, 0 of them lost
 */
