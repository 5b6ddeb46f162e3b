/* weft for C++17: header only, on the C calls, which may be mixed with it freely.
 *
 *     int app(int, char **) {
 *         weft::channel<std::string> words(16);
 *         weft::process reader([&] { for (auto &word : words) std::cout << word << '\n'; });
 *         words.send("hello");
 *         words.close();
 *         reader.join();
 *         return 0;
 *     }
 *     int main(int argc, char **argv) { return weft::main(argc, argv, app); }
 *
 * A function that cannot do what it says throws weft::error. Its sibling with the prefix try_ returns the code instead, 0 or negative, and
 * throws nothing of weft's (it is not noexcept: a process that is killed there is unwound). Where the C++ library wants a try_ that is a bool (try_lock,
 * try_acquire), the sibling with the code ends in _code. A deadline is a duration (from now on), a moment of std::chrono::steady_clock, or weft::forever.
 *
 * A process that is cancelled, and has to wait, gets weft::error with the code WEFT_ECANCELED: it leaves the function that is not to go on,
 * and destructors run on the way.
 *
 * Compiled with -fno-exceptions a function that would throw ends the program with a sentence: those with codes are for that. docs/cxx.md has the rest.
 *
 *     weft/select.hpp     one wait for several things; included here
 *     weft/more.hpp       process-local values, read-write lock, barrier, rate limiter, ticker, bundle
 *     weft/life.hpp       reasons, monitors, links, names
 *     weft/child.hpp      child programs
 *     weft/super.hpp      supervisors and servers */
#ifndef WEFT_WEFT_HPP
#define WEFT_WEFT_HPP

#if __cplusplus < 201703L
#error "weft.hpp is written in C++17: compile with -std=c++17 or later"
#endif

#include <weft/guards.hpp>
#include <weft/weft.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/* Objects with and without exceptions may be linked together: what is defined here differs, and so do its names. */
#if defined(__cpp_exceptions)
#define WEFT_HPP_BEGIN namespace weft {
#define WEFT_HPP_END }
#else
#define WEFT_HPP_BEGIN                                                                                                                     \
    namespace weft {                                                                                                                       \
    inline namespace codes {
#define WEFT_HPP_END                                                                                                                       \
    }                                                                                                                                      \
    }
#endif

WEFT_HPP_BEGIN

/* ---- errors ---------------------------------------------------------------------------------------------------------------------- */

class error : public std::runtime_error {
    int code_;

  public:
    explicit error(int code, const char *call = nullptr)
        : std::runtime_error(call ? std::string(call) + ": " + weft_strerror(code) : weft_strerror(code)), code_(code) {}
    int code() const noexcept { return code_; } /* WEFT_ETIMEDOUT ... */
};

namespace detail {
#if defined(__cpp_exceptions)
inline constexpr bool throws = true;
[[noreturn]] inline void fail(int code, const char *call) { throw error(code, call); }
/* What it returned, or the code that has left it. No other exception is caught: it is not unwound then, and a core dump shows where it was thrown. */
template <class Function> int code_of(Function &function) {
    try {
        function();
        return 0;
    } catch (const error &left) {
        return left.code();
    }
}
#else
inline constexpr bool throws = false;
[[noreturn]] inline void fail(int code, const char *call) {
    std::fprintf(stderr, "weft: %s: %s: without exceptions use a function that returns the code\n", call ? call : "weft::check", weft_strerror(code));
    std::abort();
}
template <class Function> int code_of(Function &function) {
    function();
    return 0;
}
#endif
} /* namespace detail */

/* Throws if the result is negative; else returns it. */
template <class Result> Result check(Result result, const char *call = nullptr) {
    if (result < 0) detail::fail(static_cast<int>(result), call);
    return result;
}

/* ---- time ------------------------------------------------------------------------------------------------------------------------ */

namespace detail {
/* In nanoseconds; 0 if it is less than that, and the most there can be if it is more. */
template <class Rep, class Period> uint64_t nanoseconds(std::chrono::duration<Rep, Period> span) noexcept {
    if (!(span.count() > 0)) return 0; /* what is not a number, too */
    if (std::chrono::duration<double, std::nano>(span).count() > 1.8e19) return UINT64_MAX;
    return std::chrono::duration_cast<std::chrono::duration<uint64_t, std::nano>>(span).count();
}
} /* namespace detail */

