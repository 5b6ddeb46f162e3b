#include "proc/table.h"

#include "base/spin.h"

#include <string.h>

void table_init(struct table *table, uint32_t limit) {
    table->limit = limit < PID_SLOTS ? limit : PID_SLOTS - 1;
    table->generation = 0;
    lock_init(&table->lock);
    table->fresh = 1; /* slot 0 would make a PID of 0 */
    table->depot = NULL;
    /* rlx: nobody else knows the table yet. */
    atom_store_rlx(&table->section_count, 0);
    for (unsigned i = 0; i < TABLE_SECTIONS; i++)
        atom_store_rlx(&table->sections[i], NULL);
    for (unsigned i = 0; i < TABLE_CHUNKS; i++)
        atom_store_rlx(&table->chunks[i], NULL);
}

void table_destroy(struct table *table) {
    for (unsigned i = 0; i < TABLE_CHUNKS; i++) {
        struct table_chunk *chunk = atom_load_rlx(&table->chunks[i]); /* rlx: nobody else uses the table any more */
        if (chunk) sys->free(chunk, sizeof *chunk);
        atom_store_rlx(&table->chunks[i], NULL);
    }
}

uint32_t table_newest(struct table *table) {
    uint32_t newest = table->generation;
    for (uint32_t slot = 1; slot < table->fresh; slot++) {
        uint32_t generation = atom_load_rlx(&table_at(table, slot)->generation); /* rlx: nobody takes blocks any more */
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
        /* rel: pairs with the acq in shelf_note. A section is added before it is first entered, and entering has fence B: who
         * has passed fence A and does not see the section here will be seen by its look-up. */
        atom_store_rel(&table->section_count, count + 1);
    }
    lock_drop(&table->lock);
    return room ? 0 : WEFT_ENOBUFS;
}

/* Under the lock: slots from `fresh` on that exist, after trying to make some. */
static int table_grow(struct table *table) {
    if (table->fresh > table->limit) return WEFT_ENOBUFS;
    if (table_at(table, table->fresh)) return 0;
    struct table_chunk *chunk = sys->alloc(sizeof *chunk);
    if (!chunk) return WEFT_ENOMEM;
    atom_store_rel(&table->chunks[table->fresh / TABLE_CHUNK], chunk); /* rel: pairs with the acq in table_at */
    return 0;
}

/* A batch of slots never used before. */
static int table_cut(struct table *table, struct shelf *shelf) {
    int error = table_grow(table);
    if (error) return error;
    uint32_t end = (table->fresh / TABLE_CHUNK + 1) * TABLE_CHUNK, most = table->fresh + SHELF_BATCH;
    if (most < end) end = most;
    if (end > table->limit + 1) end = table->limit + 1;
    /* Backwards, so that the lowest slot is taken first. */
    for (uint32_t slot = end; slot-- > table->fresh;) {
        struct proc *proc = table_at(table, slot);
        proc->slot = slot;
        state_init_complete(&proc->state);
        mpsc_init(&proc->box);
        mpsc_close(&proc->box);
        line_node_init(&proc->node);
        atom_store_rlx(&proc->generation, table->generation); /* rlx: nobody has a PID of it */
        proc->node.next = shelf->free ? &shelf->free->node : NULL;
        shelf->free = proc;
    }
    table->fresh = end;
    return 0;
}

static struct proc *proc_of(struct line_node *node) {
    return node ? (struct proc *)((unsigned char *)node - offsetof(struct proc, node)) : NULL;
}

static struct proc *pop(struct proc **list) {
    struct proc *proc = *list;
    *list = proc_of(proc->node.next);
    proc->node.next = NULL;
    return proc;
}

