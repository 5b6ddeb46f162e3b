/* The table of control blocks and its magazines: see proc/table.h. */
#include "proc/table.h"

#include "base/spin.h"
#include "proc/message.h"

#include <string.h>

void table_init(struct table *table, uint32_t limit) {
    table->limit = limit < PID_SLOTS ? limit : PID_SLOTS - 1;
    table->generation = 0;
    table->instance = 0;
    lock_init(&table->lock);
    table->fresh = 1; /* slot 0 would make a PID of 0 */
    table->depot = NULL;
    /* rlx: not shared yet. */
    atom_store_rlx(&table->section_count, 0);
    for (unsigned i = 0; i < TABLE_SECTIONS; i++)
        atom_store_rlx(&table->sections[i], NULL);
    for (unsigned i = 0; i < TABLE_CHUNKS; i++)
        atom_store_rlx(&table->chunks[i], NULL);
}

/* Frees what was pushed, unheard, into the box of a process that had ended (deliver.h, V3). No sender comes to it any more (B2). The box is closed from here on. */
static __attribute__((noinline, cold)) void table_free_late(struct mpsc_node *late) {
    for (struct mpsc_node *next; late; late = next) {
        next = late->next;
        message_free_anywhere(message_of(late));
    }
}

/* Blocks whose processes have ended. */
static void table_clear(struct table *table) {
    for (uint32_t slot = 1; slot < table->fresh; slot++) {
        struct proc *proc = table_at(table, slot);
        if (proc_generation(proc) % 2 == 0) table_free_late(mpsc_renew(&proc->box));
    }
}

void table_destroy(struct table *table) {
    table_clear(table);
    for (unsigned i = 0; i < TABLE_CHUNKS; i++) {
        struct table_chunk *chunk = atom_load_rlx(&table->chunks[i]); /* rlx: no other thread uses the table any more */
        if (chunk) sys->free(chunk, sizeof *chunk);
        atom_store_rlx(&table->chunks[i], NULL);
    }
}

uint32_t table_newest(struct table *table) {
    uint32_t newest = table->generation;
    for (uint32_t slot = 1; slot < table->fresh; slot++) {
        uint32_t generation = proc_generation(table_at(table, slot)); /* rlx: no thread takes blocks now */
        if (generation > newest) newest = generation;
    }
    return newest;
}

int table_add_section(struct table *table, struct section *section) {
    lock_take(&table->lock);
    uint32_t count = atom_load_rlx(&table->section_count); /* rlx: written under the lock */
    bool room = count < TABLE_SECTIONS;
    if (room) {
        atom_store_rlx(&table->sections[count], section); /* rlx: published by the count */
        /* rel: pairs with the acq in magazine_note. A section is added before it is first entered, and entering has fence B: if a
         * keeper has passed fence A and does not see the section here, its new generation is seen by that section's look-up. */
        atom_store_rel(&table->section_count, count + 1);
    }
    lock_drop(&table->lock);
    return room ? 0 : WEFT_ENOBUFS;
}

/* Under the lock: makes sure that the slot `fresh` has memory. 0 or an error. */
static int table_grow(struct table *table) {
    if (table->fresh > table->limit) return WEFT_ENOBUFS;
    if (table_at(table, table->fresh)) return 0;
    struct table_chunk *chunk = sys->alloc(sizeof *chunk);
    if (!chunk) return WEFT_ENOMEM;
    /* rlx: published below. Slot 0 is never given out, and its block must not have the PID 0: with another instance's number that is WEFT_NOBODY,
     * which is no PID of this table's. */
    if (table->fresh < TABLE_CHUNK) atom_store_rlx(&chunk->blocks[0].pid, pid_make(table->instance, table->generation, 0));
    atom_store_rel(&table->chunks[table->fresh / TABLE_CHUNK], chunk); /* rel: pairs with the acq in table_at */
    return 0;
}

/* A batch of slots never used before. */
static int table_cut(struct table *table, struct magazine *magazine) {
    int error = table_grow(table);
    if (error) return error;
    uint32_t end = (table->fresh / TABLE_CHUNK + 1) * TABLE_CHUNK, most = table->fresh + MAGAZINE_BATCH;
    if (most < end) end = most;
    if (end > table->limit + 1) end = table->limit + 1;
    struct table_chunk *chunk = atom_load_rlx(&table->chunks[table->fresh / TABLE_CHUNK]); /* rlx: written under the lock */
    /* Backwards, so that the lowest slot is taken first. */
    for (uint32_t slot = end; slot-- > table->fresh;) {
        struct proc *proc = &chunk->blocks[slot % TABLE_CHUNK];
        state_init_complete(&proc->state);
        mpsc_init(&proc->box);
        mpsc_close(&proc->box);
        line_node_init(&proc->node);
        atom_store_rlx(&proc->pid, pid_make(table->instance, table->generation, slot)); /* rlx: no thread has a PID of it */
        magazine_link(&magazine->free, proc);
    }
    table->fresh = end;
    return 0;
}

static struct proc *proc_of(struct line_node *node) {
    return node ? (struct proc *)((unsigned char *)node - offsetof(struct proc, node)) : NULL;
}