/* A moment of the monotonic clock, which is steady_clock's too. One that has passed is 0: what can be done without waiting. */
class deadline {
    uint64_t at_;
    explicit constexpr deadline(uint64_t at) noexcept : at_(at) {}
    static uint64_t unless_passed(uint64_t moment) noexcept { return moment > weft_now() ? moment : 0; }

  public:
    template <class Rep, class Period>
    deadline(std::chrono::duration<Rep, Period> after) noexcept /* implicit: recv(100ms) */
        : at_(after.count() > 0 ? weft_in(detail::nanoseconds(after)) : 0) {}
    template <class Duration>
    deadline(std::chrono::time_point<std::chrono::steady_clock, Duration> moment) noexcept
        : at_(unless_passed(detail::nanoseconds(moment.time_since_epoch()))) {}
    /* A moment as the C calls have it. */
    static constexpr deadline at(uint64_t moment) noexcept { return deadline(moment); }
    constexpr operator uint64_t() const noexcept { return at_; }
};
inline constexpr deadline forever = deadline::at(WEFT_FOREVER);
inline constexpr deadline at_once = deadline::at(0); /* what can be done without waiting */

inline int try_sleep(deadline until) { return weft_sleep_until(until); }
inline void sleep(deadline until) { check(try_sleep(until), "weft_sleep_until"); }
inline void yield() { weft_yield(); }

/* ---- messages -------------------------------------------------------------------------------------------------------------------- */

namespace detail {
/* What is sent of a value: of text (std::string, "...") its characters, and else the bytes of the object. */
struct bytes {
    const void *data = nullptr;
    size_t size = 0;
    bytes() noexcept = default;
    template <class T> explicit bytes(const T &value) noexcept {
        if constexpr (std::is_convertible_v<const T &, std::string_view>) {
            std::string_view text = value;
            data = text.data(), size = text.size();
        } else {
            static_assert(std::is_trivially_copyable_v<T>, "bytes are copied; weft_send_move moves a buffer");
            data = &value, size = sizeof value;
        }
    }
};
} /* namespace detail */

namespace detail {
/* Room for a T whose bytes may be copied, and which is made by that alone: it may have no default constructor. */
template <class T> union room {
    static_assert(std::is_trivially_copyable_v<T>, "bytes are copied");
    T value;
    room() noexcept {}
};
} /* namespace detail */

/* Answers a request, of a message or of a server's (weft_incoming). */
template <class T> int try_reply(weft_request request, const T &value) {
    detail::bytes bytes(value);
    return weft_reply(request, bytes.data, bytes.size);
}
template <class T> void reply(weft_request request, const T &value) { check(weft::try_reply(request, value), "weft_reply"); }

/* A message that was received: freed with it. */
class message {
    weft_msg *message_ = nullptr;

  public:
    message() noexcept = default;
    explicit message(weft_msg *owned) noexcept : message_(owned) {}
    message(message &&other) noexcept : message_(std::exchange(other.message_, nullptr)) {}
    message &operator=(message &&other) noexcept {
        if (this != &other) weft_msg_free(std::exchange(message_, std::exchange(other.message_, nullptr)));
        return *this;
    }
    ~message() { weft_msg_free(message_); }

    explicit operator bool() const noexcept { return message_ != nullptr; }
    weft_msg *get() const noexcept { return message_; }
    weft_msg *release() noexcept { return std::exchange(message_, nullptr); }
    weft_pid from() const noexcept { return weft_msg_from(message_); }
    uint64_t tag() const noexcept { return weft_msg_tag(message_); }
    void *data() const noexcept { return weft_msg_data(message_); }
    size_t size() const noexcept { return weft_msg_len(message_); }
    /* Its bytes as text; valid as long as the message is. */
    std::string_view text() const noexcept { return {static_cast<const char *>(data()), size()}; }
    /* Its bytes as a T. Throws WEFT_EMSGSIZE if there are more or fewer. */
    template <class T> T as() const {
        if (size() != sizeof(T)) detail::fail(WEFT_EMSGSIZE, "weft::message::as");
        detail::room<T> room;
        std::memcpy(static_cast<void *>(&room), data(), sizeof(T));
        return std::move(room.value);
    }
    template <class T> int try_as(T &value) const noexcept {
        static_assert(std::is_trivially_copyable_v<T>, "bytes are copied");
        if (size() != sizeof(T)) return WEFT_EMSGSIZE;
        std::memcpy(&value, data(), sizeof value);
        return 0;
    }
    /* If it is a request: answers it. */
    template <class T> void reply(const T &value) const { check(try_reply(value), "weft_reply"); }
    template <class T> int try_reply(const T &value) const { return weft::try_reply(weft_msg_request(message_), value); }
    void reply() const { check(try_reply(), "weft_reply"); }
    int try_reply() const { return weft_reply(weft_msg_request(message_), nullptr, 0); }
};

