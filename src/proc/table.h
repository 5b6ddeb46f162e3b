/* Control blocks by slot: a directory of chunks, grown on demand; look-up takes no lock.
 *
 *   table_init, table_destroy                one thread, while no other uses it
 *   table_at                                 any thread
 *   magazine_take, magazine_retire, magazine_flush    the magazine's own thread
 *
 * A magazine is one thread's stock of free blocks and of retired blocks: their processes have ended, but a sender may still be
 * pushing to them (proc/section.h). Retired blocks wait in two batches: one that is being filled, and one that waits until the
 * senders noted when it was full have left their sections.
 *
 *   B1  A block is in one place: in use, on one magazine, or in the depot.
 *   B2  A block goes from a magazine's free list to a new process only after every section that could hold a look-up of the
 *       former process has been left.
 *   B3  A slot whose generation would wrap around is never used again.
 *   B4  Generations begin above all those of the tables that gave out PIDs of the same instance before (sched/door.c). */
#ifndef WEFT_PROC_TABLE_H
#define WEFT_PROC_TABLE_H

#include "proc/proc.h"
#include "proc/section.h"
#include "queue/lock.h"

#if WEFT_CHECK
enum { TABLE_CHUNK = 4, TABLE_CHUNKS = 4, MAGAZINE_BATCH = 1, MAGAZINE_READY = 4, TABLE_SECTIONS = 6 };
#else
enum { TABLE_CHUNK = 4096, TABLE_CHUNKS = PID_SLOTS / TABLE_CHUNK, MAGAZINE_BATCH = 512, MAGAZINE_READY = 4, TABLE_SECTIONS = 1024 + 16 };
#endif

struct table_chunk {
    struct proc blocks[TABLE_CHUNK];
};

struct table {
    ATOM_PTR(struct table_chunk) chunks[TABLE_CHUNKS]; /* first: a look-up is one instruction shorter */
    uint32_t limit;                                    /* set once: slots in all */
    uint32_t generation;                               /* set once: of slots never used, even (B4) */
    unsigned instance;                                 /* set once: of its PIDs */
    struct lock lock;                                  /* growth and the depot */
    uint32_t fresh;                                    /* slots below were given out at least once */
    struct proc *depot;                                /* free blocks, `linked`; each first of a batch by node.prev */
    atom_u32 section_count;
    ATOM_PTR(struct section) sections[TABLE_SECTIONS]; /* one for each worker or thread that looks up */
};

struct magazine {
    struct table *table;
    struct proc *free;              /* taken from; `linked` */
    struct proc *ready;             /* whole batches for it, the first of each linked by node.prev */
    struct proc *filling, *waiting; /* retired; `linked` */
    uint32_t ready_count, filling_count, noted_count;
    uint64_t noted[TABLE_SECTIONS];
};

void table_init(struct table *table, uint32_t limit);
void table_destroy(struct table *table);
/* The highest generation there has been so far. While no other thread spawns. */
uint32_t table_newest(struct table *table);

/* Sections are never removed: a runtime has as many as it ever had workers, and those of foreign threads. */
int table_add_section(struct table *table, struct section *section);

/* The block of a slot that was given out once; NULL for a slot never used. */
static inline struct proc *table_at(struct table *table, uint32_t slot) {
    /* acq: pairs with the rel in table_grow; without it the block could be read before it was zeroed. */
    struct table_chunk *chunk = atom_load_acq(&table->chunks[slot / TABLE_CHUNK]);
    return chunk ? &chunk->blocks[slot % TABLE_CHUNK] : NULL;
}

void magazine_init(struct magazine *magazine, struct table *table);
/* A block for a new process, its generation not 0 and new; NULL and *error: WEFT_ENOMEM or WEFT_ENOBUFS. */
struct proc *magazine_take(struct magazine *magazine, int *error);
/* The process has ended: generation bumped, COMPLETE, its mailbox closed or left open with nothing in it (deliver.h, V3). */
void magazine_retire(struct magazine *magazine, struct proc *proc);
static inline void magazine_link(struct proc **list, struct proc *proc) {
    proc->linked = *list;
    *list = proc;
}
/* The same in two steps. False: the second, magazine_retire_batch, follows. */
static inline bool magazine_put_aside(struct magazine *magazine, struct proc *proc) {
    magazine_link(&magazine->filling, proc);
    return ++magazine->filling_count < MAGAZINE_BATCH;
}
void magazine_retire_batch(struct magazine *magazine);
/* Takes back a block whose PID no thread was told. */
void magazine_return(struct magazine *magazine, struct proc *proc);
/* Gives everything to the depot; waits until the senders that are inside sections have left. */
void magazine_flush(struct magazine *magazine);

#endif
