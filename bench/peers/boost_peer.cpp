// Peer of `weft compare`: Boost.Fiber. One worker is its round robin; more of them steal from each other, and sleep when there is nothing to do.
#include "peer.h"

#include <boost/fiber/all.hpp>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace fibers = boost::fibers;

static constexpr std::size_t STACK = 16 * 1024, BOX = 2, FANIN_BOX = 1024;
using mailbox = fibers::buffered_channel<uint64_t>;

// Runs the body in a fiber, with as many threads beside this one as there are workers more. A worker without work sleeps, or spins in the second form.
template <class Body> static void with_workers(const peer_job *job, Body body) {
    const unsigned workers = job->workers;
    const bool sleeps = job->form == 0;
    if (workers == 1) {
        fibers::fiber(fibers::launch::post, std::allocator_arg, fibers::fixedsize_stack(256 * 1024), body).join();
        return;
    }
    static bool over;
    static fibers::mutex mutex;
    static fibers::condition_variable_any ended;
    for (unsigned i = 1; i < workers; i++)
        std::thread([workers, sleeps] {
            fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers, sleeps);
            std::unique_lock<fibers::mutex> lock(mutex);
            ended.wait(lock, [] { return over; });
        }).detach();
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers, sleeps);
    fibers::fiber(fibers::launch::post, std::allocator_arg, fibers::fixedsize_stack(256 * 1024), body).join();
}

template <class Body> static void begin(Body &&body) {
    fibers::fiber(fibers::launch::post, std::allocator_arg, fibers::fixedsize_stack(STACK), std::forward<Body>(body)).detach();
}

static void yield_row(const peer_job *job) {
    with_workers(job, [job] {
        auto turn = [](uint64_t count, uint64_t *had) {
            for (; *had < count; ++*had)
                boost::this_fiber::yield();
        };
        uint64_t had[2] = {0, 0}, start = peer_now();
        fibers::fiber one(fibers::launch::post, turn, job->n / 2, &had[0]), other(fibers::launch::post, turn, job->n - job->n / 2, &had[1]);
        one.join();
        other.join();
        peer_tell(job->n, peer_now() - start, had[0] + had[1]);
    });
}

// One worker takes its stacks from a pool, which is not for several threads.
template <class Stack> static void spawn_all(const peer_job *job, Stack stack) {
    std::atomic<uint64_t> ended{0};
    uint64_t start = peer_now();
    for (uint64_t i = 1; i <= job->n; i++) {
        fibers::fiber(fibers::launch::post, std::allocator_arg, stack, [&ended] { ended.fetch_add(1, std::memory_order_relaxed); }).detach();
        if (i % PEER_BURST == 0) boost::this_fiber::yield();
    }
    while (ended.load(std::memory_order_relaxed) < job->n)
        boost::this_fiber::yield();
    peer_tell(job->n, peer_now() - start, ended.load());
}

static void spawn_row(const peer_job *job) {
    with_workers(job, [job] {
        if (job->workers == 1) spawn_all(job, fibers::pooled_fixedsize_stack(STACK));
        else spawn_all(job, fibers::fixedsize_stack(STACK));
    });
}

static uint64_t ping(uint64_t trips) {
    auto there = std::make_shared<mailbox>(BOX), back = std::make_shared<mailbox>(BOX);
    begin([there, back] {
        uint64_t value;
        while (there->pop(value) == fibers::channel_op_status::success)
            back->push(value);
    });
    uint64_t sum = 0, value;
    for (uint64_t left = trips; left > 0; left--) {
        there->push(left);
        back->pop(value);
        sum += value;
    }
    there->close();
    return sum;
}

static void some_pairs(const peer_job *job, uint64_t most) {
    with_workers(job, [job, most] {
        uint64_t count = job->n < most ? job->n : most, sum = 0, value;
        mailbox sums(2048);
        uint64_t start = peer_now();
        for (uint64_t i = 0; i < count; i++)
            begin([&sums, trips = peer_part(job->n, count, i)] { sums.push(ping(trips)); });
        for (uint64_t i = 0; i < count; i++) {
            sums.pop(value);
            sum += value;
        }
        peer_tell(job->n, peer_now() - start, sum);
    });
}
static void pingpong_row(const peer_job *job) { some_pairs(job, 1); }
static void pairs_row(const peer_job *job) { some_pairs(job, PEER_PAIRS); }

