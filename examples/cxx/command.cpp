// A step process must not block, and yields what would block as a command: examples/command.c. A process in plain code says instead that a
// call may block, and its worker runs others meanwhile.
#include <weft/weft.hpp>

#include <unistd.h>

#include <cctype>
#include <iostream>

static std::string slow_upper(std::string text) {
    weft::blocking call; // until the end of the block
    usleep(1000);        // the blocking part
    for (char &c : text)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

static int app(int, char **) {
    std::string results[2];
    weft::scope scope; // both at once; they may end in any order
    scope.spawn([&] { results[0] = slow_upper("warp"); });
    scope.spawn([&] { results[1] = slow_upper("weft"); });
    scope.end();
    std::cout << results[0] << " and " << results[1] << '\n';
    return 0;
}

int main(int argc, char **argv) { return weft::main(argc, argv, app); }
/* Prints:
 * WARP and WEFT
 */
