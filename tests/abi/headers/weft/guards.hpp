/* For C++: pairs of calls as objects, so that an exception, or weft_exit, cannot leave one without the other.
 *
 *     weft::shield shield;                  weft_shield_begin ... weft_shield_end
 *
 * Scopes need none: weft_scope ends by itself. weft_mutex has one here; std::lock_guard works with any type that has lock() and
 * unlock(). */
#ifndef WEFT_GUARDS_HPP
#define WEFT_GUARDS_HPP

#include <weft/weft.h>

namespace weft {

/* Begins when it is made, ends when it is destroyed. */
template <void (*begin)(), void (*end)()> class pair {
  public:
    pair() { begin(); }
    ~pair() { end(); }
    pair(const pair &) = delete;
    pair &operator=(const pair &) = delete;
};

using shield = pair<weft_shield_begin, weft_shield_end>;
using nopreempt = pair<weft_nopreempt_begin, weft_nopreempt_end>;
using blocking = pair<weft_blocking_enter, weft_blocking_leave>;
using blocking_long = pair<weft_blocking_enter_long, weft_blocking_leave>;

/* Holds the mutex, if locking it succeeded: check error(), or convert it to bool. */
class mutex_lock {
    weft_mutex *mutex;
    int error_;

  public:
    explicit mutex_lock(weft_mutex *m, uint64_t deadline = WEFT_FOREVER) : mutex(m), error_(weft_mutex_lock(m, deadline)) {}
    ~mutex_lock() {
        if (error_ == 0) weft_mutex_unlock(mutex);
    }
    mutex_lock(const mutex_lock &) = delete;
    mutex_lock &operator=(const mutex_lock &) = delete;
    /* 0: it is held; else as weft_mutex_lock. */
    int error() const { return error_; }
    explicit operator bool() const { return error_ == 0; }
};

} /* namespace weft */

#endif
