/* weft/sim.h in the ordinary library, where there is no simulation: most functions do nothing. Those for threads are the same in libweft-sim. */
#include "sys/sys.h"

#include <weft/errors.h>
#include <weft/sim.h>

int weft_sim_thread_start(weft_sim_thread *thread, void *(*entry)(void *arg), void *arg) {
    sys_thread started;
    if (sys->thread_start(&started, entry, arg)) return WEFT_EAGAIN;
    thread->handle = started.handle;
    return 0;
}
int weft_sim_thread_join(weft_sim_thread thread) { return sys->thread_join((sys_thread){thread.handle}) ? WEFT_EINVAL : 0; }

#if !WEFT_SIM
bool weft_sim_on(void) { return false; }
uint64_t weft_sim_seed(void) { return 0; }
uint64_t weft_sim_random(uint64_t bound) {
    (void)bound;
    return 0;
}
bool weft_sim_point(const char *name) {
    (void)name;
    return false;
}
void weft_sim_always(const char *name, bool (*holds)(void *arg), void *arg) { (void)name, (void)holds, (void)arg; }
void weft_sim_eventually_within(const char *name, bool (*holds)(void *arg), void *arg, uint64_t ns) {
    (void)name, (void)holds, (void)arg, (void)ns;
}
int weft_sim_machine(const char *name, void (*main)(void *arg), void *arg) {
    (void)name, (void)main, (void)arg;
    return WEFT_ENOSYS;
}
void weft_sim_crash(int machine) { (void)machine; }
int weft_sim_restart(int machine) {
    (void)machine;
    return WEFT_ENOSYS;
}
int weft_sim_wait(int machine, uint64_t deadline) {
    (void)machine, (void)deadline;
    return WEFT_ENOSYS;
}
int weft_sim_here(void) { return 0; }
void weft_sim_partition(int one, int other, bool cut) { (void)one, (void)other, (void)cut; }
int weft_sim_name(const char *name, const char *address) {
    (void)name, (void)address;
    return WEFT_ENOSYS;
}
int weft_sim_name_error(const char *name, int error) {
    (void)name, (void)error;
    return WEFT_ENOSYS;
}
int weft_sim_name_delay(const char *name, uint64_t ns) {
    (void)name, (void)ns;
    return WEFT_ENOSYS;
}
int weft_sim_child_sized(const char *name, const weft_sim_program *does, size_t size) {
    (void)name, (void)does, (void)size;
    return WEFT_ENOSYS;
}
#endif
