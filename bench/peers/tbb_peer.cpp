// Peer of `weft compare`: oneTBB. Its tasks cannot wait for messages, so it has the rows of tasks alone.
#include "peer.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>

namespace tbb = oneapi::tbb;

// So many threads, the caller's included.
template <class Body> static void with_workers(unsigned workers, Body body) {
    tbb::global_control most(tbb::global_control::max_allowed_parallelism, workers);
    tbb::task_arena arena(static_cast<int>(workers));
    arena.execute(body);
}

struct alignas(64) count {
    uint64_t ended;
};
static count counts[64];

// A thread that waits runs the burst, and is held up until others have done their part of it. A longer one waits less often and needs more memory.
static void spawn_row(const peer_job *job) {
    static const uint64_t bursts[] = {PEER_BURST, 1024, UINT64_MAX};
    const uint64_t burst = bursts[job->form % 3];
    with_workers(job->workers, [&] {
        tbb::task_group group;
        uint64_t start = peer_now(), sum = 0;
        for (uint64_t i = 1; i <= job->n; i++) {
            group.run([] { counts[tbb::this_task_arena::current_thread_index()].ended++; });
            if (i % burst == 0) group.wait();
        }
        group.wait();
        uint64_t took = peer_now() - start;
        for (const count &each : counts)
            sum += each.ended;
        peer_tell(job->n, took, sum);
    });
}

static uint64_t fib(uint64_t n) {
    if (n < 2) return n;
    uint64_t one, other;
    tbb::parallel_invoke([&] { one = fib(n - 1); }, [&] { other = fib(n - 2); });
    return one + other;
}

// One for each call that is not a leaf.
static uint64_t fib_tasks(uint64_t n) { return n < 2 ? 0 : 1 + fib_tasks(n - 1) + fib_tasks(n - 2); }

static void fib_row(const peer_job *job) {
    with_workers(job->workers, [&] {
        uint64_t start = peer_now(), sum = fib(job->n), took = peer_now() - start;
        peer_tell(fib_tasks(job->n), took, sum);
    });
}

static uint64_t sky(uint64_t first, uint64_t leaves) {
    if (leaves == 1) return first;
    uint64_t children = std::min<uint64_t>(leaves, PEER_CHILDREN), sums[PEER_CHILDREN], sum = 0;
    tbb::task_group group;
    for (uint64_t i = 0; i < children; i++) {
        uint64_t below = peer_part(leaves, children, i);
        group.run([&sums, i, first, below] { sums[i] = sky(first, below); });
        first += below;
    }
    group.wait();
    for (uint64_t i = 0; i < children; i++)
        sum += sums[i];
    return sum;
}

static void skynet_row(const peer_job *job) {
    with_workers(job->workers, [&] {
        uint64_t start = peer_now(), sum = sky(0, job->n), took = peer_now() - start;
        peer_tell(job->n, took, sum);
    });
}

int main(int argc, char **argv) {
    static const peer_row rows[] = {{"spawn", spawn_row}, {"fib", fib_row}, {"skynet-join", skynet_row}, {nullptr, nullptr}};
    return peer_main(argc, argv, rows);
}
