/* More of weft as objects of C++17, beside weft/weft.hpp: process-local values, read-write lock, barrier, rate limiter, ticker, bundle. */
#ifndef WEFT_MORE_HPP
#define WEFT_MORE_HPP

#include <weft/weft.hpp>

#include <shared_mutex>

WEFT_HPP_BEGIN

/* A value of each process's own, made when it first asks for it and destroyed when the process has ended. For static storage: keys are never given back. */
template <class T> class process_local {
    weft_key key_ = 0;

    static void destroy(void *value) noexcept { delete static_cast<T *>(value); }

  public:
    process_local() {
        weft_key_options options = {};
        options.destroy = destroy;
        check(weft_key_new(&options, &key_), "weft_key_new");
    }
    process_local(const process_local &) = delete;
    process_local &operator=(const process_local &) = delete;
    /* In a process; elsewhere it throws WEFT_ENOTINSIDE. */
    T &get() {
        T *value = nullptr;
        check(try_get(value), "weft_local_set");
        return *value;
    }
    int try_get(T *&value) {
        value = static_cast<T *>(weft_local_get(key_));
        if (value) return 0;
        auto made = std::make_unique<T>();
        int code = weft_local_set(key_, made.get());
        if (code == 0) value = made.release();
        return code;
    }
    T &operator*() { return get(); }
    T *operator->() { return &get(); }
};

/* For std::unique_lock (writers) and std::shared_lock (readers), in the order in which they come. */
class rwlock {
    weft_rwlock lock_ = WEFT_RWLOCK_INIT;

  public:
    rwlock() noexcept = default;
    rwlock(const rwlock &) = delete;
    rwlock &operator=(const rwlock &) = delete;
    void lock() {
        detail::lock([this](uint64_t until) { return weft_rwlock_write(&lock_, until); }, "weft_rwlock_write");
    }
    int lock_code(deadline until = forever) { return weft_rwlock_write(&lock_, until); }
    bool try_lock() { return lock_code(at_once) == 0; }
    bool try_lock_for(deadline until) { return lock_code(until) == 0; }
    bool try_lock_until(deadline until) { return lock_code(until) == 0; }
    void unlock() noexcept { weft_rwlock_write_end(&lock_); }

    void lock_shared() {
        detail::lock([this](uint64_t until) { return weft_rwlock_read(&lock_, until); }, "weft_rwlock_read");
    }
    int lock_shared_code(deadline until = forever) { return weft_rwlock_read(&lock_, until); }
    bool try_lock_shared() { return lock_shared_code(at_once) == 0; }
    bool try_lock_shared_for(deadline until) { return lock_shared_code(until) == 0; }
    bool try_lock_shared_until(deadline until) { return lock_shared_code(until) == 0; }
    void unlock_shared() noexcept { weft_rwlock_read_end(&lock_); }
};

class barrier {
    weft_barrier barrier_;

  public:
    explicit barrier(uint32_t count) noexcept { weft_barrier_init(&barrier_, count); }
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;
    /* True: the caller came last. */
    bool wait(deadline until = forever) { return check(try_wait(until), "weft_barrier_wait") == 1; }
    int try_wait(deadline until = forever) { return weft_barrier_wait(&barrier_, until); }
};

class limiter {
    weft_limiter limiter_;

  public:
    limiter(uint32_t permits, std::chrono::nanoseconds period, uint32_t burst) noexcept {
        weft_limiter_init(&limiter_, permits, detail::nanoseconds(period), burst);
    }
    limiter(const limiter &) = delete;
    limiter &operator=(const limiter &) = delete;
    void take(uint32_t permits = 1, deadline until = forever) { check(take_code(permits, until), "weft_limiter_take"); }
    int take_code(uint32_t permits = 1, deadline until = forever) { return weft_limiter_take(&limiter_, permits, until); }
    bool try_take(uint32_t permits = 1) { return take_code(permits, at_once) == 0; }
};

/* Ticks: ticker.recv(), or weft::on_tick in a weft::select. */
class ticker {
    std::unique_ptr<weft_ticker, void (*)(weft_ticker *)> ticker_;

  public:
    /* A period of 0: it ticks once. In a thread of the program's own the runtime has to be given. */
    template <class First, class Period> explicit ticker(First first, Period period, weft_runtime *runtime = nullptr) : ticker_(nullptr, weft_ticker_free) {
        weft_ticker *made = nullptr;
        check(weft_ticker_new(runtime, detail::nanoseconds(first), detail::nanoseconds(period), &made), "weft_ticker_new");
        ticker_.reset(made);
    }
    template <class Period> explicit ticker(Period period) : ticker(period, period) {}
    weft_chan *get() const noexcept { return weft_ticker_chan(ticker_.get()); }
    /* 0 and the moment of the tick, or WEFT_ECLOSED: there will be no more; WEFT_ETIMEDOUT, WEFT_ECANCELED. */
    int try_recv(uint64_t &moment, deadline until = forever) { return weft_chan_recv(get(), &moment, until); }
    /* Empty: there will be no more. */
    std::optional<uint64_t> recv(deadline until = forever) {
        uint64_t moment = 0;
        int code = try_recv(moment, until);
        if (code == WEFT_ECLOSED) return {};
        check(code, "weft_chan_recv");
        return moment;
    }
};

namespace detail {
template <class Handler> struct tick_arm {
    weft_chan *from;
    Handler handler;
    uint64_t moment = 0;
    weft_case begin() noexcept { return weft_case_recv(from, &moment); }
    int happened(int code) {
        if (code == 0) handler(moment);
        return code;
    }
};
} /* namespace detail */
template <class Handler> auto on_tick(const ticker &from, Handler handler) {
    return detail::tick_arm<Handler>{from.get(), std::move(handler)};
}

/* A scope as a handle, which the process that made it closes when it likes; several in any order. It goes with its process: not to be handed to another. */
class bundle {
    weft_bundle *bundle_ = nullptr;

    void end() noexcept {
        if (!bundle_) return;
        weft_scope_leave(weft_bundle_scope(bundle_)); /* and not weft_scope_cancel: that may end the process, and a destructor calls this */
        (void)try_close();
    }

  public:
    explicit bundle(unsigned flags = 0, deadline until = forever) { check(weft_bundle_open(flags, &bundle_, until), "weft_bundle_open"); }
    bundle(bundle &&other) noexcept : bundle_(std::exchange(other.bundle_, nullptr)) {}
    bundle &operator=(bundle &&other) noexcept {
        if (this == &other) return *this;
        end();
        bundle_ = std::exchange(other.bundle_, nullptr);
        return *this;
    }
    ~bundle() { end(); } /* its children are cancelled, and waited for */

    template <class Function> int try_spawn(Function &&function, weft_pid &pid, weft_stackful_options options = {}) {
        return detail::scope_spawn(weft_bundle_scope(bundle_), std::forward<Function>(function), pid, options);
    }
    template <class Function> weft_pid spawn(Function &&function, weft_stackful_options options = {}) {
        weft_pid pid = WEFT_NOBODY;
        check(try_spawn(std::forward<Function>(function), pid, options), "weft_scope_spawn");
        return pid;
    }
    void cancel() { weft_scope_cancel(weft_bundle_scope(bundle_)); }
    /* Waits for all; throws the reason of the first that failed. It is closed then. */
    void close() { check(try_close(), "weft_bundle_close"); }
    int try_close() { return weft_bundle_close(std::exchange(bundle_, nullptr)); }
};

WEFT_HPP_END

#endif
