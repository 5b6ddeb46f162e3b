/* Switches between stackful processes: registers and modes, stacks that are passed on, debuggers. */
#include "ctx/pattern.h"
#include "sched_stage.h"
#include "victim.h"

#include <weft/blocking.h>

static atom_u64 done;

/* ---- registers ------------------------------------------------------------------------------------------------------------ */

static void call_yield(void *arg) {
    (void)arg;
    weft_yield();
}
static void call_sleep(void *arg) {
    (void)arg;
    weft_sleep(1);
}
static void call_recv(void *arg) {
    weft_msg *message;
    (void)arg;
    weft_recv(&message, weft_in(1));
}

static unsigned rounds;
static void keeps_registers(void *arg) {
    struct rng rng;
    rng_seed(&rng, 7, (uintptr_t)arg);
    struct pattern pattern;
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < 11; i++)
            pattern.general[i] = rng_next(&rng);
        for (unsigned i = 0; i < 8; i++)
            pattern.vector[i] = rng_next(&rng);
        pattern.modes = some_modes(rng_next(&rng));
        unsigned changed = registers_over(round % 64 ? call_yield : round % 128 ? call_sleep : call_recv, NULL, &pattern);
        if (changed) test_fail(__FILE__, __LINE__, "registers %#x changed in round %u", changed, round);
    }
    atom_add_rel(&done, 1);
}
static void registers(void) {
    enum { PROCESSES = 8 };
    /* Ten million switches in all; fewer where each is slow. */
    rounds = 10000000 / PROCESSES / 6 / RT_SLOW / (RT_SLOW > 1 ? 20 : 1);
    atom_store_rlx(&done, 0);
    for (uintptr_t i = 0; i < PROCESSES; i++)
        victim_spawn(keeps_registers, (void *)i, 0, NULL);
    rt_wait(&done, PROCESSES);
}
TEST_WITHIN(switch_keeps_registers, 120) { rt_each(registers); }

/* A process that changes its modes does not change another's, nor those of a process that is born on its stack. */
static double volatile one = 1, three = 3;
static uint64_t a_third(void) {
    double third = one / three;
    uint64_t bits;
    memcpy(&bits, &third, sizeof bits);
    return bits;
}
#if defined(__x86_64__)
static void round_up(void) {
    uint32_t mxcsr = 0x1f80 | 2 << 13;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}
#else
static void round_up(void) { __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(1) << 22)); }
#endif
static void rounds_up(void *arg) {
    (void)arg;
    uint64_t nearest = a_third();
    EXPECT_EQ(nearest, UINT64_C(0x3fd5555555555555)); /* as a program begins */
    round_up();
    EXPECT_EQ(a_third(), nearest + 1);
    for (unsigned i = 0; i < 50; i++) {
        weft_yield();
        EXPECT_EQ(a_third(), nearest + 1);
    }
    atom_add_rel(&done, 1);
    /* It ends like that. */
}
static void rounds_to_nearest(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 50; i++) {
        EXPECT_EQ(a_third(), UINT64_C(0x3fd5555555555555));
        weft_yield();
    }
    atom_add_rel(&done, 1);
}
static void modes(void) {
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 40; i++)
        victim_spawn(i % 2 ? rounds_up : rounds_to_nearest, NULL, 0, NULL);
    rt_wait(&done, 40);
}
TEST(switch_keeps_modes_apart) { rt_each(modes); }

/* Each ends at once, and the next one is born on its stack. */
static void rounds_up_and_ends(void *arg) {
    (void)arg;
    EXPECT_EQ(a_third(), UINT64_C(0x3fd5555555555555));
    round_up();
    atom_add_rel(&done, 1);
}
static void spawns_many(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 40; i++)
        EXPECT(weft_spawn(rounds_up_and_ends, NULL) != WEFT_NOBODY);
}
static void modes_of_the_dead(void) {
    atom_store_rlx(&done, 0);
    victim_spawn(spawns_many, NULL, 0, NULL);
    rt_wait(&done, 40);
}
TEST(switch_gives_a_newborn_process_its_own_modes) { rt_each(modes_of_the_dead); }

