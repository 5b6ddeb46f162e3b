// One wait for several things: a server process that looks after a socket, its mailbox, a clock and a child, all in one loop.
//
// A client writes lines to the socket. Another process sends announcements. The server answers both, counts its ticks, starts a job for
// each line and hears of the job's end. It stops when the client has gone and no job is left.
#include <weft/weft.hpp>

#include <iostream>
#include <string_view>

using namespace std::chrono_literals;

enum { ANNOUNCEMENT = 1, LINES = 3 };

class server {
    weft_fd socket_;
    weft_pid job_ = WEFT_NOBODY; // none, and its case is never ready
    std::chrono::steady_clock::time_point tick_ = std::chrono::steady_clock::now() + 5ms;
    bool connected_ = true;
    int ticks_ = 0;

    void read_lines() {
        char text[64];
        ssize_t size = weft_fd_read(socket_, text, sizeof text, 0); // it is readable: this does not wait
        connected_ = size > 0;
        if (!connected_) return;
        for (char c : std::string_view(text, static_cast<size_t>(size)))
            lines += c == '\n';
        if (job_ != WEFT_NOBODY) return;
        weft_stackful_options joinable = {};
        joinable.flags = WEFT_SPAWN_JOINABLE;
        job_ = weft::spawn([size] { weft_exit(static_cast<int>(size)); }, joinable);
    }

  public:
    int lines = 0, jobs = 0, announcements = 0;

    explicit server(weft_fd socket) : socket_(socket) {}
    void serve() {
        while (connected_ || job_ != WEFT_NOBODY || announcements == 0 || ticks_ == 0)
            weft::select(weft::forever, weft::on_readable(connected_ ? socket_ : WEFT_NO_FD, [&] { read_lines(); }),
                         weft::on_message([&](weft::message) { announcements++; }), weft::on_moment(tick_, [&] { ticks_++, tick_ += 5ms; }),
                         weft::on_end(job_, [&](int) { jobs++, job_ = WEFT_NOBODY; }));
    }
};

static void client(weft_fd fd) {
    weft::defer closes([=] { weft_fd_close(fd); });
    for (int i = 0; i < LINES; i++) {
        weft::check(weft_fd_write_all(fd, "a line\n", 7, nullptr, WEFT_FOREVER));
        weft::sleep(2ms);
    }
}

static int app(int, char **) {
    weft_fd pair[2];
    weft::check(weft_net_pair(pair));
    server server(pair[0]);
    weft::process writes([&] { client(pair[1]); });
    weft::process announces([self = weft_self()] { weft::send(self, ANNOUNCEMENT); });
    server.serve();
    std::cout << server.lines << " lines, " << server.announcements << " announcement\n";
    return server.lines == LINES && server.jobs > 0 && server.announcements == 1 ? 0 : 1;
}

int main(int argc, char **argv) { return weft::main(argc, argv, app); }

/* Prints:
 * 3 lines, 1 announcement
 */
