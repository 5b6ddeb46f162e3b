/* The router is changed while messages go its way: it is called with what it was set with, or not at all. */
#include "chk.h"
#include "mail/send.h"
#include "sched/sched.h"
#include <weft/router.h>

enum { ROUTERS = 2 };

SHARED unsigned users[ROUTERS];
SHARED int set[ROUTERS], sent;

static int route(unsigned i, void *user) {
    chk_assert(user == &users[i], "a router is called with its own user");
    return (int)i + 1;
}
static int route_0(void *user, weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size) {
    (void)from, (void)to, (void)tag, (void)data, (void)size;
    return route(0, user);
}
static int route_1(void *user, weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size) {
    (void)from, (void)to, (void)tag, (void)data, (void)size;
    return route(1, user);
}

static void sets_0(void) { set[0] = weft_set_router(route_0, &users[0]); }
static void sets_1(void) { set[1] = weft_set_router(route_1, &users[1]); }
static void changes(void) {
    weft_set_router(NULL, NULL);
    sets_1();
}
static void sends(void) { sent = send_by_router(1, 2, 3, NULL, 0); }

static void reached_or_not(void) {
    chk_assert(set[0] == 0 && set[1] == 0, "none was there");
    chk_assert(sent == 1 || sent == 2 || sent == WEFT_EFOREIGN, "one or the other, or none");
    weft_set_router(NULL, NULL);
}
SCENARIO(router_changes, .about = "one router takes the place of another || a message goes out", .setup = sets_0,
         .threads = {changes, sends}, .finish = reached_or_not)

static void one_is_set(void) {
    chk_assert((set[0] == 0) + (set[1] == 0) == 1, "one is set, the other is told that there is one");
    sends();
    chk_assert(sent == (set[0] == 0 ? 1 : 2), "and that one is called");
    weft_set_router(NULL, NULL);
}
SCENARIO(router_two, .about = "two are set", .threads = {sets_0, sets_1}, .finish = one_is_set)
