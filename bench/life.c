/* monitor, restart and whereis: what watching a process, starting it again and finding it by name cost. */
#include "bench/trial.h"

#include <weft/registry.h>
#include <weft/super.h>
#include <weft/time.h>

static uint64_t operations;

/* ---- monitor: a process is monitored, ends, and its end is told ---------------------------------------------------------------- */

static void returns(void *unused) { (void)unused; }

static void monitors(void *unused) {
    (void)unused;
    trial_begin();
    for (uint64_t i = 0; i < operations; i++) {
        weft_msg *message;
        uint64_t reference;
        weft_pid pid = weft_spawn(returns, NULL);
        trial_must(weft_monitor(pid, 0, &reference), "a monitor");
        trial_must(weft_recv(&message, WEFT_FOREVER), "a notice");
        weft_msg_free(message);
    }
    trial_end();
}
static void run_monitor(const struct bench_args *args, struct bench_result *result) {
    operations = args->n;
    trial_run_stackful(args, result, monitors, NULL);
}
BENCH(life_monitor, .name = "monitor", .about = "spawn, monitor, end, and the notice received", .kind = "stackful", .n = 500000,
      .run = run_monitor)

/* ---- restart: a child ends, and runs again ---------------------------------------------------------------------------------------- */

static weft_pid waiting;

static void child(void *unused) {
    (void)unused;
    if (operations-- > 0) weft_exit(1);
    weft_send(waiting, 0, NULL, 0);
    weft_sleep(3600 * WEFT_SECOND);
}

static void restarts(void *unused) {
    const weft_child_spec children[] = {{.id = "child", .entry = child}};
    const weft_super_spec spec = {.name = "bench", .intensity = 1u << 30, .period_ms = 1, .children = children, .count = 1};
    weft_pid super;
    uint64_t tag;
    (void)unused;
    waiting = weft_self();
    trial_begin();
    trial_must(weft_super_start(&spec, NULL, &super, WEFT_FOREVER), "a supervisor");
    trial_recv(&tag);
    trial_end();
}
static void run_restart(const struct bench_args *args, struct bench_result *result) {
    operations = args->n;
    trial_run_stackful(args, result, restarts, NULL);
}
BENCH(life_restart, .name = "restart", .about = "a supervisor's child ends and is started again", .kind = "stackful", .n = 100000,
      .run = run_restart)

/* ---- whereis -------------------------------------------------------------------------------------------------------------------------- */

static void looks_up(void *name) {
    weft_pid found = WEFT_NOBODY;
    trial_must(weft_register(name, weft_self()), "a name");
    trial_begin();
    for (uint64_t i = 0; i < operations; i++)
        found ^= weft_whereis(name);
    trial_end();
    if (found != WEFT_NOBODY && found != weft_self()) trial_must(WEFT_EINVAL, "a look-up");
}
static void run_whereis(const struct bench_args *args, struct bench_result *result) {
    operations = args->n;
    trial_run_stackful(args, result, looks_up, "printer");
}
BENCH(life_whereis, .name = "whereis", .about = "the process that has a name", .kind = "stackful", .n = 20000000, .run = run_whereis)

static void run_whereis_long(const struct bench_args *args, struct bench_result *result) {
    operations = args->n;
    trial_run_stackful(args, result, looks_up, "sessions/europe/user/0004711");
}
BENCH(life_whereis_long, .name = "whereis_long", .about = "the same with a name of 28 bytes", .kind = "stackful", .n = 20000000,
      .run = run_whereis_long)
