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
 * throws nothing. A deadline is a duration (from now on), a moment of std::chrono::steady_clock, or weft::forever.
 *
 * A process that is cancelled, and has to wait, gets weft::error with the code WEFT_ECANCELED: it leaves the function that is not to go on,
 * and destructors run on the way. docs/cxx.md has the rest. */
#ifndef WEFT_WEFT_HPP
#define WEFT_WEFT_HPP

#include <weft/guards.hpp>
#include <weft/weft.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace weft {

/* ---- errors ---------------------------------------------------------------------------------------------------------------------- */

class error : public std::runtime_error {
    int code_;

  public:
    explicit error(int code, const char *call = nullptr)
        : std::runtime_error(call ? std::string(call) + ": " + weft_strerror(code) : weft_strerror(code)), code_(code) {}
    int code() const noexcept { return code_; } /* WEFT_ETIMEDOUT ... */
};

/* Throws if the result is negative; else returns it. */
template <class Result> Result check(Result result, const char *call = nullptr) {
    if (result < 0) throw error(static_cast<int>(result), call);
    return result;
}

/* ---- time ------------------------------------------------------------------------------------------------------------------------ */

/* A moment of the monotonic clock, which is steady_clock's too. */
class deadline {
    uint64_t at_;
    explicit constexpr deadline(uint64_t at) noexcept : at_(at) {}

  public:
    template <class Rep, class Period>
    deadline(std::chrono::duration<Rep, Period> after) noexcept /* implicit: recv(100ms) */
        : at_(after.count() <= 0 ? 0 : weft_in(std::chrono::duration_cast<std::chrono::duration<uint64_t, std::nano>>(after).count())) {}
    template <class Duration>
    deadline(std::chrono::time_point<std::chrono::steady_clock, Duration> moment) noexcept
        : at_(static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count())) {}
    /* A moment as the C calls have it. */
    static constexpr deadline at(uint64_t moment) noexcept { return deadline(moment); }
    constexpr operator uint64_t() const noexcept { return at_; }
};
inline constexpr deadline forever = deadline::at(WEFT_FOREVER);
inline constexpr deadline at_once = deadline::at(0); /* what can be done without waiting */

inline void sleep(deadline until) { check(weft_sleep_until(until), "weft_sleep_until"); }
inline void yield() { weft_yield(); }

/* ---- messages -------------------------------------------------------------------------------------------------------------------- */

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
    /* Its bytes as a T. Throws WEFT_EMSGSIZE if there are more or fewer. */
    template <class T> T as() const {
        static_assert(std::is_trivially_copyable_v<T>, "bytes are copied");
        if (size() != sizeof(T)) throw error(WEFT_EMSGSIZE, "weft::message::as");
        T value;
        std::memcpy(&value, data(), sizeof value);
        return value;
    }
    /* If it is a request: answers it. */
    template <class T> void reply(const T &value) const {
        static_assert(std::is_trivially_copyable_v<T>, "bytes are copied");
        check(weft_reply(weft_msg_request(message_), &value, sizeof value), "weft_reply");
    }
    void reply() const { check(weft_reply(weft_msg_request(message_), nullptr, 0), "weft_reply"); }
};

inline void send(weft_pid to, uint64_t tag) { check(weft_send(to, tag, nullptr, 0), "weft_send"); }
template <class T> void send(weft_pid to, uint64_t tag, const T &value) {
    static_assert(std::is_trivially_copyable_v<T>, "bytes are copied; weft_send_move moves a buffer");
    check(weft_send(to, tag, &value, sizeof value), "weft_send");
}

inline int try_recv(message &received, deadline until = forever) noexcept {
    weft_msg *got = nullptr;
    int code = weft_recv(&got, until);
    if (code == 0) received = message(got);
    return code;
}
inline message recv(deadline until = forever) {
    message received;
    check(try_recv(received, until), "weft_recv");
    return received;
}
inline message recv_tag(uint64_t tag, deadline until = forever) {
    weft_msg *got = nullptr;
    check(weft_recv_tag(tag, &got, until), "weft_recv_tag");
    return message(got);
}

inline message call(weft_pid to, uint64_t tag, const void *data, size_t size, deadline until = forever) {
    weft_msg *reply = nullptr;
    check(weft_call(to, tag, data, size, &reply, until), "weft_call");
    return message(reply);
}
template <class T> message call(weft_pid to, uint64_t tag, const T &value, deadline until = forever) {
    static_assert(std::is_trivially_copyable_v<T>, "bytes are copied");
    return call(to, tag, &value, sizeof value, until);
}

/* ---- processes -------------------------------------------------------------------------------------------------------------------- */

