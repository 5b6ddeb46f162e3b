/* Process-local values: whose they are, who inherits them, and that each is destroyed once. */
#include "victim.h"

static weft_key plain, counted, shared;
static atom_u64 made, destroyed, done, order, spawner;

/* A value that is counted: each has an owner of its own. */
static void *count_value(void *value) {
    atom_add_rel(&made, 1);
    return value;
}
static void uncount_value(void *value) {
    EXPECT(value && (weft_self() == WEFT_NOBODY || weft_self() == atom_load_acq(&spawner))); /* the spawner: for one that was not born */
    atom_add_rel(&destroyed, 1);
}
static void *inherits_some(void *value) { return *(int *)value % 2 ? count_value(value) : NULL; }
static void keys_once(void) {
    if (plain) return;
    EXPECT_EQ(weft_key_new(NULL, &plain), 0);
    EXPECT_EQ(weft_key_new(&(weft_key_options){.destroy = uncount_value, .inherit = inherits_some}, &counted), 0);
    EXPECT_EQ(weft_key_new(&(weft_key_options){.inherit = weft_local_share}, &shared), 0);
}
static void begin(void) {
    keys_once();
    atom_store_rlx(&made, 0);
    atom_store_rlx(&destroyed, 0);
    atom_store_rlx(&done, 0);
    atom_store_rlx(&spawner, UINT64_MAX);
}

/* ---- each process has its own -------------------------------------------------------------------------------------------------- */

static void keeps_its_own(void *arg) {
    EXPECT(!weft_local_get(plain) && !weft_local_get(counted) && !weft_local_get(shared) && !weft_local_get(0) && !weft_local_get(77));
    EXPECT_EQ(weft_local_set(plain, arg), 0);
    for (unsigned i = 0; i < 50; i++) {
        weft_yield();
        EXPECT(weft_local_get(plain) == arg);
    }
    EXPECT_EQ(weft_local_set(plain, NULL), 0);
    EXPECT(!weft_local_get(plain));
    atom_add_rel(&done, 1);
}
static void own_values(void) {
    static char cells[20];
    begin();
    EXPECT(!weft_local_get(plain));
    EXPECT_EQ(weft_local_set(plain, cells), WEFT_ENOTINSIDE);
    for (unsigned i = 0; i < 20; i++)
        victim_spawn(keeps_its_own, &cells[i], 0, NULL);
    rt_wait(&done, 20);
}
TEST(local_each_process_has_its_own) { rt_each(own_values); }

static void unknown_keys(void *arg) {
    EXPECT_EQ(weft_local_set(0, arg), WEFT_EINVAL);
    EXPECT_EQ(weft_local_set(shared + 1, arg), WEFT_EINVAL);
    atom_add_rel(&done, 1);
}
static void no_such_key(void) {
    begin();
    victim_spawn(unknown_keys, &done, 0, NULL);
    rt_wait(&done, 1);
}
TEST(local_keys_that_do_not_exist) { rt_each(no_such_key); }

/* ---- step processes ------------------------------------------------------------------------------------------------------------ */

static int seven = 7, eight = 8;
static int steps_twice(void *self, const weft_event *events, size_t count, weft_out *out) {
    unsigned *turn = self;
    (void)events, (void)count;
    if (++*turn == 1) {
        EXPECT_EQ(weft_local_set(counted, count_value(&seven)), 0);
        weft_out_status(out, WEFT_STEP_CONTINUE);
        return 0;
    }
    EXPECT(weft_local_get(counted) == &seven);
    weft_out_status(out, WEFT_STEP_DONE);
    atom_add_rel(&done, 1);
    return 0;
}
static const weft_behavior two_steps = {.name = "two steps", .state_size = sizeof(unsigned), .step = steps_twice};
static void in_steps(void) {
    begin();
    for (unsigned i = 0; i < 10; i++)
        rt_spawn(&two_steps);
    rt_wait(&destroyed, 10);
    EXPECT_EQ(atom_load_acq(&done), 10);
}
TEST(local_in_step_processes) { rt_each(in_steps); }

/* ---- inheritance --------------------------------------------------------------------------------------------------------------- */

