/* A process that is ended by force (weft_kill, a link, a runtime that stops) while it makes and destroys objects of the headers, or calls their functions, again and
 * again: it alone ends, unwound, and no destructor of theirs is where that begins. */
#include "cxx_helpers.hpp"

#include <weft/child.hpp>
#include <weft/life.hpp>
#include <weft/more.hpp>
#include <weft/super.hpp>

#include <unistd.h>

/* ---- what it does for ever ----------------------------------------------------------------------------------------------------- */

struct things {
    weft::process other;
    weft::bundle bundle;
    weft::scope scope;
    things() : other([] { weft::sleep(weft::forever); }) {}
};
static weft::mutex mutex;
static weft::rwlock rwlock;
static weft::condition condition;
static weft::semaphore semaphore(0);

static void does_blocking(things &) {
    weft::blocking section;
}
static void does_blocking_that_lasts(things &) {
    weft::blocking section;
    usleep(100);
}
static void does_blocking_long(things &) {
    weft::blocking_long section;
}
static void does_blocking_nested(things &) {
    weft::blocking section;
    weft::blocking_long inner;
}
static void does_shield(things &) {
    weft::shield shield;
}
static void does_nopreempt(things &) {
    weft::nopreempt passage;
}
static void does_lock(things &) { std::lock_guard<weft::mutex> held(mutex); }
static void does_share(things &) { std::shared_lock<weft::rwlock> held(rwlock); }
static void does_monitor(things &with) { weft::monitor monitor(with.other.pid(), 1); }
static void does_process(things &) {
    weft::process brief([] {});
}
static void does_detach(things &) {
    weft::process brief([] {});
    brief.detach();
}
static void does_detach_none(things &) { weft::process().detach(); }
static void does_bundle(things &) {
    weft::bundle bundle;
    bundle.spawn([] {});
}
static void does_scope(things &) {
    weft::scope scope;
    scope.spawn([] {});
}
static void does_channel(things &) {
    weft::channel<std::string> made(1);
    made.try_send("text", weft::at_once);
}
static void does_cancel(things &with) { with.other.cancel(); }
static void does_unlink(things &with) { weft::unlink(with.other.pid()); }
static void does_notify_one(things &) { condition.notify_one(); }
static void does_notify_all(things &) { condition.notify_all(); }
static void does_close(things &) {
    static weft::channel<int> closed(1);
    closed.close();
}
static void does_release(things &) { semaphore.release(0); }
static void does_cancel_scope(things &with) { with.scope.cancel(); }
static void does_cancel_bundle(things &with) { with.bundle.cancel(); }
static void does_signal(things &) { weft::child().signal(0); }

static const struct deed {
    const char *name;
    void (*once)(things &);
    bool forced; /* it is also ended by a runtime that stops: only by calls that may wait */
} deeds[] = {
    {"blocking", does_blocking, true},
    {"blocking that lasts", does_blocking_that_lasts, true},
    {"blocking_long", does_blocking_long, true},
    {"blocking, nested", does_blocking_nested, true},
    {"shield", does_shield, false},
    {"nopreempt", does_nopreempt, false},
    {"lock_guard", does_lock, true},
    {"shared_lock", does_share, true},
    {"monitor", does_monitor, false},
    {"process", does_process, false},
    {"detach", does_detach, false},
    {"detach of none", does_detach_none, false},
    {"bundle", does_bundle, false},
    {"scope", does_scope, false},
    {"channel", does_channel, false},
    {"cancel", does_cancel, false},
    {"unlink", does_unlink, false},
    {"notify_one", does_notify_one, false},
    {"notify_all", does_notify_all, false},
    {"close", does_close, false},
    {"release", does_release, false},
    {"cancel of a scope", does_cancel_scope, false},
    {"cancel of a bundle", does_cancel_bundle, false},
    {"signal", does_signal, false},
};

/* ---- the process --------------------------------------------------------------------------------------------------------------- */

static std::atomic<bool> begun, unwound;
struct marker {
    ~marker() { unwound = true; }
};
static void goes_on(const deed &deed) {
    marker mark;
    things with;
    begun = true;
    for (;;)
        try {
            deed.once(with);
        } catch (const weft::error &) { /* it was asked, and goes on all the same */
        }
}
static weft_stackful_options joinable() {
    weft_stackful_options options = {};
    options.runtime = cxx_runtime;
    options.flags = WEFT_SPAWN_JOINABLE;
    return options;
}
static void await_begun() {
    while (!begun)
        usleep(100);
}
/* It is expected to end with that reason, and with its frames unwound. */
static void await_end(const deed &deed, weft_pid pid, int expected) {
    int reason = 1;
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    if (reason != expected || !unwound) test_fail(__FILE__, __LINE__, "%s: it has ended with %d, unwound %d", deed.name, reason, unwound.load());
}
static void start_over() { begun = unwound = false; }

static void kill_each() {
    for (const deed &deed : deeds) {
        std::printf("%s\n", deed.name);
        start_over();
        weft_pid pid = weft::spawn([&] { goes_on(deed); }, joinable());
        await_begun();
        EXPECT_EQ(weft_kill(pid), 0);
        await_end(deed, pid, WEFT_EKILLED);
    }
}
TEST_WITHIN(guarded_killed_in_objects, 300) {
    cxx_start("ring", 2, false);
    kill_each();
    cxx_stop();
    cxx_start("deque", 1, false);
    kill_each();
    cxx_stop();
}

static void link_each() {
    for (const deed &deed : deeds) {
        std::printf("%s\n", deed.name);
        start_over();
        weft_pid pid = weft::spawn([&] {
            weft::spawn_link([] {
                while (!begun)
                    weft::yield();
                throw weft::error(WEFT_EIO);
            });
            goes_on(deed);
        }, joinable());
        await_end(deed, pid, WEFT_EIO);
    }
}
TEST_WITHIN(guarded_ended_by_a_link_in_objects, 300) {
    cxx_start("ring", 2, false);
    link_each();
    cxx_stop();
}

TEST_WITHIN(guarded_forced_in_objects, 300) {
    for (const deed &deed : deeds) {
        if (!deed.forced) continue;
        std::printf("%s\n", deed.name);
        start_over();
        weft_config config = {};
        config.workers = 2;
        config.grace_ms = 20;
        EXPECT_EQ(weft_start(&config, &cxx_runtime), 0);
        weft_stackful_options options = joinable();
        options.flags = 0;
        weft::spawn([&] { goes_on(deed); }, options);
        await_begun();
        cxx_stop();
        EXPECT(unwound);
    }
}

/* ---- calls and what gives something back are counted apart ------------------------------------------------------------------------- */

static std::string said;
struct gives_back {
    ~gives_back() {
        semaphore.release(0);
        said += "g";
    }
};
static void calls_and_gives(void *) {
    weft::defer last([] { said += "o"; });
    EXPECT_EQ(weft_kill(weft_self()), 0);
    for (unsigned i = 0; i < 100; i++)
        weft_alive(WEFT_NOBODY); /* it is spared */
    { gives_back guard; }
    weft_alive(WEFT_NOBODY);
    said += "never";
}
TEST(guarded_destructor_that_gives_back_after_many_calls) {
    cxx_start("ring", 1, false);
    said.clear();
    EXPECT_EQ(cxx_run(calls_and_gives, NULL), WEFT_EKILLED);
    EXPECT(said == "go");
    cxx_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