namespace detail {

/* A function object on its way to a process, which calls and destroys it. */
template <class Function> struct closure {
    Function function;
    static int call(void *opaque) {
        std::unique_ptr<closure> own(static_cast<closure *>(opaque));
        try {
            own->function();
            return 0;
        } catch (const error &left) { /* no other: what nobody catches is not unwound, and a core dump shows where it was thrown */
            return left.code();
        }
    }
    static void run(void *opaque) {
        int code = call(opaque);
        if (code) weft_exit(code);
    }
};

/* spawn(entry, arg) with a closure. What it returns is negative or the result. */
template <class Function, class Spawn> int with_closure(Function &&function, Spawn spawn) {
    using kept = closure<std::decay_t<Function>>;
    std::unique_ptr<kept> own(new kept{std::forward<Function>(function)});
    int code = spawn(kept::run, own.get());
    if (code == 0) own.release();
    return code;
}

} /* namespace detail */

/* A new process that calls the function object, which is moved there. If a weft::error leaves it, the process ends with that code as its
 * reason: a process that is cancelled ends so. Any other exception is std::terminate, as for a thread. */
template <class Function> weft_pid spawn(Function &&function, weft_stackful_options options = {}) {
    weft_pid pid = WEFT_NOBODY;
    options.flags |= WEFT_SPAWN_STACK_NOW; /* so that it runs in any case, and the object is destroyed */
    check(detail::with_closure(std::forward<Function>(function),
                               [&](weft_entry entry, void *arg) { return weft_spawn_with(entry, arg, &options, &pid); }),
          "weft_spawn");
    return pid;
}

/* The owner of a process, as std::jthread is of a thread: when it goes, the process is cancelled and waited for. */
class process {
    weft_pid pid_ = WEFT_NOBODY;

  public:
    process() noexcept = default;
    template <class Function, class = std::enable_if_t<!std::is_same_v<std::decay_t<Function>, process>>>
    explicit process(Function &&function, weft_stackful_options options = {}) {
        options.flags |= WEFT_SPAWN_JOINABLE;
        pid_ = spawn(std::forward<Function>(function), options);
    }
    process(process &&other) noexcept : pid_(std::exchange(other.pid_, WEFT_NOBODY)) {}
    process &operator=(process &&other) noexcept {
        if (this == &other) return *this;
        end();
        pid_ = std::exchange(other.pid_, WEFT_NOBODY);
        return *this;
    }
    ~process() { end(); }

    weft_pid pid() const noexcept { return pid_; }
    bool joinable() const noexcept { return pid_ != WEFT_NOBODY; }
    /* Waits for its end; returns its reason. After an error (WEFT_ETIMEDOUT...) it may be joined again. */
    int join(deadline until = forever) {
        int reason = 0;
        check(weft_join(pid_, &reason, until), "weft_join");
        pid_ = WEFT_NOBODY;
        return reason;
    }
    void cancel() noexcept { weft_cancel(pid_); }
    /* It goes on by itself. */
    weft_pid detach() noexcept {
        weft_detach(pid_);
        return std::exchange(pid_, WEFT_NOBODY);
    }

  private:
    void end() noexcept {
        if (!joinable()) return;
        weft_cancel(pid_);
        weft::shield shield; /* a cancelled owner waits too: the process may use what is behind it on the stack */
        weft_join(pid_, nullptr, WEFT_FOREVER);
        pid_ = WEFT_NOBODY;
    }
};

/* Children that all end before the scope does: weft/scope.h. Left by an exception, or without end(), it cancels them and waits. */
class scope {
    weft_scope scope_;

  public:
    explicit scope(deadline until = forever) { weft_scope_begin(&scope_, until); }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

    template <class Function> weft_pid spawn(Function &&function, weft_stackful_options options = {}) {
        weft_pid pid = WEFT_NOBODY;
        options.flags |= WEFT_SPAWN_STACK_NOW;
        check(detail::with_closure(std::forward<Function>(function),
                                   [&](weft_entry entry, void *arg) { return weft_scope_spawn_with(&scope_, entry, arg, &options, &pid); }),
              "weft_scope_spawn");
        return pid;
    }
    void cancel() noexcept { weft_scope_cancel(&scope_); }
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

class mutex {
    weft_mutex mutex_ = WEFT_MUTEX_INIT;

  public:
    mutex() noexcept = default;
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;
    void lock() { check(weft_mutex_lock(&mutex_, WEFT_FOREVER), "weft_mutex_lock"); }
    bool try_lock() noexcept { return weft_mutex_lock(&mutex_, 0) == 0; }
    int try_lock_until(deadline until) noexcept { return weft_mutex_lock(&mutex_, until); }
    void unlock() noexcept { weft_mutex_unlock(&mutex_); }
    weft_mutex *native_handle() noexcept { return &mutex_; }
};

class condition {
    weft_cond cond_ = WEFT_COND_INIT;