static void heir(void *arg) {
    EXPECT(!weft_local_get(plain));
    EXPECT(weft_local_get(counted) == (*(int *)arg % 2 ? arg : NULL));
    EXPECT(weft_local_get(shared) == &seven);
    atom_add_rel(&done, 1);
}
static int heir_steps(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    heir(&seven);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior step_heir = {.name = "heir", .step = heir_steps};
static void spawns_heirs(void *arg) {
    weft_pid pid;
    weft_context *context;
    EXPECT_EQ(weft_local_set(plain, &eight), 0);
    EXPECT_EQ(weft_local_set(counted, count_value(arg)), 0);
    EXPECT_EQ(weft_local_set(shared, &seven), 0);
    EXPECT(!weft_own_context()); /* values alone are no context */
    EXPECT(weft_spawn(heir, arg));
    EXPECT_EQ(weft_spawn_many(1, heir, arg, 0), 0);
    EXPECT_EQ(weft_context_new(NULL, &context, weft_in(60 * RT_SECOND)), 0);
    EXPECT_EQ(weft_spawn_with(heir, arg, &(weft_stackful_options){.context = context, .flags = WEFT_SPAWN_STACK_NOW}, &pid), 0);
    weft_context_drop(context);
    if (arg == &seven) EXPECT_EQ(weft_spawn_step(&step_heir, NULL, &pid), 0);
    else atom_add_rel(&done, 1);
}
static void inherited(void) {
    begin();
    victim_spawn(spawns_heirs, &seven, 0, NULL);
    victim_spawn(spawns_heirs, &eight, 0, NULL);
    rt_wait(&done, 8);
    rt_wait(&destroyed, 6); /* seven's process and its four heirs, and eight's process */
    EXPECT_EQ(atom_load_acq(&made), 6);
}
TEST(local_values_that_are_inherited) { rt_each(inherited); }

/* ---- all ends ------------------------------------------------------------------------------------------------------------------ */

static void never(void *arg) {
    (void)arg;
    EXPECT(false);
}
static void sees_it_last(void *arg) {
    EXPECT(weft_local_get(counted) == arg); /* what is deferred still has the values */
    atom_add_rel(&done, 1);
}
static void waits_long(void *arg) {
    weft_msg *message;
    EXPECT_EQ(weft_defer(sees_it_last, arg), 0);
    atom_add_rel(&done, 1);
    EXPECT(weft_recv(&message, WEFT_FOREVER) != 0);
}
static int refuses(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    return WEFT_EACCES;
}
static const weft_behavior unborn = {.name = "unborn", .init = refuses, .step = heir_steps};
static void many_ends(void *arg) {
    weft_pid pid;
    EXPECT_EQ(weft_local_set(counted, count_value(arg)), 0);
    atom_store_rel(&spawner, weft_self());
    EXPECT_EQ(weft_spawn_step(&unborn, NULL, &pid), WEFT_EACCES);
    EXPECT_EQ(atom_load_acq(&destroyed), 1);
    atom_store_rel(&spawner, UINT64_MAX);
    EXPECT_EQ(weft_spawn_with(waits_long, arg, NULL, &pid), 0);
    while (atom_load_acq(&done) < 1)
        weft_yield();
    EXPECT_EQ(weft_kill(pid), 0);
    while (atom_load_acq(&done) < 2)
        weft_yield();
    weft_exit(3);
}
static void ends_in_all_ways(void) {
    begin();
    victim_spawn(many_ends, &seven, 0, NULL);
    rt_wait(&destroyed, 3);
    EXPECT_EQ(atom_load_acq(&made), 3);
}
TEST(local_values_are_destroyed_at_every_end) { rt_each(ends_in_all_ways); }

/* Killed before it has run: it was given a value, and has it destroyed. One worker, which the spawner keeps. */
static void kills_a_newborn(void *arg) {
    weft_pid pid;
    EXPECT_EQ(weft_local_set(counted, count_value(arg)), 0);
    EXPECT_EQ(weft_spawn_with(never, NULL, NULL, &pid), 0);
    EXPECT_EQ(weft_kill(pid), 0);
    atom_add_rel(&done, 1);
}
TEST(local_values_of_a_process_that_never_ran) {
    rt_start("ring", 1);
    begin();
    victim_spawn(kills_a_newborn, &seven, 0, NULL);
    rt_wait(&destroyed, 2);
    EXPECT_EQ(atom_load_acq(&made), 2);
    rt_stop();
}

static void waits_for_good(void *arg) {
    EXPECT_EQ(weft_local_set(counted, count_value(arg)), 0);
    atom_add_rel(&done, 1);
    weft_shield_begin();
    weft_sleep(1000 * RT_SECOND);
}
/* Taken down with its runtime. */
TEST(local_values_of_a_process_that_is_left) {
    begin();
    rt_start("ring", 2);
    victim_spawn(waits_for_good, &seven, 0, NULL);
    rt_wait(&done, 1);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, weft_in(RT_MS)), WEFT_ETIMEDOUT);
    rt_watch_end();
    EXPECT_EQ(atom_load_acq(&destroyed), 1);
    EXPECT_EQ(rt_live_memory(), 0);
}

