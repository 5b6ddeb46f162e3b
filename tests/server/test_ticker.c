/* Tickers: ticks come in time and as long as they are wanted, none is too early, and nothing is left. */
#include "victim.h"

#include <weft/ticker.h>

static atom_u64 over;

static void ticks(void *arg) {
    weft_ticker *ticker;
    uint64_t began = weft_now(), moment, last = 0;
    (void)arg;
    EXPECT_EQ(weft_ticker_new(NULL, 2 * RT_MS, RT_MS, &ticker), 0);
    for (unsigned i = 0; i < 5; i++) {
        EXPECT_EQ(weft_chan_recv(weft_ticker_chan(ticker), &moment, WEFT_FOREVER), 0);
        EXPECT(moment >= began + (2 + i) * RT_MS && moment > last && moment <= weft_now());
        last = moment;
    }
    weft_sleep(20 * RT_MS); /* one is kept, the others are left out */
    EXPECT(weft_chan_len(weft_ticker_chan(ticker)) <= 1);
    EXPECT_EQ(weft_chan_recv(weft_ticker_chan(ticker), &moment, WEFT_FOREVER), 0);
    weft_ticker_free(ticker);
    atom_add_rel(&over, 1);
}
static void once(void *arg) {
    weft_ticker *timer;
    uint64_t began = weft_now(), moment;
    (void)arg;
    EXPECT_EQ(weft_ticker_new(NULL, 3 * RT_MS, 0, &timer), 0);
    EXPECT_EQ(weft_chan_recv(weft_ticker_chan(timer), &moment, WEFT_FOREVER), 0);
    EXPECT(moment >= began + 3 * RT_MS);
    EXPECT_EQ(weft_chan_recv(weft_ticker_chan(timer), &moment, WEFT_FOREVER), WEFT_ECLOSED);
    weft_ticker_free(timer);
    atom_add_rel(&over, 1);
}
static void at_once(void *arg) {
    weft_ticker *timer;
    (void)arg;
    EXPECT_EQ(weft_ticker_new(NULL, 0, 0, &timer), 0);
    EXPECT_EQ(weft_chan_recv(weft_ticker_chan(timer), NULL, WEFT_FOREVER), 0);
    weft_ticker_free(timer);
    EXPECT_EQ(weft_ticker_new(NULL, WEFT_FOREVER, WEFT_FOREVER, &timer), 0); /* never */
    EXPECT_EQ(weft_chan_recv(weft_ticker_chan(timer), NULL, 0), WEFT_ETIMEDOUT);
    weft_ticker_free(timer);
    weft_ticker_free(NULL);
    atom_add_rel(&over, 1);
}
/* With other channels, in a select. */
static void selects(void *arg) {
    weft_ticker *ticker;
    weft_chan *other;
    unsigned beats = 0;
    (void)arg;
    EXPECT_EQ(weft_chan_new(sizeof(int), 1, &other), 0);
    EXPECT_EQ(weft_ticker_new(NULL, RT_MS, RT_MS, &ticker), 0);
    for (int sent = 0; beats < 3 || !sent;) {
        weft_case cases[] = {weft_case_recv(weft_ticker_chan(ticker), NULL), weft_case_recv(other, &sent)};
        int which = weft_select(cases, 2, WEFT_FOREVER);
        EXPECT(which == 0 || which == 1);
        if (which == 0 && ++beats == 2) EXPECT_EQ(weft_chan_send(other, &(int){1}, 0), 0);
    }
    weft_ticker_free(ticker);
    weft_chan_free(other);
    atom_add_rel(&over, 1);
}
static void all_kinds(void) {
    atom_store_rlx(&over, 0);
    victim_spawn(ticks, NULL, 0, NULL);
    victim_spawn(once, NULL, 0, NULL);
    victim_spawn(at_once, NULL, 0, NULL);
    victim_spawn(selects, NULL, 0, NULL);
    rt_wait(&over, 4);
    weft_ticker *mine; /* a thread's */
    EXPECT_EQ(weft_ticker_new(NULL, 0, RT_MS, &mine), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_ticker_new(rt.runtime, 0, RT_MS, &mine), 0);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_chan_recv(weft_ticker_chan(mine), NULL, WEFT_FOREVER), 0);
    weft_ticker_free(mine);
    rt_wait_until_none_lives();
}
TEST(ticker_of_every_kind) { rt_each(all_kinds); }

/* The runtime stops first. */
TEST(ticker_outlives_its_runtime) {
    weft_ticker *ticker;
    rt_start("ring", 2);
    EXPECT_EQ(weft_ticker_new(rt.runtime, 1000 * RT_SECOND, RT_MS, &ticker), 0);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
    rt_watch_end();
    EXPECT_EQ(weft_chan_recv(weft_ticker_chan(ticker), NULL, WEFT_FOREVER), WEFT_ECLOSED);
    weft_ticker_free(ticker);
    EXPECT_EQ(rt_live_memory(), 0);
}

static void frees_early(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 200 / RT_SLOW; i++) {
        weft_ticker *ticker;
        EXPECT_EQ(weft_ticker_new(NULL, i % 40 * 1000, 1000, &ticker), 0);
        if (i % 3) weft_yield();
        weft_ticker_free(ticker);
    }
    atom_add_rel(&over, 1);
}
static void freed_at_any_moment(void) {
    atom_store_rlx(&over, 0);
    for (unsigned i = 0; i < 3; i++)
        victim_spawn(frees_early, NULL, 0, NULL);
    rt_wait(&over, 3);
    rt_wait_until_none_lives();
}
TEST(ticker_freed_at_any_moment) { rt_each(freed_at_any_moment); }

int main(int argc, char **argv) { return test_main(argc, argv); }
