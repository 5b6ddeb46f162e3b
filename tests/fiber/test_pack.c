/* Packed processes: whatever they waited in they go on as if nothing had happened, at the same addresses; and their memory was given back. */
#include "fiber/packing_helpers.h"
#include "mailbox_helpers.h"
#include "net_helpers.h"
#include "sanitized.h"

#include <weft/info.h>
#include <weft/life.h>

/* ---- packing from the test's thread ---------------------------------------------------------------------------------- */

static void pack_it(weft_pid pid) {
    for (uint64_t until = weft_in(20 * WEFT_SECOND); !is_packed(pid); weft_sleep(100000)) {
        EXPECT(weft_now() < until);
        packing_ask(pid);
    }
}
/* Asks for long enough that it would have been packed. It has not begun to wait at once, so a few times. */
static void expect_not_packed(weft_pid pid) {
    for (unsigned i = 0; i < 20; i++, weft_sleep(1000000)) {
        packing_ask(pid);
        EXPECT(!is_packed(pid));
    }
}

static weft_pid packer(weft_entry entry, void *arg, unsigned flags) { return run_flags(entry, arg, WEFT_SPAWN_PACK | flags); }
static atom_u64 ready_ones;

/* ---- receivers ------------------------------------------------------------------------------------------------------- */

/* Answers with a sum over its frame, which has pointers into itself. */
struct link {
    struct link *next;
    uint64_t value;
};
static __attribute__((noinline)) void serve(uint64_t seed, uint64_t deadline, bool by_tag) {
    struct link links[16];
    for (unsigned i = 0; i < 16; i++)
        links[i] = (struct link){&links[(i + 1) % 16], i % 3 ? seed + i : 0};
    for (;;) {
        weft_msg *message;
        errno = (int)seed;
        int error = by_tag ? weft_recv_tag(seed, &message, deadline) : weft_recv(&message, deadline);
        EXPECT_EQ(errno, (int)seed);
        if (error == WEFT_ETIMEDOUT) continue;
        if (error) return;
        uint64_t sum = 0;
        struct link *link = links;
        for (unsigned i = 0; i < 16; i++, link = link->next)
            sum += link->value++;
        EXPECT(link == links);
        EXPECT_EQ(weft_reply(weft_msg_request(message), &sum, sizeof sum), 0);
        weft_msg_free(message);
    }
}
static void serves(void *seed) { serve((uintptr_t)seed, WEFT_FOREVER, false); }
static void serves_until(void *seed) { serve((uintptr_t)seed, weft_in(3600 * WEFT_SECOND), false); }
static void serves_tag(void *seed) { serve((uintptr_t)seed, WEFT_FOREVER, true); }

static void asks_servers(void *unused) {
    static const weft_entry entries[] = {serves, serves_until, serves_tag};
    weft_pid pids[3];
    (void)unused;
    for (uintptr_t i = 0; i < 3; i++)
        pids[i] = packer(entries[i], (void *)(i + 7), WEFT_SPAWN_JOINABLE);
    EXPECT_EQ(weft_send(pids[2], 99, "kept", 5), 0); /* of another tag: it stays in the mailbox */
    for (unsigned round = 0; round < 12; round++)
        for (unsigned i = 0; i < 3; i++) {
            weft_msg *reply;
            uint64_t expected = 0;
            for (unsigned k = 0; k < 16; k++)
                expected += (k % 3 ? i + 7 + k : 0) + round;
            if (round % 3 != 2) pack_it(pids[i]);
            EXPECT_EQ(weft_call(pids[i], i + 7, NULL, 0, &reply, WEFT_FOREVER), 0);
            EXPECT_EQ(msg_u64(reply), expected);
            weft_msg_free(reply);
        }
    for (unsigned i = 0; i < 3; i++) {
        pack_it(pids[i]);
        if (i == 0) EXPECT_EQ(weft_kill(pids[i]), 0);
        else EXPECT_EQ(weft_cancel(pids[i]), 0);
        EXPECT_EQ(run_join(pids[i]), i == 0 ? WEFT_EKILLED : 0);
    }
}
static void servers_body(void) { EXPECT_EQ(run(asks_servers, NULL), 0); }
TEST(pack_receivers_go_on) { rt_each(servers_body); }

/* ---- the memory, and what others see ---------------------------------------------------------------------------------- */

static void memory_body(void) {
    weft_pid pid = packer(serves, (void *)1, 0);
    pack_it(pid);
    struct packing *packing = packing_of_pid(pid);
    unsigned char pages[64];
    size_t page = packing_runtime()->stacks.page, count = (packing->top - (uintptr_t)packing->first) / page + 1;
    EXPECT(count <= 64 && sys->vm_resident(packing->first, count * page, pages) == 0);
    for (size_t i = 0; i < count; i++)
        EXPECT_EQ(pages[i] & 1, 0);
    EXPECT(packing->size < (WEFT_DEBUG ? 2048 : 1000));
    weft_process_info info;
    EXPECT_EQ(weft_info(pid, &info), 0);
    EXPECT(info.state == WEFT_STATE_WAITING && strcmp(info.call, "weft_recv") == 0 && info.packed);
    EXPECT(info.entry == (const void *)(uintptr_t)serves);
}
TEST(pack_gives_memory_back) { rt_each(memory_body); }

