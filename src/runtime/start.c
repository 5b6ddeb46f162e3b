/* Starting a runtime, from a configuration and the environment. */
#include "base/sized.h"
#include "fiber/exceptions.h"
#include "fiber/fault.h"
#include "mail/post.h"
#include "preempt/preempt.h"
#include "runtime/quit.h"
#include "runtime/stop.h"
#include "sched/atfork.h"
#include "sched/door.h"
#include "thread/stopped.h"
#include "thread/thread.h"

#include "sys/setting.h"
#include "sys/sys_net.h"
#include "thread/sysmon.h"
#include "thread/worker.h"

#include <weft/version.h>

#include <stdio.h>
#include <stdlib.h>

enum {
    START_DESCRIPTORS = 4096, /* 36 KiB in the kernel */
    GRACE_MS = 5000,
    MAIL_LEAST = 1 << 20,
    GRACE_MS_MOST = 24 * 60 * 60 * 1000,
};

static int config_refuse(const char *what, const char *value, const char *wanted) {
    fprintf(stderr, "weft: %s is '%s'; it must be %s\n", what, value, wanted);
    return WEFT_EINVAL;
}

static int config_number(enum setting which, uint64_t least, uint64_t most, uint64_t *value) {
    const char *text = setting_value(which);
    char *end;
    if (*value != 0 || !text || !*text) return 0;
    errno = 0;
    *value = strtoull(text, &end, 0);
    char range[64];
    snprintf(range, sizeof range, "a number from %lu to %lu", (unsigned long)least, (unsigned long)most);
    if (errno || *end || *text == '-' || *value < least || *value > most) return config_refuse(setting_name(which), text, range);
    return 0;
}

/* A value from the program's weft_config; 0 is "not given". */
static int config_given(const char *name, uint64_t most, uint64_t value) {
    char text[32], range[64];
    if (value <= most) return 0;
    snprintf(text, sizeof text, "%lu", (unsigned long)value);
    snprintf(range, sizeof range, "at most %lu", (unsigned long)most);
    return config_refuse(name, text, range);
}

static int config_policy(const char *name, enum policy_name *policy) {
    static const char *const names[] = {[POLICY_RING] = "ring", [POLICY_DEQUE] = "deque", [POLICY_LINE] = "line"};
    if (!name) name = setting_value(SETTING_POLICY);
    if (!name || !*name) name = "ring";
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) {
            *policy = (enum policy_name)i;
            return 0;
        }
    return config_refuse("the policy", name, "ring, deque or line");
}

static int config_deque_wake(const char *where, bool *stay) {
    if (!where) where = setting_value(SETTING_DEQUE_WAKE);
    *stay = where && strcmp(where, "local") == 0;
    if (*stay || !where || !*where || strcmp(where, "global") == 0) return 0;
    return config_refuse("the place of woken processes", where, "global or local");
}

static int config_preempt(struct runtime *runtime, const weft_config *config) {
    uint64_t all = config->preempt, slice = config->preempt_us, most = config->max_stopped, alarms = config->preempt_alarms;
    int error = config_given("preempt_us", PREEMPT_SLICE_US, slice);
    if (!error) error = config_given("max_stopped", PREEMPT_MOST, most);
    if (!error) error = config_number(SETTING_PREEMPT, 0, 1, &all);
    if (!error) error = config_number(SETTING_PREEMPT_US, PREEMPT_SLICE_LEAST_US, PREEMPT_SLICE_US, &slice);
    if (!error) error = config_number(SETTING_MAX_STOPPED, 1, PREEMPT_MOST, &most);
    if (!error) error = config_number(SETTING_PREEMPT_ALARMS, 0, 1, &alarms);
    runtime->preempt.all = all;
    runtime->preempt.alarms_anywhere = alarms;
    runtime->preempt.slice = (slice ? slice : PREEMPT_SLICE_US) * 1000;
    runtime->preempt.most = most ? (uint32_t)most : PREEMPT_MOST;
    return error;
}

/* After the settings that it excludes. */
static int config_exclusive(struct runtime *runtime, const weft_config *config, uint64_t *workers) {
    uint64_t exclusive = config->exclusive;
    int error = config_number(SETTING_EXCLUSIVE, 0, 1, &exclusive);
    if (error || !exclusive) return error;
    if (*workers > 1)
        return config_refuse("the number of workers", "more than 1", "1, or not given, because processes are to be exclusive");
    if (runtime->extra_most)
        return config_refuse("the number of extra workers", "more than 0", "not given, because processes are to be exclusive");
    if (runtime->preempt.all) return config_refuse("preemption", "on", "off, because processes are to be exclusive");
    runtime->exclusive = true;
    *workers = 1;
    return 0;
}

