/* Messages that are sent later, once or again and again. */
#ifndef WEFT_MAIL_SEND_AFTER_H
#define WEFT_MAIL_SEND_AFTER_H

#include "sched/runtime.h"

/* The runtime is taken down. */
void send_after_destroy_all(struct runtime *runtime);

#endif
