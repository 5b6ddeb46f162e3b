/* Life and death, and names, for C++17: reasons, monitors, links (weft/life.h), registered names (weft/registry.h). */
#ifndef WEFT_LIFE_HPP
#define WEFT_LIFE_HPP

#include <weft/weft.hpp>

WEFT_HPP_BEGIN

/* ---- reasons ---- */

/* As a person reads it: "killed", "error -110 (WEFT_ETIMEDOUT): the deadline has passed". */
inline std::string text_of(const weft_reason &reason) {
    char text[256];
    return weft_reason_text(&reason, text, sizeof text);
}
inline std::string_view data_of(const weft_reason &reason) noexcept { return {static_cast<const char *>(reason.data), reason.size}; }

/* The whole reason of an end, freed with it. */
class reason {
    weft_reason reason_ = {};

  public:
    reason() noexcept = default;
    reason(reason &&other) noexcept : reason_(std::exchange(other.reason_, {})) {}
    reason &operator=(reason &&other) noexcept {
        std::swap(reason_, other.reason_);
        return *this;
    }
    ~reason() { weft_reason_free(&reason_); }

    const weft_reason &get() const noexcept { return reason_; }
    int code() const noexcept { return reason_.code; }
    enum weft_reason_kind kind() const noexcept { return ::weft_reason_kind(reason_.code); }
    std::string text() const { return text_of(reason_); }
    std::string_view data() const noexcept { return data_of(reason_); } /* of weft::exit_with; valid as long as the reason is */

    /* Waits for the end of a process (weft_join_reason). */
    friend int try_join(weft_pid pid, reason &why, deadline until) {
        why = reason();
        return weft_join_reason(pid, &why.reason_, until);
    }
};
int try_join(weft_pid pid, reason &why, deadline until = forever);
inline reason join(weft_pid pid, deadline until = forever) {
    reason why;
    check(try_join(pid, why, until), "weft_join_reason");
    return why;
}

/* Ends the calling process, with the bytes of a value, or text. */
template <class T> [[noreturn]] void exit_with(int code, const T &value) {
    detail::bytes bytes(value);
    weft_exit_with(code, bytes.data, bytes.size);
}

/* ---- monitors and links ---- */

/* The notice that a message is; nullptr: it is none. */
inline const weft_notice *notice_of(const message &message) noexcept { return weft_msg_notice(message.get()); }

/* The calling process is told of the end of another, by a message with this tag, unless the monitor goes before; a notice that has not been received goes with it. */
class monitor {
    weft_pid pid_ = WEFT_NOBODY;
    uint64_t reference_ = 0;

    void end() noexcept {
        if (reference_ != 0) weft_demonitor(std::exchange(reference_, 0), true);
    }

  public:
    monitor() noexcept = default;
    monitor(weft_pid pid, uint64_t tag) : pid_(pid) { check(weft_monitor(pid, tag, &reference_), "weft_monitor"); }
    /* Of a new process, from its birth on. */
    template <class Function, class = std::enable_if_t<std::is_invocable_v<std::decay_t<Function> &>>>
    monitor(Function &&function, uint64_t tag, weft_stackful_options options = {}) {
        options.flags |= WEFT_SPAWN_MONITOR;
        options.monitor = {tag, &reference_};
        pid_ = weft::spawn(std::forward<Function>(function), options);
    }
    monitor(monitor &&other) noexcept : pid_(other.pid_), reference_(std::exchange(other.reference_, 0)) {}
    monitor &operator=(monitor &&other) noexcept {
        if (this == &other) return *this;
        end();
        pid_ = other.pid_;
        reference_ = std::exchange(other.reference_, 0);
        return *this;
    }
    ~monitor() { end(); }
    weft_pid pid() const noexcept { return pid_; }
    uint64_t reference() const noexcept { return reference_; }
};

inline int try_link(weft_pid pid) { return weft_link(pid); }
inline void link(weft_pid pid) { check(weft_link(pid), "weft_link"); }
inline void unlink(weft_pid pid) { weft_unlink(pid); }
template <class Function> weft_pid spawn_link(Function &&function, weft_stackful_options options = {}) {
    options.flags |= WEFT_SPAWN_LINK;
    return weft::spawn(std::forward<Function>(function), options);
}
/* From now on the ends of linked processes are messages with this tag. */
inline void trap_exits(uint64_t tag) { check(weft_trap_exit(true, tag), "weft_trap_exit"); }

/* ---- names ---- */

inline int try_register(const std::string &name, weft_pid pid) { return weft_register(name.c_str(), pid); }
inline void register_name(const std::string &name, weft_pid pid) { check(try_register(name, pid), "weft_register"); }
inline weft_pid whereis(const std::string &name, weft_runtime *runtime = nullptr) { return weft_whereis_in(runtime, name.c_str()); }

template <class T> int try_send_name(const std::string &name, uint64_t tag, const T &value) {
    detail::bytes bytes(value);
    return weft_send_name(name.c_str(), tag, bytes.data, bytes.size);
}
template <class T> void send_name(const std::string &name, uint64_t tag, const T &value) {
    check(weft::try_send_name(name, tag, value), "weft_send_name");
}
template <class T> int try_call_name(const std::string &name, uint64_t tag, const T &value, message &reply, deadline until = forever) {
    detail::bytes bytes(value);
    return detail::received(reply,
                            [&](weft_msg **got) { return weft_call_name(name.c_str(), tag, bytes.data, bytes.size, got, until); });
}
template <class T> message call_name(const std::string &name, uint64_t tag, const T &value, deadline until = forever) {
    message reply;
    check(weft::try_call_name(name, tag, value, reply, until), "weft_call_name");
    return reply;
}

WEFT_HPP_END

#endif
