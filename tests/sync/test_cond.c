/* The condition: no signal is lost, no waiter sleeps beside one, the mutex is held afterwards. */
#include "crowd.h"

#include "sched/limits.h"

#include <weft/sync.h>

static weft_mutex mutex;
static weft_cond changed, other;
static atom_u64 over, woken, canceled, late;
/* Under the mutex. */
static uint64_t waiting, tokens, made, used;

static void forget(void) {
    memset(&mutex, 0, sizeof mutex);
    memset(&changed, 0, sizeof changed);
    memset(&other, 0, sizeof other);
    atom_u64 *const all[] = {&over, &woken, &canceled, &late};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        atom_store_rlx(all[i], 0);
    waiting = tokens = made = used = 0;
}
static void lock(void) { EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0); }
static void unlock(void) { weft_mutex_unlock(&mutex); }

TEST(cond_without_waiters) {
    forget();
    weft_cond_signal(&changed);
    weft_cond_broadcast(&changed);
    lock();
    EXPECT_EQ(weft_cond_wait(&changed, &mutex, 0), WEFT_ETIMEDOUT); /* signals are not kept */
    EXPECT_EQ(weft_cond_wait(&changed, &mutex, weft_now()), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_cond_wait(&changed, &mutex, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    unlock();
    EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0);
    unlock();
}

/* ---- a bounded buffer, the textbook way: one signal a token ---------------------------------------------------------- */

enum { SIDES = 5, ROOM = 3 };
static uint64_t each;
static void produces(void *unused) {
    (void)unused;
    crowd_begin();
    for (uint64_t i = 0; i < each; i++) {
        lock();
        while (tokens == ROOM)
            EXPECT_EQ(weft_cond_wait(&other, &mutex, WEFT_FOREVER), 0);
        tokens++;
        made++;
        if (i % 2) weft_cond_signal(&changed);
        unlock();
        if (i % 2 == 0) weft_cond_signal(&changed); /* either way */
    }
    atom_add_rel(&over, 1);
}
static void consumes(void *number) {
    struct rng rng;
    rng_seed(&rng, crowd_seed, (uintptr_t)number);
    crowd_begin();
    for (uint64_t i = 0; i < each; i++) {
        lock();
        while (tokens == 0) {
            bool soon = rng_below(&rng, 4) == 0;
            int error = weft_cond_wait(&changed, &mutex, soon ? weft_in(rng_below(&rng, 30000)) : WEFT_FOREVER);
            EXPECT(error == 0 || (soon && error == WEFT_ETIMEDOUT));
        }
        tokens--;
        used++;
        weft_cond_signal(&other);
        unlock();
    }
    atom_add_rel(&over, 1);
}
static void *thread_produces(void *unused) {
    produces(unused);
    return NULL;
}
static void *thread_consumes(void *unused) {
    consumes(unused);
    return NULL;
}
static void buffer(void) {
    for (unsigned threads = 0; threads < 2; threads++) {
        pthread_t thread[2] = {0};
        crowd_close(5);
        forget();
        each = (threads ? 300 : 1500) * test_scale() / RT_SLOW;
        for (uintptr_t i = 0; i < SIDES; i++) {
            crowd_spawn(consumes, (void *)i);
            crowd_spawn(produces, NULL);
        }
        if (threads) {
            thread[0] = crowd_thread(thread_consumes, (void *)99);
            thread[1] = crowd_thread(thread_produces, NULL);
        }
        crowd_open();
        rt_wait(&over, 2 * (SIDES + threads));
        for (unsigned i = 0; i < 2 * threads; i++)
            crowd_gather(thread[i]);
        EXPECT_EQ(made, each * (SIDES + threads));
        EXPECT_EQ(used, made);
        EXPECT_EQ(tokens, 0);
        rt_wait_until_none_lives();
    }
}
TEST_WITHIN(cond_buffer, 120) { rt_each(buffer); }

/* ---- signal, broadcast, giving up ------------------------------------------------------------------------------------ */

enum { CROWD = 12 };
static uint64_t patience;
static void waits(void *unused) {
    (void)unused;
    lock();
    waiting++;
    int error = weft_cond_wait(&changed, &mutex, patience);
    uint64_t held = ++used; /* under the mutex, whatever happened */
    if (error != WEFT_ECANCELED) weft_yield();
    EXPECT_EQ(used, held);
    unlock();
    atom_add_rel(error == 0 ? &woken : error == WEFT_ECANCELED ? &canceled : &late, 1);
}
static void wait_until_waiting(uint64_t count) {
    for (bool all = false; !all; usleep(100)) {
        lock();
        all = waiting == count; /* the mutex is free again, so they wait */
        unlock();
    }
}
static void signals(void) {
    weft_pid pids[CROWD];
    forget();
    patience = WEFT_FOREVER;
    for (unsigned i = 0; i < CROWD; i++)
        pids[i] = crowd_spawn(waits, NULL);
    wait_until_waiting(CROWD);
    weft_cond_signal(&changed);
    rt_wait(&woken, 1);
    lock(); /* a cancelled one gets the mutex back first, without having to hurry */
    for (unsigned i = 0; i < CROWD; i++)
        weft_cancel(pids[i]);
    usleep(1000);
    EXPECT_EQ(atom_load_acq(&canceled), 0);
    unlock();
    rt_wait(&canceled, CROWD - 1);
    EXPECT_EQ(atom_load_acq(&woken), 1);
    rt_wait_until_none_lives();

    forget();
    for (unsigned i = 0; i < CROWD; i++)
        crowd_spawn(waits, NULL);
    wait_until_waiting(CROWD);
    weft_cond_broadcast(&changed);
    rt_wait(&woken, CROWD);
    rt_wait_until_none_lives();

    forget();
    patience = weft_in(3 * WEFT_MILLISECOND);
    for (unsigned i = 0; i < CROWD; i++)
        crowd_spawn(waits, NULL);
    rt_wait(&late, CROWD);
    rt_wait_until_none_lives();
}
TEST(cond_signals) { rt_each(signals); }

/* The process that has waited longest is woken first. */
static uint64_t turn; /* under the mutex */
static void waits_its_turn(void *number) {
    lock();
    waiting++;
    EXPECT_EQ(weft_cond_wait(&changed, &mutex, WEFT_FOREVER), 0);
    EXPECT_EQ(turn, (uintptr_t)number);
    turn++;
    unlock();
    atom_add_rel(&woken, 1);
}
static void in_order(void) {
    forget();
    turn = 0;
    for (uintptr_t i = 0; i < CROWD; i++) {
        crowd_spawn(waits_its_turn, (void *)i);
        wait_until_waiting(i + 1);
    }
    for (unsigned i = 0; i < CROWD / 2; i++) {
        weft_cond_signal(&changed);
        rt_wait(&woken, i + 1);
    }
    for (unsigned i = CROWD / 2; i < CROWD; i++) { /* the mutex hands over in order too */
        lock();
        weft_cond_signal(&changed);
        unlock();
        rt_wait(&woken, i + 1);
    }
    rt_wait_until_none_lives();
}
TEST(cond_signals_in_order) { rt_each(in_order); }

/* A process that was killed comes with any number of calls left before it has to let others run: it ends with the mutex, and leaves nothing in the list. */
static void ends_with_the_mutex(void *unused) {
    (void)unused;
    unlock();
    atom_add_rel(&canceled, 1);
}
static void is_killed(void *calls) {
    weft_mutex none = WEFT_MUTEX_INIT;
    EXPECT_EQ(weft_defer(ends_with_the_mutex, NULL), 0);
    lock();
    for (uintptr_t i = 0; i < (uintptr_t)calls; i++) {
        EXPECT_EQ(weft_mutex_lock(&none, 0), 0);
        weft_mutex_unlock(&none);
    }
    EXPECT_EQ(weft_kill(weft_self()), 0);
    EXPECT_EQ(weft_cond_wait(&changed, &mutex, WEFT_FOREVER), WEFT_ECANCELED);
    for (;;)
        weft_yield();
}
static void killed(void) {
    forget();
    for (uintptr_t i = 0; i < 2 * BUDGET_CALLS; i++) {
        crowd_spawn(is_killed, (void *)i);
        rt_wait(&canceled, i + 1);
        rt_wait_until_none_lives();
        crowd_spawn(waits_its_turn, (void *)turn);
        wait_until_waiting(i + 1);
        weft_cond_signal(&changed);
        rt_wait(&woken, i + 1);
        rt_wait_until_none_lives();
    }
}
TEST(cond_killed_at_the_end_of_its_budget) { rt_each(killed); }

int main(int argc, char **argv) { return test_main(argc, argv); }
