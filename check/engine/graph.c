#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void graph_clear(struct graph *g) {
    g->stamp = 0;
    g->sc_fences = g->light_fences = 0;
    memset(g->count, 0, sizeof g->count);
}

void graph_add_cell(struct graph *g, uint64_t value) {
    unsigned cell = g->count[0]++;
    g->event[0][cell] =
        (struct event){.kind = K_WRITE, .cell = (uint8_t)cell, .value = value, .rf = EID_NONE, .mo_prev = EID_NONE, .mo_next = EID_NONE};
    g->cell[cell] = (struct cell_chain){EID(0, cell), EID_NONE};
}

eid graph_append(struct graph *g, unsigned thread, enum kind kind, enum order order, unsigned cell) {
    unsigned index = g->count[thread]++;
    struct event *e = &g->event[thread][index];
    if (index > 0) {
        e->hb = e[-1].hb;
        e->porf = e[-1].porf;
    } else {
        e->hb = e->porf = (vclock){0};
    }
    e->hb[thread] = e->porf[thread] = (uint16_t)(index + 1);
    e->view = (vclock){0};
    e->value = 0;
    e->stamp = ++g->stamp;
    e->kind = (uint8_t)kind;
    e->order = (uint8_t)order;
    e->flags = 0;
    e->op = OP_NONE;
    e->rf = e->mo_prev = e->mo_next = e->next_read = EID_NONE;
    e->cell = (uint8_t)cell;
    eid name = EID(thread, index);
    if (kind == K_READ) {
        e->next_read = g->cell[cell].reads;
        g->cell[cell].reads = name;
    } else if (kind == K_FENCE) {
        g->sc_fences += order == O_SC || order == O_HEAVY;
        g->light_fences += order == O_LIGHT;
    }
    return name;
}

void graph_retract(struct graph *g, unsigned thread) {
    struct event *e = &g->event[thread][--g->count[thread]];
    if (e->kind == K_READ) {
        eid name = EID(thread, g->count[thread]), *link = &g->cell[e->cell].reads;
        while (*link != name)
            link = &graph_at(g, *link)->next_read;
        *link = e->next_read;
    } else if (e->kind == K_FENCE) {
        g->sc_fences -= e->order == O_SC || e->order == O_HEAVY;
        g->light_fences -= e->order == O_LIGHT;
    }
}

void graph_mo_insert(struct graph *g, eid write, eid after) {
    struct event *w = graph_at(g, write), *p = graph_at(g, after);
    w->mo_prev = after;
    w->mo_next = p->mo_next;
    if (p->mo_next != EID_NONE) graph_at(g, p->mo_next)->mo_prev = write;
    else g->cell[w->cell].mo_last = write;
    p->mo_next = write;
}

void graph_mo_remove(struct graph *g, eid write) {
    struct event *w = graph_at(g, write);
    graph_at(g, w->mo_prev)->mo_next = w->mo_next;
    if (w->mo_next != EID_NONE) graph_at(g, w->mo_next)->mo_prev = w->mo_prev;
    else g->cell[w->cell].mo_last = w->mo_prev;
    w->mo_prev = w->mo_next = EID_NONE;
}

eid graph_rmw_after(struct graph *g, eid write) {
    eid next = graph_at(g, write)->mo_next;
    if (next == EID_NONE || !(graph_at(g, next)->flags & F_RMW)) return EID_NONE;
    return next - 1;
}

void graph_restrict(struct graph *dst, const struct graph *src, const uint16_t keep[T_MAX]) {
    graph_clear(dst);
    dst->stamp = src->stamp;
    dst->count[0] = src->count[0];
    memcpy(dst->cell, src->cell, src->count[0] * sizeof src->cell[0]);
    memcpy(dst->event[0], src->event[0], src->count[0] * sizeof src->event[0][0]);
    for (unsigned t = 1; t < T_MAX; t++)
        memcpy(dst->event[t], src->event[t], src->count[t] * sizeof src->event[t][0]);
    for (unsigned t = 1; t < T_MAX; t++) {
        for (unsigned i = keep[t]; i < src->count[t]; i++)
            if (src->event[t][i].mo_prev != EID_NONE) graph_mo_remove(dst, EID(t, i));
        dst->count[t] = keep[t];
    }
    for (unsigned c = 0; c < dst->count[0]; c++)
        dst->cell[c].reads = EID_NONE;
    for (unsigned t = 1; t < T_MAX; t++) {
        for (unsigned i = 0; i < keep[t]; i++) {
            struct event *e = &dst->event[t][i];
            if (e->kind == K_READ) {
                e->next_read = dst->cell[e->cell].reads;
                dst->cell[e->cell].reads = EID(t, i);
            } else if (e->kind == K_FENCE) {
                dst->sc_fences += e->order == O_SC || e->order == O_HEAVY;
                dst->light_fences += e->order == O_LIGHT;
            }
        }
    }
}

/* A saved graph: the header up to and including the cells in use, the events in use, and the size of it all last. */
void graph_push(struct graph_stack *stack, const struct graph *g) {
    size_t head = offsetof(struct graph, cell) + g->count[0] * sizeof g->cell[0], size = head + sizeof size;
    for (unsigned t = 0; t < T_MAX; t++)
        size += g->count[t] * sizeof g->event[0][0];
    if (stack->used + size > stack->room) {
        stack->room = (stack->used + size) * 2;
        stack->bytes = realloc(stack->bytes, stack->room);
        if (!stack->bytes) {
            fprintf(stderr, "weft check: out of memory with %u graphs to visit\n", stack->count);
            exit(3);
        }
    }
    unsigned char *to = stack->bytes + stack->used;
    memcpy(to, g, head);
    to += head;
    for (unsigned t = 0; t < T_MAX; t++) {
        memcpy(to, g->event[t], g->count[t] * sizeof g->event[0][0]);
        to += g->count[t] * sizeof g->event[0][0];
    }
    memcpy(to, &size, sizeof size);
    stack->used += size;
    stack->count++;
}

bool graph_pop(struct graph_stack *stack, struct graph *g) {
    if (stack->count == 0) return false;
    size_t size;
    memcpy(&size, stack->bytes + stack->used - sizeof size, sizeof size);
    stack->used -= size;
    stack->count--;
    const unsigned char *from = stack->bytes + stack->used;
    memcpy(g, from, offsetof(struct graph, cell));
    from += offsetof(struct graph, cell);
    memcpy(g->cell, from, g->count[0] * sizeof g->cell[0]);
    from += g->count[0] * sizeof g->cell[0];
    for (unsigned t = 0; t < T_MAX; t++) {
        memcpy(g->event[t], from, g->count[t] * sizeof g->event[0][0]);
        from += g->count[t] * sizeof g->event[0][0];
    }
    return true;
}

void graph_stack_free(struct graph_stack *stack) {
    free(stack->bytes);
    *stack = (struct graph_stack){0};
}
