/* A signal that comes while a process is packed or restored: its stack is not to be looked at. */
#include "fiber/packing_helpers.h"
#include "preempt/loops.h"

static struct sys rings;

/* As sysmon would ask a step that has lasted for too long: the thread is in the C library, behind a system call, when the signal comes. */
static int advise_and_ring(void *memory, size_t size, enum sys_vm what) {
    int error = sys_linux.vm_advise(memory, size, what);
    struct worker *worker = my_worker;
    if (!worker || !worker->current) return error;
    atom_store_rlx(&worker->asked, atom_load_rlx(&worker->local.counters.steps));
    EXPECT_EQ(sys->thread_signal(thread_number(), SIGURG), 0);
    return error;
}

static void receives(void *unused) {
    weft_msg *message;
    (void)unused;
    for (bool over = false; !over;) {
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        over = weft_msg_tag(message) == 0;
        weft_msg_free(message);
    }
    atom_add_rel(&done, 1);
}
static void case_signals(const char *policy, unsigned workers) {
    enum { TIMES = 10 };
    weft_pid pid;
    pre_start(policy, workers, 10000);
    rings = *sys;
    rings.vm_advise = advise_and_ring;
    sys = &rings;
    forget();
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_PREEMPT | WEFT_SPAWN_PACK};
    EXPECT_EQ(weft_spawn_with(receives, NULL, &options, &pid), 0);
    uint64_t refused = pre_verdict(PREEMPT_IN_WEFT);
    for (unsigned i = TIMES; i-- > 0;) {
        for (; !is_packed(pid); usleep(100))
            packing_ask(pid);
        EXPECT_EQ(weft_send(pid, i, NULL, 0), 0);
    }
    rt_wait(&done, 1);
    EXPECT(pre_verdict(PREEMPT_IN_WEFT) >= refused + TIMES);
    rt_stop();
}
TEST(packed_while_a_signal_comes) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_signals);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
