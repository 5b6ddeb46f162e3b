/* Structs of the program's that are shorter or longer than the library's own. */
#include "base/sized.h"
#include "test.h"

struct old {
    int a;
};
struct now {
    int a, b;
};
struct later {
    int a, b, c;
};

TEST(a_struct_of_the_same_size_is_taken_as_it_is) {
    struct now given = {1, 2}, mine;
    EXPECT(sized_read(&given, sizeof given, &mine, sizeof mine) == &given);
}

TEST(no_struct_is_one_of_zeroes) {
    struct now mine = {1, 2};
    EXPECT(sized_read(NULL, sizeof mine, &mine, sizeof mine) == &mine);
    EXPECT_EQ(mine.a, 0);
    EXPECT_EQ(mine.b, 0);
}

TEST(fields_that_an_older_program_does_not_have_are_zero) {
    struct old given = {1};
    struct now mine = {8, 9};
    EXPECT(sized_read(&given, sizeof given, &mine, sizeof mine) == &mine);
    EXPECT_EQ(mine.a, 1);
    EXPECT_EQ(mine.b, 0);
}

TEST(fields_that_only_a_newer_program_has_must_be_zero) {
    struct later given = {1, 2, 0};
    struct now mine;
    EXPECT(sized_read(&given, sizeof given, &mine, sizeof mine) == &mine);
    EXPECT_EQ(mine.b, 2);
    given.c = 1 << 24; /* one byte of the field is enough */
    EXPECT(sized_read(&given, sizeof given, &mine, sizeof mine) == NULL);
}

TEST(an_older_program_is_given_the_fields_that_it_has_and_no_byte_more) {
    struct now wanted = {8, 9}, mine = {1, 2};
    sized_write(&wanted, sizeof(struct old), &mine, sizeof mine);
    EXPECT_EQ(wanted.a, 1);
    EXPECT_EQ(wanted.b, 9);
}

TEST(a_newer_program_is_given_zeroes_for_the_fields_that_the_library_does_not_have) {
    struct later wanted = {7, 8, 9};
    struct now mine = {1, 2};
    sized_write(&wanted, sizeof wanted, &mine, sizeof mine);
    EXPECT_EQ(wanted.a, 1);
    EXPECT_EQ(wanted.b, 2);
    EXPECT_EQ(wanted.c, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
