/* Execution graphs: what the checker explores.
 *
 * A graph holds the shared accesses (events) of every thread in program order, for each read the write it reads from (rf), and for
 * each cell the order of its writes (mo). It says everything about an execution: the scenario's own code, run again with
 * each read answered from the graph, is in the same state every time.
 *
 * An event is named by thread and index, so that cutting the ends off threads leaves all names valid. "Thread" 0 holds the
 * initial write of each cell. Cells are numbered in the order of their first access, once for a whole search. */
#ifndef CHECK_GRAPH_H
#define CHECK_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { T_MAX = 8, E_MAX = 511, L_MAX = 255 };

/* Event names. */
typedef uint16_t eid;
enum { EID_BITS = 13 }; /* of the index */
_Static_assert(T_MAX <= 1 << (16 - EID_BITS) && E_MAX < (1 << EID_BITS) - 1 && L_MAX <= E_MAX, "each has a name, and none is EID_NONE");
#define EID(thread, index) ((eid)((thread) << EID_BITS | (index)))
#define EID_NONE ((eid)0xffff)
static inline unsigned eid_thread(eid e) { return e >> EID_BITS; }
static inline unsigned eid_index(eid e) { return e & ((1u << EID_BITS) - 1); }

/* How many events of each thread are seen: element t counts thread t's. Events of thread 0 are seen by all. */
typedef uint16_t vclock __attribute__((vector_size(2 * T_MAX)));
static inline vclock clock_join(vclock a, vclock b) {
    vclock above = (vclock)(a > b);
    return (a & above) | (b & ~above);
}
static inline bool clock_sees(vclock clock, eid e) { return eid_thread(e) == 0 || clock[eid_thread(e)] > eid_index(e); }

enum kind { K_READ, K_WRITE, K_FENCE, K_CHOICE };
/* As the compiler numbers them, and the two asymmetric fences. */
enum order { O_RLX, O_CONSUME, O_ACQ, O_REL, O_ACQREL, O_SC, O_LIGHT, O_HEAVY };

enum {
    F_RMW = 1,    /* half of a read-modify-write that writes; the write is the next event of the same thread */
    F_FENCED = 2, /* acts as a full fence on x86 */
};

/* What a read-modify-write does to the value; OP_NONE is a plain read. */
enum op { OP_NONE, OP_CAS, OP_SWAP, OP_ADD, OP_SUB, OP_AND, OP_OR, OP_XOR, OP_NAND, OP_FUTEX_WAKE };

struct event {
    vclock hb;   /* what happens before, this event included */
    vclock porf; /* what it was built on: program order and reads-from */
    union {
        vclock view; /* write: what an acquiring reader of it gets to see */
        struct {
            uint64_t operand, expected; /* read with an op */
        };
    };
    uint64_t value;
    uint32_t stamp; /* when it was added */
    uint32_t pc;
    uint8_t kind, order, flags, cell;
    uint8_t op, size, order_success, order_failure; /* read: what it is part of */
    eid rf, mo_prev, mo_next, next_read;
};
_Static_assert(sizeof(struct event) == 80 && L_MAX <= UINT8_MAX, "graphs are copied all the time");

struct cell_chain {
    eid mo_last, reads;
};

struct graph {
    uint32_t stamp;
    uint16_t count[T_MAX]; /* events a thread; [0]: cells */
    uint16_t sc_fences, light_fences;
    struct cell_chain cell[L_MAX];
    struct event event[T_MAX][E_MAX + 1];
};

static inline struct event *graph_at(struct graph *g, eid e) { return &g->event[eid_thread(e)][eid_index(e)]; }

void graph_clear(struct graph *g);
/* A new cell with its initial write. */
void graph_add_cell(struct graph *g, uint64_t value);

/* Adds an event at the end of a thread; its clocks say "program order only" until model_read or graph_mo_insert. */
eid graph_append(struct graph *g, unsigned thread, enum kind kind, enum order order, unsigned cell);
/* Takes the last event of a thread away again; a write must not be in mo any more. */
void graph_retract(struct graph *g, unsigned thread);

void graph_mo_insert(struct graph *g, eid write, eid after);
void graph_mo_remove(struct graph *g, eid write);

/* The read half of the read-modify-write that directly follows `write` in mo, or EID_NONE. */
eid graph_rmw_after(struct graph *g, eid write);

/* dst = the first keep[t] events of each thread of src; no remaining read may read from one left out. */
void graph_restrict(struct graph *dst, const struct graph *src, const uint16_t keep[T_MAX]);

/* Copies kept for later, last in first out. */
struct graph_stack {
    unsigned char *bytes;
    size_t used, room;
    unsigned count;
};
void graph_push(struct graph_stack *stack, const struct graph *g);
bool graph_pop(struct graph_stack *stack, struct graph *g);
void graph_stack_free(struct graph_stack *stack);

#endif
