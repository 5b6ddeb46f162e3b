/* weft/weft.hpp: messages, processes, scopes, locks and channels as objects; errors as exceptions and as codes. */
#include "cxx_helpers.hpp"

#include <weft/more.hpp>

#include <memory>
#include <mutex>
#include <numeric>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;

/* Counts the objects that there are. */
struct counted {
    static std::atomic<int> living;
    int value = 0;
    explicit counted(int v = 0) : value(v) { living++; }
    counted(const counted &other) : value(other.value) { living++; }
    counted(counted &&other) noexcept : value(other.value) { living++; }
    counted &operator=(const counted &) = default;
    ~counted() { living--; }
};
std::atomic<int> counted::living;

template <class Function> static int code_of(Function function) {
    try {
        function();
        return 0;
    } catch (const weft::error &caught) {
        EXPECT(std::strstr(caught.what(), weft_strerror(caught.code())) != nullptr);
        return caught.code();
    }
}

/* ---- processes ------------------------------------------------------------------------------------------------------------------ */

static void processes(void *) {
    counted object(7);
    std::atomic<int> sum{0};
    {
        weft::process adds([object, &sum] { sum += object.value; });
        EXPECT_EQ(adds.join(), 0);
        EXPECT(!adds.joinable());
        EXPECT_EQ(code_of([&] { adds.join(); }), WEFT_ENOPROC);
    }
    EXPECT_EQ(sum, 7);
    EXPECT_EQ(counted::living, 1); /* the copy in the process has gone with it */
    std::atomic<bool> told{false};
    { /* its owner goes: it is cancelled and waited for */
        weft::process sleeps([&told, kept = std::make_unique<counted>(1)] {
            weft::defer tells([&] { told = true; });
            weft::sleep(1h);
        });
        EXPECT_EQ(code_of([&] { sleeps.join(1ms); }), WEFT_ETIMEDOUT);
    }
    EXPECT(told);
    EXPECT_EQ(counted::living, 1);
    { /* killed before it has begun, if there is one worker; the object goes in any case */
        weft_pid pid = weft::spawn([object] { weft::sleep(1h); });
        weft_kill(pid);
        while (weft_alive(pid) || counted::living > 1)
            weft_yield();
        weft::scope scope;
        weft_kill(scope.spawn([object] { weft::sleep(1h); }));
        EXPECT_EQ(scope.try_end(), WEFT_EKILLED);
    }
    EXPECT_EQ(counted::living, 1);
    weft::process fails([] { throw weft::error(-5); });
    EXPECT_EQ(fails.join(), -5);
    weft::process exits([] { weft_exit(6); });
    weft::process moved(std::move(exits));
    EXPECT(!exits.joinable()); // NOLINT: what a moved one says is meant
    EXPECT_EQ(moved.join(), 6);
    weft::process lets_go([&told] { told = false; });
    lets_go.detach();
    while (told)
        weft::yield();
}

static void scopes(void *) {
    std::atomic<int> sum{0};
    {
        weft::scope scope;
        for (int i = 0; i < 20; i++)
            scope.spawn([i, &sum] { sum += i; });
        scope.end();
    }
    EXPECT_EQ(sum, 190);
    weft::scope failing;
    failing.spawn([] { weft::sleep(1h); });
    failing.spawn([] { throw weft::error(-9); });
    EXPECT_EQ(code_of([&] { failing.end(); }), -9);
    try { /* left by an exception: its children are waited for */
        weft::scope left;
        left.spawn([&sum] {
            weft::defer last([&] { sum = -1; });
            weft::sleep(1h);
        });
        weft::yield();
        throw std::runtime_error("away");
    } catch (const std::runtime_error &) {
        EXPECT(sum == -1 || sum == 190); /* or it never began */
    }
    weft::scope apart(WEFT_SCOPE_APART); /* its children fail alone */
    std::atomic<int> lived{0};
    apart.spawn([] { throw weft::error(-9); });
    for (int i = 0; i < 3; i++)
        apart.spawn([&lived] {
            weft::sleep(1ms);
            lived++;
        });
    apart.end();
    EXPECT_EQ(lived, 3);
    int code = code_of([] {
        weft::scope late(1ms);
        late.spawn([] { weft::sleep(1h); });
        late.end();
    });
    EXPECT(code == WEFT_ETIMEDOUT || code == WEFT_ECANCELED); /* the latter: it was over before the child was spawned */
}