/* A value's bytes are sent, and of text its characters. */
inline int try_send(weft_pid to, uint64_t tag) { return weft_send(to, tag, nullptr, 0); }
inline void send(weft_pid to, uint64_t tag) { check(try_send(to, tag), "weft_send"); }
template <class T> int try_send(weft_pid to, uint64_t tag, const T &value) {
    detail::bytes bytes(value);
    return weft_send(to, tag, bytes.data, bytes.size);
}
template <class T> void send(weft_pid to, uint64_t tag, const T &value) { check(weft::try_send(to, tag, value), "weft_send"); }

namespace detail {
/* receive(&message) is a call of C that receives. */
template <class Receive> int received(message &into, Receive receive) {
    weft_msg *got = nullptr;
    int code = receive(&got);
    if (code == 0) into = message(got);
    return code;
}
} /* namespace detail */

inline int try_recv(message &received, deadline until = forever) {
    return detail::received(received, [&](weft_msg **got) { return weft_recv(got, until); });
}
inline message recv(deadline until = forever) {
    message received;
    check(try_recv(received, until), "weft_recv");
    return received;
}
inline int try_recv_tag(uint64_t tag, message &received, deadline until = forever) {
    return detail::received(received, [&](weft_msg **got) { return weft_recv_tag(tag, got, until); });
}
inline message recv_tag(uint64_t tag, deadline until = forever) {
    message received;
    check(try_recv_tag(tag, received, until), "weft_recv_tag");
    return received;
}

inline int try_call(weft_pid to, uint64_t tag, const void *data, size_t size, message &reply, deadline until = forever) {
    return detail::received(reply, [&](weft_msg **got) { return weft_call(to, tag, data, size, got, until); });
}
inline message call(weft_pid to, uint64_t tag, const void *data, size_t size, deadline until = forever) {
    message reply;
    check(try_call(to, tag, data, size, reply, until), "weft_call");
    return reply;
}
template <class T> int try_call(weft_pid to, uint64_t tag, const T &value, message &reply, deadline until = forever) {
    detail::bytes bytes(value);
    return weft::try_call(to, tag, bytes.data, bytes.size, reply, until);
}
template <class T> message call(weft_pid to, uint64_t tag, const T &value, deadline until = forever) {
    detail::bytes bytes(value);
    return weft::call(to, tag, bytes.data, bytes.size, until);
}

/* ---- processes -------------------------------------------------------------------------------------------------------------------- */

namespace detail {

/* A function object on its way to a process, which calls and destroys it. */
template <class Function> struct closure {
    Function function;
    static void run(void *opaque) {
        /* Frames that were compiled without exceptions are not unwound by weft_exit: there it is destroyed by what is deferred. */
        bool deferred = !throws && weft_defer(discard, opaque) == 0;
        std::unique_ptr<closure> own(deferred ? nullptr : static_cast<closure *>(opaque));
        int code = detail::code_of(static_cast<closure *>(opaque)->function);
        own.reset();
        if (code) weft_exit(code);
    }
    static void discard(void *opaque) { delete static_cast<closure *>(opaque); } /* the process has ended without having begun */
};

/* spawn(entry, arg) with a closure, and with options by which it is destroyed in any case. What it returns is negative or the result. */
template <class Function, class Spawn> int with_closure(Function &&function, weft_stackful_options &options, Spawn spawn) {
    using kept = closure<std::decay_t<Function>>;
    std::unique_ptr<kept> own(new kept{std::forward<Function>(function)});
    options.flags |= WEFT_SPAWN_STACK_NOW; /* so that it is the spawner that learns that there is no stack */
    options.discard = kept::discard;
    int code = spawn(kept::run, own.get());
    if (code == 0) own.release();
    return code;
}

template <class Function> int scope_spawn(weft_scope *scope, Function &&function, weft_pid &pid, weft_stackful_options options) {
    return detail::with_closure(std::forward<Function>(function), options,
                        [&](weft_entry entry, void *arg) { return weft_scope_spawn_with(scope, entry, arg, &options, &pid); });
}

} /* namespace detail */

/* A new process that calls the function object, which is moved there, and destroyed also if the process is killed before it has begun (on any
 * thread then; options.discard is weft's here). If a weft::error leaves it, the process ends with that code as its
 * reason: a process that is cancelled ends so. Any other exception is std::terminate, as for a thread. */
