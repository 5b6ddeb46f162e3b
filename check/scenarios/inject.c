/* The global FIFO with the real lock, three threads at a time: batches in and out, growth, and the order of each
 * producer. The array holds two entries at first. */
#include "inject_items.h"

SCENARIO(inject_two_producers, .about = "2 producers of a batch, a taker, with growth", .setup = set_up,
         .threads = {batch_0_1, batch_2_3, take_3}, .finish = finish_2)
SCENARIO(inject_growth, .about = "a wrapped array grows between 2 takers", .setup = set_up_wrapped, .threads = {batch_2_3, take_1, take_2},
         .finish = finish_2)
SCENARIO(inject_order, .about = "a producer of two entries and a taker", .setup = set_up, .threads = {push_0_1, take_2}, .finish = finish_1)

static void reserve(void) { chk_assert(inject_reserve(&inject, 4) == 0, "there is memory"); }
SCENARIO(inject_reserve, .about = "a reservation between a producer and a taker", .setup = set_up_wrapped,
         .threads = {reserve, batch_2_3, take_2}, .finish = finish_2)
