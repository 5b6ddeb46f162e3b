// Two processes: one doubles what it is sent, the other asks it.
#include <weft/weft.hpp>

#include <iostream>

static void doubler() {
    for (;;) { // until the runtime is stopped
        weft::message request = weft::recv();
        request.reply(2 * request.as<int>());
    }
}

int main() {
    weft::runtime runtime;
    weft::channel<int> answered(1);
    weft_pid first = runtime.spawn(doubler);
    runtime.spawn([first, answered]() mutable { answered.send(weft::call(first, 0, 21).as<int>()); });
    std::cout << "the answer is " << answered.recv().value() << '\n'; // a thread of the program's own receives like any process
    return runtime.stop();
}
/* Prints:
 * the answer is 42
 */