/* Sysmon packs those that wait, and sleeps then. Others it leaves alone. */
TEST(pack_without_being_told) {
    enum { PROCESSES = 200 };
    weft_pid pids[PROCESSES];
    rt_start("ring", 2);
    for (uintptr_t i = 0; i < PROCESSES; i++)
        pids[i] = packer(i % 2 ? serves : serves_until, (void *)(i + 1), 0);
    weft_pid other = run_spawn(serves, (void *)1);
    for (unsigned i = 0; i < PROCESSES; i++)
        for (uint64_t until = weft_in(20 * WEFT_SECOND); !is_packed(pids[i]); usleep(1000))
            EXPECT(weft_now() < until);
    EXPECT_EQ(packing_proc(other)->stackful, PROC_STACKFUL);
    rt_stop();
}

/* Nothing else happens, and they began to wait so soon before sysmon would sleep that it has not seen it: it waits for them. */
TEST(pack_in_a_quiet_runtime) {
    enum { PROCESSES = 10 };
    weft_pid pids[PROCESSES];
    rt_start("ring", 2);
    run_spawn(serves, (void *)1);
    rt_pause(600 * RT_MS);
    for (uintptr_t i = 0; i < PROCESSES; i++)
        pids[i] = packer(serves, (void *)(i + 1), 0);
    for (unsigned i = 0; i < PROCESSES; i++)
        for (uint64_t until = weft_in(20 * WEFT_SECOND); !is_packed(pids[i]); usleep(1000))
            EXPECT(weft_now() < until);
    rt_stop();
}

/* ---- other waits ------------------------------------------------------------------------------------------------------ */

static weft_fd ends[2];
static void sleeps(void *nanoseconds) {
    EXPECT_EQ(weft_sleep((uintptr_t)nanoseconds), 0);
    weft_exit(3);
}
static void sleeps_for_ever(void *unused) {
    (void)unused;
    weft_exit(weft_sleep(WEFT_FOREVER) == WEFT_ECANCELED ? 3 : 4);
}
static void reads(void *unused) {
    char text[8] = "";
    (void)unused;
    EXPECT_EQ(weft_fd_read(ends[0], text, sizeof text, WEFT_FOREVER), 3);
    weft_exit(memcmp(text, "hey", 3) == 0 ? 3 : 4);
}
static void times_out(void *unused) {
    weft_msg *message;
    (void)unused;
    weft_exit(weft_recv(&message, weft_in(100 * WEFT_MILLISECOND)) == WEFT_ETIMEDOUT ? 3 : 4);
}
static void packs_waits(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_pipe(ends), 0);
    weft_pid reader = packer(reads, NULL, WEFT_SPAWN_JOINABLE), for_ever = packer(sleeps_for_ever, NULL, WEFT_SPAWN_JOINABLE);
    weft_pid sleeper_pid = packer(sleeps, (void *)(uintptr_t)(100 * WEFT_MILLISECOND), WEFT_SPAWN_JOINABLE);
    weft_pid late = packer(times_out, NULL, WEFT_SPAWN_JOINABLE);
    for (unsigned i = 0; i < 10; i++)
        packing_ask(sleeper_pid), packing_ask(late), weft_sleep(100000); /* they may be over before they are packed */
    pack_it(reader);
    pack_it(for_ever);
    EXPECT_EQ(run_join(sleeper_pid), 3);
    EXPECT_EQ(run_join(late), 3);
    EXPECT(is_packed(reader));
    EXPECT_EQ(weft_fd_write(ends[1], "hey", 3, WEFT_FOREVER), 3);
    EXPECT_EQ(run_join(reader), 3);
    EXPECT_EQ(weft_cancel(for_ever), 0);
    EXPECT_EQ(run_join(for_ever), 3);
    EXPECT_EQ(weft_fd_close(ends[0]), 0);
    EXPECT_EQ(weft_fd_close(ends[1]), 0);
}
static void waits_body(void) { EXPECT_EQ(run(packs_waits, NULL), 0); }
TEST(pack_sleepers_and_readers) { rt_each(waits_body); }

/* ---- waits that are not packed ----------------------------------------------------------------------------------------- */

