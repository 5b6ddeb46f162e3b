// A lock for exactly two parties, from loads and stores alone.
#include <weft/synch2.h>

#include <iostream>
#include <mutex>
#include <thread>

// One party's side of the door, for std::lock_guard.
struct side {
    weft_synch2 &door;
    unsigned role; // 0 or 1
    void lock() { weft_synch2_enter(&door, role); }
    void unlock() { weft_synch2_leave(&door, role); }
};

int main() {
    static weft_synch2 door; // zeroed memory is ready for use
    long turns = 0;
    auto party = [&](unsigned role) {
        side mine{door, role};
        for (int i = 0; i < 10000; i++) {
            std::lock_guard<side> guard(mine);
            turns++; // never both at once; the one that waits is passed at most once
        }
    };
    std::thread first(party, 0U), second(party, 1U);
    first.join();
    second.join();
    std::cout << turns << " turns\n";
    return 0;
}
/* Prints:
 * 20000 turns
 */
