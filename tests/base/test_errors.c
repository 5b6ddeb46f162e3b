/* Codes, names and texts come from one list: they are complete, distinct and negative. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <weft/errors.h>

static const int codes[] = {
#define CODE(name, code, text) name,
    WEFT_ERRORS(CODE)
#undef CODE
};
enum { CODES = sizeof codes / sizeof codes[0] };

TEST(errors_are_negative_and_distinct) {
    for (int i = 0; i < CODES; i++) {
        EXPECT(codes[i] < 0);
        for (int k = 0; k < i; k++) {
            EXPECT(codes[i] != codes[k]);
            EXPECT(strcmp(weft_errname(codes[i]), weft_errname(codes[k])) != 0);
            EXPECT(strcmp(weft_strerror(codes[i]), weft_strerror(codes[k])) != 0);
        }
    }
}

TEST(errors_have_name_and_text) {
    EXPECT(strcmp(weft_errname(WEFT_ETIMEDOUT), "WEFT_ETIMEDOUT") == 0);
    EXPECT(strcmp(weft_strerror(WEFT_ETIMEDOUT), "the deadline has passed") == 0);
    EXPECT(strcmp(weft_errname(WEFT_ENOSTACK), "WEFT_ENOSTACK") == 0);
    for (int i = 0; i < CODES; i++) {
        EXPECT(strncmp(weft_errname(codes[i]), "WEFT_E", 6) == 0);
        EXPECT(strlen(weft_strerror(codes[i])) > 3);
        EXPECT(strcmp(weft_strerror(codes[i]), "unknown error") != 0);
    }
}

TEST(errors_of_the_system_keep_their_number) {
    EXPECT_EQ(WEFT_ENOMEM, -ENOMEM);
    EXPECT_EQ(WEFT_EAGAIN, -EAGAIN);
    EXPECT(WEFT_ECLOSED < -4095); /* beyond every number the kernel uses */
}

/* Codes that are not in the list: nothing is lost, the C library knows them. */
TEST(errors_of_the_system_that_are_not_listed) {
#if defined(__GLIBC__)
    EXPECT(strcmp(weft_errname(-ENOTUNIQ), "ENOTUNIQ") == 0);
    EXPECT(strcmp(weft_strerror(-ENOTUNIQ), "Name not unique on network") == 0);
    for (int code = -133; code < 0; code++) /* all that Linux has, but for two numbers it never used */
        EXPECT((strcmp(weft_errname(code), "WEFT_E?") == 0) == (code == -41 || code == -58));
#endif
    EXPECT(strcmp(weft_strerror(-4000), "unknown error") == 0);
    EXPECT(strcmp(weft_errname(-4000), "WEFT_E?") == 0);
}

TEST(errors_unknown_and_zero_are_said_so) {
    EXPECT(strcmp(weft_strerror(0), "no error") == 0);
    EXPECT(strcmp(weft_errname(0), "WEFT_OK") == 0);
    EXPECT(strcmp(weft_strerror(-99999), "unknown error") == 0);
    EXPECT(strcmp(weft_errname(ENOMEM), "WEFT_E?") == 0); /* positive: not a weft code */
}

int main(int argc, char **argv) { return test_main(argc, argv); }
