/* The headers beside weft/weft.hpp: more.hpp, life.hpp, child.hpp, super.hpp. */
#include "cxx_helpers.hpp"

#include <weft/child.hpp>
#include <weft/life.hpp>
#include <weft/more.hpp>
#include <weft/super.hpp>

#include <sys/wait.h>

#include <csignal>
#include <shared_mutex>

using namespace std::chrono_literals;

template <class Function> static int code_of(Function function) {
    try {
        function();
        return 0;
    } catch (const weft::error &caught) {
        return caught.code();
    }
}

/* ---- more.hpp ------------------------------------------------------------------------------------------------------------------- */

static void rwlocks(void *) {
    weft::rwlock lock;
    int value = 0;
    {
        std::shared_lock<weft::rwlock> mine(lock), also(lock, std::try_to_lock); /* nobody writes: a second reader comes in */
        EXPECT(mine.owns_lock() && also.owns_lock());
        EXPECT(!lock.try_lock());
        EXPECT_EQ(lock.lock_code(1ms), WEFT_ETIMEDOUT);
    }
    {
        weft::scope scope;
        for (int i = 0; i < 10; i++)
            scope.spawn([&] {
                std::unique_lock<weft::rwlock> writes(lock);
                int before = value;
                weft::yield();
                value = before + 1;
            });
        scope.end();
    }
    std::unique_lock<weft::rwlock> writes(lock);
    EXPECT(!lock.try_lock_shared() && !lock.try_lock_shared_for(1ms));
    EXPECT_EQ(lock.lock_shared_code(1ms), WEFT_ETIMEDOUT);
    EXPECT_EQ(value, 10);
}

static void tickers(void *) {
    weft::ticker often(1ms), once(1ms, 0ns);
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        std::optional<uint64_t> moment = often.recv();
        EXPECT(moment && *moment > last);
        last = *moment;
    }
    EXPECT(once.recv());
    EXPECT(!once.recv()); /* it ticks once */
    int ticks = 0;
    while (ticks < 3)
        weft::select(weft::forever, weft::on_tick(often, [&](uint64_t) { ticks++; }), weft::on_message([](weft::message) {}));
    EXPECT_EQ(weft::try_select(weft::forever, weft::on_tick(once, [&](uint64_t) { ticks = -1; })), WEFT_ECLOSED);
    weft::ticker slow(1h);
    EXPECT_EQ(code_of([&] { slow.recv(1ms); }), WEFT_ETIMEDOUT);
}

static void bundles(void *) {
    std::atomic<int> left{0};
    auto waits = [&] {
        weft::defer leaves([&] { left++; });
        weft::sleep(1h);
    };
    weft::bundle first, second(WEFT_SCOPE_APART);
    second.spawn([] { throw weft::error(-3); }); /* fails alone */
    second.spawn([&] { left += 10; });
    {
        weft::bundle third;
        third.spawn(waits);
        weft::sleep(1ms);
    } /* cancelled, and waited for */
    EXPECT(left % 10 <= 1);
    left = 0;
    second.close();
    first.spawn([] { throw weft::error(-4); });
    EXPECT_EQ(first.try_close(), -4);
    weft::bundle moved(std::move(first));
    moved = weft::bundle();
    moved.spawn(waits);
}

TEST(parts_more) {
    cxx_each([] {
        EXPECT_EQ(cxx_run(rwlocks, nullptr), 0);
        EXPECT_EQ(cxx_run(tickers, nullptr), 0);
        EXPECT_EQ(cxx_run(bundles, nullptr), 0);
    });
}

/* ---- life.hpp ------------------------------------------------------------------------------------------------------------------- */

enum { DOWN = 1, EXIT, ASK };

static void reasons(void *) {
    weft::process exits([] { weft::exit_with(-7, std::string("why")); });
    weft::reason why = weft::join(exits.pid());
    EXPECT_EQ(why.code(), -7);
    EXPECT_EQ(why.kind(), WEFT_REASON_ERROR);
    EXPECT(why.data() == "why");
    EXPECT(why.text().find("-7") != std::string::npos);
    EXPECT_EQ(weft::try_join(exits.pid(), why), WEFT_ENOPROC);
    exits.detach();
}

static void monitors(void *) {
    weft::monitor killed([] { weft::sleep(1h); }, DOWN);
    EXPECT_EQ(weft_kill(killed.pid()), 0);
    weft::message told = weft::recv_tag(DOWN);
    const weft_notice *notice = weft::notice_of(told);
    EXPECT(notice && notice->pid == killed.pid() && notice->reference == killed.reference());
    EXPECT_EQ(notice->reason.code, WEFT_EKILLED);
    EXPECT(weft::text_of(notice->reason) == "killed");
    weft::process lives([] { weft::sleep(1h); });
    { weft::monitor gone(lives.pid(), DOWN); } /* not told of the end */
    weft::monitor stays(lives.pid(), DOWN), moved(std::move(stays));
    weft_kill(lives.pid());
    EXPECT_EQ(lives.join(), WEFT_EKILLED);
    EXPECT_EQ(weft::notice_of(weft::recv(10s))->reference, moved.reference());
    EXPECT_EQ(weft::try_recv(told, weft::at_once), WEFT_ETIMEDOUT);
}

static void links(void *) {
    weft::trap_exits(EXIT);
    weft_pid pid = weft::spawn_link([] { throw weft::error(-11); });
    weft::message told = weft::recv_tag(EXIT);
    EXPECT(weft::notice_of(told)->pid == pid);
    EXPECT_EQ(weft::notice_of(told)->reason.code, -11);
    EXPECT_EQ(code_of([&] { weft::link(pid); }), WEFT_ENOPROC);
    weft::process other([] { weft::sleep(1h); });
    weft::link(other.pid());
    weft::unlink(other.pid());
    other.cancel();
    EXPECT_EQ(other.join(), WEFT_ECANCELED);
    EXPECT_EQ(weft::try_recv(told, weft::at_once), WEFT_ETIMEDOUT);
}