/* 0 is what a program asks for that wants no two processes to run at a time: there is a setting for that. */
static int config_extra(uint64_t *extra) {
    const char *text = setting_value(SETTING_MAX_EXTRA);
    if (*extra == 0 && text && strcmp(text, "0") == 0)
        return config_refuse("WEFT_MAX_EXTRA", text,
                             "a number from 1 on; for no extra workers set WEFT_EXCLUSIVE=1 (weft_config.exclusive)");
    return config_number(SETTING_MAX_EXTRA, 1, EXTRA_MAX, extra);
}

static int config_threads(struct runtime *runtime, const weft_config *config) {
    uint64_t threads = config->max_threads, extra = config->max_extra;
    const char *then = config->at_max_threads ? config->at_max_threads : setting_value(SETTING_AT_MAX_THREADS);
    int error = config_given("the number of extra workers", EXTRA_MAX, extra);
    if (!error) error = config_number(SETTING_MAX_THREADS, 1, UINT32_MAX, &threads);
    if (!error) error = config_extra(&extra);
    runtime->threads.most = (unsigned)threads;
    runtime->extra_most = (unsigned)extra;
    runtime->blocking_fails = then && strcmp(then, "error") == 0;
    if (error || runtime->blocking_fails || !then || !*then || strcmp(then, "wait") == 0) return error;
    return config_refuse("what happens at the limit of threads", then, "wait or error");
}

static int config_grace(struct runtime *runtime, const weft_config *config) {
    uint64_t grace = config->grace_ms;
    int error = config_given("grace_ms", GRACE_MS_MOST, grace);
    if (!error) error = config_number(SETTING_GRACE_MS, 1, GRACE_MS_MOST, &grace);
    runtime->grace = (grace ? grace : GRACE_MS) * UINT64_C(1000000);
    return error;
}

static int config_quit(struct runtime *runtime, const weft_config *config) {
    const char *text = setting_value(SETTING_SIGQUIT);
    bool off = text && strcmp(text, "0") == 0, on = !text || !*text || strcmp(text, "1") == 0;
    runtime->prints_on_quit = on && !config->keep_sigquit;
    return on || off ? 0 : config_refuse("WEFT_SIGQUIT", text, "0 or 1");
}

/* The messages are the program's, not the runtime's: proc/message.h. */
static int config_mail(const weft_config *config) {
    uint64_t most = config->max_mail_bytes;
    int error = config_number(SETTING_MAX_MAIL_BYTES, MAIL_LEAST, UINT64_MAX / 2, &most);
    if (error) return error;
    char text[32];
    snprintf(text, sizeof text, "%lu", (unsigned long)most);
    if (most && most < MAIL_LEAST) return config_refuse("max_mail_bytes", text, "at least 1048576, or 0");
    if (most) atom_store_rlx(&message_pool.most, most); /* rlx: a number */
    return 0;
}

static int runtime_configure(struct runtime *runtime, const weft_config *config, unsigned *workers) {
    uint64_t count = config->workers, seed = config->seed, stack_size = config->stack_size;
    runtime->most = config->max_processes;
    int error = config_given("the number of workers", WORKERS_MAX, count);
    if (!error) error = config_given("the number of processes", PID_SLOTS - 1, runtime->most);
    if (!error) error = config_number(SETTING_WORKERS, 1, WORKERS_MAX, &count);
    if (!error) error = config_number(SETTING_SEED, 1, UINT64_MAX, &seed);
    if (!error) error = config_given("the size of stacks", stack_class_size(STACK_CLASSES - 1), stack_size);
    if (!error) error = config_number(SETTING_STACK_SIZE, STACK_LEAST, stack_class_size(STACK_CLASSES - 1), &stack_size);
    if (!error) error = config_policy(config->policy, &runtime->policy);
    if (!error) error = config_deque_wake(config->deque_wake, &runtime->deque_local);
    if (!error) error = config_threads(runtime, config);
    if (!error) error = config_grace(runtime, config);
    if (!error) error = config_mail(config);
    if (!error) error = config_quit(runtime, config);
    uint64_t check = config->check_mutexes || WEFT_DEBUG;
    if (!error) error = config_number(SETTING_CHECK_MUTEXES, 0, 1, &check);
    if (!error) error = config_preempt(runtime, config);
    if (!error) error = config_exclusive(runtime, config, &count);
    uint64_t contains = config->contain_faults, measures = config->cpu_times;
    if (!error) error = config_number(SETTING_CONTAIN_FAULTS, 0, 1, &contains);
    if (!error) error = config_number(SETTING_CPU_TIMES, 0, 1, &measures);
    if (error) return error;
    runtime->measures_cpu = measures;
    runtime->contains = contains && ANNOTATE_ADDRESS + ANNOTATE_THREAD == 0; /* sanitizers report faults themselves */
    runtime->check_mutexes = check;
    if (count == 0) count = sys->cpus();
    if (count > WORKERS_MAX) count = WORKERS_MAX;
    if (seed == 0) sys->random(&seed, sizeof seed); /* if that fails: 0 is a seed too */
    runtime->seed = seed;
    runtime->stack_size = stack_size ? stack_size : STACK_DEFAULT;
    runtime->stack_class = (uint8_t)stack_class_of(runtime->stack_size);
    *workers = (unsigned)count;
    return 0;
}