/* Batches, the first block of each linked to the first of the next. */
static struct proc *batch_pop(struct proc **batches) {
    struct proc *batch = *batches;
    *batches = proc_of(batch->node.prev);
    batch->node.prev = NULL;
    return batch;
}

static void batch_push(struct proc **batches, struct proc *batch) {
    batch->node.prev = *batches ? &(*batches)->node : NULL;
    *batches = batch;
}

void magazine_init(struct magazine *magazine, struct table *table) {
    memset(magazine, 0, offsetof(struct magazine, noted));
    magazine->table = table;
}

/* ---- retired blocks ---------------------------------------------------------------------------------------------- */

/* Notes which senders are inside a section now: they have to leave before the waiting batch is free. */
static void magazine_note(struct magazine *magazine) {
    struct table *table = magazine->table;
    sys_fence_heavy();                                            /* A */
    magazine->noted_count = atom_load_acq(&table->section_count); /* acq: pairs with the rel in table_add_section */
    for (uint32_t i = 0; i < magazine->noted_count; i++)
        magazine->noted[i] = section_note(atom_load_rlx(&table->sections[i])); /* rlx: published by the count */
}

static bool magazine_may_free(struct magazine *magazine) {
    for (uint32_t i = 0; i < magazine->noted_count; i++)
        if (!section_has_left(atom_load_rlx(&magazine->table->sections[i]), magazine->noted[i])) return false;
    return true;
}

/* Moves batches on as far as they can be moved without waiting. */
static __attribute__((noinline)) void magazine_turn(struct magazine *magazine) {
    if (magazine->waiting && magazine_may_free(magazine)) { /* recheck */
        batch_push(&magazine->ready, magazine->waiting);
        magazine->ready_count++;
        magazine->waiting = NULL;
    }
    if (!magazine->waiting && magazine->filling) {
        magazine->waiting = magazine->filling;
        magazine->filling = NULL;
        magazine->filling_count = 0;
        magazine_note(magazine);
    }
}

/* A thread that also spawns will not need so many free blocks: gives a batch to the depot, for threads that only spawn. */
static void magazine_share(struct magazine *magazine, struct proc *batch) {
    lock_take(&magazine->table->lock);
    batch_push(&magazine->table->depot, batch);
    lock_drop(&magazine->table->lock);
}

void magazine_retire(struct magazine *magazine, struct proc *proc) {
    if (!magazine_put_aside(magazine, proc)) magazine_retire_batch(magazine);
}

void magazine_retire_batch(struct magazine *magazine) {
    magazine_turn(magazine);
    if (magazine->ready_count < MAGAZINE_READY) return;
    magazine->ready_count--;
    magazine_share(magazine, batch_pop(&magazine->ready));
}

/* ---- free blocks ------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) int magazine_refill(struct magazine *magazine) {
    struct table *table = magazine->table;
    int error = 0;
    lock_take(&table->lock);
    if (table->depot) {
        magazine->free = batch_pop(&table->depot);
    } else {
        error = table_cut(table, magazine);
    }
    lock_drop(&table->lock);
    return error;
}

/* Fills the free list: from its own ready batches, the depot, new blocks, or just retired ones. False, with *error: there are none. */
static __attribute__((noinline)) bool magazine_restock(struct magazine *magazine, int *error) {
    if (!magazine->ready) *error = magazine_refill(magazine);
    if (magazine->free) return true;
    /* The last resort: what was retired a moment ago. Twice, because a batch may only now begin to wait. */
    if (!magazine->ready) magazine_turn(magazine);
    if (!magazine->ready) magazine_turn(magazine);
    if (!magazine->ready) return false;
    magazine->ready_count--;
    magazine->free = batch_pop(&magazine->ready);
    return true;
}

struct proc *magazine_take(struct magazine *magazine, int *error) {
    for (;;) {
        if (__builtin_expect(!magazine->free, 0) && !magazine_restock(magazine, error)) return NULL;
        struct proc *proc = magazine->free;
        magazine->free = proc->linked;
        proc->linked = NULL;
        weft_pid before = proc_pid(proc);                       /* only the block's keeper writes it */
        if (pid_generation(before) >= UINT32_MAX - 2) continue; /* B3: never used again; the next but one would be 0 */
        struct mpsc_node *late = mpsc_renew(&proc->box);
        if (__builtin_expect(late != NULL, 0)) table_free_late(late);
        state_forget(&proc->state);
        /* rel: pairs with the acq in proc_named: a thread that has guessed the PID reaches the new process, or is refused. */
        atom_store_rel(&proc->pid, pid_next(before));
        return proc;
    }
}

void magazine_return(struct magazine *magazine, struct proc *proc) { magazine_link(&magazine->free, proc); }

void magazine_flush(struct magazine *magazine) {
    for (struct spin spin = spin_begin(); magazine->filling || magazine->waiting;) {
        magazine_turn(magazine);
        if (magazine->waiting) spin_wait(&spin); /* a section lasts nanoseconds, unless its thread was descheduled inside */
    }
    while (magazine->ready)
        magazine_share(magazine, batch_pop(&magazine->ready));
    magazine->ready_count = 0;
    if (magazine->free) magazine_share(magazine, magazine->free);
    magazine->free = NULL;
}
