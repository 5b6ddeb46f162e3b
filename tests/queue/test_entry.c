#include "queue/entry.h"
#include "test.h"

#include <stdlib.h>

TEST(entry_keeps_pointer_and_ticket) {
    void *heap = malloc(1);
    int here;
    void *pointers[] = {heap, &here, (void *)1, (void *)0x7fffffffffff, (void *)0xffffffffffff};
    uint16_t tickets[] = {0, 1, 0x7fff, 0x8000, 0xffff};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned j = 0; j < 5; j++) {
            uint64_t entry = entry_make(pointers[i], tickets[j]);
            EXPECT(entry != ENTRY_NONE);
            EXPECT(entry_ptr(entry) == pointers[i]);
            EXPECT_EQ(entry_ticket(entry), tickets[j]);
        }
    free(heap);
}

TEST(entry_differs_by_either_part) {
    int a[2];
    EXPECT(entry_make(&a[0], 1) != entry_make(&a[0], 2));
    EXPECT(entry_make(&a[0], 1) != entry_make(&a[1], 1));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