template <class Function> int try_spawn(Function &&function, weft_pid &pid, weft_stackful_options options = {}) {
    return detail::with_closure(std::forward<Function>(function), options,
                                [&](weft_entry entry, void *arg) { return weft_spawn_with(entry, arg, &options, &pid); });
}
template <class Function> weft_pid spawn(Function &&function, weft_stackful_options options = {}) {
    weft_pid pid = WEFT_NOBODY;
    check(weft::try_spawn(std::forward<Function>(function), pid, options), "weft_spawn");
    return pid;
}

/* The owner of a process, as std::jthread is of a thread: when it goes, the process is cancelled and waited for, as by weft_end. */
class process {
    weft_pid pid_ = WEFT_NOBODY;

  public:
    process() noexcept = default;
    template <class Function, class = std::enable_if_t<!std::is_same_v<std::decay_t<Function>, process>>>
    explicit process(Function &&function, weft_stackful_options options = {}) {
        check(try_start(std::forward<Function>(function), options), "weft_spawn");
    }
    process(process &&other) noexcept : pid_(std::exchange(other.pid_, WEFT_NOBODY)) {}
    process &operator=(process &&other) noexcept {
        if (this == &other) return *this;
        end();
        pid_ = std::exchange(other.pid_, WEFT_NOBODY);
        return *this;
    }
    ~process() { end(); }

    /* Of one that owns none yet; the one that it owns is ended before. */
    template <class Function> int try_start(Function &&function, weft_stackful_options options = {}) {
        end();
        options.flags |= WEFT_SPAWN_JOINABLE;
        return weft::try_spawn(std::forward<Function>(function), pid_, options);
    }
    weft_pid pid() const noexcept { return pid_; }
    bool joinable() const noexcept { return pid_ != WEFT_NOBODY; }
    /* Waits for its end; returns its reason. After an error (WEFT_ETIMEDOUT...) it may be joined again. */
    int join(deadline until = forever) {
        int reason = 0;
        check(try_join(reason, until), "weft_join");
        return reason;
    }
    int try_join(int &reason, deadline until = forever) {
        int code = weft_join(pid_, &reason, until);
        if (code == 0) pid_ = WEFT_NOBODY;
        return code;
    }
    void cancel() { weft_cancel(pid_); }
    /* It goes on by itself. */
    weft_pid detach() {
        weft_detach(pid_);
        return std::exchange(pid_, WEFT_NOBODY);
    }

  private:
    void end() noexcept {
        if (joinable()) weft_end(std::exchange(pid_, WEFT_NOBODY), nullptr); /* it may use what is behind it on the owner's stack */
    }
};

/* Children that all end before the scope does: weft/scope.h. Left by an exception, or without end(), it cancels them and waits. */
class scope {
    weft_scope scope_;

  public:
    explicit scope(deadline until = forever) { weft_scope_begin(&scope_, until); }
    explicit scope(unsigned flags, deadline until = forever) { weft_scope_begin_with(&scope_, flags, until); } /* WEFT_SCOPE_APART */
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

    template <class Function> int try_spawn(Function &&function, weft_pid &pid, weft_stackful_options options = {}) {
        return detail::scope_spawn(&scope_, std::forward<Function>(function), pid, options);
    }
    template <class Function> weft_pid spawn(Function &&function, weft_stackful_options options = {}) {
        weft_pid pid = WEFT_NOBODY;
        check(try_spawn(std::forward<Function>(function), pid, options), "weft_scope_spawn");
        return pid;
    }
    void cancel() { weft_scope_cancel(&scope_); }
    /* Waits for all; throws the reason of the first that failed. */
    void end() { check(try_end(), "weft_scope_end"); }
    int try_end() { return weft_scope_end(&scope_); }
};

/* Calls the function object when it is destroyed: when the block is left in whatever way, weft_exit included. */
template <class Function> class defer {
    Function function_;

  public:
    explicit defer(Function function) : function_(std::move(function)) {}
    defer(const defer &) = delete;
    defer &operator=(const defer &) = delete;
    ~defer() { function_(); }
};

/* ---- locks: for std::lock_guard, std::unique_lock, std::scoped_lock ------------------------------------------------------------ */

