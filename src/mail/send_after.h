/* Delayed and periodic messages (weft_after, weft_every). */
#ifndef WEFT_MAIL_SEND_AFTER_H
#define WEFT_MAIL_SEND_AFTER_H

#include "sched/runtime.h"

/* Frees them all, when the runtime is taken down. */
void send_after_destroy_all(struct runtime *runtime);

#endif
