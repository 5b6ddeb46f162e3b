/* The tree of a supervisor, printed for a person: asked for by a process, or found by a dump. */
#include "super/tree.h"

#include "base/spin.h"
#include "fiber/fiber.h"
#include "sched/parts.h"
#include "super/super.h"
#include "sys/print.h"

#include <string.h>

enum { TREE_DEEPEST = 32 };

static int tree_print(weft_pid super, int descriptor, unsigned depth, uint64_t deadline);

static void tree_line(const weft_child_info *child, int descriptor, unsigned depth) {
    char last[96] = "";
    weft_reason reason = {.code = child->last, .signal = child->last_signal, .address = child->last_address};
    const char *text = weft_reason_text(&reason, last, sizeof last);
    print_line(descriptor, "%*s%s %016lx%s, %lu restarts%s%s\n", (int)depth * 2, "", child->id, (unsigned long)child->pid,
               child->pid ? "" : " (down)", (unsigned long)child->restarts, child->restarts || !child->pid ? ", last end: " : "",
               child->restarts || !child->pid ? text : "");
}

struct tree_list {
    weft_child_info *children;
    size_t size;
};
static void tree_free(void *opaque) {
    struct tree_list *list = opaque;
    sys->free(list->children, list->size);
}

static int tree_lines(const weft_child_info *children, size_t count, int descriptor, unsigned depth, uint64_t deadline) {
    int error = 0;
    for (size_t i = 0; i < count && error != WEFT_ETIMEDOUT && error != WEFT_ECANCELED; i++) {
        tree_line(&children[i], descriptor, depth);
        /* A supervisor that has ended meanwhile is a line without children. */
        if (children[i].is_super && children[i].pid) error = tree_print(children[i].pid, descriptor, depth + 1, deadline);
    }
    return error == WEFT_ENOPROC ? 0 : error;
}

/* All of them at once, so that they belong together. */
static int tree_children(weft_pid super, size_t count, int descriptor, unsigned depth, uint64_t deadline) {
    struct tree_list list = {.size = (count + 1) * sizeof *list.children};
    struct proc *process = guard_process(worker_here());
    struct guard guard;
    if (!(list.children = sys->alloc(list.size))) return WEFT_ENOMEM;
    parts.guard_begin(&guard, process, tree_free, &list); /* the caller may be killed in here */
    ssize_t got = weft_super_children(super, list.children, count, deadline);
    int error = got < 0 ? (int)got : tree_lines(list.children, (size_t)got < count ? (size_t)got : count, descriptor, depth, deadline);
    parts.guard_end(&guard, process);
    tree_free(&list);
    return error;
}

static int tree_print(weft_pid super, int descriptor, unsigned depth, uint64_t deadline) {
    if (depth > TREE_DEEPEST) return 0;
    ssize_t count = weft_super_children(super, NULL, 0, deadline);
    return count < 0 ? (int)count : tree_children(super, (size_t)count, descriptor, depth, deadline);
}

int weft_super_dump(weft_pid super, int descriptor, uint64_t deadline) {
    fiber_caller("weft_super_dump");
    int error = control_check(super);
    if (error) return error;
    print_line(descriptor, "supervisor %016lx\n", (unsigned long)super);
    return tree_print(super, descriptor, 1, deadline);
}

/* ---- dumps: all trees of a runtime, without asking a process (super.h, U5) -------------------------------------------------------- */

void supers_add(struct super *super) {
    struct runtime *runtime = worker_here()->runtime;
    lock_take(&runtime->supers.lock);
    super->next = runtime->supers.first;
    super->link = &runtime->supers.first;
    if (super->next) super->next->link = &super->next;
    runtime->supers.first = super;
    atom_store_rlx(&runtime->supers.known, true);
    lock_drop(&runtime->supers.lock);
}

void supers_remove(struct super *super) {
    struct runtime *runtime = worker_here()->runtime;
    lock_take(&runtime->supers.lock);
    if (super->link) *super->link = super->next; /* else it was never added */
    if (super->next) super->next->link = super->link;
    lock_drop(&runtime->supers.lock);
}

struct tree_row {
    weft_child_info child; /* of a supervisor that is no child: its id is its name */
    unsigned depth;        /* 0: such a supervisor */
};
struct tree_rows {
    size_t count, room, more;
    bool locked; /* some lists were not to be had */
    struct tree_row rows[];
};

/* Not for ever: the thread that holds it may have stopped there, and the dump shall show that. */
static bool tree_try(struct lock *lock, struct tree_rows *rows) {
    for (unsigned i = 0; i < 10000; i++) {
        if (lock_try(lock)) return true;
        spin_yield();
    }
    rows->locked = true;
    return false;
}

static void tree_row(struct tree_rows *rows, const weft_child_info *child, unsigned depth) {
    if (rows->count == rows->room) rows->more++;
    else rows->rows[rows->count++] = (struct tree_row){*child, depth};
}

static void tree_collect(struct tree_rows *rows, struct super *super, unsigned depth) {
    if (depth > TREE_DEEPEST || !tree_try(&super->lock, rows)) return;
    for (struct child *child = super->first; child; child = child->next) {
        weft_child_info info = children_info(child);
        tree_row(rows, &info, depth);
        if (child->nested) tree_collect(rows, child->nested, depth + 1);
    }
    lock_drop(&super->lock);
}

static void tree_collect_all(struct tree_rows *rows, struct runtime *runtime) {
    if (!tree_try(&runtime->supers.lock, rows)) return;
    for (struct super *super = runtime->supers.first; super; super = super->next) {
        weft_child_info top = {.pid = super->self};
        if (super->is_below) continue;
        memcpy(top.id, super->plan->name, sizeof top.id);
        tree_row(rows, &top, 0);
        tree_collect(rows, super, 1);
    }
    lock_drop(&runtime->supers.lock);
}

static size_t tree_size(unsigned most) {
    size_t page = sys->vm_page();
    return (sizeof(struct tree_rows) + most * sizeof(struct tree_row) + page - 1) / page * page;
}

static void tree_print_all(struct tree_rows *rows, struct runtime *runtime, int descriptor, unsigned most) {
    rows->room = most;
    tree_collect_all(rows, runtime);
    for (size_t i = 0; i < rows->count; i++) {
        const struct tree_row *row = &rows->rows[i];
        if (row->depth) tree_line(&row->child, descriptor, row->depth + 1);
        else print_line(descriptor, "  supervisor %016lx (%s)\n", (unsigned long)row->child.pid, row->child.id);
    }
    if (rows->more) print_line(descriptor, "  and %zu more children of supervisors\n", rows->more);
    if (rows->locked) print_line(descriptor, "  (some lists of children were in use, and are not shown)\n");
}

void supers_dump(struct runtime *runtime, int descriptor, unsigned most) {
    struct tree_rows *rows = atom_load_rlx(&runtime->supers.known) ? sys->alloc(tree_size(most)) : NULL; /* rlx: a hint */
    if (!rows) return;
    tree_print_all(rows, runtime, descriptor, most);
    sys->free(rows, tree_size(most));
}

void supers_dump_apart(struct runtime *runtime, int descriptor, unsigned most) {
    struct tree_rows *rows = atom_load_rlx(&runtime->supers.known) ? sys->vm_map(tree_size(most)) : NULL; /* rlx: a hint */
    if (!rows) return;
    tree_print_all(rows, runtime, descriptor, most);
    sys->vm_unmap(rows, tree_size(most));
}
