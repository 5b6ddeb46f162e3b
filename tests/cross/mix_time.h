/* Sleeping, and messages later: armed = fired + cancelled. */
#ifndef WEFT_TESTS_CROSS_MIX_TIME_H
#define WEFT_TESTS_CROSS_MIX_TIME_H

#include "mix.h"

enum { TIMER_ONCE = 1, TIMER_AGAIN = 2 };

static struct { atom_u64 armed, fired; } timing;

/* Counts what fires, and that nothing does too early. */
static inline void clock_main(void *arg) {
    weft_msg *message;
    (void)arg;
    for (bool over = false; !over;) {
        uint64_t due;
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        over = weft_msg_tag(message) == MIX_END;
        if (!over) {
            memcpy(&due, weft_msg_data(message), sizeof due);
            EXPECT(weft_now() >= due);
        }
        if (weft_msg_tag(message) == TIMER_ONCE) atom_add_rel(&timing.fired, 1);
        weft_msg_free(message);
    }
}

static inline void act_sleep(struct member *member) {
    uint64_t until = mix_deadline(member);
    int error = weft_sleep_until(until);
    mix_expect(error, WEFT_FOREVER);
    if (!error) EXPECT(weft_now() >= until);
}
static inline void act_after(struct member *member) {
    weft_timer timer;
    uint64_t in = mix_below(member, 1000000), due = weft_now() + in;
    atom_add_rlx(&timing.armed, 1);
    EXPECT_EQ(weft_after(in, mix.clock, TIMER_ONCE, &due, sizeof due, &timer), 0);
    if (mix_below(member, 2)) return;
    if (mix_below(member, 2)) weft_sleep(mix_below(member, 500000));
    int error = weft_timer_cancel(timer);
    EXPECT(error == 0 || error == WEFT_ENOENT);
    if (error == 0) atom_sub_rlx(&timing.armed, 1);
    EXPECT_EQ(weft_timer_cancel(timer), WEFT_ENOENT);
}
static inline void act_every(struct member *member) {
    weft_timer timer;
    uint64_t period = 20000 + mix_below(member, 200000), due = weft_now() + period;
    EXPECT_EQ(weft_every(period, mix.clock, TIMER_AGAIN, &due, sizeof due, &timer), 0);
    weft_sleep(mix_below(member, 500000));
    EXPECT_EQ(weft_timer_cancel(timer), 0);
}

static inline void time_open(void) {
    memset(&timing, 0, sizeof timing);
    mix.clock = mix_spawn(clock_main, NULL);
}
static inline void time_close(void) {
    mix_balance("timers", &timing.armed, &timing.fired);
    mix_dismiss(mix.clock);
}

#endif
