/* Scenario code that crashes, or that runs on without end, becomes a violation with its trace. */
#ifndef CHECK_CRASH_H
#define CHECK_CRASH_H

/* From now on. */
void crash_watch(void);

#endif