/* ---- messages -------------------------------------------------------------------------------------------------------------------- */

static void messages(void *) {
    weft_pid self = weft_self();
    struct point {
        int x, y;
    };
    weft::process partner([self] {
        weft::message request = weft::recv();
        request.reply(request.as<point>().x + request.as<point>().y);
        weft::send(self, 5, point{3, 4});
        weft::send(self, 6);
    });
    EXPECT_EQ(weft::call(partner.pid(), 1, point{1, 2}).as<int>(), 3);
    EXPECT_EQ(weft::recv_tag(6).size(), 0);
    weft::message got = weft::recv(10s), other;
    EXPECT_EQ(got.tag(), 5);
    EXPECT_EQ(got.from(), partner.pid());
    EXPECT_EQ(got.as<point>().y, 4);
    EXPECT_EQ(code_of([&] { got.as<char>(); }), WEFT_EMSGSIZE);
    other = std::move(got);
    EXPECT(!got && other); // NOLINT: likewise
    weft_msg_free(other.release());
    partner.join();
    EXPECT_EQ(weft::try_recv(other, weft::at_once), WEFT_ETIMEDOUT);
    EXPECT_EQ(code_of([] { weft::recv(1ms); }), WEFT_ETIMEDOUT);
    EXPECT_EQ(code_of([] { weft::recv(std::chrono::steady_clock::now() + 1ms); }), WEFT_ETIMEDOUT);
    EXPECT_EQ(code_of([] { weft::recv(-1s); }), WEFT_ETIMEDOUT);
    EXPECT_EQ(code_of([&] { weft::send(WEFT_NOBODY, 1); }), WEFT_EFOREIGN);
    weft::send(self, 7, std::string("text")); /* its characters, not the object */
    weft::send(self, 8, "literal");
    EXPECT(weft::recv().text() == "text");
    EXPECT_EQ(weft::try_recv_tag(9, other, 1ms), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft::try_recv_tag(8, other), 0);
    EXPECT(other.text() == "literal");
    EXPECT_EQ(weft::try_call(WEFT_NOBODY, 1, 5, other), WEFT_EFOREIGN);
    EXPECT_EQ(other.try_reply(5), WEFT_EINVAL); /* it was no request */
}

/* Moments and durations that no clock has: they are at once, or for ever, and never the other. */
static void deadlines(void *) {
    using clock = std::chrono::steady_clock;
    using moment = clock::time_point;
    weft::message got;
    const weft::deadline passed[] = {clock::now() - 24000h, moment::min(), moment(0ns), moment(1ns), clock::now() - clock::now().time_since_epoch() / 2,
                                     std::chrono::hours::min(), -1ns, 0s, std::chrono::duration<double>(-1e300)};
    for (weft::deadline each : passed) {
        EXPECT_EQ(weft::try_recv(got, each), WEFT_ETIMEDOUT);
        weft::sleep(each);
        EXPECT_EQ(weft::select(weft::forever, weft::on_moment(each, [] {}), weft::on_readable(0, [] {})), 0);
    }
    const weft::deadline far[] = {moment::max(), std::chrono::hours::max(), std::chrono::minutes::max(), std::chrono::nanoseconds::max(),
                                  std::chrono::hours(24L * 365 * 600), std::chrono::duration<double>(1e300), std::chrono::duration<float, std::pico>(1e38F)};
    for (weft::deadline each : far)
        EXPECT(each > weft_in(uint64_t{3600} * WEFT_SECOND * 24 * 300));
    EXPECT(weft::deadline(std::chrono::hours::max()) == weft::forever);
    weft::deadline near = std::chrono::duration<double>(0.5); /* a part of a second */
    EXPECT(near > weft_now() && near <= weft_in(WEFT_SECOND));
}
TEST(hpp_deadlines) {
    cxx_each([] { EXPECT_EQ(cxx_run(deadlines, nullptr), 0); });
}

/* ---- locks and channels ------------------------------------------------------------------------------------------------------- */

