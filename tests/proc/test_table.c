/* Slots and their processes: dense, each in one place, reused only when no thread can mean the former process any more. */
#include "proc/table.h"
#include "scripted.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct table table;
static struct magazine magazine, other;

static void begin(uint32_t limit) {
    sys_scripted_install();
    table_init(&table, limit);
    magazine_init(&magazine, &table);
    magazine_init(&other, &table);
}
static void end(void) {
    table_destroy(&table);
    EXPECT_EQ(sys_scripted_live(), 0);
}

static struct proc *take(struct magazine *from) {
    int error = 12345;
    struct proc *proc = magazine_take(from, &error);
    if (!proc) test_fail(__FILE__, __LINE__, "no block: %d", error);
    EXPECT_EQ(proc_generation(proc) % 2, 1);
    EXPECT(mpsc_is_closed(&proc->box)); /* until its spawner opens it */
    EXPECT(table_at(&table, proc_slot(proc)) == proc);
    EXPECT_EQ(atom_load_rlx(&proc->state.asked), 0); /* what was asked of another is not asked of this one */
    mpsc_init(&proc->box);
    state_revive(&proc->state);
    return proc;
}
static int refused(struct magazine *from) {
    int error = 0;
    EXPECT(!magazine_take(from, &error));
    return error;
}
/* What the end of a process does. */
static void retire(struct magazine *to, struct proc *proc) {
    state_cancel(&proc->state);
    EXPECT(state_claim_any(&proc->state));
    proc_end_pid(proc);
    EXPECT(!mpsc_close(&proc->box));
    state_complete(&proc->state);
    magazine_retire(to, proc);
}

/* ---- slots ---------------------------------------------------------------------------------------------------------------- */

TEST(table_slots_are_dense) {
    begin(PID_SLOTS - 1);
    for (uint32_t slot = 1; slot <= 3 * TABLE_CHUNK; slot++) {
        struct proc *proc = take(&magazine);
        EXPECT_EQ(proc_slot(proc), slot); /* 0 is not used */
        EXPECT_EQ(proc_generation(proc), 1);
    }
    EXPECT_EQ(sys_scripted_live(), 4); /* chunks: slot 0 counts */
    EXPECT(table_at(&table, 4 * TABLE_CHUNK) == NULL);
    EXPECT(table_at(&table, PID_SLOTS - 1) == NULL);
    end();
}

/* Two magazines never have the same block. */
TEST(table_a_block_is_in_one_place) {
    static bool used[5000];
    begin(PID_SLOTS - 1);
    for (unsigned i = 0; i < 4000; i++) {
        struct proc *proc = take(i % 3 ? &magazine : &other);
        EXPECT(proc_slot(proc) < 5000 && !used[proc_slot(proc)]);
        used[proc_slot(proc)] = true;
    }
    end();
}

TEST(table_generations_go_up) {
    static uint32_t last[2000];
    begin(1000);
    for (unsigned round = 0; round < 20; round++) {
        static struct proc *procs[1000];
        for (unsigned i = 0; i < 1000; i++) {
            procs[i] = take(&magazine);
            uint32_t generation = proc_generation(procs[i]);
            EXPECT(generation > last[proc_slot(procs[i])]);
            last[proc_slot(procs[i])] = generation;
        }
        for (unsigned i = 0; i < 1000; i++)
            retire(&magazine, procs[i]);
    }
    end();
}

/* ---- the limit ------------------------------------------------------------------------------------------------------------- */

TEST(table_has_a_limit) {
    static const uint32_t limits[] = {1, 2, 511, 512, 513, 4095, 4096, 4097, 5000};
    for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct proc *last = NULL;
        begin(limits[i]);
        for (uint32_t n = 0; n < limits[i]; n++)
            last = take(&magazine);
        EXPECT_EQ(proc_slot(last), limits[i]);
        EXPECT_EQ(refused(&magazine), WEFT_ENOBUFS);
        EXPECT_EQ(refused(&other), WEFT_ENOBUFS);
        retire(&magazine, last);
        EXPECT(take(&magazine) == last); /* even the one that has just been given back, when no thread can look at it */
        EXPECT_EQ(refused(&magazine), WEFT_ENOBUFS);
        end();
    }
}

TEST(table_takes_back_what_no_thread_was_told_of) {
    int error;
    begin(1);
    struct proc *proc = magazine_take(&magazine, &error);
    uint32_t generation = proc_generation(proc);
    magazine_return(&magazine, proc);
    EXPECT(magazine_take(&magazine, &error) == proc);
    EXPECT(proc_generation(proc) > generation && proc_generation(proc) % 2 == 1);
    end();
}