  public:
    condition() noexcept = default;
    condition(const condition &) = delete;
    condition &operator=(const condition &) = delete;
    /* The caller holds the mutex, and holds it afterwards, whatever happens. */
    void wait(mutex &held, deadline until = forever) { check(weft_cond_wait(&cond_, held.native_handle(), until), "weft_cond_wait"); }
    template <class Holds> void wait_until(mutex &held, Holds holds, deadline until = forever) {
        while (!holds())
            wait(held, until);
    }
    void notify_one() noexcept { weft_cond_signal(&cond_); }
    void notify_all() noexcept { weft_cond_broadcast(&cond_); }
};

class semaphore {
    weft_sem sem_;

  public:
    explicit semaphore(uint32_t permits) noexcept { weft_sem_init(&sem_, permits); }
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;
    void acquire(uint32_t permits = 1, deadline until = forever) { check(weft_sem_acquire(&sem_, permits, until), "weft_sem_acquire"); }
    bool try_acquire(uint32_t permits = 1) noexcept { return weft_sem_acquire(&sem_, permits, 0) == 0; }
    void release(uint32_t permits = 1) noexcept { weft_sem_release(&sem_, permits); }
};

/* ---- channels -------------------------------------------------------------------------------------------------------------------------- */

/* A channel of any type that can be moved. Copies are the same channel; it is freed with the last of them, with what is in it. */
template <class T> class channel {
    /* Bytes that may be copied go as they are; anything else as a pointer. */
    static constexpr bool plain = std::is_trivially_copyable_v<T>;
    using element = std::conditional_t<plain, T, T *>;

    struct closer {
        void operator()(weft_chan *chan) const noexcept {
            if constexpr (!plain) {
                element boxed;
                while (weft_chan_recv(chan, &boxed, 0) == 0)
                    delete boxed;
            }
            weft_chan_free(chan);
        }
    };
    std::shared_ptr<weft_chan> chan_;

    static T unboxed(element &got) {
        if constexpr (plain) return got;
        else {
            std::unique_ptr<T> box(got);
            return std::move(*box);
        }
    }

  public:
    explicit channel(size_t capacity = 0) {
        weft_chan *made = nullptr;
        check(weft_chan_new(sizeof(element), capacity, &made), "weft_chan_new");
        chan_.reset(made, closer());
    }
    weft_chan *get() const noexcept { return chan_.get(); } /* for weft_select, of elements that are plain */

    /* 0, or WEFT_ECLOSED, WEFT_ETIMEDOUT, WEFT_ECANCELED; the value is lost then, unless it was given as an lvalue. */
    int try_send(T value, deadline until = forever) {
        if constexpr (plain) return weft_chan_send(chan_.get(), &value, until);
        else {
            auto box = std::make_unique<T>(std::move(value));
            T *bare = box.get();
            int code = weft_chan_send(chan_.get(), &bare, until);
            if (code == 0) box.release();
            return code;
        }
    }
    void send(T value, deadline until = forever) { check(try_send(std::move(value), until), "weft_chan_send"); }

    /* The next element; empty when the channel is closed and has no more. */
    std::optional<T> recv(deadline until = forever) {
        element got;
        int code = weft_chan_recv(chan_.get(), &got, until);
        if (code == WEFT_ECLOSED) return std::nullopt;
        check(code, "weft_chan_recv");
        return std::optional<T>(unboxed(got));
    }
    void close() noexcept { weft_chan_close(chan_.get()); }
    size_t size() const noexcept { return weft_chan_len(chan_.get()); }

    /* for (auto &element : channel): until it is closed and empty. */
    class iterator {
        channel *from_ = nullptr;
        std::optional<T> now_;

      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T *;
        using reference = T &;
        iterator() = default;
        explicit iterator(channel *from) : from_(from), now_(from->recv()) {}
        T &operator*() { return *now_; }
        T *operator->() { return &*now_; }
        iterator &operator++() {
            now_ = from_->recv();
            return *this;
        }
        bool operator==(const iterator &other) const { return now_.has_value() == other.now_.has_value(); }
        bool operator!=(const iterator &other) const { return !(*this == other); }
    };
    iterator begin() { return iterator(this); }
    iterator end() { return iterator(); }
};

/* ---- the whole program ------------------------------------------------------------------------------------------------------------- */

inline int main(int argc, char **argv, int (*app)(int argc, char **argv)) { return weft_main(argc, argv, app); }

} /* namespace weft */

#endif