static void ring_row(const peer_job *job) {
    with_workers(job, [job] {
        std::vector<std::unique_ptr<mailbox>> at(job->size);
        mailbox arrived(BOX);
        for (auto &each : at)
            each = std::make_unique<mailbox>(BOX);
        for (uint64_t i = 0; i < job->size; i++)
            begin([&at, &arrived, i] {
                mailbox &mine = *at[i], &next = *at[(i + 1) % at.size()];
                uint64_t left;
                while (mine.pop(left) == fibers::channel_op_status::success)
                    if (left > 1) next.push(left - 1);
                    else arrived.push(i + 1);
            });
        uint64_t place;
        at[1 % job->size]->push(job->size); // a lap before the clock: every member has run then, and waits
        arrived.pop(place);
        uint64_t start = peer_now();
        at[1 % job->size]->push(job->n);
        arrived.pop(place);
        peer_tell(job->n, peer_now() - start, place);
        printf("\n");
        fflush(stdout);
        _exit(0); // the members still wait
    });
}

static void fanin_row(const peer_job *job) {
    with_workers(job, [job] {
        mailbox box(FANIN_BOX);
        uint64_t sum = 0, value, start = peer_now();
        for (uint64_t i = 0; i < PEER_SENDERS; i++)
            begin([&box, count = peer_part(job->n, PEER_SENDERS, i)] {
                for (uint64_t left = count; left > 0; left--)
                    box.push(left);
            });
        for (uint64_t i = 0; i < job->n; i++) {
            box.pop(value);
            sum += value;
        }
        peer_tell(job->n, peer_now() - start, sum);
    });
}

static void parked_row(const peer_job *job) {
    with_workers(job, [job] {
        static std::atomic<uint64_t> had{0};
        double before = peer_rss();
        uint64_t start = peer_now();
        for (uint64_t i = 0; i < job->n; i++) {
            auto *box = new mailbox(BOX);
            begin([box] {
                uint64_t value;
                box->pop(value);
                had.fetch_add(1, std::memory_order_relaxed);
                box->pop(value);
            });
            box->push(i);
            if (i % PEER_BURST == 0) boost::this_fiber::yield();
        }
        while (had.load(std::memory_order_relaxed) < job->n)
            boost::this_fiber::yield();
        peer_tell(job->n, peer_now() - start, had.load());
        printf(" bytes_each=%.1f\n", (peer_rss() - before) / (double)job->n);
        fflush(stdout);
        _exit(0); // they still wait
    });
}

static void sleepers_row(const peer_job *job) {
    with_workers(job, [job] {
        static std::atomic<uint64_t> woken{0};
        std::minstd_rand random(1);
        uint64_t cpu = peer_cpu(), start = peer_now();
        for (uint64_t i = 0; i < job->n; i++) {
            begin([pause = std::chrono::microseconds(random() % 1000000)] {
                boost::this_fiber::sleep_for(pause);
                woken.fetch_add(1, std::memory_order_relaxed);
            });
            if (i % PEER_BURST == 0) boost::this_fiber::yield();
        }
        while (woken.load(std::memory_order_relaxed) < job->n)
            boost::this_fiber::sleep_for(std::chrono::milliseconds(1));
        uint64_t took = peer_now() - start;
        peer_tell(job->n, took, woken.load());
        printf(" late_ms=%.3f cpu_s=%.4f", (double)took / 1e6 - 1000, (double)(peer_cpu() - cpu) / 1e9);
    });
}

int main(int argc, char **argv) {
    static const peer_row rows[] = {{"yield", yield_row}, {"spawn", spawn_row}, {"pingpong", pingpong_row}, {"pairs", pairs_row},
                                    {"ring", ring_row},   {"fanin", fanin_row}, {"parked", parked_row},     {"sleepers", sleepers_row},
                                    {nullptr, nullptr}};
    return peer_main(argc, argv, rows);
}