namespace detail {
/* For a lock() that has no exceptions to say that the process was cancelled: it waits all the same. take(deadline) returns a code. */
template <class Take> void lock(Take take, const char *call) {
    if constexpr (throws) check(take(WEFT_FOREVER), call);
    else if (take(0) != 0) {
        bool process = weft_self() != WEFT_NOBODY; /* a thread is never cancelled */
        if (process) weft_shield_begin();
        check(take(WEFT_FOREVER), call);
        if (process) weft_shield_end();
    }
}
} /* namespace detail */

class mutex {
    weft_mutex mutex_ = WEFT_MUTEX_INIT;

  public:
    mutex() noexcept = default;
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;
    void lock() {
        detail::lock([this](uint64_t until) { return weft_mutex_lock(&mutex_, until); }, "weft_mutex_lock");
    }
    int lock_code(deadline until = forever) { return weft_mutex_lock(&mutex_, until); }
    bool try_lock() { return lock_code(at_once) == 0; }
    bool try_lock_for(deadline until) { return lock_code(until) == 0; }
    bool try_lock_until(deadline until) { return lock_code(until) == 0; }
    void unlock() noexcept { weft_mutex_unlock(&mutex_); }
    weft_mutex *native_handle() noexcept { return &mutex_; }
};

/* `held` is a weft::mutex or a std::unique_lock<weft::mutex>. The caller holds it, and holds it afterwards, whatever happens. */
class condition {
    weft_cond cond_ = WEFT_COND_INIT;

    static weft_mutex *of(mutex &held) noexcept { return held.native_handle(); }
    static weft_mutex *of(std::unique_lock<mutex> &held) noexcept { return held.mutex()->native_handle(); }

  public:
    condition() noexcept = default;
    condition(const condition &) = delete;
    condition &operator=(const condition &) = delete;
    template <class Held> int try_wait(Held &held, deadline until = forever) { return weft_cond_wait(&cond_, of(held), until); }
    template <class Held> void wait(Held &held, deadline until = forever) { check(try_wait(held, until), "weft_cond_wait"); }
    /* Until holds() is true. */
    template <class Held, class Holds> int try_wait_until(Held &held, Holds holds, deadline until = forever) {
        int code = 0;
        while (code == 0 && !holds())
            code = try_wait(held, until);
        return code;
    }
    template <class Held, class Holds> void wait_until(Held &held, Holds holds, deadline until = forever) {
        check(try_wait_until(held, std::move(holds), until), "weft_cond_wait");
    }
    void notify_one() { weft_cond_signal(&cond_); }
    void notify_all() { weft_cond_broadcast(&cond_); }
};

class semaphore {
    weft_sem sem_;

  public:
    explicit semaphore(uint32_t permits) noexcept { weft_sem_init(&sem_, permits); }
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;
    void acquire(uint32_t permits = 1, deadline until = forever) { check(acquire_code(permits, until), "weft_sem_acquire"); }
    int acquire_code(uint32_t permits = 1, deadline until = forever) { return weft_sem_acquire(&sem_, permits, until); }
    bool try_acquire(uint32_t permits = 1) { return acquire_code(permits, at_once) == 0; }
    weft_sem *native_handle() noexcept { return &sem_; }
    void release(uint32_t permits = 1) { weft_sem_release(&sem_, permits); }
};

/* ---- channels -------------------------------------------------------------------------------------------------------------------------- */

namespace detail {
template <class T, class Handler> struct recv_arm;
template <class T, class Handler> struct send_arm;
} /* namespace detail */

