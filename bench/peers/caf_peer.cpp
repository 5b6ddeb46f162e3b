// Peer of `weft compare`: the C++ Actor Framework, actors that are classes (its cheapest form).
#include "peer.h"

#include <caf/all.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

using caf::actor;
using caf::actor_config;
using caf::behavior;
using caf::event_based_actor;

// An actor system of so many workers, and a scoped actor that stands for the measuring thread.
template <class Body> static void with_workers(unsigned workers, Body body) {
    caf::actor_system_config config;
    config.set("scheduler.max-threads", static_cast<size_t>(workers));
    caf::actor_system system{config};
    caf::scoped_actor self{system};
    body(system, self);
    printf("\n");
    fflush(stdout);
    _exit(0); // without taking down those that wait
}

static uint64_t next_sum(caf::scoped_actor &self) {
    uint64_t got = 0;
    self->receive([&](uint64_t value) { got = value; });
    return got;
}

// ---- births

static std::atomic<uint64_t> ended;

// The last of a burst calls its spawner, whose turn it is then.
struct nothing : event_based_actor {
    actor spawner;
    explicit nothing(actor_config &config, actor last_calls) : event_based_actor(config), spawner(std::move(last_calls)) {}
    behavior make_behavior() override {
        ended.fetch_add(1, std::memory_order_relaxed);
        if (spawner) send(spawner, caf::ok_atom::value);
        return {}; // no behaviour: it ends
    }
};

struct spawner : event_based_actor {
    uint64_t left, total;
    actor umpire;
    spawner(actor_config &config, uint64_t count, actor to) : event_based_actor(config), left(count), total(count), umpire(std::move(to)) {}
    void burst() {
        uint64_t count = std::min<uint64_t>(left, PEER_BURST);
        left -= count;
        while (count-- > 0)
            spawn<nothing>(count == 0 ? actor{this} : actor{});
    }
    behavior make_behavior() override {
        burst();
        return {[this](caf::ok_atom) {
            if (left > 0) burst();
            else if (ended.load(std::memory_order_relaxed) < total) delayed_send(this, std::chrono::microseconds(100), caf::ok_atom::value);
            else send(umpire, ended.load()), quit();
        }};
    }
};

static void spawn_row(const peer_job *job) {
    with_workers(job->workers, [job](caf::actor_system &system, caf::scoped_actor &self) {
        uint64_t start = peer_now();
        system.spawn<spawner>(job->n, actor{self});
        uint64_t sum = next_sum(self);
        peer_tell(job->n, peer_now() - start, sum);
    });
}

// ---- messages

struct pong : event_based_actor {
    explicit pong(actor_config &config) : event_based_actor(config) {}
    behavior make_behavior() override {
        return {[](uint64_t value) { return value; }}; // an answer to the sender
    }
};

struct ping : event_based_actor {
    uint64_t left, sum = 0;
    actor other, umpire;
    ping(actor_config &config, uint64_t trips, actor to) : event_based_actor(config), left(trips), umpire(std::move(to)) {}
    behavior make_behavior() override {
        other = spawn<pong>();
        send(other, left);
        return {[this](uint64_t value) {
            sum += value;
            if (--left > 0) send(other, left);
            else send(umpire, sum), quit();
        }};
    }
};

static void some_pairs(const peer_job *job, uint64_t most) {
    with_workers(job->workers, [=](caf::actor_system &system, caf::scoped_actor &self) {
        uint64_t count = std::min(job->n, most), sum = 0, start = peer_now();
        for (uint64_t i = 0; i < count; i++)
            system.spawn<ping>(peer_part(job->n, count, i), actor{self});
        for (uint64_t i = 0; i < count; i++)
            sum += next_sum(self);
        peer_tell(job->n, peer_now() - start, sum);
    });
}
static void pingpong_row(const peer_job *job) { some_pairs(job, 1); }
static void pairs_row(const peer_job *job) { some_pairs(job, PEER_PAIRS); }

// The value says how many hops are left, the one just made included. The first is told who comes after it.
struct member : event_based_actor {
    actor next, umpire;
    uint64_t number;
    member(actor_config &config, actor after, actor to, uint64_t i)
        : event_based_actor(config), next(std::move(after)), umpire(std::move(to)), number(i) {}
    behavior make_behavior() override {
        return {[this](uint64_t left) {
                    if (left > 1) send(next, left - 1);
                    else send(umpire, number + 1);
                },
                [this](const actor &after) { next = after; }};
    }
};

