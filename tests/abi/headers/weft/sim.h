/* What a program says to the simulation it may run in (docs/simulation.md).
 *
 * A program that is linked with libweft-sim instead of libweft, or is run by `weft sim`, runs in a simulated world: one thread at a time,
 * time that only passes when nothing can run, a network and files in memory, and a seed that decides everything. In the ordinary library
 * the functions of this header do what their comments say under "otherwise", so a program may call them always. */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include <weft/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

WEFT_BEGIN

/* Whether the program runs in a simulation, and with which seed. Otherwise: false, 0. */
WEFT_API bool weft_sim_on(void);
WEFT_API uint64_t weft_sim_seed(void);

/* A number below `bound` that the seed decides. Otherwise: 0. */
WEFT_API uint64_t weft_sim_random(uint64_t bound);

/* A named point of the program, "after-commit" say: the seed may let time pass here, have it fail (true), or crash its machine. The name is
 * a string that lives on. Otherwise: false. */
WEFT_API bool weft_sim_point(const char *name);

/* What always holds: asked at every point of the simulation, in the middle of other calls, so `holds` must not call weft. The first time
 * that it is false the program ends with the name. Otherwise: nothing. */
WEFT_API void weft_sim_always(const char *name, bool (*holds)(void *arg), void *arg);
/* What holds at some time within so many nanoseconds of virtual time from now. Otherwise: nothing. */
WEFT_API void weft_sim_eventually_within(const char *name, bool (*holds)(void *arg), void *arg, uint64_t ns);

/* A thread of the program's own that takes part in the simulation, as those of pthread_create do. Returns 0 or an error of weft/errors.h.
 * Otherwise: a thread. */
typedef struct weft_sim_thread {
    uint64_t handle;
} weft_sim_thread;
WEFT_API int weft_sim_thread_start(weft_sim_thread *thread, void *(*entry)(void *arg), void *arg);
WEFT_API int weft_sim_thread_join(weft_sim_thread thread);

/* A machine: a part of the program with threads, files and an address of its own, 10.0.0.(number + 1). Its main function runs on a thread of its
 * own and starts its own runtime. The program itself is machine 0. Returns the number, from 1 on, or WEFT_EAGAIN. Otherwise: WEFT_ENOSYS. */
WEFT_API int weft_sim_machine(const char *name, void (*main)(void *arg), void *arg);
/* The machine stops at once, in the middle of whatever it does. Its connections end, and files are left as a loss of power leaves them: what was
 * synced is there. Of the memory that the program gave it nothing is freed. Otherwise: nothing. */
WEFT_API void weft_sim_crash(int machine);
/* Runs the main function of a machine again that has crashed or ended. 0, or an error as above; WEFT_EBUSY: it still runs. */
WEFT_API int weft_sim_restart(int machine);
/* Waits until the machine has ended (0), has crashed (WEFT_EKILLED), or the deadline has passed (WEFT_ETIMEDOUT). Blocks its thread. */
WEFT_API int weft_sim_wait(int machine, uint64_t deadline);
/* The machine that the calling thread belongs to. Otherwise: 0. */
WEFT_API int weft_sim_here(void);
/* Cuts all connections between two machines, or heals them. Nothing arrives; neither side is told. Otherwise: nothing. */
WEFT_API void weft_sim_partition(int one, int other, bool cut);

/* Names (weft/name.h) come from a table, which is the same for all machines. weft_sim_name: from now on the name has this address, "10.0.0.2" or
 * "fd00::2", too, behind those it has already; NULL: all that was said of the name is forgotten. weft_sim_name_error: lookups answer this
 * error of weft_resolve, WEFT_EAGAIN say; 0: no more. weft_sim_name_delay: lookups take so many nanoseconds longer. 0, or WEFT_EINVAL: no
 * address, or no error. A name of which nothing was said is WEFT_ENOENT. Otherwise: WEFT_ENOSYS. */
WEFT_API int weft_sim_name(const char *name, const char *address);
WEFT_API int weft_sim_name_error(const char *name, int error);
WEFT_API int weft_sim_name_delay(const char *name, uint64_t ns);

/* What a child program (weft/child.h) does: it copies its input to its output, if it `echoes`; writes what it has to say; runs until its duration is
 * over; and ends. Zeroed, it ends at once with status 0. */
typedef struct weft_sim_program {
    const char *output, *errors; /* to its standard output and error; NULL: nothing */
    bool echoes;
    bool stubborn;     /* of kill(2) only SIGKILL ends it */
    uint64_t duration; /* nanoseconds of virtual time since its start, at least */
    int status;        /* its exit status, 0 to 255 */
    int signal;        /* the signal that ends it, instead; 0: none */
    /* Or, instead of all that but `stubborn` and `signal`: a function that is the program. `arguments` end with NULL; it reads from ends[0] and
     * writes to ends[1] and ends[2] by read(2) and write(2), which answer EINTR when a signal has ended it: it shall return then. Returns
     * the exit status. It runs in a thread of its own and calls nothing of weft but what threads may. */
    int (*main)(const char *const *arguments, const int ends[3]);
} weft_sim_program;
/* From now on weft_child_start finds this program under the name; children that run already go on as they began. Of the program `does` nothing needs
 * to live on. 0, or WEFT_EINVAL. Programs of which nothing was said are WEFT_ENOENT. Otherwise: WEFT_ENOSYS. */
WEFT_API int weft_sim_child_sized(const char *name, const weft_sim_program *does, size_t size);
static inline int weft_sim_child(const char *name, const weft_sim_program *does) { return weft_sim_child_sized(name, does, sizeof *does); }

WEFT_END

#endif
