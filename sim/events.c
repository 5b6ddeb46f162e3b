/* What happens at moments of virtual time: a heap, the earliest first. See sim_at. */
#include "events.h"

#include "sim.h"

#include <stdlib.h>

struct sim_event {
    uint64_t moment, order;
    void (*fn)(void *arg);
    void *arg;
};

static struct {
    struct sim_event *heap;
    size_t count, room;
    uint64_t order;
} events;

static bool event_before(const struct sim_event *a, const struct sim_event *b) {
    return a->moment != b->moment ? a->moment < b->moment : a->order < b->order;
}

static void event_swap(size_t a, size_t b) {
    struct sim_event event = events.heap[a];
    events.heap[a] = events.heap[b];
    events.heap[b] = event;
}

static void event_rise(size_t at) {
    for (; at && event_before(&events.heap[at], &events.heap[(at - 1) / 2]); at = (at - 1) / 2)
        event_swap(at, (at - 1) / 2);
}

static void event_sink(void) {
    for (size_t at = 0, child; (child = 2 * at + 1) < events.count; at = child) {
        if (child + 1 < events.count && event_before(&events.heap[child + 1], &events.heap[child])) child++;
        if (!event_before(&events.heap[child], &events.heap[at])) return;
        event_swap(at, child);
    }
}

void sim_at(uint64_t moment, void (*fn)(void *arg), void *arg) {
    if (events.count == events.room) {
        events.room = events.room ? 2 * events.room : 64;
        events.heap = realloc(events.heap, events.room * sizeof events.heap[0]);
        if (!events.heap) sim_fail("memory", "the simulation itself has none left");
    }
    events.heap[events.count] = (struct sim_event){moment, events.order++, fn, arg};
    event_rise(events.count++);
    baton_is_due(moment);
}

uint64_t events_next(void) { return events.count ? events.heap[0].moment : SIM_FOREVER; }

void events_run(uint64_t now) {
    while (events.count && events.heap[0].moment <= now) {
        struct sim_event event = events.heap[0];
        events.heap[0] = events.heap[--events.count];
        event_sink();
        event.fn(event.arg);
    }
}
