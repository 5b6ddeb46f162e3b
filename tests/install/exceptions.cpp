/* A C++ object that uses weft: exceptions of processes that wait are their own, and weft_exit runs destructors. Linked in several ways, also as a
 * plugin (PLUGIN) that a program in C loads when its runtime runs. */
#include <weft/weft.h>

#include <cstdio>

static unsigned mixed, done;

static void waits(void *arg) {
    long own = (long)arg;
    for (unsigned i = 0; i < 20; i++)
        try {
            throw own;
        } catch (const long &first) {
            weft_yield();
            if (first != own) mixed++;
            try {
                throw;
            } catch (long second) {
                weft_sleep(1000);
                if (second != own) mixed++;
            }
        }
    __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

struct said {
    ~said() { std::puts(mixed ? "mixed up" : "destroyed"); }
};

extern "C" int exceptions_main(int argc, char **argv) {
    (void)argc, (void)argv;
    enum { PROCESSES = 50 };
    for (long i = 0; i < PROCESSES; i++)
        weft_spawn(waits, (void *)i);
    while (__atomic_load_n(&done, __ATOMIC_RELAXED) < PROCESSES)
        weft_sleep(1000000);
    said last;
    weft_exit(0);
}

#ifndef PLUGIN
int main(int argc, char **argv) { return weft_main(argc, argv, exceptions_main); }
#endif
