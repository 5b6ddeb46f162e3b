/* The table of calls. */
#ifndef WEFT_TESTS_CROSS_CALLS_H
#define WEFT_TESTS_CROSS_CALLS_H

#include "calls_blocking.h"
#include "calls_mail.h"
#include "calls_net.h"
#include "calls_program.h"
#include "calls_select.h"
#include "calls_server.h"
#include "calls_sync.h"
#include "calls_ties.h"

#define EACH_CALL(CALL)                                                                                                                    \
    CALLS_MAIL(CALL)                                                                                                                       \
    CALLS_SYNC(CALL)                                                                                                                       \
    CALLS_BLOCKING(CALL) CALLS_FD(CALL) CALLS_NET(CALL) CALLS_SELECT(CALL) CALLS_TIES(CALL) CALLS_SERVER(CALL) CALLS_PROGRAM(CALL)

#define CALL_ROW(id, ...) {.name = #id, __VA_ARGS__},
static const struct call calls[] = {EACH_CALL(CALL_ROW)};
enum { CALLS = sizeof calls / sizeof calls[0] };

#endif
