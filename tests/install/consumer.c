/* A program outside the tree that uses an installed weft; compiled as C and as C++. */
#include <weft/weft.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Two loops that never give way take turns on one worker: so weft knows its own code from the program's, however it was linked. */
static volatile unsigned long turns[2];
static volatile int over;

static void loops(void *arg) {
    volatile unsigned long *mine = (volatile unsigned long *)arg;
    while (!over)
        ++*mine;
}

static int interrupted(void) {
    weft_runtime *runtime;
    weft_config config;
    weft_stats stats;
    weft_stackful_options options;
    weft_pid pid;
    memset(&config, 0, sizeof config);
    memset(&options, 0, sizeof options);
    config.workers = 1;
    config.preempt = 1;
    config.preempt_us = 1000;
    if (weft_start(&config, &runtime) != 0) return 1;
    options.runtime = runtime;
    for (int i = 0; i < 2; i++)
        if (weft_spawn_with(loops, (void *)&turns[i], &options, &pid) != 0) return 1;
    do {
        usleep(1000);
        weft_get_stats(runtime, &stats);
    } while (turns[0] == 0 || turns[1] == 0 || stats.preemptions < 3);
    over = 1;
    return weft_stop(runtime, NULL, WEFT_FOREVER);
}

int main(void) {
    if (weft_version() != WEFT_VERSION || strcmp(weft_version_string(), WEFT_VERSION_STRING) != 0) {
        printf("headers %s, library %s\n", WEFT_VERSION_STRING, weft_version_string());
        return 1;
    }
    static weft_synch2 door;
    weft_synch2_init(&door);
    weft_synch2_enter(&door, 0);
    int busy = weft_synch2_try(&door, 1);
    weft_synch2_leave(&door, 0);
    if (busy != WEFT_EBUSY || weft_synch2_try(&door, 1) != 0) {
        printf("synch2 let both in, or neither\n");
        return 1;
    }
    weft_synch2_leave(&door, 1);
    alarm(60);
    if (interrupted() != 0) {
        printf("a runtime whose processes are interrupted did not start, or did not stop\n");
        return 1;
    }
    printf("weft %s\n", weft_version_string());
    return 0;
}
