/* Everything that waits, together: processes that use one thing inside another at random while they are cancelled at random. What is
 * guarded stays whole, everybody ends when asked, and nothing is left over. */
#include "mailbox_helpers.h"

#include <weft/blocking.h>
#include <weft/channel.h>
#include <weft/fork.h>
#include <weft/scope.h>
#include <weft/stack.h>
#include <weft/sync.h>
#include <weft/synch2.h>

enum { ACTORS = 24, SERVERS = 3, CHANS = 4, DEPTH = 3 };

static weft_chan *chans[CHANS];
static weft_mutex mutex;
static weft_cond changed;
static weft_sem sem;
static weft_rwlock rwlock;
static weft_once once;
static weft_waitgroup group;
static uint64_t guarded[2], written[2]; /* by the mutex; by the read-write lock */
static atom_u64 servers[SERVERS], locals[ACTORS], operations, cancelled, holders;
static atom_bool over;
static uint64_t rounds, seed;

/* A process's own numbers. */
struct dice {
    struct rng rng;
    unsigned depth;
};
static uint32_t roll(struct dice *dice, uint32_t n) { return rng_below(&dice->rng, n); }
static uint64_t some_deadline(struct dice *dice) {
    switch (roll(dice, 5)) {
    case 0: return 0;
    case 1: return weft_now();
    case 2: return weft_in(roll(dice, 20) * WEFT_MICROSECOND);
    case 3: return weft_in(roll(dice, 300) * WEFT_MICROSECOND);
    default: return weft_in(WEFT_MILLISECOND);
    }
}
static bool is_fine(int error) {
    return error == 0 || error == WEFT_ETIMEDOUT || error == WEFT_ECANCELED || error == WEFT_ECLOSED || error == WEFT_ENOPROC;
}
#define FINE(call)                                                                                                                         \
    do {                                                                                                                                   \
        int fine_error = (call);                                                                                                           \
        if (!is_fine(fine_error)) test_fail(__FILE__, __LINE__, "%s: %s", #call, weft_strerror(fine_error));                               \
    } while (0)

static void operate(struct dice *dice);
static void deeper(struct dice *dice) {
    if (dice->depth == 0) {
        weft_yield();
        return;
    }
    dice->depth--;
    operate(dice);
    dice->depth++;
}

/* ---- the things --------------------------------------------------------------------------------------------------------------- */

static void use_channel(struct dice *dice) {
    uint64_t element = roll(dice, 100);
    weft_chan *chan = chans[roll(dice, CHANS)];
    FINE(roll(dice, 2) ? weft_chan_send(chan, &element, some_deadline(dice)) : weft_chan_recv(chan, &element, some_deadline(dice)));
    EXPECT(element < 100);
}
static void use_select(struct dice *dice) {
    uint64_t in[CHANS], out = 7;
    weft_case cases[CHANS];
    for (unsigned i = 0; i < CHANS; i++)
        cases[i] = roll(dice, 2) ? weft_case_recv(chans[i], &in[i]) : weft_case_send(chans[i], &out);
    int which = weft_select(cases, CHANS, some_deadline(dice));
    EXPECT(which >= 0 || is_fine(which));
    if (which >= 0 && cases[which].kind == WEFT_CASE_RECV && cases[which].error == 0) EXPECT(in[which] < 100);
}
static void use_mutex(struct dice *dice) {
    int error = weft_mutex_lock(&mutex, some_deadline(dice));
    FINE(error);
    if (error) return;
    uint64_t seen = guarded[0];
    guarded[0] = seen + 1;
    if (roll(dice, 4) == 0) weft_yield();
    if (roll(dice, 8) == 0) FINE(weft_sleep(10 * WEFT_MICROSECOND));
    EXPECT_EQ(guarded[1], seen);
    guarded[1] = seen + 1;
    if (roll(dice, 4) == 0) {
        FINE(weft_cond_wait(&changed, &mutex, some_deadline(dice)));
        EXPECT_EQ(guarded[0], guarded[1]);
    }
    if (roll(dice, 2)) weft_cond_signal(&changed);
    else weft_cond_broadcast(&changed);
    weft_mutex_unlock(&mutex);
}
static void use_semaphore(struct dice *dice) {
    uint32_t permits = 1 + roll(dice, 3);
    int error = weft_sem_acquire(&sem, permits, some_deadline(dice));
    FINE(error);
    if (error) return;
    EXPECT(atom_add_rlx(&holders, permits) + permits <= 4);
    deeper(dice);
    atom_sub_rlx(&holders, permits);
    weft_sem_release(&sem, permits);
}
static void use_rwlock(struct dice *dice) {
    bool writes = roll(dice, 3) == 0;
    int error = writes ? weft_rwlock_write(&rwlock, some_deadline(dice)) : weft_rwlock_read(&rwlock, some_deadline(dice));
    FINE(error);
    if (error) return;
    uint64_t seen = written[0];
    if (writes) written[0] = seen + 1;
    weft_yield();
    if (writes) written[1] = seen + 1;
    EXPECT_EQ(written[0], written[1]);
    if (writes) weft_rwlock_write_end(&rwlock);
    else weft_rwlock_read_end(&rwlock);
}
static int succeeds_in_the_end(void *arg) {
    weft_yield();
    return roll(arg, 3) ? -1 : 0;
}
static void use_once(struct dice *dice) {
    int error = weft_once_do(&once, succeeds_in_the_end, dice, some_deadline(dice));
    EXPECT(error == -1 || is_fine(error));
}
static void use_group(struct dice *dice) {
    weft_waitgroup_add(&group, 1);
    if (roll(dice, 2)) FINE(weft_waitgroup_wait(&group, weft_in(10 * WEFT_MICROSECOND)));
    weft_waitgroup_done(&group);
}
static void use_call(struct dice *dice) {
    weft_msg *reply;
    uint64_t reference, number = roll(dice, 1000);
    weft_pid server = atom_load_acq(&servers[roll(dice, SERVERS)]);
    if (roll(dice, 2)) {
        int error = weft_call(server, roll(dice, 4), &number, sizeof number, &reply, some_deadline(dice));
        FINE(error);
        if (!error) EXPECT_EQ(msg_u64(reply), number + 1);
        if (!error) weft_msg_free(reply);
        return;
    }
    int error = weft_ask(server, roll(dice, 4), &number, sizeof number, &reference);
    FINE(error);
    if (error) return;
    if (roll(dice, 2)) deeper(dice);
    error = weft_recv_reply(reference, &reply, some_deadline(dice));
    FINE(error);
    if (!error) EXPECT_EQ(msg_u64(reply), number + 1);
    if (!error) weft_msg_free(reply);
    else if (roll(dice, 2)) weft_forget(reference); /* or it is forgotten when the process ends */
}
static void use_messages(struct dice *dice) {
    weft_msg *message;
    uint64_t tag = roll(dice, 3);
    if (roll(dice, 2)) FINE(weft_send(weft_self(), tag, &tag, sizeof tag));
    int error = roll(dice, 2) ? weft_recv_tag(tag, &message, some_deadline(dice)) : weft_recv(&message, some_deadline(dice));
    FINE(error);
    if (error) return;
    EXPECT_EQ(weft_msg_tag(message), msg_u64(message));
    weft_msg_free(message);
}

/* ---- processes in processes ----------------------------------------------------------------------------------------------------- */

struct child_arg {
    uint64_t seed;
    unsigned depth;
};
static void child(void *arg) {
    struct child_arg *given = arg;
    struct dice dice = {.depth = given->depth};
    rng_seed(&dice.rng, given->seed, 1);
    operate(&dice);
    if (roll(&dice, 8) == 0) weft_exit(-(int)roll(&dice, 3) * 5000);
}
static void use_scope(struct dice *dice) {
    struct child_arg args[4];
    unsigned n = 1 + roll(dice, 4);
    weft_scope scope;
    weft_scope_begin(&scope, roll(dice, 2) ? WEFT_FOREVER : some_deadline(dice));
    for (unsigned i = 0; i < n; i++) {
        args[i] = (struct child_arg){rng_next(&dice->rng), dice->depth ? dice->depth - 1 : 0};
        FINE(weft_scope_spawn(&scope, child, &args[i]));
    }
    if (roll(dice, 2)) deeper(dice);
    if (roll(dice, 8) == 0) weft_scope_cancel(&scope);
    weft_scope_end(&scope);
}
static void ends_soon(void *reason) {
    weft_sleep((uintptr_t)reason % 50 * WEFT_MICROSECOND);
    weft_exit((int)(uintptr_t)reason);
}
static void use_join(struct dice *dice) {
    int reason, wanted = (int)roll(dice, 100);
    weft_pid pid =
        roll(dice, 2) ? weft_spawn_joinable(ends_soon, (void *)(intptr_t)wanted) : weft_spawn(ends_soon, (void *)(intptr_t)wanted);
    if (pid == WEFT_NOBODY) return; /* the runtime is stopping */
    if (roll(dice, 3) == 0) deeper(dice);
    int error = weft_join(pid, &reason, some_deadline(dice));
    FINE(error);
    if (!error) EXPECT_EQ(reason, wanted);
    if (roll(dice, 4) == 0) weft_detach(pid);
}
WEFT_TASK(unsigned, fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_FORK(fib, n - 1);
    unsigned b = WEFT_CALL(fib, n - 2);
    return WEFT_JOIN(fib) + b;
}
static void on_a_bigger_stack(void *arg) { deeper(arg); }
static void briefly(void *arg) {
    (void)arg;
    usleep(10);
}
static void nothing(void *arg) { (void)arg; }

static void operate(struct dice *dice) {
    atom_add_rlx(&operations, 1);
    switch (roll(dice, 18)) {
    case 0:
    case 1: use_channel(dice); break;
    case 2: use_select(dice); break;
    case 3:
    case 4: use_mutex(dice); break;
    case 5: use_semaphore(dice); break;
    case 6: use_rwlock(dice); break;
    case 7: use_once(dice); break;
    case 8: use_group(dice); break;
    case 9:
    case 10: use_call(dice); break;
    case 11: use_messages(dice); break;
    case 12: use_scope(dice); break;
    case 13: use_join(dice); break;
    case 14: EXPECT_EQ(WEFT_RUN(fib, 8), 21); break;
    case 15: EXPECT_EQ(weft_call_big(on_a_bigger_stack, dice, 256 << 10), 0); break;
    case 16:
        weft_pin_begin();
        deeper(dice);
        weft_pin_end();
        break;
    default:
        EXPECT_EQ(weft_defer(nothing, dice), 0);
        if (roll(dice, 2)) FINE(weft_blocking(briefly, NULL));
        deeper(dice);
        weft_undefer(roll(dice, 2));
        break;
    }
}

/* ---- the stage -------------------------------------------------------------------------------------------------------------------- */

/* Answers, or not, or ends; another takes its place. */
static void server(void *arg) {
    uintptr_t index = (uintptr_t)arg;
    weft_msg *message;
    atom_store_rel(&servers[index], weft_self());
    for (unsigned i = 0; i < 200 && weft_recv(&message, WEFT_FOREVER) == 0; i++) {
        uint64_t number = msg_u64(message) + 1;
        if (weft_msg_tag(message)) FINE(weft_reply(weft_msg_request(message), &number, sizeof number));
        if (i % 5 == 0) weft_sleep(5 * WEFT_MICROSECOND);
        weft_msg_free(message);
    }
    if (!atom_load_acq(&over)) weft_spawn(server, arg);
}
/* Until it is cancelled; another takes its place. */
static void local(void *arg) {
    uintptr_t index = (uintptr_t)arg;
    struct dice dice = {.depth = DEPTH};
    rng_seed(&dice.rng, seed + atom_load_rlx(&operations), index);
    atom_store_rel(&locals[index], weft_self());
    while (!weft_cancelled() && !atom_load_acq(&over))
        operate(&dice);
    if (!atom_load_acq(&over)) weft_spawn(local, arg);
}

static void together(void) {
    struct rng rng;
    seed = test_seed(20261115);
    rng_seed(&rng, seed, 0);
    atom_store_rlx(&over, false);
    memset(&mutex, 0, sizeof mutex);
    memset(&once, 0, sizeof once);
    weft_sem_init(&sem, 4);
    atom_store_rlx(&operations, 0);
    atom_store_rlx(&cancelled, 0);
    for (unsigned i = 0; i < CHANS; i++)
        EXPECT_EQ(weft_chan_new(sizeof(uint64_t), i, &chans[i]), 0);
    for (uintptr_t i = 0; i < SERVERS; i++)
        atom_store_rel(&servers[i], run_spawn(server, (void *)i));
    for (uintptr_t i = 0; i < ACTORS; i++)
        atom_store_rel(&locals[i], run_spawn(local, (void *)i));
    while (atom_load_rlx(&operations) < rounds) {
        usleep(200);
        atom_u64 *victim = rng_below(&rng, 8) ? &locals[rng_below(&rng, ACTORS)] : &servers[rng_below(&rng, SERVERS)];
        if (weft_cancel(atom_load_acq(victim)) == 0) atom_add_rlx(&cancelled, 1);
        if (rng_below(&rng, 8) == 0) weft_chan_send(chans[rng_below(&rng, CHANS)], &(uint64_t){1}, weft_in(10 * WEFT_MICROSECOND));
        if (rng_below(&rng, 8) == 0) weft_chan_recv(chans[rng_below(&rng, CHANS)], NULL, weft_in(10 * WEFT_MICROSECOND));
    }
    atom_store_rel(&over, true);
    for (unsigned i = 0; i < SERVERS; i++)
        weft_cancel(atom_load_acq(&servers[i]));
    for (unsigned i = 0; i < CHANS; i++)
        weft_chan_close(chans[i]);
    while (rt_stats().processes > 0) {
        for (unsigned i = 0; i < SERVERS; i++)
            weft_cancel(atom_load_acq(&servers[i]));
        usleep(1000);
    }
    printf("%lu operations, %lu cancellations, seed %lu\n", (unsigned long)atom_load_rlx(&operations),
           (unsigned long)atom_load_rlx(&cancelled), (unsigned long)seed);
    EXPECT_EQ(guarded[0], guarded[1]);
    EXPECT_EQ(weft_sem_available(&sem), 4);
    EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0);
    weft_mutex_unlock(&mutex);
    EXPECT_EQ(weft_rwlock_write(&rwlock, 0), 0);
    weft_rwlock_write_end(&rwlock);
    EXPECT_EQ(weft_waitgroup_wait(&group, 0), 0);
    for (unsigned i = 0; i < CHANS; i++)
        weft_chan_free(chans[i]);
}
TEST_WITHIN(together_on_all_policies, 300) {
    rounds = 20000 / RT_SLOW * test_scale();
    rt_each(together);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
