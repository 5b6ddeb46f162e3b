/* Sending to a process by its name. */
#include "mail/ask.h"
#include "sched/sched.h"

#include <weft/registry.h>

/* 0 and *pid, or why there is none. */
static int name_holder(const char *name, weft_pid *pid) {
    if (!my_worker) return WEFT_ENOTINSIDE;
    *pid = weft_whereis(name);
    return *pid == WEFT_NOBODY ? WEFT_ENOPROC : 0;
}

/* To the next process that has the name, if one ends meanwhile. */
int weft_send_name(const char *name, uint64_t tag, const void *data, size_t size) {
    for (weft_pid last = WEFT_NOBODY, pid;; last = pid) {
        int error = name_holder(name, &pid);
        if (error) return error;
        if (pid == last) return WEFT_ENOPROC;
        error = weft_send(pid, tag, data, size);
        if (error != WEFT_ENOPROC) return error;
    }
}

int weft_call_name(const char *name, uint64_t tag, const void *data, size_t size, weft_msg **reply, uint64_t deadline) {
    weft_pid pid;
    int error = name_holder(name, &pid);
    if (!error && pid == weft_self()) error = WEFT_EDEADLK; /* another process may have given it the name at any time: no misuse */
    return error ? error : ask_call(pid, tag, &(struct ask_payload){data, size, NULL, NULL}, reply, deadline, "weft_call_name");
}