/* Nor those of step processes, on a thread that its call has made: they run on what the thread began with. */
static int steps_to_nearest(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    EXPECT_EQ(a_third(), UINT64_C(0x3fd5555555555555));
    atom_add_rel(&done, 1);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior to_nearest = {.name = "to nearest", .step = steps_to_nearest};
static void until_stepped(void *arg) {
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(&to_nearest, &(weft_spawn_options){.runtime = arg}, &pid), 0);
    while (!atom_load_acq(&done)) /* in vain, the watchdog ends it */
        usleep(100);
}
static void rounds_up_and_calls(void *arg) {
    round_up();
    EXPECT_EQ(weft_blocking_long(until_stepped, arg), 0);
    EXPECT_EQ(a_third(), UINT64_C(0x3fd5555555555556));
    atom_add_rel(&done, 1);
}
static void modes_of_threads(void) {
    atom_store_rlx(&done, 0);
    victim_spawn(rounds_up_and_calls, rt.runtime, 0, NULL);
    rt_wait(&done, 2);
}
TEST(switch_keeps_modes_from_new_threads) { rt_each(modes_of_threads); }

/* ---- from one to the other ------------------------------------------------------------------------------------------------ */

/* Those that make room for each other switch directly: the worker's loop, which could not be gone back to meanwhile, is not needed.
 * Without threads, so that no other worker takes them. */
static unsigned direct_turns;
static void takes_turns(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 20; i++) {
        direct_turns++;
        weft_yield();
    }
}
static void waits_for_a_word(void *arg) {
    weft_msg *message;
    (void)arg;
    for (unsigned i = 0; i < 10; i++) {
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
        direct_turns++;
    }
}
static void cuts_off_the_loop(void *arg) {
    struct worker *worker = worker_here();
    (void)arg;
    weft_pid listener = weft_spawn(waits_for_a_word, NULL);
    weft_spawn(takes_turns, NULL);
    weft_yield(); /* both have their stacks now */
    tick_begin(worker, GLOBAL_TICK);
    unsigned before = direct_turns;
    struct ctx loop = worker->loop->ctx;
    worker->loop->ctx = (struct ctx){NULL}; /* a switch there aborts */
    for (unsigned i = 0; i < 10; i++) {
        EXPECT_EQ(weft_send(listener, 0, NULL, 0), 0);
        weft_yield();
    }
    EXPECT(direct_turns >= before + 18);
    worker->loop->ctx = loop;
    atom_add_rel(&done, 1);
}
TEST(switch_directly) {
    static const enum policy_name policies[] = {POLICY_RING,
                                                POLICY_LINE}; /* with `deque`, a process that merely goes on is found by the loop */
    for (unsigned i = 0; i < 2; i++) {
        stage_begin(policies[i], 1);
        stage_stacks(0);
        atom_store_rlx(&done, 0);
        direct_turns = 0;
        stage_play(0);
        weft_spawn(cuts_off_the_loop, NULL);
        stage_run(0);
        EXPECT_EQ(atom_load_rlx(&done), 1);
        stage_end();
    }
}

/* ---- stacks are passed on --------------------------------------------------------------------------------------------------- */

static uintptr_t stack_of[3];
static void notes_stack(void *arg) {
    stack_of[(uintptr_t)arg] = (uintptr_t)fiber_of(victim_self());
    atom_add_rel(&done, 1);
}
static void spawns_in_turn(void *arg) {
    (void)arg;
    for (uintptr_t i = 0; i < 3; i++) {
        weft_spawn(notes_stack, (void *)i);
        while (atom_load_acq(&done) < i + 1)
            weft_yield();
    }
    atom_add_rel(&done, 1);
}
/* Played: a real worker may be given to another thread between a process's last word and its end. */
TEST(switch_stacks_are_used_again) {
    stage_begin(POLICY_RING, 1);
    stage_stacks(0);
    atom_store_rlx(&done, 0);
    stage_play(0);
    weft_spawn(spawns_in_turn, NULL);
    stage_run(0);
    EXPECT_EQ(atom_load_rlx(&done), 4);
    EXPECT(stack_of[0] == stack_of[1] && stack_of[1] == stack_of[2]);
    stage_end();
}

