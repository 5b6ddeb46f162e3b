/* Read-side sections: what the count says to a thread that waits for it. The races are the checker's business. */
#include "proc/section.h"
#include "test.h"

TEST(section_odd_is_inside) {
    struct section section;
    section_init(&section);
    for (unsigned i = 0; i < 100; i++) {
        EXPECT_EQ(atom_load_rlx(&section.count), 2 * i);
        section_enter(&section);
        EXPECT_EQ(atom_load_rlx(&section.count), 2 * i + 1);
        section_leave(&section);
    }
}

TEST(section_noted_outside_need_not_be_waited_for) {
    struct section section;
    section_init(&section);
    uint64_t noted = section_note(&section);
    EXPECT(section_has_left(&section, noted));
    section_enter(&section); /* later than the note: it sees what was done before */
    EXPECT(section_has_left(&section, noted));
    section_leave(&section);
    EXPECT(section_has_left(&section, noted));
}

TEST(section_noted_inside_is_waited_for) {
    struct section section;
    section_init(&section);
    section_enter(&section);
    uint64_t noted = section_note(&section);
    EXPECT(!section_has_left(&section, noted));
    section_leave(&section);
    EXPECT(section_has_left(&section, noted));
    section_enter(&section); /* another visit is not the one that was noted */
    EXPECT(section_has_left(&section, noted));
    uint64_t again = section_note(&section);
    EXPECT(!section_has_left(&section, again));
    section_leave(&section);
    EXPECT(section_has_left(&section, again));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