/* A channel of any type that can be moved. Copies are the same channel, so all calls are const; it is freed with the last of them, with what is in it. */
template <class T> class channel {
    template <class, class> friend struct detail::recv_arm; /* of weft::select */
    template <class, class> friend struct detail::send_arm;

    /* Bytes that may be copied go as they are; anything else as a pointer. */
    static constexpr bool plain = std::is_trivially_copyable_v<T>;
    using element = std::conditional_t<plain, detail::room<T>, T *>;

    static void discard(void *boxed, void *) noexcept {
        if constexpr (!plain) delete *static_cast<element *>(boxed);
    }
    static void free(weft_chan *chan) noexcept { weft_chan_free_with(chan, discard, nullptr); }
    std::shared_ptr<weft_chan> chan_;

    static T unboxed(element &got) {
        if constexpr (plain) return std::move(got.value);
        else {
            std::unique_ptr<T> box(got);
            return std::move(*box);
        }
    }

  public:
    explicit channel(size_t capacity = 0) {
        weft_chan *made = nullptr;
        check(weft_chan_new(sizeof(element), capacity, &made), "weft_chan_new");
        chan_.reset(made, free);
    }
    weft_chan *get() const noexcept { return chan_.get(); } /* for weft_select, of elements that are plain */

    /* 0, or WEFT_ECLOSED, WEFT_ETIMEDOUT, WEFT_ECANCELED; the value is lost then, unless it was given as an lvalue. */
    int try_send(T value, deadline until = forever) const {
        if constexpr (plain) return weft_chan_send(chan_.get(), &value, until);
        else {
            auto box = std::make_unique<T>(std::move(value));
            T *bare = box.get();
            int code = weft_chan_send(chan_.get(), &bare, until);
            if (code == 0) box.release();
            return code;
        }
    }
    void send(T value, deadline until = forever) const { check(try_send(std::move(value), until), "weft_chan_send"); }

    /* 0 and the element, or WEFT_ECLOSED (closed and empty), WEFT_ETIMEDOUT, WEFT_ECANCELED. */
    int try_recv(std::optional<T> &received, deadline until = forever) const {
        element got;
        int code = weft_chan_recv(chan_.get(), &got, until);
        if (code == 0) received.emplace(unboxed(got));
        return code;
    }
    /* The next element; empty when the channel is closed and has no more. */
    std::optional<T> recv(deadline until = forever) const {
        std::optional<T> received;
        int code = try_recv(received, until);
        if (code != WEFT_ECLOSED) check(code, "weft_chan_recv");
        return received;
    }
    void close() const { weft_chan_close(chan_.get()); }
    size_t size() const noexcept { return weft_chan_len(chan_.get()); }

    /* for (auto &element : channel): until it is closed and empty. (Without exceptions also until the process is cancelled.) */
    class iterator {
        const channel *from_ = nullptr;
        std::optional<T> now_;

        void next() {
            now_.reset();
            int code = from_->try_recv(now_);
            if (detail::throws && code != WEFT_ECLOSED) check(code, "weft_chan_recv");
        }

      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T *;
        using reference = T &;
        iterator() = default;
        explicit iterator(const channel *from) : from_(from) { next(); }
        T &operator*() { return *now_; }
        T *operator->() { return &*now_; }
        iterator &operator++() {
            next();
            return *this;
        }
        bool operator==(const iterator &other) const { return now_.has_value() == other.now_.has_value(); }
        bool operator!=(const iterator &other) const { return !(*this == other); }
    };
    iterator begin() const { return iterator(this); }
    iterator end() const { return iterator(); }
};

/* ---- the whole program, and runtimes in one ------------------------------------------------------------------------------------ */

inline int main(int argc, char **argv, int (*app)(int argc, char **argv)) { return weft_main(argc, argv, app); }
inline int main(const weft_config &config, int argc, char **argv, int (*app)(int argc, char **argv)) {
    return weft_main_with(&config, argc, argv, app);
}

/* A runtime inside a program that has a main of its own: weft/runtime.h, docs/guides/embedding.md. When it goes, it is stopped: all processes are cancelled and
 * waited for. What was made in it (processes, descriptors) goes before it, or is of no use any more. Not for processes of its own. */
class runtime {
    weft_runtime *runtime_ = nullptr;

  public:
    explicit runtime(const weft_config &config = {}) { check(weft_start(&config, &runtime_), "weft_start"); }
    explicit runtime(weft_runtime *started) noexcept : runtime_(started) {} /* by weft_start, whose code there is then */
    runtime(runtime &&other) noexcept : runtime_(std::exchange(other.runtime_, nullptr)) {}
    runtime &operator=(runtime &&other) noexcept {
        if (this != &other) weft_stop(std::exchange(runtime_, std::exchange(other.runtime_, nullptr)), nullptr, WEFT_FOREVER);
        return *this;
    }
    ~runtime() { weft_stop(runtime_, nullptr, WEFT_FOREVER); }

    weft_runtime *get() const noexcept { return runtime_; }
    /* For weft::spawn and weft::process in a thread: a process in this runtime. */
    weft_stackful_options options() const noexcept {
        weft_stackful_options options = {};
        options.runtime = runtime_;
        return options;
    }
    template <class Function> weft_pid spawn(Function &&function) { return weft::spawn(std::forward<Function>(function), options()); }
    /* 0, or WEFT_ETIMEDOUT: there are processes that have not ended (weft_stop). It is gone either way. */
    int stop(deadline until = forever) { return weft_stop(std::exchange(runtime_, nullptr), nullptr, until); }
};

WEFT_HPP_END

#include <weft/select.hpp>

#endif