static weft_sem sem;
static void waits_for_sem(void *unused) {
    (void)unused;
    weft_exit(weft_sem_acquire(&sem, 1, WEFT_FOREVER) == 0 ? 3 : 4);
}
static void owns_a_scope(void *unused) {
    weft_scope scope;
    weft_msg *message;
    (void)unused;
    weft_scope_begin(&scope, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_spawn(&scope, sleeper, NULL), 0);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    weft_scope_cancel(&scope);
    weft_scope_end(&scope);
    weft_exit(3);
}
static __attribute__((noinline)) void fill(volatile unsigned char *room, size_t size) {
    for (size_t i = 0; i < size; i++)
        room[i] = (unsigned char)(i % 251 + 1);
}
static void uses_much(void *unused) {
    unsigned char room[6000];
    weft_msg *message;
    (void)unused;
    fill(room, sizeof room);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    for (size_t i = 0; i < sizeof room; i++)
        EXPECT_EQ(room[i], i % 251 + 1);
    weft_exit(3);
}
static void unpacked_body(void) {
    weft_sem_init(&sem, 0);
    weft_pid semaphore = packer(waits_for_sem, NULL, WEFT_SPAWN_JOINABLE);
    weft_pid owner = packer(owns_a_scope, NULL, WEFT_SPAWN_JOINABLE), much = packer(uses_much, NULL, WEFT_SPAWN_JOINABLE);
    expect_not_packed(semaphore);
    expect_not_packed(owner);
    expect_not_packed(much);
    weft_sem_release(&sem, 1);
    EXPECT_EQ(weft_send(owner, 1, NULL, 0), 0);
    EXPECT_EQ(weft_send(much, 1, NULL, 0), 0);
    EXPECT_EQ(run_join(semaphore), 3);
    EXPECT_EQ(run_join(owner), 3);
    EXPECT_EQ(run_join(much), 3);
}
TEST(pack_not_in_every_wait) { rt_each(unpacked_body); }

/* ---- everything at once ------------------------------------------------------------------------------------------------- */

enum { CROWD = 24 };
static weft_pid crowd[CROWD];
static atom_bool storm_over;
static void *asks_all_the_time(void *unused) {
    struct rng rng;
    (void)unused;
    rng_seed(&rng, 5, 0);
    while (!atom_load_acq(&storm_over)) {
        packing_ask(crowd[rng_next(&rng) % CROWD]);
        if (rng_next(&rng) % 8 == 0) usleep(50);
    }
    return NULL;
}
static void calls_all(void *number) {
    for (unsigned round = 0; round < 400 / RT_SLOW; round++) {
        weft_msg *reply;
        unsigned which = (unsigned)((round * 7 + (uintptr_t)number * 5) % CROWD);
        EXPECT_EQ(weft_call(crowd[which], which + 1, NULL, 0, &reply, WEFT_FOREVER), 0);
        EXPECT(msg_u64(reply) > 0);
        weft_msg_free(reply);
        if (round % 16 == 0) weft_sleep(100000);
    }
    atom_add_rel(&ready_ones, 1);
}
static void storm_body(void) {
    static const weft_entry entries[] = {serves, serves_until, serves_tag};
    pthread_t thread;
    atom_store_rlx(&storm_over, false);
    atom_store_rlx(&ready_ones, 0);
    for (uintptr_t i = 0; i < CROWD; i++)
        crowd[i] = packer(entries[i % 3], (void *)(i + 1), 0);
    EXPECT_EQ(pthread_create(&thread, NULL, asks_all_the_time, NULL), 0);
    for (uintptr_t i = 0; i < 4; i++)
        run_spawn(calls_all, (void *)i);
    rt_wait(&ready_ones, 4);
    atom_store_rel(&storm_over, true);
    pthread_join(thread, NULL);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    weft_dump(rt.runtime, null);
    close(null);
}
TEST(pack_in_a_storm) { rt_each(storm_body); }

/* ---- the promise broken ------------------------------------------------------------------------------------------------- */

/* A process that waits has told another where its frame is, which it must not; the other writes there after it was packed. */
static uint64_t *volatile given;
static void gives_its_frame(void *unused) {
    uint64_t own = 1;
    weft_msg *message;
    (void)unused;
    given = &own;
    if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
    if (own != 1) weft_exit(4);
}
static void writes_there(void *unused) {
    (void)unused;
    *(volatile uint64_t *)given = 2;
}
static void breaks_the_promise(void) {
    rt_start("ring", 2);
    weft_pid pid = packer(gives_its_frame, NULL, 0);
    pack_it(pid);
    run_join(run_flags(writes_there, NULL, WEFT_SPAWN_JOINABLE));
    _exit(3);
}
/* A checking build says what happened; others have not looked, and the program goes on. */
TEST(pack_broken_promise_is_told) {
    struct child child;
    child_run(&child, breaks_the_promise);
    if (!WEFT_DEBUG) {
        EXPECT_EXIT(&child, 3);
        return;
    }
    EXPECT_SAID(&child, "weft: a fault in the stack of a process that is packed: nothing may point there (WEFT_SPAWN_PACK)");
    if (SANITIZED) return; /* ends the program in its own way */
    EXPECT_DIED(&child, SIGSEGV);
    EXPECT_SAID(&child, "weft: a fault (SIGSEGV) ends the program: process ");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
