/* Child programs for C++17 (weft/child.h): one that ends, at the latest, with the object or with the process that has started it. */
#ifndef WEFT_CHILD_HPP
#define WEFT_CHILD_HPP

#include <weft/weft.hpp>

#include <vector>

WEFT_HPP_BEGIN

/* In a stackful process, to which it belongs (WEFT_CHILD_OWNED): no other may wait for it. */
class child {
    weft_child child_ = {};
    std::chrono::nanoseconds grace_ = std::chrono::seconds(5);

    static void shut(weft_fd &fd) {
        if (fd > 0) weft_fd_close(std::exchange(fd, WEFT_NO_FD));
    }
    void close() { shut(child_.in), shut(child_.out), shut(child_.err), shut(child_.terminal); }
    int reaped(int code) {
        if (code == 0) close(), child_.pid = 0;
        return code;
    }
    void leave() noexcept {
        if (running()) (void)try_end(grace_);
        close();
    }

  public:
    child() noexcept = default;
    /* weft::child list({"ls", "-l"}, options): options.pipes has WEFT_CHILD_OUT and the like, and there are the environment, the directory, limits ...
     * Without WEFT_CHILD_GROUP in options.flags it leads no process group: signals, and its end, are for itself and not for what it has started. */
    explicit child(const std::vector<std::string> &arguments, weft_child_options options = {}) {
        check(try_start(arguments, options), "weft_child_start");
    }
    child(child &&other) noexcept : child_(std::exchange(other.child_, {})), grace_(other.grace_) {}
    child &operator=(child &&other) noexcept {
        if (this == &other) return *this;
        leave();
        child_ = std::exchange(other.child_, {});
        grace_ = other.grace_;
        return *this;
    }
    ~child() { leave(); } /* it is ended: SIGTERM, and SIGKILL when the grace period is over */

    int try_start(const std::vector<std::string> &arguments, weft_child_options options = {}) {
        std::vector<const char *> words;
        leave();
        for (const std::string &each : arguments)
            words.push_back(each.c_str());
        words.push_back(nullptr);
        options.flags |= WEFT_CHILD_OWNED;
        return weft_child_start_with(words.data(), &options, &child_);
    }
    bool running() const noexcept { return child_.pid > 0; } /* has been started and not waited for */
    pid_t pid() const noexcept { return child_.pid; }
    /* Our ends of its pipes, the object's until it is waited for; WEFT_NO_FD: there is none. */
    weft_fd in() const noexcept { return child_.in; }
    weft_fd out() const noexcept { return child_.out; }
    weft_fd err() const noexcept { return child_.err; }
    weft_fd terminal() const noexcept { return child_.terminal; }
    void close_in() { shut(child_.in); } /* it reads to the end then */
    void grace(std::chrono::nanoseconds period) noexcept { grace_ = period; }

    /* Waits for its end: its status as waitpid(2) has it. Its pipes are closed then: what it has written is read before. */
    int wait(deadline until = forever) {
        int status = 0;
        check(try_wait(status, until), "weft_waitpid");
        return status;
    }
    int try_wait(int &status, deadline until = forever) { return reaped(weft_waitpid(child_.pid, &status, until)); }
    int signal(int number) { return weft_child_signal(child_.pid, number); }
    int end(std::chrono::nanoseconds grace) {
        int status = 0;
        check(try_end(grace, &status), "weft_child_end");
        return status;
    }
    int try_end(std::chrono::nanoseconds grace, int *status = nullptr) {
        return reaped(weft_child_end(child_.pid, detail::nanoseconds(grace), status));
    }
};

WEFT_HPP_END

#endif
