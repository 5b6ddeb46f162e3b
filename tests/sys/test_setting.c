/* Variables of the environment that begin with WEFT_: those that mean nothing are told, once, with the name that is near. */
#include "runtime_helpers.h"
#include "sys/setting.h"

/* What the start of a runtime says. */
static const char *said_at_start(void) {
    rt_stderr_begin();
    rt_start("ring", 1);
    rt_stop();
    return rt_stderr_end();
}

TEST(a_misspelt_setting_is_told_with_the_name_that_is_near) {
    setenv("WEFT_WORKRS", "3", 1);
    EXPECT(strstr(said_at_start(), "weft: WEFT_WORKRS in the environment means nothing; is it to be WEFT_WORKERS?\n"));
    EXPECT(strcmp(said_at_start(), "") == 0); /* once */
}

TEST(each_is_told) {
    setenv("WEFT_CHEK_MUTEX", "1", 1);
    setenv("WEFT_preempt", "1", 1);
    setenv("WEFT_", "1", 1);
    setenv("WEFT_A_NAME_THAT_IS_LONGER_THAN_ANY_SETTING", "1", 1);
    const char *said = said_at_start();
    EXPECT(strstr(said, "WEFT_CHEK_MUTEX in the environment means nothing; is it to be WEFT_CHECK_MUTEXES?"));
    EXPECT(strstr(said, "WEFT_preempt in the environment means nothing; `weft settings` lists"));
    EXPECT(strstr(said, "WEFT_ in the environment means nothing; `weft settings` lists"));
    EXPECT(strstr(said, "WEFT_A_NAME_THAT_IS_LONGER_THAN_ANY_SETTING in"));
}

/* Empty values are as if they were not set. */
TEST(settings_and_what_others_read_are_not_told) {
    static const char *const others[] = {"WEFT_TEST_ANYTHING", "WEFT_SIM_ANYTHING",  "WEFT_CROSS", "WEFT_MIXTURE_WITHOUT",
                                         "WEFT_CHECK_FILES",   "WEFT_CHECK_OPTIONS", "WEFT_ROOT",  "WEFTED",
                                         "weft_workers",       "XWEFT_WORKRS"};
    for (unsigned i = 0; i < SETTINGS; i++)
        setenv(setting_name(i), "", 1);
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        setenv(others[i], "1", 1);
    EXPECT(strcmp(said_at_start(), "") == 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
