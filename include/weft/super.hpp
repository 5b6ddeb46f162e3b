/* Supervisors and servers for C++17 (weft/super.h, weft/server.h): children that are function objects, servers that are objects.
 *
 *     class counter : public weft::server {
 *         long value = 0;
 *         int call(const weft_incoming &in) override { return weft::try_reply(in.request, ++value); }
 *     };
 *     weft::supervisor app("app", WEFT_REST_FOR_ONE);
 *     app.child("counter", [] { weft::serve(counter()); });
 *     app.child("clients", [] { ... });
 *     app.start();                                              when it goes, all are stopped */
#ifndef WEFT_SUPER_HPP
#define WEFT_SUPER_HPP

#include <weft/weft.hpp>

#include <functional>
#include <vector>

WEFT_HPP_BEGIN

/* ---- servers ---- */

/* What a handler returns: 0, and the server goes on; WEFT_SERVER_STOP; or an error, which is then its reason, as is a weft::error that it throws. */
class server {
  public:
    virtual ~server() = default;
    virtual int call(const weft_incoming &in) { return weft_reply(in.request, nullptr, 0); } /* a request */
    virtual int cast(const weft_incoming &) { return 0; }                                    /* a message */
    virtual int info(const weft_incoming &) { return 0; }                                    /* a notice */
    virtual int idle(weft_server *) { return 0; } /* nothing has come for the time of weft_server_idle */
};

namespace detail {
template <class Handler> int handled(Handler handler) {
    int answer = 0;
    auto call = [&] { answer = handler(); };
    int code = detail::code_of(call);
    return code ? code : answer;
}
/* The state of the C server: where the object is. */
inline server &served(void *state) noexcept { return **static_cast<server **>(state); }
} /* namespace detail */

/* The calling process becomes the server. Where a supervisor has started the process, it is ready from here on (weft_ready). try_serve returns the reason when the
 * server has ended; serve returns if that is 0 and else throws it, so that it becomes the reason of the process. */
inline int try_serve(server &&object) {
    static const weft_server_spec spec = [] {
        weft_server_spec made = {};
        made.name = "server";
        made.state_size = sizeof(server *);
        made.init = [](void *state, void *arg) { return *static_cast<server **>(state) = static_cast<server *>(arg), 0; };
        made.call = [](void *state, const weft_incoming *in) { return detail::handled([&] { return detail::served(state).call(*in); }); };
        made.cast = [](void *state, const weft_incoming *in) { return detail::handled([&] { return detail::served(state).cast(*in); }); };
        made.info = [](void *state, const weft_incoming *in) { return detail::handled([&] { return detail::served(state).info(*in); }); };
        made.idle = [](void *state, weft_server *own) { return detail::handled([&] { return detail::served(state).idle(own); }); };
        return made;
    }();
    return weft_server_run(&spec, &object);
}
inline int try_serve(server &object) { return weft::try_serve(std::move(object)); }
inline void serve(server &&object) {
    if (int reason = weft::try_serve(std::move(object))) detail::fail(reason, "weft_server_run");
}
inline void serve(server &object) { weft::serve(std::move(object)); }

/* ---- supervisors ---- */

/* Children are added first, then it is started; it stops them all when it goes. */
class supervisor {
    struct kept {
        std::string id, name;
        std::function<void()> function; /* called each time that the child is started */
    };
    std::string name_;
    weft_super_spec spec_ = {};
    std::vector<std::unique_ptr<kept>> functions_;
    std::vector<weft_child_spec> children_;
    weft_pid pid_ = WEFT_NOBODY;

    static void run(void *child) {
        int code = detail::code_of(static_cast<kept *>(child)->function);
        if (code) weft_exit(code);
    }
    void end() noexcept {
        int reason = 0;
        if (pid_ == WEFT_NOBODY) return;
        bool in_order = weft_end(std::exchange(pid_, WEFT_NOBODY), &reason) == 0 && reason != WEFT_EKILLED;
        for (auto &each : functions_)
            if (!in_order) (void)each.release(); /* its children end when they are told: what they run stays for that long, and is lost */
    }

  public:
    explicit supervisor(std::string name, weft_strategy strategy = WEFT_ONE_FOR_ONE) : name_(std::move(name)) { spec_.strategy = strategy; }
    supervisor(const supervisor &) = delete;
    supervisor &operator=(const supervisor &) = delete;
    ~supervisor() { end(); }

    /* For what is seldom set, before the start: intensity, pauses, the pattern. */
    weft_super_spec &spec() noexcept { return spec_; }
    /* One more child; `options` has whatever else of weft_child_spec it needs. A weft::error that leaves the function is the child's reason. */
    void child(std::string id, std::function<void()> function, weft_child_spec options = {}) {
        std::string name = options.register_as ? options.register_as : "";
        functions_.push_back(std::make_unique<kept>(kept{std::move(id), std::move(name), std::move(function)}));
        kept *one = functions_.back().get();
        options.id = one->id.c_str();
        options.entry = run;
        options.arg = one;
        if (options.register_as) options.register_as = one->name.c_str();
        children_.push_back(options);
    }
    /* A child that is something else: a supervisor, a step process, a function of C. What it points to outlives the start. */
    void child(const weft_child_spec &child) { children_.push_back(child); }

    /* Returns when all are up. */
    void start(deadline until = forever, weft_stackful_options options = {}) { check(try_start(until, options), "weft_super_start"); }
    int try_start(deadline until = forever, weft_stackful_options options = {}) {
        spec_.name = name_.c_str();
        spec_.children = children_.data();
        spec_.count = children_.size();
        options.flags |= WEFT_SPAWN_JOINABLE;
        int code = weft_super_start(&spec_, &options, &pid_, until);
        if (code) end(); /* it may still be stopping its children */
        return code;
    }
    weft_pid pid() const noexcept { return pid_; }
    void stop() noexcept { end(); }
};

WEFT_HPP_END

#endif