int runtime_init(struct runtime *runtime, uint64_t processes) {
    lock_init(&runtime->lock);
    lock_init(&runtime->resizing);
    lock_init(&runtime->send_afters.lock);
    lock_init(&runtime->interrupts.lock);
    lock_init(&runtime->supers.lock);
    for (unsigned i = 0; i < CONTEXT_LOCKS; i++)
        lock_init(&runtime->context_locks[i]);
    pool_init(&runtime->pool);
    stacks_init(&runtime->stacks);
    for (unsigned i = 0; i < MONITOR_LOCKS; i++)
        lock_init(&runtime->monitor_locks[i]), lock_init(&runtime->ties_locks[i]);
    inject_init(&runtime->inject);
    table_init(&runtime->table, (uint32_t)processes);
    idle_init(&runtime->idle, 1);
    lock_init(&runtime->moving);
    threads_init(&runtime->threads, runtime->threads.most ? runtime->threads.most : THREADS_DEFAULT);
    if (!runtime->extra_most && !runtime->exclusive) runtime->extra_most = EXTRA_MAX;
    parker_init(&runtime->stopper);
    posts_init(&runtime->posts);
    for (unsigned i = 0; i < DOORS; i++) {
        local_init(&runtime->doors[i], runtime);
        int error = table_add_section(&runtime->table, &runtime->doors[i].section);
        if (error) return error;
    }
    return door_open(runtime);
}

static int config_too_new(void) {
    fprintf(stderr, "weft: weft_config has a field that this library, %s, does not know\n", weft_version_string());
    return WEFT_EINVAL;
}

int weft_start_sized(const weft_config *config, size_t config_size, weft_runtime **out) {
    weft_config mine;
    unsigned workers;
    config = sized_read(config, config_size, &mine, sizeof mine);
    if (!config) return config_too_new();
    atfork_check("weft_start");
    atfork_register();
    settings_tell_unknown();
    message_check_begin();
    sys->net->make_room(START_DESCRIPTORS);
    struct runtime *runtime = sys->alloc(sizeof *runtime);
    if (!runtime) return WEFT_ENOMEM;
    int error = runtime_configure(runtime, config, &workers);
    if (!error) error = runtime_init(runtime, PID_SLOTS - 1); /* `most` counts processes; magazines may hold free blocks besides */
    if (error) {
        sys->free(runtime, sizeof *runtime);
        return error;
    }
    exceptions_begin();
    ctx_adopt(); /* processes begin with the floating-point modes of the thread that starts the runtime */
    error = workers_set(runtime, workers);
    unsigned got = atom_load_rlx(&runtime->wanted); /* rlx: written by this thread */
    if (got == 0) {
        threads_end(runtime);
        runtime_destroy(runtime);
        return error == WEFT_ENOMEM ? WEFT_ENOMEM : WEFT_EAGAIN;
    }
    if (error) fprintf(stderr, "weft: only %u of %u workers could be started: %s\n", got, workers, weft_strerror(error));
    fault_begin();
    if (sysmon_start(runtime) == 0) post_open(runtime);
    else
        runtime->prints_on_quit = false,
        fprintf(stderr, "weft: no thread for the system monitor: processes that block or do not yield hold the others up\n");
    quit_begin(runtime);
    if (runtime->preempt.all) preempt_begin(runtime, true); /* if that fails it has been reported, and processes run without preemption */
    *out = (weft_runtime *)runtime;
    return 0;
}

uint64_t weft_now(void) { return sys->now(); }