static void locks(void *) {
    weft::mutex mutex;
    weft::condition filled;
    weft::semaphore few(2);
    std::vector<int> shared;
    {
        weft::scope scope;
        for (int i = 0; i < 10; i++)
            scope.spawn([&, i] {
                few.acquire();
                weft::defer release([&] { few.release(); });
                weft::yield();
                std::lock_guard<weft::mutex> guard(mutex);
                shared.push_back(i);
                filled.notify_all();
            });
        {
            std::unique_lock<weft::mutex> guard(mutex);
            filled.wait_until(mutex, [&] { return shared.size() > 3; });
            filled.wait_until(guard, [&] { return shared.size() == 10; });
            EXPECT_EQ(filled.try_wait(guard, 1ms), WEFT_ETIMEDOUT);
            EXPECT_EQ(filled.try_wait_until(guard, [] { return false; }, 1ms), WEFT_ETIMEDOUT);
            EXPECT_EQ(code_of([&] { filled.wait(guard, 1ms); }), WEFT_ETIMEDOUT);
            EXPECT(guard.owns_lock());
        }
        scope.end();
    }
    EXPECT_EQ(std::accumulate(shared.begin(), shared.end(), 0), 45);
    EXPECT(mutex.try_lock());
    weft::process other([&] {
        EXPECT(!mutex.try_lock());
        EXPECT_EQ(mutex.lock_code(1ms), WEFT_ETIMEDOUT);
        EXPECT(!mutex.try_lock_for(1ms));
        std::unique_lock<weft::mutex> timed(mutex, std::chrono::steady_clock::now() + 1ms);
        EXPECT(!timed.owns_lock());
    });
    other.join();
    mutex.unlock();
    EXPECT(few.try_acquire(2) && !few.try_acquire());
    EXPECT_EQ(few.acquire_code(1, 1ms), WEFT_ETIMEDOUT);
}

/* Without a default constructor; its bytes may be copied. */
struct seat {
    int row;
    explicit seat(int number) : row(number) {}
};
/* The same, and cannot be copied, nor assigned. */
struct ticket {
    const int number;
    explicit ticket(int given) : number(given) {}
    ticket(const ticket &) = delete;
    ticket(ticket &&) = default;
};
static_assert(std::is_trivially_copyable_v<seat> && std::is_trivially_copyable_v<ticket>, "they go as bytes");
static void channels_without_default(void *) {
    const weft::channel<seat> seats(2);
    seats.send(seat(3));
    EXPECT_EQ(seats.recv()->row, 3);
    weft::select(weft::forever, weft::on_send(seats, 4, [] {}));
    weft::select(weft::forever, weft::on_recv(seats, [](std::optional<seat> got) { EXPECT_EQ(got->row, 4); }));
    seats.send(seat(5));
    seats.close();
    for (const seat &each : seats)
        EXPECT_EQ(each.row, 5);
    const weft::channel<ticket> tickets(1);
    tickets.send(ticket(7));
    EXPECT_EQ(tickets.recv()->number, 7);
    weft::send(weft_self(), 1, seat(6));
    EXPECT_EQ(weft::recv().as<seat>().row, 6);
}

static void channels(void *) {
    {
        weft::channel<counted> objects(4);
        weft::channel<int> answers;
        weft::process adds([objects, answers]() mutable {
            int sum = 0;
            for (auto &object : objects)
                sum += object.value;
            answers.send(sum);
        });
        for (int i = 1; i <= 100; i++)
            objects.send(counted(i));
        objects.close();
        EXPECT_EQ(answers.recv().value(), 5050);
        EXPECT_EQ(objects.try_send(counted(1)), WEFT_ECLOSED);
        EXPECT(!objects.recv());
        adds.join();
        weft::channel<std::unique_ptr<counted>> left(4); /* freed with what is in it */
        left.send(std::make_unique<counted>(1));
        EXPECT_EQ(left.size(), 1);
        weft::channel<int> empty;
        EXPECT_EQ(code_of([&] { empty.recv(1ms); }), WEFT_ETIMEDOUT);
    }
    EXPECT_EQ(counted::living, 0);
}