static void names(void *) {
    weft::process doubles([] {
        weft::message request = weft::recv();
        request.reply(2 * request.as<int>());
        EXPECT(weft::recv().text() == "and go");
    });
    weft::register_name("doubler", doubles.pid());
    EXPECT_EQ(weft::whereis("doubler"), doubles.pid());
    EXPECT_EQ(code_of([&] { weft::register_name("doubler", weft_self()); }), WEFT_EEXIST);
    EXPECT_EQ(weft::call_name("doubler", ASK, 21).as<int>(), 42);
    weft::send_name("doubler", ASK, "and go");
    doubles.join();
    EXPECT_EQ(weft::whereis("doubler"), WEFT_NOBODY);
    EXPECT_EQ(weft::try_send_name("doubler", ASK, 1), WEFT_ENOPROC);
}

TEST(parts_life) {
    cxx_each([] {
        for (auto each : {reasons, monitors, links, names})
            EXPECT_EQ(cxx_run(each, nullptr), 0);
    });
}

/* ---- child.hpp ------------------------------------------------------------------------------------------------------------------- */

static void children(void *) {
    weft_child_options options = {};
    options.pipes = WEFT_CHILD_IN | WEFT_CHILD_OUT;
    weft::child cat({"cat"}, options);
    char text[8] = "";
    EXPECT_EQ(weft_fd_write_all(cat.in(), "hello", 5, nullptr, WEFT_FOREVER), 0);
    cat.close_in();
    EXPECT_EQ(weft_fd_read_all(cat.out(), text, 5, nullptr, WEFT_FOREVER), 0);
    EXPECT(std::string(text) == "hello");
    EXPECT_EQ(cat.wait(), 0);
    EXPECT(!cat.running());
    EXPECT_EQ(code_of([] { weft::child none({"/nowhere/at/all"}); }), WEFT_ENOENT);
    weft::child sleeps({"sleep", "1000"});
    int status = 0;
    EXPECT_EQ(sleeps.try_wait(status, 1ms), WEFT_ETIMEDOUT);
    EXPECT_EQ(sleeps.signal(SIGKILL), 0);
    status = sleeps.wait();
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    sleeps = weft::child({"sleep", "1000"});
    status = sleeps.end(10s);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    weft::child left({"sleep", "1000"}); /* ended with the object */
    pid_t pid = left.pid();
    left = weft::child();
    EXPECT(kill(pid, 0) != 0);
}
TEST(parts_children) {
    cxx_start("ring", 2, false);
    EXPECT_EQ(cxx_run(children, nullptr), 0);
    cxx_stop();
}

/* ---- super.hpp ------------------------------------------------------------------------------------------------------------------- */

enum { ADD = 1, FAIL, THROW };

class counter : public weft::server {
    int value = 0;

  public:
    int call(const weft_incoming &in) override {
        if (in.request.tag == THROW) throw weft::error(-5);
        value += *static_cast<const int *>(in.data);
        return weft::try_reply(in.request, value);
    }
    int cast(const weft_incoming &in) override { return in.request.tag == FAIL ? -6 : 0; }
};

static void servers(void *) {
    weft::process one([] { weft::serve(counter()); });
    EXPECT_EQ(weft::call(one.pid(), ADD, 3).as<int>(), 3);
    EXPECT_EQ(weft::call(one.pid(), ADD, 4).as<int>(), 7);
    weft::send(one.pid(), FAIL);
    EXPECT_EQ(one.join(), -6);
    weft::process other([] {
        counter object;
        weft_exit(weft::try_serve(object));
    });
    weft::message reply;
    EXPECT_EQ(weft::try_call(other.pid(), THROW, 0, reply), WEFT_ENOPROC);
    EXPECT_EQ(other.join(), -5);
}

static void supervisors(void *) {
    std::atomic<int> starts{0}, living{0};
    {
        weft::supervisor app("app", WEFT_ONE_FOR_ONE);
        weft_child_spec server = {};
        server.register_as = "counter";
        server.ready = true;
        server.restart = WEFT_TRANSIENT; /* started again only if the reason is not 0 */
        app.spec().intensity = 10;
        app.spec().period_ms = 60000;
        app.child("counter", [] { weft::serve(counter()); }, server);
        app.child("beside", [&] {
            starts++;
            living++;
            weft::defer leaves([&] { living--; });
            weft::sleep(1h);
        });
        app.start(10s);
        weft_pid before = weft_whereis("counter"), now;
        weft::message reply;
        EXPECT(before != WEFT_NOBODY);
        EXPECT_EQ(weft::try_call(before, THROW, 0, reply), WEFT_ENOPROC);
        while ((now = weft_whereis("counter")) == WEFT_NOBODY || now == before) /* it is there again */
            weft::sleep(1ms);
        EXPECT_EQ(weft::call(now, ADD, 5).as<int>(), 5);
        while (starts == 0)
            weft::yield();
    }
    EXPECT_EQ(starts, 1);
    EXPECT_EQ(living, 0);
    weft::supervisor failing("failing");
    weft_child_spec ready = {};
    ready.ready = true;
    failing.child("never", [] { weft_exit(-8); }, ready);
    EXPECT_EQ(failing.try_start(10s), -8);
}

TEST(parts_super) {
    cxx_each([] {
        EXPECT_EQ(cxx_run(servers, nullptr), 0);
        EXPECT_EQ(cxx_run(supervisors, nullptr), 0);
    });
}

int main(int argc, char **argv) { return test_main(argc, argv); }
