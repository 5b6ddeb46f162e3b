/* Objects of weft/weft.hpp that own something: in threads of the program's own, and in processes that are killed. */
#include "cxx_helpers.hpp"

#include <weft/weft.hpp>

#include <vector>

using namespace std::chrono_literals;

/* ---- in a thread ---------------------------------------------------------------------------------------------------------------- */

static void in_a_thread() {
    weft_config config = {};
    config.workers = 2;
    weft::runtime runtime(config);
    std::atomic<int> left{0};
    weft::channel<int> numbers(2);
    auto sends_and_waits = [&left, numbers](int number) mutable {
        weft::defer leaves([&] { left++; });
        numbers.send(number);
        weft::sleep(1h);
    };
    {
        weft::process first([=]() mutable { sends_and_waits(1); }, runtime.options()), second;
        EXPECT_EQ(numbers.recv().value(), 1);
        second = weft::process([=]() mutable { sends_and_waits(2); }, runtime.options());
        EXPECT_EQ(numbers.recv().value(), 2);
        second = std::move(first); /* the second ends here, the first with the block */
        EXPECT_EQ(left, 1);
        EXPECT(!first.joinable()); // NOLINT: what a moved one says is meant
        int reason = 1;
        EXPECT_EQ(second.try_join(reason, 1ms), WEFT_ETIMEDOUT);
    }
    EXPECT_EQ(left, 2);
    weft_pid alone = runtime.spawn([=]() mutable { numbers.send(3); });
    EXPECT_EQ(numbers.recv().value(), 3);
    EXPECT(alone != WEFT_NOBODY);
    weft::process late([] { weft::sleep(1h); }, runtime.options());
    EXPECT_EQ(runtime.stop(10s), 0);
    EXPECT(runtime.get() == nullptr); /* and `late` has ended with it */
}
TEST(owners_in_a_thread) {
    for (int i = 0; i < 10 / CXX_SLOW + 1; i++)
        in_a_thread();
}

/* ---- killed --------------------------------------------------------------------------------------------------------------------- */

struct counted {
    static std::atomic<int> living;
    counted() { living++; }
    counted(counted &&) noexcept { living++; }
    ~counted() { living--; }
};
std::atomic<int> counted::living;

struct stage {
    std::atomic<int> begun{0}, go{0}, used_late{0};
};
/* What a child uses of its owner's. */
struct memory {
    stage &at;
    std::atomic<int> users{0};
    explicit memory(stage &stage) : at(stage) {}
    ~memory() {
        if (users != 0) at.used_late++;
    }
};

/* The owner is killed while it computes, and then leaves the block in which its children use its memory, and in which a channel is full. */
static void killed_owner(stage &at, int children, int elements) {
    memory used(at);
    std::vector<weft::process> all;
    weft::channel<counted> full(static_cast<size_t>(elements));
    for (int i = 0; i < elements; i++)
        full.send(counted());
    for (int i = 0; i < children; i++)
        all.emplace_back([&] {
            used.users++;
            weft::defer leaves([&] {
                weft_sleep(WEFT_MILLISECOND); /* it is being unwound: this does wait */
                used.users--;
            });
            at.begun++;
            weft::shield shield;
            weft::sleep(1h);
        });
    while (at.begun < children)
        weft::yield();
    at.begun++;
    while (!at.go) {} /* no call of weft's: the kill waits */
}
static void killed_owners(void *) {
    for (int way = 0; way < 2; way++) {
        stage at;
        int children = way ? 0 : 150, elements = way ? 1000 : 0; /* more of each than a process may be told that it was killed */
        weft::process owner([&] { killed_owner(at, children, elements); });
        while (at.begun <= children)
            weft::yield();
        EXPECT_EQ(weft_kill(owner.pid()), 0);
        at.go = 1;
        EXPECT_EQ(owner.join(), WEFT_EKILLED);
        EXPECT_EQ(at.used_late, 0);
        EXPECT_EQ(counted::living, 0);
    }
}
TEST(owners_that_are_killed) {
    cxx_start("ring", 2, false);
    EXPECT_EQ(cxx_run(killed_owners, nullptr), 0);
    cxx_stop();
    cxx_start("deque", 2, false);
    EXPECT_EQ(cxx_run(killed_owners, nullptr), 0);
    cxx_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
