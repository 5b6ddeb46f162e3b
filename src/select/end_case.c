/* The end of a process as a case of a select: as weft_join, with a monitor that takes the result only if the select's wait is claimed by it. */
#include "life/spawn.h"
#include "sched/rt_enter.h"
#include "select/select.h"

/* Under the slot's lock, or end_case_leave waits for `left`: so the select still exists. */
static bool end_case_tell(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    struct select_end *room = (struct select_end *)monitor;
    struct wake wake;
    (void)local, (void)self;
    if (!wait_claim(room->wait, room->why, &wake)) {
        atom_store_rel(&room->left, true); /* rel: pairs with the acq in end_case_await_teller: the last touch */
        return false;
    }
    room->reason = (struct reason){reason->code, reason_detail_hold(reason->detail)};
    room->taken = true;
    wait_wake_inside(&wake);
    return true;
}

void end_case_begin(struct select_end *room, struct wait *wait, uint32_t why) {
    room->monitor.tell = end_case_tell;
    room->wait = wait;
    room->why = why;
    room->added = room->taken = false;
    atom_store_rlx(&room->left, false); /* rlx: no other thread knows it yet */
}

bool end_case_look(weft_pid pid) {
    struct rt_entry entry;
    if (pid == WEFT_NOBODY) return false;
    if (weft_self() == pid) WEFT_REFUSE("weft_select", "a process waits for its own end", "wait for another's");
    if (!rt_enter(&entry, pid, "weft_select")) return true;
    bool over = monitor_is_over(entry.local, pid);
    rt_leave(&entry);
    return over;
}

static int end_case_fetch(weft_pid pid, struct select_end *room) {
    struct rt_entry entry;
    if (!rt_enter(&entry, pid, "weft_select")) return WEFT_ENOPROC;
    int error = monitor_join(entry.local, pid, &room->monitor, &room->reason);
    bool lives = error == 0; /* there was no memory for a monitor, and now there is */
    if (lives) monitor_remove(entry.local, pid, &room->monitor);
    rt_leave(&entry);
    return lives ? WEFT_ENOMEM : error == MONITOR_ENDED ? 0 : error;
}

int end_case_take(weft_case *one, struct select_end *room) {
    int error = room->taken ? 0 : end_case_fetch(one->pid, room);
    if (error) return error;
    reason_detail_drop(room->reason.detail);
    if (one->reason) *one->reason = room->reason.code;
    return 0;
}

bool end_case_join(weft_pid pid, struct select_end *room) {
    struct rt_entry entry;
    if (pid == WEFT_NOBODY) return true;
    if (!rt_enter(&entry, pid, "weft_select")) return false;
    room->added = monitor_join(entry.local, pid, &room->monitor, NULL) == 0;
    rt_leave(&entry);
    return room->added;
}

/* The runtime of the process is being taken down, and tells all monitors. */
static void end_case_await_teller(struct select_end *room) {
    for (struct spin spin = spin_begin(); !atom_load_acq(&room->left);) /* acq: pairs with the rel in end_case_tell */
        spin_wait(&spin);
}

void end_case_leave(weft_pid pid, struct select_end *room) {
    struct rt_entry entry;
    if (!room->added) return;
    room->added = false;
    if (!rt_enter(&entry, pid, "weft_select")) {
        if (!room->taken) end_case_await_teller(room);
        return;
    }
    monitor_remove(entry.local, pid, &room->monitor);
    rt_leave(&entry);
}
