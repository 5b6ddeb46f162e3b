// A process between clients and a backend: it passes each request on, and answers it when the backend has. When the backend ends, it is
// told, and says so to all later clients. (In C it is a step process; here each request is passed on by a process of its own.)
#include <weft/life.hpp>

#include <iostream>

using namespace std::chrono_literals;

enum { DOUBLE = 1, STOP = 2, BACKEND_ENDED = 100 };

// An empty answer: not now.
static void pass(const weft::message &request, weft_pid backend) {
    weft::message answer;
    bool passed = backend != WEFT_NOBODY && weft::try_call(backend, request.tag(), request.data(), request.size(), answer, 10s) == 0;
    if (passed) request.reply(answer.text());
    else request.reply();
}

static void proxy(weft_pid backend) {
    weft::monitor watch(backend, BACKEND_ENDED);
    weft::scope requests(WEFT_SCOPE_APART); // one that fails leaves the others alone
    for (;;) {                              // until it is cancelled
        weft::message next = weft::recv();
        if (weft::notice_of(next)) backend = WEFT_NOBODY;
        else requests.spawn([request = std::move(next), backend] { pass(request, backend); });
    }
}

static void backend() {
    for (;;) {
        weft::message request = weft::recv();
        if (request.tag() == STOP) return;
        request.reply(2 * request.as<uint64_t>());
    }
}

// What the proxy answers; 0: nothing.
static uint64_t ask(weft_pid to, uint64_t tag, uint64_t number) {
    weft::message reply = weft::call(to, tag, number);
    return reply.size() == 0 ? 0 : reply.as<uint64_t>();
}

static int app(int, char **) {
    weft::process server(backend);
    weft::process between([pid = server.pid()] { proxy(pid); });
    std::cout << "twice 21 is " << ask(between.pid(), DOUBLE, 21) << '\n';
    std::cout << "twice 4 is " << ask(between.pid(), DOUBLE, 4) << '\n';
    ask(between.pid(), STOP, 0);
    std::cout << "without a backend: " << ask(between.pid(), DOUBLE, 3) << '\n';
    return 0;
}

int main(int argc, char **argv) { return weft::main(argc, argv, app); }

/* Prints:
 * twice 21 is 42
 * twice 4 is 8
 * without a backend: 0
 */
