// The smallest program with a stackful process: plain blocking code on a stack of its own.
#include <weft/weft.hpp>

#include <iostream>

using namespace std::chrono_literals;

static void echo() {
    for (;;) { // until it is cancelled: then recv throws, and the process ends
        weft::message m = weft::recv();
        weft::send(m.from(), m.tag(), m.text());
    }
}

static int app(int, char **) { // the first process; its return value is main's
    weft::process p(echo);     // cancelled and waited for at the end of the block
    weft::send(p.pid(), 1, "hello");
    weft::message m = weft::recv(1s); // every blocking call takes a deadline
    std::cout << "echo says " << m.text() << '\n';
    return 0;
}

int main(int argc, char **argv) { return weft::main(argc, argv, app); }
/* Prints:
 * echo says hello
 */