static void push(struct proc **list, struct proc *proc) {
    proc->node.next = *list ? &(*list)->node : NULL;
    *list = proc;
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

void shelf_init(struct shelf *shelf, struct table *table) {
    memset(shelf, 0, offsetof(struct shelf, noted));
    shelf->table = table;
}

/* ---- retired blocks ---------------------------------------------------------------------------------------------- */

/* Everybody who is inside a section now has to leave before the waiting batch is free. */
static void shelf_note(struct shelf *shelf) {
    struct table *table = shelf->table;
    sys_fence_heavy();                                          /* A */
    shelf->noted_count = atom_load_acq(&table->section_count); /* acq: pairs with the rel in table_add_section */
    for (uint32_t i = 0; i < shelf->noted_count; i++)
        shelf->noted[i] = section_note(atom_load_rlx(&table->sections[i])); /* rlx: published by the count */
}

static bool shelf_may_free(struct shelf *shelf) {
    for (uint32_t i = 0; i < shelf->noted_count; i++)
        if (!section_has_left(atom_load_rlx(&shelf->table->sections[i]), shelf->noted[i])) return false;
    return true;
}

/* Moves batches on as far as they can be moved without waiting. */
static __attribute__((noinline)) void shelf_turn(struct shelf *shelf) {
    if (shelf->waiting && shelf_may_free(shelf)) { /* recheck */
        batch_push(&shelf->ready, shelf->waiting);
        shelf->ready_count++;
        shelf->waiting = NULL;
    }
    if (!shelf->waiting && shelf->filling) {
        shelf->waiting = shelf->filling;
        shelf->filling = NULL;
        shelf->filling_count = 0;
        shelf_note(shelf);
    }
}

/* More free blocks than a thread that also spawns will need: a batch to the depot, for those who only spawn. */
static void shelf_share(struct shelf *shelf, struct proc *batch) {
    lock_take(&shelf->table->lock);
    batch_push(&shelf->table->depot, batch);
    lock_drop(&shelf->table->lock);
}

void shelf_retire(struct shelf *shelf, struct proc *proc) {
    push(&shelf->filling, proc);
    if (++shelf->filling_count < SHELF_BATCH) return;
    shelf_turn(shelf);
    if (shelf->ready_count < SHELF_READY) return;
    shelf->ready_count--;
    shelf_share(shelf, batch_pop(&shelf->ready));
}

/* ---- free blocks ------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) int shelf_refill(struct shelf *shelf) {
    struct table *table = shelf->table;
    int error = 0;
    lock_take(&table->lock);
    if (table->depot) {
        shelf->free = batch_pop(&table->depot);
    } else {
        error = table_cut(table, shelf);
    }
    lock_drop(&table->lock);
    return error;
}

/* Fills the free list: one's own batches, the depot, new ones. False, with *error, if there is nothing. */
static __attribute__((noinline)) bool shelf_restock(struct shelf *shelf, int *error) {
    if (!shelf->ready) *error = shelf_refill(shelf);
    if (shelf->free) return true;
    /* The last resort: what was retired a moment ago. Twice, because a batch may only now begin to wait. */
    if (!shelf->ready) shelf_turn(shelf);
    if (!shelf->ready) shelf_turn(shelf);
    if (!shelf->ready) return false;
    shelf->ready_count--;
    shelf->free = batch_pop(&shelf->ready);
    return true;
}

struct proc *shelf_take(struct shelf *shelf, int *error) {
    for (;;) {
        if (__builtin_expect(!shelf->free, 0) && !shelf_restock(shelf, error)) return NULL;
        struct proc *proc = pop(&shelf->free);
        uint32_t generation = atom_load_rlx(&proc->generation); /* rlx: only the block's keeper writes it */
        if (generation >= UINT32_MAX - 2) continue;             /* B3: forgotten; the one after next would be 0 */
        state_forget(&proc->state);
        /* rel: pairs with the acq in proc_find: who has guessed the PID asks something of the new tenant, or is refused. */
        atom_store_rel(&proc->generation, (generation + 1) | 1);
        return proc;
    }
}

void shelf_return(struct shelf *shelf, struct proc *proc) {
    push(&shelf->free, proc);
}

void shelf_flush(struct shelf *shelf) {
    for (struct spin spin = spin_begin(); shelf->filling || shelf->waiting;) {
        shelf_turn(shelf);
        if (shelf->waiting) spin_wait(&spin); /* a section lasts nanoseconds, unless its thread was descheduled inside */
    }
    while (shelf->ready)
        shelf_share(shelf, batch_pop(&shelf->ready));
    shelf->ready_count = 0;
    if (shelf->free) shelf_share(shelf, shelf->free);
    shelf->free = NULL;
}
