/* Names of C++ functions in reports. */
#include "fiber/demangle.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static void expect_name(const char *mangled, const char *wanted) {
    char text[200];
    demangle(mangled, text, sizeof text);
    if (strcmp(text, wanted) != 0) test_fail(__FILE__, __LINE__, "%s is \"%s\" and not \"%s\"", mangled, text, wanted);
}

TEST(functions) {
    expect_name("_Z6workerPv", "worker");
    expect_name("_ZL6workerPv", "worker"); /* static */
    expect_name("_ZN3app6workerEPv", "app::worker");
    expect_name("_ZN3app12_GLOBAL__N_16workerEPv", "app::{unnamed}::worker");
    expect_name("_ZNK3app6server3runEv", "app::server::run");
    expect_name("_ZN3app6serverC1Ev", "app::server::{constructor}");
    expect_name("_ZN3app6serverD2Ev", "app::server::{destructor}");
    expect_name("_Z5applyIiLi5EEvT_", "apply");
    expect_name("_ZN3app4pairISt6vectorIiSaIiEE5colorE3runEv", "app::pair::run");
    expect_name("_ZSt4sortIPiEvT_S1_", "std::sort");
}

TEST(lambdas) {
    expect_name("_ZZ3appiPPcENKUlvE_clEv", "app::{lambda}");
    expect_name("_ZZ3appiPPcENK3$_0clEv", "app::{lambda}");
    expect_name("_ZN4weft6detail7closureIZZL3appvENK3$_0clEvEUlvE_E3runEPv", "app::{lambda}::{lambda}");
    expect_name("_ZZZ3appiPPcENKUlvE_clEvENKUlvE0_clEv", "app::{lambda}::{lambda}");
    expect_name("_ZZN3app3runESt8functionIFvvEEENKUliE1_clEi", "app::run::{lambda}");
}

/* As weft/weft.hpp spawns them. */
TEST(closures) {
    expect_name("_ZN4weft6detail7closureIZ3appiPPcEUlvE_E3runEPv", "app::{lambda}");
    expect_name("_ZN4weft6detail7closureIZZ3appiPPcENKUlvE_clEvEUlvE0_E3runEPv", "app::{lambda}::{lambda}");
    expect_name("_ZN4weft6detail7closureIN3app6workerEE3runEPv", "app::worker");
    expect_name("_ZN4weft6detail7closureIPFvvEE3runEPv", "weft::detail::closure::run");
}

/* Left as it is, whatever it is. */
TEST(what_is_not_known) {
    static const char *const left[] = {"main",    "",          "_",           "_Z",       "_ZN",    "_ZN3app",
                                       "_Z99app", "_ZNSt3_V2", "_ZplRK1AS1_", "_ZTV3app", "_ZZ3app"};
    for (unsigned i = 0; i < sizeof left / sizeof left[0]; i++)
        expect_name(left[i], left[i]);
    char deep[2003] = "_Z";
    memset(deep + 2, 'Z', 2000);
    expect_name("_ZNZNZNZNZNZNZNZNZN", "_ZNZNZNZNZNZNZNZNZN");
    char text[8];
    demangle(deep, text, sizeof text);
    EXPECT(strcmp(text, "_ZZZZZZ") == 0);
    demangle("_ZN3app6workerEPv", text, sizeof text); /* cut off */
    EXPECT(strcmp(text, "app::wo") == 0);
}

/* Cut off or changed anywhere, it is read to its end and not beyond: for the address sanitizer. */
TEST(names_that_are_broken) {
    static const char whole[] = "_ZN4weft6detail7closureIZZN3app3runESt8functionIFvvEEENKUlvE_clEvEUlA3_T0_DpS1_Li5EE0_E3runEPv";
    char text[64];
    for (size_t i = 0; i < sizeof whole; i++)
        for (unsigned letter = 0; letter < 128; letter++) {
            char *name = strdup(whole);
            name[i] = (char)letter;
            demangle(name, text, sizeof text);
            EXPECT(strlen(text) < sizeof text);
            free(name);
        }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