TEST(table_without_memory) {
    begin(PID_SLOTS - 1);
    sys_script.alloc_fail_at = 1;
    EXPECT_EQ(refused(&magazine), WEFT_ENOMEM);
    for (unsigned i = 1; i < TABLE_CHUNK; i++)
        take(&magazine);
    sys_script.alloc_fail_from = 3;
    EXPECT_EQ(refused(&magazine), WEFT_ENOMEM);
    EXPECT_EQ(refused(&other), WEFT_ENOMEM);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(proc_slot(take(&other)), TABLE_CHUNK);
    end();
}

/* ---- B3: a slot whose generation would come round ------------------------------------------------------------------------------- */

static void poke(struct proc *proc, uint32_t generation) { atom_store_rlx(&proc->pid, pid_make(0, generation, proc_slot(proc))); }

TEST(table_forgets_a_slot_before_its_generation_comes_round) {
    begin(1);
    struct proc *proc = take(&magazine);
    poke(proc, UINT32_MAX - 8); /* odd, as of a living tenant */
    uint32_t last = UINT32_MAX - 8;
    unsigned tenants = 0;
    for (int error = 0;; tenants++) {
        retire(&magazine, proc);
        EXPECT(proc_generation(proc) > last); /* not round */
        if (!(proc = magazine_take(&magazine, &error))) {
            EXPECT_EQ(error, WEFT_ENOBUFS);
            break;
        }
        EXPECT(proc_generation(proc) > last);
        last = proc_generation(proc);
        mpsc_init(&proc->box);
        state_revive(&proc->state);
    }
    EXPECT(tenants >= 2);                        /* it was used almost to the end */
    EXPECT_EQ(refused(&magazine), WEFT_ENOBUFS); /* for good */
    end();
}

/* The same when spawns fail at the very end: every generation between is skipped, none comes round. */
TEST(table_forgets_a_slot_whose_last_processes_were_never_born) {
    for (uint32_t start = UINT32_MAX - 9; start >= UINT32_MAX - 40 && start < UINT32_MAX; start -= 2) {
        begin(2); /* the second slot shows that the first one only is forgotten */
        struct proc *proc = take(&magazine), *second = take(&magazine);
        poke(proc, start | 1);
        retire(&magazine, proc);
        uint32_t last = start;
        for (;;) {
            int error;
            struct proc *again = magazine_take(&magazine, &error);
            if (!again) break;
            EXPECT(again == proc);
            uint32_t generation = proc_generation(again);
            EXPECT(generation > last && generation != UINT32_MAX); /* ending it must not come round either */
            last = generation;
            magazine_return(&magazine, again);
        }
        retire(&magazine, second);
        EXPECT(take(&magazine) == second);
        end();
    }
}

/* ---- B2: reuse waits for threads that may have looked -------------------------------------------------------------------------------- */

TEST(table_reuse_waits_for_a_section) {
    struct section reader, idle;
    begin(3);
    section_init(&reader);
    section_init(&idle);
    EXPECT_EQ(table_add_section(&table, &reader), 0);
    EXPECT_EQ(table_add_section(&table, &idle), 0);
    struct proc *procs[3] = {take(&magazine), take(&magazine), take(&magazine)};
    section_enter(&reader);
    retire(&magazine, procs[0]); /* the reader may have looked it up just before */
    EXPECT_EQ(refused(&magazine), WEFT_ENOBUFS);
    EXPECT_EQ(refused(&magazine), WEFT_ENOBUFS); /* however often one asks */
    section_leave(&reader);
    EXPECT(take(&magazine) == procs[0]);
    /* A thread that enters anew has left before. */
    section_enter(&reader);
    retire(&magazine, procs[1]);
    EXPECT_EQ(refused(&magazine), WEFT_ENOBUFS);
    section_leave(&reader);
    section_enter(&reader);
    EXPECT(take(&magazine) == procs[1]);
    /* And one that enters after the end sees the end: it is not waited for. */
    section_leave(&reader);
    retire(&magazine, procs[2]);
    EXPECT_EQ(proc_generation(procs[2]) % 2, 0);
    EXPECT(take(&magazine) == procs[2]);
    end();
}

TEST(table_sections_are_limited) {
    static struct section sections[TABLE_SECTIONS + 1];
    begin(1);
    for (unsigned i = 0; i < TABLE_SECTIONS; i++) {
        section_init(&sections[i]);
        EXPECT_EQ(table_add_section(&table, &sections[i]), 0);
    }
    EXPECT_EQ(table_add_section(&table, &sections[TABLE_SECTIONS]), WEFT_ENOBUFS);
    section_enter(&sections[TABLE_SECTIONS - 1]); /* the last one counts, too */
    retire(&magazine, take(&magazine));
    EXPECT_EQ(refused(&magazine), WEFT_ENOBUFS);
    section_leave(&sections[TABLE_SECTIONS - 1]);
    EXPECT(take(&magazine));
    end();
}

