#include "memory.h"

#include "loops.h"
#include "run.h"
#include "source.h"
#include "statics.h"
#include "wide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- cells ------------------------------------------------------------------------------------------------------ */

struct cell cells[L_MAX];
unsigned cell_count;

enum { CELL_SLOTS = 1024 };
static uint8_t cell_slot[CELL_SLOTS]; /* cell number + 1 */

struct naming {
    uintptr_t address;
    const char *name;
};
static struct naming naming[64];
static unsigned naming_count;

void chk_name(const volatile void *object, const char *name) {
    for (unsigned i = 0; i < naming_count; i++)
        if (naming[i].address == (uintptr_t)object) return;
    if (naming_count < sizeof naming / sizeof naming[0]) naming[naming_count++] = (struct naming){(uintptr_t)object, name};
}

uint64_t memory_peek(uintptr_t address, unsigned size) {
    switch (size) {
    case 1: return *(const uint8_t *)address;
    case 2: return *(const uint16_t *)address;
    case 4: return *(const uint32_t *)address;
    case 8: return *(const uint64_t *)address;
    default: return wide_number((const void *)address, size);
    }
}

void memory_poke(uintptr_t address, unsigned size, uint64_t value) {
    switch (size) {
    case 1: *(uint8_t *)address = (uint8_t)value; break;
    case 2: *(uint16_t *)address = (uint16_t)value; break;
    case 4: *(uint32_t *)address = (uint32_t)value; break;
    case 8: *(uint64_t *)address = value; break;
    default: wide_bytes(value, (void *)address, size);
    }
}

/* Words with a cell in them, hashed: a quick no for most plain accesses. */
enum { CELL_WORDS = 4096 };
static bool cell_word[CELL_WORDS];

static bool maybe_cells(uintptr_t address, size_t size) {
    for (uintptr_t word = address >> 3; word <= (address + size - 1) >> 3; word++)
        if (cell_word[word % CELL_WORDS]) return true;
    return false;
}

unsigned memory_search;

void memory_new_search(void) {
    memory_search++;
    cell_count = 0;
    naming_count = 0;
    memset(cell_slot, 0, sizeof cell_slot);
    memset(cell_word, 0, sizeof cell_word);
}

static unsigned new_cell(uintptr_t address, unsigned size) {
    if (cell_count == L_MAX - 1) {
        fprintf(stderr, "weft check: %s uses more than %d atomic objects\n", run.scenario->name, L_MAX - 1);
        exit(3);
    }
    cells[cell_count] = (struct cell){address, memory_peek(address, size), (uint8_t)size, NULL};
    for (uintptr_t word = address >> 3; word <= (address + size - 1) >> 3; word++)
        cell_word[word % CELL_WORDS] = true;
    return cell_count++;
}

unsigned memory_cell(uintptr_t address, unsigned size) {
    unsigned slot = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 54);
    while (cell_slot[slot] && cells[cell_slot[slot] - 1].address != address)
        slot = (slot + 1) % CELL_SLOTS;
    if (!cell_slot[slot]) cell_slot[slot] = (uint8_t)(new_cell(address, size) + 1);
    unsigned cell = cell_slot[slot] - 1u;
    if (cells[cell].size != size) {
        fprintf(stderr, "weft check: %s: an atomic object is accessed with %u bytes and with %u\n", run.scenario->name, cells[cell].size,
                size);
        exit(3);
    }
    while (run.graph->count[0] <= cell)
        graph_add_cell(run.graph, cells[run.graph->count[0]].initial);
    return cell;
}

void memory_flush(struct graph *g) {
    for (unsigned c = 0; c < g->count[0]; c++)
        memory_poke(cells[c].address, cells[c].size, graph_at(g, g->cell[c].mo_last)->value);
}

/* ---- the heap: one arena a thread, so that addresses do not depend on the schedule, and none is used twice --------- */

enum { ARENA_SIZE = 64 * 1024, GRAIN = 64, GRAINS = ARENA_SIZE / GRAIN, BLOCKS = 256 };

struct block {
    uintptr_t address;
    size_t size;
    bool freed;
    uint16_t thread, made_at; /* the thread that allocated it, and one more than the number of events that thread had passed */
    uint16_t freed_by;
    uintptr_t made_pc, freed_pc;
};
static struct block blocks[BLOCKS];
static unsigned block_count;
static unsigned char *arenas;
static unsigned arena_used[T_MAX];
static uint16_t grain_block[T_MAX * GRAINS]; /* block number + 1 */

