/* weft/weft.hpp without exceptions (this file is compiled with -fno-exceptions): everything can be done with codes. */
#include "cxx_helpers.hpp"

#include <weft/more.hpp>

#if defined(__cpp_exceptions)
#error "cmake/tests.cmake compiles this without exceptions"
#endif

#include <mutex>

using namespace std::chrono_literals;

/* ---- what waits, in a process that is cancelled and in one that is not ------------------------------------------------------------ */

static void processes(void *) {
    weft_pid pid = WEFT_NOBODY;
    int reason = 1, sum = 0;
    weft::process adds;
    EXPECT_EQ(adds.try_start([&] { sum = 7; }), 0);
    EXPECT_EQ(adds.try_join(reason), 0);
    EXPECT_EQ(reason + sum, 7);
    EXPECT_EQ(adds.try_join(reason), WEFT_ENOPROC);
    EXPECT_EQ(weft::try_spawn([] {}, pid), 0);
    weft::scope scope;
    EXPECT_EQ(scope.try_spawn([] { weft_exit(-9); }, pid), 0);
    EXPECT_EQ(scope.try_end(), -9);
    weft::process ends; /* with its owner */
    EXPECT_EQ(ends.try_start([] { EXPECT_EQ(weft::try_sleep(1h), WEFT_ECANCELED); }), 0);
}

static void messages(void *) {
    weft_pid self = weft_self();
    weft::process partner;
    EXPECT_EQ(partner.try_start([self] {
        weft::message request;
        int number = 0;
        char small = 0;
        EXPECT_EQ(weft::try_recv(request), 0);
        EXPECT_EQ(request.try_as(small), WEFT_EMSGSIZE);
        EXPECT_EQ(request.try_as(number), 0);
        EXPECT_EQ(request.try_reply(number + 1), 0);
        EXPECT_EQ(weft::try_send(self, 5, std::string("text")), 0);
    }),
              0);
    weft::message got;
    int number = 0;
    EXPECT_EQ(weft::try_call(partner.pid(), 1, 41, got), 0);
    EXPECT_EQ(got.try_as(number), 0);
    EXPECT_EQ(number, 42);
    EXPECT_EQ(weft::try_recv_tag(5, got), 0);
    EXPECT(got.text() == "text");
    EXPECT_EQ(weft::try_select(1ms, weft::on_message([](weft::message) {})), WEFT_ETIMEDOUT);
}

/* A loop over a channel ends when the process is cancelled, and a lock is waited for all the same: there is nothing to tell it by. */
static void cancelled(void *) {
    weft::channel<std::string> words(2);
    weft::mutex mutex;
    weft::rwlock shared;
    weft::semaphore none(0);
    weft::process reads;
    int read = 0;
    std::lock_guard<weft::mutex> held(mutex);
    std::unique_lock<weft::rwlock> writes(shared);
    EXPECT_EQ(words.try_send("first"), 0);
    EXPECT_EQ(reads.try_start([&, words]() mutable {
        for (auto &word : words)
            read += word == "first" ? 1 : 100;
        EXPECT(weft_cancelled());
        std::lock_guard<weft::mutex> guard(mutex);
        std::shared_lock<weft::rwlock> reading(shared);
        EXPECT(weft_cancelled());
        EXPECT_EQ(none.acquire_code(), WEFT_ECANCELED); /* the shield has ended with the call */
        read += 10;
    }),
              0);
    while (words.size() > 0)
        weft::yield();
    reads.cancel();
    EXPECT_EQ(weft::try_sleep(1ms), 0);
    mutex.unlock();
    writes.unlock();
    int reason = 1;
    EXPECT_EQ(reads.try_join(reason), 0);
    EXPECT_EQ(reason, 0);
    EXPECT_EQ(read, 11);
    mutex.lock(); /* for the guard */
}

static void locks(void *) {
    weft::semaphore few(1);
    weft::mutex mutex;
    weft::condition changed;
    weft::barrier two(2);
    weft::limiter limiter(1, 1h, 1);
    std::unique_lock<weft::mutex> held(mutex);
    EXPECT_EQ(few.acquire_code(), 0);
    EXPECT_EQ(few.acquire_code(1, 1ms), WEFT_ETIMEDOUT);
    EXPECT_EQ(changed.try_wait(held, 1ms), WEFT_ETIMEDOUT);
    EXPECT_EQ(changed.try_wait_until(mutex, [] { return false; }, 1ms), WEFT_ETIMEDOUT);
    EXPECT_EQ(two.try_wait(1ms), WEFT_ETIMEDOUT);
    EXPECT_EQ(limiter.take_code(), 0);
    EXPECT_EQ(limiter.take_code(1, 1ms), WEFT_ETIMEDOUT);
}

static void (*const all[])(void *) = {processes, messages, cancelled, locks};
TEST(codes_for_everything) {
    cxx_each([] {
        for (auto each : all)
            EXPECT_EQ(cxx_run(each, nullptr), 0);
    });
}

/* What would throw says so, and which call it was. */
static void fails() {
    cxx_start("ring", 1, false);
    cxx_run([](void *) { weft::recv(1ms); }, nullptr);
}
TEST(codes_or_an_abort) { EXPECT_ABORT(fails, "weft_recv: the deadline has passed", "returns the code"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