/* ---- from threads that only retire to threads that only
 * take--------------------------------------------------------------------------- */

TEST(table_blocks_go_round_between_shelves) {
    enum { LIVING = 100 };
    static struct proc *living[LIVING];
    begin(PID_SLOTS - 1);
    for (unsigned i = 0; i < 300000; i++) {
        if (living[i % LIVING]) retire(&other, living[i % LIVING]);
        living[i % LIVING] = take(&magazine);
    }
    EXPECT(table.fresh <= LIVING + 10 * MAGAZINE_BATCH); /* bounded, however long it goes on */
    end();
}

TEST(table_flush_hands_over_everything) {
    enum { ALL = 3000 };
    static struct proc *procs[ALL];
    static bool used[ALL + 1];
    begin(ALL);
    for (unsigned i = 0; i < ALL; i++)
        procs[i] = take(&magazine);
    for (unsigned i = 0; i < ALL - 1; i++)
        retire(&magazine, procs[i]);
    magazine_return(&magazine, procs[ALL - 1]);
    magazine_flush(&magazine);
    for (unsigned i = 0; i < ALL; i++) {
        int error;
        struct proc *proc = magazine_take(&other, &error);
        EXPECT(proc && !used[proc_slot(proc)]);
        used[proc_slot(proc)] = true;
    }
    EXPECT_EQ(refused(&other), WEFT_ENOBUFS);
    EXPECT_EQ(refused(&magazine), WEFT_ENOBUFS);
    end();
}

/* ---- threads: a letter never reaches the next tenant
 * ----------------------------------------------------------------------------------- */

struct letter {
    struct mpsc_node node;
    uint64_t pid;
};
static atom_u64 tenant; /* the newest PID */
static atom_bool over;
static atom_u64 sent, dropped;

static void *writes(void *section) {
    unsigned writes_count = 0;
    while (!atom_load_rlx(&over)) {
        uint64_t pid = atom_load_rlx(&tenant);
        if (!pid) continue;
        struct letter *letter = malloc(sizeof *letter);
        letter->pid = pid;
        section_enter(section);
        struct proc *proc = table_at(&table, pid_slot(pid));
        bool in = pid_generation(atom_load_acq(&proc->pid)) == pid_generation(pid);
        if (in && ++writes_count % 64 == 0) sched_yield(); /* the moment at which the slot must not change hands */
        in = in && mpsc_push(&proc->box, &letter->node) != MPSC_CLOSED;
        section_leave(section);
        atom_add_rlx(in ? &sent : &dropped, 1);
        if (!in) free(letter);
    }
    return NULL;
}

/* Ends a tenant: every letter in its box is for it. Returns how many there were. */
static uint64_t evict(struct proc *proc) {
    weft_pid pid = proc_pid(proc);
    uint64_t read = 0;
    EXPECT(state_claim_any(&proc->state));
    proc_end_pid(proc);
    for (struct mpsc_node *node = mpsc_close(&proc->box), *next; node; node = next) {
        next = node->next;
        EXPECT_EQ(((struct letter *)node)->pid, pid);
        free(node);
        read++;
    }
    state_complete(&proc->state);
    magazine_retire(&magazine, proc);
    return read;
}

TEST(table_stress_letters_reach_the_process_they_are_for) {
    enum { WRITERS = 2, SLOTS = 32, LIVING = 28 }; /* few slots, so that they are reused at once, and mostly lived in */
    static struct section sections[WRITERS];
    static struct proc *living[LIVING];
    pthread_t threads[WRITERS];
    uint64_t read = 0;
    begin(SLOTS);
    for (unsigned i = 0; i < WRITERS; i++) {
        section_init(&sections[i]);
        EXPECT_EQ(table_add_section(&table, &sections[i]), 0);
        EXPECT_EQ(pthread_create(&threads[i], NULL, writes, &sections[i]), 0);
    }
    for (unsigned i = 0; i < 100000 * test_scale() || atom_load_rlx(&sent) < 1000; i++) {
        int error;
        struct proc **place = &living[i % LIVING];
        if (*place) read += evict(*place);
        if (!(*place = magazine_take(&magazine, &error))) {
            sched_yield(); /* a writer is inside */
            continue;
        }
        mpsc_init(&(*place)->box);
        state_revive(&(*place)->state);
        atom_store_rlx(&tenant, proc_pid(*place));
    }
    atom_store_rlx(&over, true);
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < LIVING; i++)
        if (living[i]) read += evict(living[i]);
    EXPECT_EQ(read, atom_load_rlx(&sent));
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
