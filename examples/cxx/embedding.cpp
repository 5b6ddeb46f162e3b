// A program with a poll(2) loop of its own, which embeds a runtime: the loop reads requests, hands each to a process, and is woken through a
// descriptor when there are results. The loop never waits for weft, and no process ever touches what belongs to the loop.
#include <weft/weft.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <iostream>
#include <vector>

using namespace std::chrono_literals;

struct result {
    int number;
    std::string text;
};

// From processes to the loop: a channel, and an eventfd that is readable when something has been put into it.
class outbox {
    weft::channel<result> results_{16};
    int bell_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

  public:
    outbox() {
        if (bell_ < 0) throw std::runtime_error("no eventfd");
    }
    outbox(const outbox &) = delete;
    outbox &operator=(const outbox &) = delete;
    ~outbox() { close(bell_); } // after the runtime has stopped: until then a process may ring

    int descriptor() const { return bell_; }
    // In a process. Waits while 16 results are there that the loop has not taken.
    void put(result one) {
        const uint64_t ring = 1;
        results_.send(std::move(one));
        (void)!write(bell_, &ring, sizeof ring);
    }
    // In the loop. The bell is silenced first: what is put afterwards rings again.
    std::vector<result> take() {
        uint64_t rings;
        (void)!read(bell_, &rings, sizeof rings);
        std::vector<result> taken;
        std::optional<result> next;
        while (results_.try_recv(next, weft::at_once) == 0)
            taken.push_back(std::move(*next));
        return taken;
    }
};

// The work itself, as plain blocking code.
static result work(int number) {
    weft::sleep(1ms * (number % 3)); // a database, say
    return {number, std::string(static_cast<size_t>(number), '*')};
}

class loop {
    int requests_; // a descriptor: each byte is a request
    outbox outbox_;
    weft::runtime runtime_; // behind the outbox: it goes first
    size_t pending_ = 0;
    bool open_ = true;

    void hand_over(int number) {
        pending_++;
        runtime_.spawn([this, number] { outbox_.put(work(number)); }); // does not wait
    }
    void read_requests() {
        unsigned char bytes[8];
        ssize_t size = read(requests_, bytes, sizeof bytes);
        open_ = size > 0;
        for (ssize_t i = 0; i < size; i++)
            hand_over(bytes[i]);
    }
    void take_results() {
        for (const result &each : outbox_.take()) {
            pending_--;
            stars += each.text.size();
            results++;
        }
    }

  public:
    size_t results = 0, stars = 0; // the loop's own: no process uses them, so there is no lock

    explicit loop(int requests) : requests_(requests) {}
    void run() {
        while (open_ || pending_ > 0) {
            pollfd places[] = {{outbox_.descriptor(), POLLIN, 0}, {requests_, POLLIN, 0}};
            if (poll(places, open_ ? 2 : 1, -1) < 0) continue;
            if (places[0].revents) take_results();
            if (open_ && places[1].revents) read_requests();
        }
    }
    // Cancels what still runs and waits for it, two seconds at most. Afterwards no thread of weft's is left.
    int stop() { return runtime_.stop(2s); }
};

int main() {
    int requests[2];
    const char numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    if (pipe(requests) != 0 || write(requests[1], numbers, sizeof numbers) != sizeof numbers) return 1;
    close(requests[1]); // the loop ends when all are answered
    loop loop(requests[0]);
    loop.run();
    if (loop.stop() != 0) return 1;
    close(requests[0]);
    std::cout << loop.results << " results, " << loop.stars << " stars\n";
    return 0;
}
/* Prints:
 * 10 results, 55 stars
 */
