/* weft::select: one wait for several things (weft/select.h). The handler of the one that happens is called, and its number returned.
 *
 *     weft::select(1s, weft::on_message([&](weft::message got) { ... }),
 *                      weft::on_recv(jobs, [&](std::optional<job> next) { ... }),     empty: closed
 *                      weft::on_readable(socket, [&] { ... }));
 *
 * Throws weft::error when none has happened (WEFT_ETIMEDOUT, WEFT_ECANCELED), and, in place of calling the handler, if the case has failed. */
#ifndef WEFT_SELECT_HPP
#define WEFT_SELECT_HPP

#include <weft/weft.hpp>

WEFT_HPP_BEGIN

/* Each arm makes its case; when that has happened, it calls its handler and returns 0, or returns the case's error. */
namespace detail {

template <class Handler> struct message_arm {
    weft_case one;
    Handler handler;
    weft_msg *got = nullptr;
    weft_case begin() noexcept {
        one.message = &got;
        return one;
    }
    int happened(int code) {
        if (code == 0) handler(message(got));
        return code;
    }
};

template <class Handler> struct plain_arm { /* nothing comes with it */
    weft_case one;
    Handler handler;
    weft_case begin() noexcept { return one; }
    int happened(int code) {
        if (code == 0) handler();
        return code;
    }
};

template <class Handler> struct end_arm {
    weft_pid pid;
    Handler handler;
    int reason = 0;
    weft_case begin() noexcept { return weft_case_end(pid, &reason); }
    int happened(int code) {
        if (code == 0) handler(reason);
        return code;
    }
};

template <class T, class Handler> struct recv_arm {
    channel<T> from;
    Handler handler;
    typename channel<T>::element got{};
    weft_case begin() noexcept { return weft_case_recv(from.get(), &got); }
    int happened(int code) {
        if (code == 0) handler(std::optional<T>(channel<T>::unboxed(got)));
        else if (code == WEFT_ECLOSED) handler(std::optional<T>());
        return code == WEFT_ECLOSED ? 0 : code;
    }
};

template <class T, class Handler> struct send_arm {
    channel<T> to;
    std::unique_ptr<T> value;
    Handler handler;
    T *boxed = nullptr;
    weft_case begin() noexcept {
        boxed = value.get();
        if constexpr (channel<T>::plain) return weft_case_send(to.get(), boxed);
        else return weft_case_send(to.get(), &boxed);
    }
    int happened(int code) {
        if (code != 0) return code;
        if constexpr (!channel<T>::plain) value.release(); /* the receiver's */
        handler();
        return 0;
    }
};

} /* namespace detail */

template <class Handler> auto on_message(Handler handler) {
    return detail::message_arm<Handler>{weft_case_message(nullptr), std::move(handler)};
}
template <class Handler> auto on_tag(uint64_t tag, Handler handler) {
    return detail::message_arm<Handler>{weft_case_tag(tag, nullptr), std::move(handler)};
}
template <class Handler> auto on_reply(uint64_t reference, Handler handler) {
    return detail::message_arm<Handler>{weft_case_reply(reference, nullptr), std::move(handler)};
}
template <class Handler> auto on_readable(weft_fd fd, Handler handler) {
    return detail::plain_arm<Handler>{weft_case_readable(fd), std::move(handler)};
}
template <class Handler> auto on_writable(weft_fd fd, Handler handler) {
    return detail::plain_arm<Handler>{weft_case_writable(fd), std::move(handler)};
}
template <class Handler> auto on_acquire(semaphore &from, uint32_t permits, Handler handler) {
    return detail::plain_arm<Handler>{weft_case_acquire(from.native_handle(), permits), std::move(handler)};
}
template <class Handler> auto on_moment(deadline moment, Handler handler) {
    return detail::plain_arm<Handler>{weft_case_moment(moment), std::move(handler)};
}
template <class Handler> auto on_end(weft_pid pid, Handler handler) { return detail::end_arm<Handler>{pid, std::move(handler)}; }
template <class T, class Handler> auto on_recv(channel<T> from, Handler handler) {
    return detail::recv_arm<T, Handler>{std::move(from), std::move(handler)};
}
/* The value, or what a T is made of, is moved; if another case happens it is destroyed. */
template <class T, class Value, class Handler> auto on_send(channel<T> to, Value &&value, Handler handler) {
    return detail::send_arm<T, Handler>{std::move(to), std::make_unique<T>(std::forward<Value>(value)), std::move(handler)};
}

/* The number of the case that has happened and whose handler was called. Or an error, and no handler was called: WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ENOMEM, or
 * that of the case that has failed: WEFT_ECLOSED of a channel that cannot be sent to, WEFT_ENOPROC, WEFT_EBADF ... */
template <class... Arms> int try_select(deadline until, Arms &&...arms) {
    weft_case cases[] = {arms.begin()...};
    int which = weft_select(cases, sizeof...(arms), until), number = 0, code = 0;
    if (which >= 0) ((number++ == which ? void(code = arms.happened(cases[which].error)) : void()), ...);
    return code < 0 ? code : which;
}
template <class... Arms> int select(deadline until, Arms &&...arms) {
    return check(weft::try_select(until, std::forward<Arms>(arms)...), "weft_select");
}

WEFT_HPP_END

#endif