/* A killed process is unwound, out of any of these, and its reason is that it was killed. */
static void killed(void *) {
    for (int way = 0; way < 4; way++) {
        weft::mutex mutex;
        weft::semaphore none(0);
        std::atomic<bool> begun{false};
        weft::process victim([&, way] {
            counted object(1);
            weft::message got;
            begun = true;
            for (;;) {
                if (way == 0) (void)weft::try_recv(got, 1ms);
                else if (way == 1 && mutex.try_lock()) mutex.unlock();
                else if (way == 2) (void)none.try_acquire();
                else if (way == 3) weft::recv();
                weft::yield();
            }
        });
        while (!begun)
            weft::yield();
        EXPECT_EQ(weft_kill(victim.pid()), 0);
        EXPECT_EQ(victim.join(), WEFT_EKILLED);
    }
    EXPECT_EQ(counted::living, 0);
}

/* One that computes for longer than its time slice between two calls is ended by a call too: its frames are unwound. */
static void killed_at_work(void *) {
    std::atomic<bool> begun{false};
    weft::process victim([&] {
        counted object(1);
        for (;;) {
            for (volatile int i = 0; i < 30000; i++)
                begun = true;
            weft::yield();
        }
    });
    while (!begun)
        weft::yield();
    EXPECT_EQ(weft_kill(victim.pid()), 0);
    EXPECT_EQ(victim.join(), WEFT_EKILLED);
    EXPECT_EQ(counted::living, 0);
}
TEST(hpp_killed_at_work) {
    cxx_each([] { EXPECT_EQ(cxx_run(killed_at_work, nullptr), 0); });
}

TEST(hpp_killed) {
    cxx_each([] { EXPECT_EQ(cxx_run(killed, nullptr), 0); });
}
TEST(hpp_processes) {
    cxx_each([] { EXPECT_EQ(cxx_run(processes, nullptr), 0); });
}
TEST(hpp_scopes) {
    cxx_each([] { EXPECT_EQ(cxx_run(scopes, nullptr), 0); });
}
TEST(hpp_messages) {
    cxx_each([] { EXPECT_EQ(cxx_run(messages, nullptr), 0); });
}
TEST(hpp_locks) {
    cxx_each([] { EXPECT_EQ(cxx_run(locks, nullptr), 0); });
}
/* ---- select --------------------------------------------------------------------------------------------------------------------- */

static void selects(void *) {
    weft::channel<std::string> words(1);
    weft::channel<int> numbers(1);
    weft::semaphore permits(0);
    std::string got;
    int seen = 0;
    EXPECT_EQ(weft::try_select(1ms, weft::on_recv(words, [&](std::optional<std::string> word) { got = *word; })), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft::select(weft::forever, weft::on_recv(words, [&](std::optional<std::string>) { seen = -1; }),
                           weft::on_send(words, std::string("there is room"), [&] { seen = 1; })),
              1);
    EXPECT_EQ(seen, 1);
    auto all = [&] {
        return weft::select(20s, weft::on_recv(words, [&](std::optional<std::string> word) { got = word.value_or("closed"); }),
                            weft::on_recv(numbers, [&](std::optional<int> number) { seen = *number; }),
                            weft::on_message([&](weft::message letter) { seen = letter.as<int>(); }),
                            weft::on_acquire(permits, 2, [&] { seen = 22; }));
    };
    EXPECT_EQ(all(), 0);
    EXPECT(got == "there is room");
    numbers.send(5);
    EXPECT_EQ(all(), 1);
    EXPECT_EQ(seen, 5);
    weft::send(weft_self(), 3, 6);
    EXPECT_EQ(all(), 2);
    EXPECT_EQ(seen, 6);
    permits.release(2);
    EXPECT_EQ(all(), 3);
    EXPECT_EQ(seen, 22);
    weft::process ends([] { weft_exit(8); });
    EXPECT_EQ(weft::select(20s, weft::on_end(ends.pid(), [&](int reason) { seen = reason; }), weft::on_tag(4, [](weft::message) {})), 0);
    EXPECT_EQ(seen, 8);
    EXPECT_EQ(weft::select(weft::forever, weft::on_moment(1ms, [&] { seen = 9; }), weft::on_readable(0, [] {})), 0);
    EXPECT_EQ(seen, 9);
    words.close();
    EXPECT_EQ(all(), 0);
    EXPECT(got == "closed");
    EXPECT_EQ(code_of([&] { weft::select(weft::at_once, weft::on_send(words, "late", [] {})); }), WEFT_ECLOSED);
    /* With try_ a case that fails is a code, and its handler is not called. */
    EXPECT_EQ(weft::try_select(weft::at_once, weft::on_send(words, "late", [&] { seen = -1; })), WEFT_ECLOSED);
    EXPECT_EQ(weft::try_select(weft::at_once, weft::on_end(ends.pid(), [&](int) { seen = -1; })), WEFT_ENOPROC);
    EXPECT_EQ(weft::try_select(weft::at_once, weft::on_reply(12345, [&](weft::message) { seen = -1; })), WEFT_ENOENT);
    EXPECT_EQ(weft::try_select(weft::at_once, weft::on_readable(1 << 20, [&] { seen = -1; })), WEFT_EBADF);
    EXPECT_EQ(seen, 9);
}
TEST(hpp_select) {
    cxx_each([] { EXPECT_EQ(cxx_run(selects, nullptr), 0); });
}

