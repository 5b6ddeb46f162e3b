/* Select: exactly one case happens, all ready ones have the same chance, no process waits for ever. */
#include "crowd.h"
#include "sync/chan.h"

static weft_chan *chan_make(size_t capacity) {
    weft_chan *chan = NULL;
    EXPECT_EQ(weft_chan_new(sizeof(uint64_t), capacity, &chan), 0);
    return chan;
}
static size_t waits_at(weft_chan *chan) {
    size_t count = 0;
    lock_take(&chan_of(chan)->lock);
    for (struct waiter *waiter = chan_of(chan)->senders.first; waiter; waiter = waiter->next)
        count++;
    for (struct waiter *waiter = chan_of(chan)->receivers.first; waiter; waiter = waiter->next)
        count++;
    lock_drop(&chan_of(chan)->lock);
    return count;
}
static void wait_until_waits_at(weft_chan *chan, size_t count) {
    while (waits_at(chan) != count)
        usleep(100);
}

/* ---- what does not wait ---------------------------------------------------------------------------------------------- */

TEST(select_nothing) {
    weft_case cases[2] = {weft_case_recv(NULL, NULL), weft_case_send(NULL, NULL)};
    EXPECT_EQ(weft_select(NULL, 0, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_select(cases, 2, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_select(cases, 2, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
}

TEST(select_default) {
    weft_chan *a = chan_make(1), *b = chan_make(1);
    uint64_t got = 0, give = 9;
    weft_case cases[] = {weft_case_recv(a, &got), weft_case_recv(b, &got)};
    EXPECT_EQ(weft_select(cases, 2, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_chan_send(b, &give, 0), 0);
    EXPECT_EQ(weft_select(cases, 2, 0), 1);
    EXPECT_EQ(cases[1].error, 0);
    EXPECT_EQ(got, 9);
    weft_case both[] = {weft_case_send(a, &give), weft_case_recv(a, &got)}; /* not to itself */
    got = 0;
    EXPECT_EQ(weft_select(both, 2, 0), 0);
    EXPECT_EQ(weft_select(both, 2, 0), 1);
    EXPECT_EQ(got, 9);
    weft_chan *hand = chan_make(0);
    weft_case self[] = {weft_case_send(hand, &give), weft_case_recv(hand, &got), weft_case_recv(hand, &got)};
    EXPECT_EQ(weft_select(self, 3, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_select(self, 3, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(waits_at(hand), 0);
    weft_chan_free(a);
    weft_chan_free(b);
    weft_chan_free(hand);
}

TEST(select_closed_is_ready) {
    weft_chan *a = chan_make(1);
    uint64_t got = 5;
    EXPECT_EQ(weft_chan_send(a, &got, 0), 0);
    EXPECT_EQ(weft_chan_close(a), 0);
    weft_case cases[] = {weft_case_recv(a, &got), weft_case_send(NULL, &got)};
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 0);
    EXPECT_EQ(cases[0].error, 0);
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 0);
    EXPECT_EQ(cases[0].error, WEFT_ECLOSED);
    cases[0] = weft_case_send(a, &got);
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 0);
    EXPECT_EQ(cases[0].error, WEFT_ECLOSED);
    weft_chan_free(a);
}

/* ---- moments and permits ------------------------------------------------------------------------------------------------- */

TEST(select_moments) {
    uint64_t now = weft_now();
    weft_case cases[] = {weft_case_moment(weft_in(20 * WEFT_SECOND)), weft_case_moment(now + 2 * WEFT_MILLISECOND),
                         weft_case_moment(WEFT_FOREVER)};
    EXPECT_EQ(weft_select(cases, 3, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_select(cases, 3, WEFT_FOREVER), 1);
    EXPECT(weft_now() >= now + 2 * WEFT_MILLISECOND);
    EXPECT_EQ(weft_select(cases, 3, 0), 1); /* it has come, and stays so */
    cases[1] = weft_case_never();
    EXPECT_EQ(weft_select(cases, 3, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
}

static weft_sem sem;
static void *releases(void *unused) {
    usleep(1000);
    weft_sem_release(&sem, 2);
    return unused;
}
TEST(select_permits) {
    weft_sem_init(&sem, 3);
    weft_case cases[] = {weft_case_acquire(&sem, 4), weft_case_acquire(&sem, 3), weft_case_acquire(NULL, 1)};
    EXPECT_EQ(weft_select(cases, 3, 0), 1);
    EXPECT_EQ(weft_select(cases, 3, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_select(cases, 3, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    cases[1] = weft_case_acquire(&sem, 2);
    pthread_t thread = crowd_thread(releases, NULL);
    EXPECT_EQ(weft_select(cases + 1, 2, WEFT_FOREVER), 0);
    crowd_gather(thread);
    EXPECT_EQ(weft_sem_available(&sem), 0);
    weft_sem_release(&sem, 1); /* without a waiter, and without a trace of one */
    EXPECT_EQ(weft_sem_acquire(&sem, 1, 0), 0);
}

static void selects_a_duration(void) {
    weft_case one = weft_case_moment(WEFT_SECOND);
    weft_select(&one, 1, WEFT_FOREVER);
}
static void selects_nonsense(void) {
    weft_case one = weft_case_never();
    one.kind = (enum weft_case_kind)77;
    weft_select(&one, 1, WEFT_FOREVER);
}
TEST(select_refuses_nonsense) {
    EXPECT_ABORT(selects_a_duration, "weft_select");
    EXPECT_ABORT(selects_nonsense, "weft_select", "unknown kind");
}

/* ---- chances --------------------------------------------------------------------------------------------------------- */

enum { DRAWS = 4000, LOTS = 5 };
static void draw(void *unused) {
    (void)unused;
    unsigned drawn[LOTS] = {0};
    weft_chan *chan[LOTS];
    weft_case cases[LOTS];
    uint64_t got, give = 1;
    for (unsigned i = 0; i < LOTS; i++) {
        chan[i] = chan_make(1);
        cases[i] = weft_case_recv(chan[i], &got);
        if (i != 2) EXPECT_EQ(weft_chan_send(chan[i], &give, 0), 0); /* one that is never ready */
    }
    for (unsigned i = 0; i < DRAWS; i++) {
        int chosen = weft_select(cases, LOTS, 0);
        EXPECT(chosen >= 0 && chosen != 2);
        drawn[chosen]++;
        EXPECT_EQ(weft_chan_send(chan[chosen], &give, 0), 0);
    }
    /* Four alike: 1000 each, standard deviation 27. */
    for (unsigned i = 0; i < LOTS; i++)
        EXPECT(i == 2 ? drawn[i] == 0 : drawn[i] > 800 && drawn[i] < 1200);
    for (unsigned i = 0; i < LOTS; i++)
        weft_chan_free(chan[i]);
}
TEST(select_is_fair) {
    draw(NULL); /* from a thread */
    rt_start("ring", 2);
    crowd_run(draw, NULL);
    rt_wait_until_none_lives();
    rt_stop();
}

/* ---- exactly one, conserved ------------------------------------------------------------------------------------------ */

enum { CHANNELS = 3, PARTIES = 6 };
static weft_chan *chans[CHANNELS];
static atom_u64 given, taken, sum_given, sum_taken, over, canceled, late, closed;
static uint64_t rounds;
static bool hurried;

static void forget(size_t capacity) {
    for (unsigned i = 0; i < CHANNELS; i++)
        chans[i] = chan_make(capacity);
    atom_u64 *const all[] = {&given, &taken, &sum_given, &sum_taken, &over, &canceled, &late, &closed};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        atom_store_rlx(all[i], 0);
}
static void forget_channels(void) {
    for (unsigned i = 0; i < CHANNELS; i++) {
        EXPECT_EQ(waits_at(chans[i]), 0);
        weft_chan_free(chans[i]);
    }
}

/* Sends on some channels and receives from others, whichever happens, until it has done its rounds. */
static void trades(void *number) {
    struct rng rng;
    rng_seed(&rng, crowd_seed, (uintptr_t)number);
    crowd_begin();
    for (uint64_t i = 0; i < rounds;) {
        weft_case cases[4];
        uint64_t out[4], in[4];
        for (unsigned c = 0; c < 4; c++) {
            out[c] = rng_next(&rng) >> 20;
            in[c] = 0;
            weft_chan *chan = chans[rng_below(&rng, CHANNELS)];
            cases[c] = rng_below(&rng, 2) ? weft_case_send(chan, &out[c]) : weft_case_recv(chan, &in[c]);
        }
        /* No process would wait for ever: deadlines throughout, since all may want to send. */
        uint64_t deadline =
            hurried && rng_below(&rng, 2) ? rng_below(&rng, 2) * weft_now() : weft_in((1 + rng_below(&rng, 200)) * WEFT_MICROSECOND);
        int chosen = weft_select(cases, 4, deadline);
        for (unsigned c = 0; c < 4; c++)
            if ((int)c != chosen) EXPECT_EQ(in[c], 0);
        if (chosen == WEFT_ETIMEDOUT) {
            atom_add_rlx(&late, 1);
            i += hurried;
            continue;
        }
        EXPECT(chosen >= 0 && cases[chosen].error == 0);
        bool send = cases[chosen].kind == WEFT_CASE_SEND;
        atom_add_rlx(send ? &given : &taken, 1);
        atom_add_rlx(send ? &sum_given : &sum_taken, send ? out[chosen] : in[chosen]);
        i++;
    }
    atom_add_rel(&over, 1);
}
static void *thread_trades(void *number) {
    trades(number);
    return NULL;
}

static void trade(size_t capacity, unsigned threads) {
    pthread_t thread[2];
    crowd_close(11);
    forget(capacity);
    rounds = 500 * test_scale() / RT_SLOW;
    for (uintptr_t i = 0; i < PARTIES; i++)
        crowd_spawn(trades, (void *)i);
    for (uintptr_t i = 0; i < threads; i++)
        thread[i] = crowd_thread(thread_trades, (void *)(PARTIES + i));
    crowd_open();
    /* The last to stay may have none to trade with: this process gives and takes on their behalf. */
    for (; atom_load_acq(&over) < PARTIES + threads; usleep(200))
        for (unsigned c = 0; c < CHANNELS; c++) {
            uint64_t got;
            if (weft_chan_recv(chans[c], &got, 0) == 0) {
                atom_add_rlx(&taken, 1);
                atom_add_rlx(&sum_taken, got);
            } else if (weft_chan_send(chans[c], &(uint64_t){3}, 0) == 0) {
                atom_add_rlx(&given, 1);
                atom_add_rlx(&sum_given, 3);
            }
        }
    for (unsigned i = 0; i < threads; i++)
        crowd_gather(thread[i]);
    for (unsigned c = 0; c < CHANNELS; c++)
        for (uint64_t got; weft_chan_recv(chans[c], &got, 0) == 0;) {
            atom_add_rlx(&taken, 1);
            atom_add_rlx(&sum_taken, got);
        }
    EXPECT_EQ(atom_load_rlx(&given), atom_load_rlx(&taken));
    EXPECT_EQ(atom_load_rlx(&sum_given), atom_load_rlx(&sum_taken));
    rt_wait_until_none_lives();
    forget_channels();
}
static void conserves(void) {
    hurried = false;
    trade(0, 0);
    trade(2, 2);
    hurried = true;
    trade(0, 1);
    trade(1, 0);
}
TEST_WITHIN(select_conserves, 120) { rt_each(conserves); }

/* Two selects that cross each other on unbuffered channels, without a third: each round one of the two directions happens. */
static void crosses(void *side) {
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t in = 0, out = i + 1;
        bool first = side == NULL;
        weft_case cases[] = {weft_case_send(chans[first ? 0 : 1], &out), weft_case_recv(chans[first ? 1 : 0], &in)};
        int chosen = weft_select(cases, 2, WEFT_FOREVER);
        EXPECT(chosen >= 0 && cases[chosen].error == 0);
        if (chosen == 1) EXPECT_EQ(in, i + 1);
        atom_add_rlx(chosen == 0 ? &given : &taken, 1);
    }
    atom_add_rel(&over, 1);
}
static void *thread_crosses(void *side) {
    crosses(side);
    return NULL;
}
static void cross(void) {
    for (unsigned threads = 0; threads < 2; threads++) {
        pthread_t thread = 0;
        forget(0);
        rounds = 3000 * test_scale() / RT_SLOW / (threads ? 10 : 1);
        crowd_spawn(crosses, NULL);
        if (threads) thread = crowd_thread(thread_crosses, (void *)1);
        else crowd_spawn(crosses, (void *)1);
        rt_wait(&over, 2);
        if (threads) crowd_gather(thread);
        EXPECT_EQ(atom_load_rlx(&given), rounds);
        EXPECT_EQ(atom_load_rlx(&taken), rounds);
        rt_wait_until_none_lives();
        forget_channels();
    }
}
TEST_WITHIN(select_crossing, 120) { rt_each(cross); }

/* ---- ends of waiting ------------------------------------------------------------------------------------------------- */

static uint64_t patience;
static void waits(void *unused) {
    (void)unused;
    uint64_t in = 77, out = 1;
    weft_case cases[] = {weft_case_recv(chans[0], &in), weft_case_recv(chans[1], &in), weft_case_send(chans[2], &out),
                         weft_case_recv(chans[0], &in)};
    int chosen = weft_select(cases, 4, patience);
    if (chosen == WEFT_ECANCELED) atom_add_rel(&canceled, 1);
    else if (chosen == WEFT_ETIMEDOUT) atom_add_rel(&late, 1);
    else if (cases[chosen].error == WEFT_ECLOSED) atom_add_rel(&closed, 1);
    else atom_add_rel(chosen == 2 ? &given : &taken, 1);
    EXPECT(in == 77 || (chosen >= 0 && chosen != 2 && cases[chosen].error == 0));
}

static void ends_of_waiting(void) {
    weft_pid pids[8];
    forget(0);
    patience = WEFT_FOREVER;
    for (unsigned i = 0; i < 8; i++)
        pids[i] = crowd_spawn(waits, NULL);
    wait_until_waits_at(chans[0], 16);
    wait_until_waits_at(chans[2], 8);
    weft_cancel(pids[0]);
    weft_cancel(pids[5]);
    rt_wait(&canceled, 2);
    wait_until_waits_at(chans[0], 12);
    uint64_t got = 0;
    EXPECT_EQ(weft_chan_recv(chans[2], &got, 0), 0);
    EXPECT_EQ(got, 1);
    EXPECT_EQ(weft_chan_send(chans[0], &got, 0), 0);
    EXPECT_EQ(weft_chan_send(chans[1], &got, 0), 0);
    rt_wait(&given, 1);
    rt_wait(&taken, 2);
    EXPECT_EQ(weft_chan_close(chans[1]), 0);
    rt_wait(&closed, 3);
    rt_wait_until_none_lives();
    forget_channels();

    forget(0);
    patience = weft_in(3 * WEFT_MILLISECOND);
    for (unsigned i = 0; i < 8; i++)
        crowd_spawn(waits, NULL);
    rt_wait(&late, 8);
    rt_wait_until_none_lives();
    forget_channels();
}
TEST(select_ends_of_waiting) { rt_each(ends_of_waiting); }

/* ---- many cases ------------------------------------------------------------------------------------------------------ */

enum { MANY = 300 };
static weft_chan *many[MANY];
static void selects_among_many(void *unused) {
    (void)unused;
    static weft_case cases[MANY];
    uint64_t in;
    for (unsigned round = 0; round < 200 / RT_SLOW; round++) {
        for (unsigned i = 0; i < MANY; i++)
            cases[i] = weft_case_recv(many[(i * 7) % MANY], &in);
        int chosen = weft_select(cases, MANY, WEFT_FOREVER);
        EXPECT(chosen >= 0);
        EXPECT_EQ(in, (chosen * 7) % MANY);
    }
    atom_add_rel(&over, 1);
}
static void among_many(void) {
    forget(0);
    for (unsigned i = 0; i < MANY; i++)
        many[i] = chan_make(0);
    crowd_spawn(selects_among_many, NULL);
    for (uint64_t i = 0; atom_load_acq(&over) == 0; i++)
        if (weft_chan_send(many[(i * 13) % MANY], &(uint64_t){(i * 13) % MANY}, 0) != 0) usleep(20);
    rt_wait_until_none_lives();
    for (unsigned i = 0; i < MANY; i++)
        weft_chan_free(many[i]);
    forget_channels();
}
TEST_WITHIN(select_many, 60) { rt_each(among_many); }

int main(int argc, char **argv) { return test_main(argc, argv); }