/* `inherit` sets a value of the spawner, under a key that was made after the spawner had its array: the array moves. */
static weft_key growing, later[100];
static void *sets_a_later_one(void *value) {
    for (unsigned i = 0; i < 100; i++)
        if (!later[i]) EXPECT_EQ(weft_key_new(NULL, &later[i]), 0);
    EXPECT_EQ(weft_local_set(later[99], &eight), 0);
    EXPECT_EQ(weft_local_set(plain, NULL), 0);
    return value;
}
static void has_the_first(void *arg) {
    EXPECT(weft_local_get(growing) == arg && !weft_local_get(later[99]) && weft_local_get(shared) == &seven);
    atom_add_rel(&done, 1);
}
static void grows_meanwhile(void *arg) {
    EXPECT_EQ(weft_key_new(&(weft_key_options){.inherit = sets_a_later_one}, &growing), 0);
    EXPECT_EQ(weft_local_set(growing, arg), 0);
    EXPECT_EQ(weft_local_set(plain, arg), 0);
    EXPECT_EQ(weft_local_set(shared, &seven), 0);
    EXPECT(weft_spawn(has_the_first, arg));
    EXPECT(weft_local_get(later[99]) == &eight && weft_local_get(growing) == arg && !weft_local_get(plain));
}
TEST(local_values_that_are_set_while_they_are_inherited) {
    rt_start("ring", 2);
    begin();
    victim_spawn(grows_meanwhile, &seven, 0, NULL);
    rt_wait(&done, 1);
    rt_stop();
}

/* Keys are made by a thread while processes that have other values are born and end. For the thread sanitizer. */
static atom_bool made_all;
static void *makes_keys(void *unused) {
    for (weft_key key; weft_key_new(&(weft_key_options){.destroy = never, .inherit = weft_local_share}, &key) == 0;)
        rt_pause(RT_MS / 20);
    atom_store_rel(&made_all, true);
    return unused;
}
static void is_born_and_ends(void *arg) { EXPECT_EQ(weft_local_set(plain, arg), 0); }
static void spawns_meanwhile(void *arg) {
    EXPECT_EQ(weft_local_set(shared, arg), 0);
    while (!atom_load_acq(&made_all)) {
        weft_pid pid = weft_spawn_joinable(is_born_and_ends, arg);
        EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
    }
    atom_add_rel(&done, 1);
}
TEST(local_keys_are_made_while_processes_end) {
    pthread_t thread;
    rt_start("ring", 2);
    begin();
    EXPECT_EQ(pthread_create(&thread, NULL, makes_keys, NULL), 0);
    victim_spawn(spawns_meanwhile, &seven, 0, NULL);
    rt_wait(&done, 1);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    rt_stop();
}

/* ---- keys ---------------------------------------------------------------------------------------------------------------------- */

static void notes_order(void *value) {
    atom_store_rel(&order, atom_load_acq(&order) * 10 + *(unsigned *)value);
    atom_add_rel(&destroyed, 1);
}
static weft_key many_keys[WEFT_KEYS_MAX];
static void has_many(void *arg) {
    static unsigned numbers[] = {1, 2, 3};
    (void)arg;
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_local_set(many_keys[i], &numbers[i]), 0);
    EXPECT_EQ(weft_local_set(many_keys[WEFT_KEYS_MAX - 1], &numbers[0]), 0);
    EXPECT(weft_local_get(many_keys[1]) == &numbers[1]);
}
TEST(local_keys_are_limited_and_destroyed_in_order) {
    weft_key more;
    for (unsigned i = 0; i < WEFT_KEYS_MAX; i++)
        EXPECT_EQ(weft_key_new(&(weft_key_options){.destroy = notes_order}, &many_keys[i]), 0);
    EXPECT_EQ(weft_key_new(NULL, &more), WEFT_ENOBUFS);
    rt_start("ring", 2);
    victim_spawn(has_many, NULL, 0, NULL);
    rt_wait(&destroyed, 4);
    EXPECT_EQ(atom_load_acq(&order), 1321);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
