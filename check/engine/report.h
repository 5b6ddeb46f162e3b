/* What a person sees of a violation: a table with a column a thread, and a string that replays it. */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include "search.h"

void report_trace(const struct chk_scenario *scenario, struct graph *g, const struct trace *trace);
/* A search that ended because a thread has too many events. */
void report_endless(void);
const char *model_name(unsigned which);

#endif