static struct block *block_of(uintptr_t address) {
    if (address - (uintptr_t)arenas >= (uintptr_t)ARENA_SIZE * T_MAX) return NULL;
    unsigned number = grain_block[(address - (uintptr_t)arenas) / GRAIN];
    return number ? &blocks[number - 1] : NULL;
}

void *memory_alloc_aligned(size_t size, size_t alignment) {
    unsigned t = run.current, grains = (unsigned)((size + GRAIN - 1) / GRAIN), align = (unsigned)(alignment / GRAIN);
    arena_used[t] = (arena_used[t] + align - 1) / align * align;
    if (block_count == BLOCKS || arena_used[t] + grains > GRAINS) {
        fprintf(stderr, "weft check: %s allocates more than the checker's heap holds\n", run.scenario->name);
        exit(3);
    }
    unsigned first = t * GRAINS + arena_used[t];
    arena_used[t] += grains ? grains : 1;
    loops_wrote();
    blocks[block_count] = (struct block){.address = (uintptr_t)arenas + (uintptr_t)first * GRAIN,
                                         .size = size,
                                         .thread = (uint16_t)t,
                                         .made_at = t ? (uint16_t)(run_at() + 1) : 0,
                                         .made_pc = run.pc};
    for (unsigned i = 0; i < grains; i++)
        grain_block[first + i] = (uint16_t)(block_count + 1);
    return (void *)blocks[block_count++].address;
}

void *memory_alloc(size_t size) { return memory_alloc_aligned(size, GRAIN); }

size_t memory_size(const void *block) {
    const struct block *found = block_of((uintptr_t)block);
    return found && found->address == (uintptr_t)block ? found->size : 0;
}

void memory_leaks(void) {
    for (unsigned i = 0; i < block_count; i++) {
        if (blocks[i].freed) continue;
        run_place("allocated", blocks[i].thread, blocks[i].made_pc);
        run_violation(CHK_LEAK, "a block of %zu bytes was never freed", blocks[i].size);
    }
}

static void place_block(const struct block *block, const char *what) {
    run_place(what, run.current, run.pc);
    if (block->freed) run_place("freed", block->freed_by, block->freed_pc);
    run_place("allocated", block->thread, block->made_pc);
}

