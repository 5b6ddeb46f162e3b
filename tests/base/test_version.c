/* The version of the library, as a number and as text. */
#include "test.h"

#include <weft/version.h>

#include <stdio.h>
#include <string.h>

TEST(version_of_the_library_is_that_of_its_headers) {
    EXPECT_EQ(weft_version(), WEFT_VERSION);
    EXPECT(strcmp(weft_version_string(), WEFT_VERSION_STRING) == 0);
}

TEST(version_number_and_text_agree) {
    int major, minor, patch;
    EXPECT_EQ(sscanf(weft_version_string(), "%d.%d.%d", &major, &minor, &patch), 3);
    EXPECT_EQ(major * 10000 + minor * 100 + patch, weft_version());
}

int main(int argc, char **argv) { return test_main(argc, argv); }
