/* Printing a line: whole, cut at the end of its buffer, and to a descriptor that takes nothing. */
#include "sys/print.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 511 };

static int ends[2];
static char text[2 * LONGEST];

/* What arrived, as a string; its length. */
static size_t arrived(void) {
    ssize_t n = read(ends[0], text, sizeof text - 1);
    EXPECT(n >= 0);
    text[n] = '\0';
    return (size_t)n;
}

TEST(print_writes_the_line) {
    EXPECT(pipe(ends) == 0);
    print_line(ends[1], "%d of %s\n", 3, "them");
    EXPECT_EQ(arrived(), 10);
    EXPECT(strcmp(text, "3 of them\n") == 0);
}

TEST(print_cuts_a_line_that_is_too_long) {
    char long_one[LONGEST + 100];
    memset(long_one, 'x', sizeof long_one);
    long_one[sizeof long_one - 1] = '\0';
    EXPECT(pipe(ends) == 0);
    print_line(ends[1], "%s", long_one);
    EXPECT_EQ(arrived(), LONGEST);
    EXPECT(strspn(text, "x") == LONGEST);
}

TEST(print_gives_up_where_nothing_can_be_written) {
    EXPECT(pipe(ends) == 0);
    print_line(ends[0], "this end is for reading\n");
    print_line(-1, "no descriptor\n");
    EXPECT(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    EXPECT(read(ends[0], text, sizeof text) < 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