/* An allocation is a write of zeros to the whole block: every access is ordered behind it. */
void memory_touch(uintptr_t address) {
    const struct block *block = block_of(address);
    if (!block) return;
    char name[64];
    if (block->freed) {
        place_block(block, "the use");
        run_violation(CHK_USE_AFTER_FREE, "thread %u uses %s after it was freed (or without being ordered before the free)",
                      run.current - 1, memory_name(address, name, sizeof name));
    }
    if (block->thread != 0 && block->thread != run.current && run_clock()[block->thread] < block->made_at) {
        place_block(block, "the use");
        run_violation(CHK_RACE, "thread %u uses %s without being ordered behind its allocation by thread %u", run.current - 1,
                      memory_name(address, name, sizeof name), block->thread - 1u);
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static const char *offset_name(const char *name, size_t offset, char *buffer, size_t room) {
    if (offset == 0) return name;
    snprintf(buffer, room, "%s+%zu", name, offset);
    return buffer;
}

/* Where the variable or the block begins that this address is in; 0 if it is in none. */
static uintptr_t object_of(uintptr_t address) {
    size_t offset;
    const struct block *block = block_of(address);
    if (block) return block->address;
    return source_variable(address, &offset) ? address - offset : 0;
}

static const struct naming *nearest_naming(uintptr_t address) {
    const struct naming *best = NULL;
    for (unsigned i = 0; i < naming_count; i++)
        if (naming[i].address <= address && address - naming[i].address < 256 && (!best || naming[i].address > best->address))
            best = &naming[i];
    return best && (best->address == address || object_of(best->address) == object_of(address)) ? best : NULL;
}

const char *memory_block_name(uintptr_t address, char *buffer, size_t room) {
    const struct block *block = block_of(address);
    if (!block) return NULL;
    int length = snprintf(buffer, room, "block%u", (unsigned)(block - blocks) + 1);
    if (address != block->address) snprintf(buffer + length, room - (size_t)length, "+%lu", (unsigned long)(address - block->address));
    return buffer;
}

const char *memory_name(uintptr_t address, char *buffer, size_t room) {
    size_t offset;
    const struct naming *named = nearest_naming(address);
    if (named) return offset_name(named->name, address - named->address, buffer, room);
    const char *variable = source_variable(address, &offset);
    if (variable) return offset_name(variable, offset, buffer, room);
    if (memory_block_name(address, buffer, room)) return buffer;
    for (unsigned c = 0; c < cell_count; c++)
        if (cells[c].address == address) {
            snprintf(buffer, room, "c%u", c);
            return buffer;
        }
    snprintf(buffer, room, "%#lx", (unsigned long)address);
    return buffer;
}

/* ---- plain accesses: which access last touched each word, by thread --------------------------------------------------------- */

/* For each thread and each byte of the word: one more than the number of events the thread had passed. */
typedef uint16_t per_byte __attribute__((vector_size(16)));
struct shadow {
    uintptr_t word;
    uint32_t run;
    struct touched {
        per_byte read, write;
    } at[T_MAX];
};
enum { SHADOWS = 1024 };
static struct shadow shadow[SHADOWS];
/* Where each thread last read and wrote the word; of those that have. */
static uint32_t shadow_pc[SHADOWS][T_MAX][2];
static uint32_t shadow_run;

static struct shadow *shadow_of(uintptr_t word) {
    unsigned slot = (unsigned)((word >> 3 ^ word >> 13) % SHADOWS); /* neighbours stay neighbours: kinder to the cache */
    for (unsigned tries = 0; tries < SHADOWS; tries++, slot = (slot + 1) % SHADOWS) {
        struct shadow *s = &shadow[slot];
        if (s->run == shadow_run && s->word == word) return s;
        if (s->run != shadow_run) {
            memset(s->at, 0, (run.threads + 1) * sizeof s->at[0]);
            s->word = word;
            s->run = shadow_run;
            return s;
        }
    }
    fprintf(stderr, "weft check: %s touches more plain memory than the checker follows\n", run.scenario->name);
    exit(3);
}

static void race(uintptr_t address, const char *mine, unsigned other, const char *theirs, uintptr_t their_pc) {
    char name[64];
    run_place(*mine == 'f' ? "the free" : *mine == 'w' ? "the write" : "the read", run.current, run.pc);
    run_place(*theirs == 'w' ? "the other write" : "the other read", other, their_pc);
    if (*mine == 'f')
        run_violation(CHK_USE_AFTER_FREE, "thread %u frees a block while thread %u may still use it", run.current - 1, other - 1);
    run_violation(CHK_RACE, "plain %s of %s by thread %u races with a %s by thread %u", mine, memory_name(address, name, sizeof name),
                  run.current - 1, theirs, other - 1);
}

/* Has any of these bytes an access later than what is seen? */
static bool unseen(per_byte at, uint16_t seen, per_byte bytes) {
    per_byte limit = {seen, seen, seen, seen, seen, seen, seen, seen};
    per_byte later = (per_byte)(at > limit) & bytes;
    uint64_t any[2];
    memcpy(any, &later, sizeof any);
    return (any[0] | any[1]) != 0;
}

/* `how`: "read", "write" or "free", which is a write to all of a block. */
static void plain_word(uintptr_t word, uintptr_t address, per_byte bytes, vclock clock, const char *how) {
    bool write = *how != 'r';
    struct shadow *s = shadow_of(word);
    uint32_t(*pc)[2] = shadow_pc[s - shadow];
    unsigned t = run.current;
    for (unsigned u = 1; u <= run.threads; u++) {
        if (u == t) continue;
        if (unseen(s->at[u].write, clock[u], bytes)) race(address, how, u, "write", pc[u][1]);
        if (write && unseen(s->at[u].read, clock[u], bytes)) race(address, how, u, "read", pc[u][0]);
    }
    /* Ordered before another thread's access once that thread has seen this thread's next event. */
    uint16_t next = (uint16_t)(run_at() + 1);
    per_byte now = {next, next, next, next, next, next, next, next};
    per_byte *at = write ? &s->at[t].write : &s->at[t].read;
    *at = (*at & ~bytes) | (now & bytes);
    pc[t][write] = (uint32_t)run.pc;
}

static per_byte byte_mask(unsigned from, unsigned to) {
    static const uint16_t edge[24] = {[8] = 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff};
    per_byte behind, ahead; /* of the bytes from `from` on, and of those below `to` */
    memcpy(&behind, edge + 8 - from, sizeof behind);
    memcpy(&ahead, edge + 16 - to, sizeof ahead);
    return behind & ahead;
}

/* Cells have their values in the graph, so a plain access would act on a stale copy; better to say so than to be wrong. */
static void refuse_mixed(uintptr_t address, size_t size, bool write) {
    for (unsigned c = 0; c < cell_count; c++) {
        if (cells[c].address >= address + size || address >= cells[c].address + cells[c].size) continue;
        char name[64];
        const char *line = source_one_line((uint32_t)run.pc);
        fprintf(
            stderr,
            "weft check: %s: thread %u %s %s, an atomic object, by a plain access%s%s (memset, memcpy or a copy of the struct around it)\n"
            "  (set atomic objects one by one with atomic_init or a relaxed store)\n",
            run.scenario->name, run.current - 1, write ? "writes" : "reads", memory_name(cells[c].address, name, sizeof name),
            *line ? " at " : "", line);
        exit(3);
    }
}

void memory_plain(uintptr_t address, size_t size, bool write) {
    if (size == 0) return;
    memory_touch(address);
    memory_touch(address + size - 1);
    bool own = run_on_stack(address);
    if (maybe_cells(address, size) && !own) refuse_mixed(address, size, write);
    if (write && !own) loops_wrote();
    vclock clock = run_clock();
    for (uintptr_t word = address & ~(uintptr_t)7; word < address + size; word += 8) {
        unsigned from = address > word ? (unsigned)(address - word) : 0;
        unsigned to = address + size < word + 8 ? (unsigned)(address + size - word) : 8;
        plain_word(word, address, byte_mask(from, to), clock, write ? "write" : "read");
    }
}

/* A free is a write to the whole block: every access so far must be ordered before it. */
void memory_free(void *address) {
    struct block *block = block_of((uintptr_t)address);
    if (!block || block->address != (uintptr_t)address) {
        run_place("the free", run.current, run.pc);
        run_violation(CHK_DOUBLE_FREE, "free of %p, which is not the start of a block", address);
    }
    if (block->freed) {
        place_block(block, "the second free");
        run_violation(CHK_DOUBLE_FREE, "a block of %zu bytes is freed twice", block->size);
    }
    loops_wrote();
    if (run.current != 0) {
        vclock clock = run_clock();
        for (unsigned u = 1; u <= run.threads; u++)
            for (unsigned i = clock[u]; u != run.current && i < run.thread[u].at; i++) {
                const struct event *e = &run.graph->event[u][i];
                if (e->kind > K_WRITE || block_of(cells[e->cell].address) != block) continue;
                run_place("the free", run.current, run.pc);
                run_place("the other use", u, e->pc);
                run_violation(CHK_USE_AFTER_FREE, "thread %u frees a block while thread %u may still use it", run.current - 1, u - 1);
            }
        for (uintptr_t word = block->address; word < block->address + block->size; word += 8)
            plain_word(word, word, byte_mask(0, 8), clock, "free");
    }
    block->freed = true;
    block->freed_by = (uint16_t)run.current;
    block->freed_pc = run.pc;
}

/* ---- a new run -------------------------------------------------------------------------------------------------- */

void memory_new_run(void) {
    if (!arenas) {
        arenas = mmap(NULL, (size_t)ARENA_SIZE * T_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (arenas == MAP_FAILED) {
            perror("weft check: no memory for the scenario's heap");
            exit(3);
        }
    }
    statics_restore();
    for (unsigned t = 0; t < T_MAX; t++) {
        if (arena_used[t] == 0) continue;
        memset(arenas + (size_t)t * ARENA_SIZE, 0, arena_used[t] * (size_t)GRAIN);
        memset(grain_block + t * GRAINS, 0, arena_used[t] * sizeof grain_block[0]);
        arena_used[t] = 0;
    }
    block_count = 0;
    shadow_run++;
}
