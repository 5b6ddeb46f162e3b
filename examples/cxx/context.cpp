// A request with a deadline: its parts are worked on by processes of their own, and what is not there in time is given up.
#include <weft/weft.hpp>

#include <iostream>

using namespace std::chrono_literals;

static const char user_key = 0; // its address is the key

static const char *user() { return static_cast<const char *>(weft_context_value(weft_own_context(), &user_key)); }

static void profile() { std::cout << "profile of " << user() << ": found\n"; }

// What it spawns inherits its context.
static void history() {
    weft::process page([] { weft::sleep(1h); }); // a slow disk, say
    int reason = 0;
    int error = page.try_join(reason); // no deadline here: the context's ends both
    std::cout << "history of " << user() << ": " << weft_strerror(error ? error : reason) << '\n';
}

struct drop {
    void operator()(weft_context *context) const { weft_context_drop(context); }
};
using context_owner = std::unique_ptr<weft_context, drop>;

static int app(int, char **) {
    char name[] = "ada";
    weft_context *made = nullptr;
    weft::check(weft_context_new(nullptr, &made, weft::deadline(50ms)));
    context_owner request(made);
    weft::check(weft_context_with(request.get(), &user_key, name, &made));
    context_owner context(made);
    weft_stackful_options options = {};
    options.context = context.get();
    weft::process(profile, options).join();
    weft::process(history, options).join(); // by its deadline at the latest
    return 0;
}

int main(int argc, char **argv) { return weft::main(argc, argv, app); }
/* Prints:
 * profile of ada: found
 * history of ada: the process was cancelled
 */