TEST(hpp_channels) {
    cxx_each([] {
        EXPECT_EQ(cxx_run(channels, nullptr), 0);
        EXPECT_EQ(cxx_run(channels_without_default, nullptr), 0);
    });
}

/* ---- weft/more.hpp ------------------------------------------------------------------------------------------------------------------ */

static weft::process_local<counted> of_each;
static void more(void *) {
    weft::barrier all(4);
    weft::limiter limiter(1000, 1ms, 2);
    std::atomic<int> lasts{0};
    EXPECT(limiter.try_take(2));
    {
        weft::scope scope;
        for (int i = 0; i < 4; i++)
            scope.spawn([&] {
                counted *mine = &*of_each;
                weft::yield();
                EXPECT(mine == &of_each.get()); /* its own, wherever it runs */
                limiter.take();
                if (all.wait()) lasts++;
            });
        scope.end();
    }
    EXPECT_EQ(lasts.load(), 1);
    EXPECT_EQ(counted::living, 0); /* destroyed with their processes */
    weft::barrier two(2);
    try {
        two.wait(1ms);
        EXPECT(false);
    } catch (const weft::error &error) {
        EXPECT_EQ(error.code(), WEFT_ETIMEDOUT);
    }
}
TEST(hpp_more) {
    cxx_each([] { EXPECT_EQ(cxx_run(more, nullptr), 0); });
}

/* Function objects and functions are named in dumps as they are in the program. */
namespace shown {
static void waits(void *arg) { static_cast<weft::semaphore *>(arg)->acquire(); }
static std::string dump() {
    std::string text(1 << 14, '\0');
    FILE *file = tmpfile();
    EXPECT(file != nullptr);
    weft_dump(cxx_runtime, fileno(file));
    ssize_t size = pread(fileno(file), &text[0], text.size(), 0);
    EXPECT(size > 0);
    fclose(file);
    text.resize(size_t(size));
    return text;
}
static int count(const std::string &text, const char *part) {
    int found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        found++;
    return found;
}
} // namespace shown
TEST(hpp_names_in_dumps) {
    cxx_start("ring", 1, false);
    weft::semaphore sem(0);
    weft_stackful_options options = {};
    options.runtime = cxx_runtime;
    weft_pid plain;
    EXPECT_EQ(weft_spawn_with(shown::waits, &sem, &options, &plain), 0);
    weft::spawn([&sem] { weft::spawn([&sem] { sem.acquire(); }), sem.acquire(); }, options);
    std::string text;
    while (shown::count(text = shown::dump(), "in weft_sem_acquire") < 3) /* in vain, the time limit ends it */
        sched_yield();
    EXPECT(text.find("(test_run_hpp_names_in_dumps::{lambda}::{lambda})") != std::string::npos);
    EXPECT(text.find("(shown::waits)") != std::string::npos);
    EXPECT(text.find("(test_run_hpp_names_in_dumps::{lambda})") != std::string::npos);
    EXPECT(text.find("_ZN") == std::string::npos);
    sem.release(3);
    cxx_stop();
}

static int app(int argc, char **argv) { return argc == 1 && argv ? 7 : 1; }
TEST(hpp_main) {
    char name[] = "program", *words[] = {name, nullptr};
    EXPECT_EQ(weft::main(1, words, app), 7);
    weft_config config = {};
    config.workers = 1;
    EXPECT_EQ(weft::main(config, 1, words, app), 7);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