/* What one leaves behind of its own does not reach the process that gets its stack: shields, pins, errno. */
static void leaves_traces(void *arg) {
    EXPECT_EQ(errno, 0);
    EXPECT(!weft_cancelled());
    EXPECT_EQ(fiber_of(victim_self())->shields, 0);
    EXPECT_EQ(fiber_of(victim_self())->pins, 0);
    EXPECT_EQ(state_pinned_to(&victim_self()->state), 0);
    errno = 33;
    weft_shield_begin();
    weft_pin_begin();
    if (arg) weft_exit(1);
    atom_add_rel(&done, 0);
}
static void spawns_leavers(void *arg) {
    (void)arg;
    for (uintptr_t i = 0; i < 2000 / RT_SLOW; i++) {
        weft_spawn(leaves_traces, (void *)(i % 2));
        if (i % 3 == 0) weft_yield();
    }
    atom_add_rel(&done, 1);
}
static void traces(void) {
    atom_store_rlx(&done, 0);
    victim_spawn(spawns_leavers, NULL, 0, NULL);
    rt_wait(&done, 1);
    rt_wait_until_none_lives();
    for (unsigned i = 0; i < rt.workers; i++)
        EXPECT_EQ(atom_load_acq(&atom_load_rlx(&((struct runtime *)rt.runtime)->workers[i])->pinned_count), 0);
}
TEST(switch_leaves_no_traces) { rt_each(traces); }

/* ---- with a debugger ---------------------------------------------------------------------------------------------------------- */

/* Not static, so that the debugger sees them in every build. */
struct fiber *parked_fiber;
void parked_entry(void *arg);
void parked_inner(unsigned depth);
void parked_big(void *arg);
void parked_marker(void);

__attribute__((noinline)) void parked_marker(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void parked_inner(unsigned depth) {
    if (depth) parked_inner(depth - 1);
    else weft_sleep_until(WEFT_FOREVER);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void parked_big(void *arg) {
    (void)arg;
    parked_inner(2);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void parked_entry(void *arg) {
    parked_fiber = fiber_of(victim_self());
    atom_add_rel(&done, 1);
    if (arg) weft_call_big(parked_big, NULL, 512 << 10);
    else parked_inner(2);
    __asm__ volatile("" ::: "memory");
}
static int be_debugged(bool on_a_bigger_stack) {
    rt_start("ring", 1);
    victim_spawn(parked_entry, on_a_bigger_stack ? &done : NULL, 0, NULL);
    rt_wait(&done, 1);
    while (state_of(atom_load_acq(&parked_fiber->proc->state.word)) != STATE_BLOCKED)
        usleep(100);
    parked_marker();
    return 0;
}

#if defined(__x86_64__)
#define GDB_BASE "-ex 'set $rbx = parked_fiber->ctx.frame->base' -ex 'set $rbp = parked_fiber->ctx.frame->fp' "
#else
#define GDB_BASE "-ex 'set $x19 = parked_fiber->ctx.frame->base' -ex 'set $x29 = parked_fiber->ctx.frame->fp' "
#endif
static const char gdb_command[] =
    "timeout 50 gdb -nx -batch -ex 'set confirm off' -ex 'break parked_marker' -ex run -ex 'echo PARKED\\n' " GDB_BASE
    "-ex 'set $sp = parked_fiber->ctx.frame->sp' -ex 'set $pc = parked_fiber->ctx.frame->pc' -ex bt -ex kill --args %s %s 2>&1";

static const char *then(const char *text, const char *name) {
    const char *at = strstr(text, name);
    if (!at) test_fail(__FILE__, __LINE__, "no %s in the debugger's: %s", name, text);
    return at + strlen(name);
}
static void debug(const char *how) {
    static char command[1024], self[512], text[64 << 10];
    EXPECT(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    if (system("gdb --version >/dev/null 2>&1") != 0) {
        printf("skipped: no gdb\n");
        return;
    }
    snprintf(command, sizeof command, gdb_command, self, how);
    FILE *gdb = popen(command, "r");
    EXPECT(gdb);
    text[fread(text, 1, sizeof text - 1, gdb)] = 0;
    pclose(gdb);
    printf("%s", text);
    if (strstr(text, "During startup program exited") || strstr(text, "ptrace: Operation not permitted")) {
        printf("skipped: gdb cannot run this program here\n");
        return;
    }
    const char *at = then(then(text, "PARKED"), "weft_sleep_until");
    for (unsigned i = 0; i < 3; i++)
        at = then(at, "parked_inner");
    if (strcmp(how, "--big") == 0) at = then(then(at, "parked_big"), "weft_call_big");
    then(then(then(at, "parked_entry"), "fiber_main"), "ctx_start");
    EXPECT(!strstr(text, "Backtrace stopped"));
}
TEST_WITHIN(switch_parked_process_in_a_debugger, 120) { debug("--parked"); }
TEST_WITHIN(switch_parked_on_a_bigger_stack_in_a_debugger, 120) { debug("--big"); }

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--parked")) return be_debugged(false);
    if (argc == 2 && !strcmp(argv[1], "--big")) return be_debugged(true);
    return test_main(argc, argv);
}