static void round_of(const peer_job *job, uint64_t members, uint64_t most) {
    with_workers(job->workers, [=](caf::actor_system &system, caf::scoped_actor &self) {
        uint64_t tokens = std::min(job->n, most), places = 0;
        std::vector<actor> at(members);
        at[0] = system.spawn<member>(actor{}, actor{self}, 0u);
        for (uint64_t i = members - 1; i > 0; i--)
            at[i] = system.spawn<member>(at[(i + 1) % members], actor{self}, i);
        self->send(at[0], at[1 % members]);
        self->send(at[1 % members], members); // a lap before the clock: every member has run then, and waits
        next_sum(self);
        uint64_t start = peer_now();
        for (uint64_t t = 0; t < tokens; t++)
            self->send(at[(t + 1) % members], peer_part(job->n, tokens, t));
        for (uint64_t t = 0; t < tokens; t++)
            places += next_sum(self);
        peer_tell(job->n, peer_now() - start, places);
    });
}
static void ring_row(const peer_job *job) { round_of(job, job->size, 1); }
static void flight_row(const peer_job *job) { round_of(job, PEER_FLIGHT_MEMBERS, job->size); }

// It has no limit on a mailbox: a sender sends a little and then has its turn again.
struct sender : event_based_actor {
    uint64_t left;
    actor to;
    sender(actor_config &config, uint64_t count, actor receiver) : event_based_actor(config), left(count), to(std::move(receiver)) {}
    void some() {
        for (uint64_t i = 0; i < 16 && left > 0; i++, left--)
            send(to, left);
        if (left > 0) send(this, caf::ok_atom::value);
        else quit();
    }
    behavior make_behavior() override {
        some();
        return {[this](caf::ok_atom) { some(); }};
    }
};

struct receiver : event_based_actor {
    uint64_t left, sum = 0;
    actor umpire;
    receiver(actor_config &config, uint64_t count, actor to) : event_based_actor(config), left(count), umpire(std::move(to)) {}
    behavior make_behavior() override {
        return {[this](uint64_t value) {
            sum += value;
            if (--left == 0) send(umpire, sum);
        }};
    }
};

static void fanin_row(const peer_job *job) {
    with_workers(job->workers, [job](caf::actor_system &system, caf::scoped_actor &self) {
        auto to = system.spawn<receiver>(job->n, actor{self});
        uint64_t start = peer_now();
        for (uint64_t i = 0; i < PEER_SENDERS; i++)
            system.spawn<sender>(peer_part(job->n, PEER_SENDERS, i), to);
        uint64_t sum = next_sum(self);
        peer_tell(job->n, peer_now() - start, sum);
    });
}

struct node : event_based_actor {
    actor up;
    uint64_t first, leaves, waits = 0, sum = 0;
    node(actor_config &config, actor parent, uint64_t from, uint64_t count)
        : event_based_actor(config), up(std::move(parent)), first(from), leaves(count) {}
    behavior make_behavior() override {
        if (leaves == 1) {
            send(up, first);
            return {};
        }
        waits = std::min<uint64_t>(leaves, PEER_CHILDREN);
        for (uint64_t i = 0, children = waits; i < children; i++) {
            uint64_t below = peer_part(leaves, children, i);
            spawn<node>(actor{this}, first, below);
            first += below;
        }
        return {[this](uint64_t value) {
            sum += value;
            if (--waits == 0) send(up, sum), quit();
        }};
    }
};

static void skynet_row(const peer_job *job) {
    with_workers(job->workers, [job](caf::actor_system &system, caf::scoped_actor &self) {
        uint64_t start = peer_now();
        system.spawn<node>(actor{self}, uint64_t{0}, job->n);
        uint64_t sum = next_sum(self);
        peer_tell(job->n, peer_now() - start, sum);
    });
}

// ---- waiting

struct sitter : event_based_actor {
    explicit sitter(actor_config &config) : event_based_actor(config) {}
    behavior make_behavior() override {
        return {[](uint64_t) { ended.fetch_add(1, std::memory_order_relaxed); }};
    }
};

static void parked_row(const peer_job *job) {
    with_workers(job->workers, [job](caf::actor_system &system, caf::scoped_actor &self) {
        std::vector<actor> all;
        all.reserve(job->n);
        double before = peer_rss();
        uint64_t start = peer_now();
        for (uint64_t i = 0; i < job->n; i++) {
            all.push_back(system.spawn<sitter>());
            self->send(all.back(), i);
        }
        while (ended.load(std::memory_order_relaxed) < job->n)
            usleep(1000);
        peer_tell(job->n, peer_now() - start, ended.load());
        printf(" bytes_each=%.1f", (peer_rss() - before) / (double)job->n);
    });
}

int main(int argc, char **argv) {
    static const peer_row rows[] = {{"spawn", spawn_row}, {"pingpong", pingpong_row}, {"pairs", pairs_row},   {"ring", ring_row},
                                    {"flight", flight_row}, {"fanin", fanin_row},     {"skynet", skynet_row}, {"parked", parked_row},
                                    {nullptr, nullptr}};
    return peer_main(argc, argv, rows);
}
