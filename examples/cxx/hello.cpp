// The smallest program: one process, one message.
#include <weft/weft.hpp>

#include <iostream>

// Runs when something has happened, never blocks, and waits again when it returns: unless it is done.
static int greeter_step(void *, const weft_event *events, size_t count, weft_out *out) {
    for (const weft_event *event = events; event < events + count; event++) {
        if (event->type == WEFT_EVENT_MESSAGE)
            std::cout << "hello, " << std::string_view(static_cast<const char *>(event->data), event->size) << '\n';
        if (event->type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE); // it is to end
    }
    return 0;
}

int main() {
    weft_behavior greeter = {};
    greeter.name = "greeter";
    greeter.step = greeter_step;
    weft::runtime runtime; // a worker for every CPU
    weft_spawn_options options = {};
    options.runtime = runtime.get();
    weft_pid pid = WEFT_NOBODY;
    weft::check(weft_spawn_step(&greeter, &options, &pid));
    weft::send(pid, 0, "world");
    return runtime.stop(); // cancels everybody and waits until they have ended
}
/* Prints:
 * hello, world
 */
