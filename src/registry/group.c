/* Groups: which processes are members, and sending to members.
 *
 *   G1  A group exists while it has members. All of it is under the groups' lock, except the lists that senders have.
 *   G2  A list is a copy of all members' PIDs that never changes. It is made when a message is sent to all and members have changed since the
 *       last. The group and each sender that uses it count as references; the last frees it. So while messages are sent, the lock
 *       is free: a member that ends meanwhile does not wait for them. */
#include "mail/send.h"
#include "registry/registry.h"

#include <weft/group.h>

struct group_member {
    weft_pid pid;
    struct membership *membership;
};

/* What a process has of a group. */
struct membership {
    struct membership *next, **link; /* in the list of its process */
    struct proc_group *group;
    uint32_t index; /* in the group's members */
    uint32_t times; /* joined, and not left again */
};
_Static_assert(sizeof(struct membership) <= POOL_LEAST, "the smallest block");

struct group_list {
    atom_u32 references;
    uint32_t count, room;
    weft_pid pids[];
};

struct proc_group {
    struct group_member *members;
    uint32_t count, room;
    uint32_t turn;           /* which member is next for weft_group_send_any */
    struct group_list *list; /* G2; NULL: members have changed */
    char name[NAME_WORDS * 8];
};

enum { GROUP_ROOM = 4, GROUP_BATCH = 64 };

/* ---- lists ------------------------------------------------------------------------------------------------------------------- */

static size_t group_list_bytes(uint32_t room) { return sizeof(struct group_list) + room * sizeof(weft_pid); }

static struct group_list *group_list_new(uint32_t room) {
    struct group_list *list = sys->alloc(group_list_bytes(room));
    if (!list) return NULL;
    atom_store_rlx(&list->references, 1); /* rlx: no other thread knows it */
    list->room = room;
    return list;
}

static void group_list_drop(struct group_list *list) {
    /* acqrel: the last one frees after all others have read. */
    if (list && atom_sub_acqrel(&list->references, 1) == 1) sys->free(list, group_list_bytes(list->room));
}

static void group_list_fill(struct group_list *list, const struct proc_group *group) {
    list->count = group->count;
    for (uint32_t i = 0; i < group->count; i++)
        list->pids[i] = group->members[i].pid;
}

static void group_changed(struct proc_group *group) {
    group_list_drop(group->list);
    group->list = NULL;
}

/* ---- groups, under the lock ------------------------------------------------------------------------------------------------------ */

static struct proc_group *group_find(struct registry *registry, const struct name_key *key) {
    uint64_t value;
    return name_table_note(&registry->groups, key, &value);
}

static void group_free(struct proc_group *group) {
    group_changed(group);
    if (group->members) sys->free(group->members, group->room * sizeof *group->members);
    sys->free(group, sizeof *group);
}

/* Room for one more member. */
static bool group_reserve(struct proc_group *group) {
    if (group->count < group->room) return true;
    uint32_t room = group->room ? group->room * 2 : GROUP_ROOM;
    struct group_member *members = sys->alloc(room * sizeof *members);
    if (!members) return false;
    if (group->members) {
        memcpy(members, group->members, group->count * sizeof *members);
        sys->free(group->members, group->room * sizeof *members);
    }
    group->members = members;
    group->room = room;
    return true;
}

/* A group without members yet, in the table; NULL: there is no memory. */
static struct proc_group *group_new(struct registry *registry, const struct name_key *key) {
    struct proc_group *group = sys->alloc(sizeof *group);
    if (!group) return NULL;
    memcpy(group->name, key->words, key->count * sizeof key->words[0]);
    if (group_reserve(group) && name_table_add(&registry->groups, key, (uintptr_t)group, group) == 0) return group;
    group_free(group);
    return NULL;
}

/* The group with room for one more member. */
static struct proc_group *group_open(struct registry *registry, const struct name_key *key) {
    struct proc_group *group = group_find(registry, key);
    if (!group) return group_new(registry, key);
    return group_reserve(group) ? group : NULL;
}

/* G1 */
static void group_close(struct registry *registry, struct proc_group *group, uint64_t seed) {
    struct name_key key;
    name_key_make(&key, group->name, seed);
    name_table_remove(&registry->groups, &key);
    group_free(group);
}

/* ---- members, under the lock ----------------------------------------------------------------------------------------------------- */

static struct membership *membership_find(struct ties *ties, const struct proc_group *group) {
    struct membership *membership = ties->groups;
    while (membership && membership->group != group)
        membership = membership->next;
    return membership;
}

static void membership_add(struct ties *ties, struct proc_group *group, struct membership *membership, weft_pid pid) {
    group_changed(group);
    *membership = (struct membership){.next = ties->groups, .link = &ties->groups, .group = group, .index = group->count, .times = 1};
    if (membership->next) membership->next->link = &membership->next;
    ties->groups = membership;
    group->members[group->count++] = (struct group_member){.pid = pid, .membership = membership};
}

static void membership_end(struct local *local, struct registry *registry, struct membership *membership) {
    struct proc_group *group = membership->group;
    struct group_member last = group->members[--group->count];
    group_changed(group);
    group->members[membership->index] = last;
    last.membership->index = membership->index;
    *membership->link = membership->next;
    if (membership->next) membership->next->link = membership->link;
    pool_give(&local->blocks, 0, membership);
    if (group->count == 0) group_close(registry, group, local->runtime->seed);
}

void groups_end(struct local *local, struct registry *registry, struct ties *ties) {
    if (!ties->groups) return; /* only the process itself writes it */
    lock_take(&registry->groups_lock);
    while (ties->groups)
        membership_end(local, registry, ties->groups);
    lock_drop(&registry->groups_lock);
}

/* ---- joining and leaving --------------------------------------------------------------------------------------------------------- */

/* *spare is used, and then NULL, if the process was no member yet. */
static int group_join_locked(struct registry *registry, struct ties *ties, const struct name_key *key, struct membership **spare,
                             weft_pid pid) {
    struct proc_group *group = group_find(registry, key);
    struct membership *membership = group ? membership_find(ties, group) : NULL;
    if (membership) {
        membership->times++;
        return 0;
    }
    group = group_open(registry, key);
    if (!group) return WEFT_ENOMEM;
    membership_add(ties, group, *spare, pid);
    *spare = NULL;
    return 0;
}

static int group_join(struct worker *self, const struct name_key *key) {
    struct local *local = &self->local;
    struct registry *registry = registry_make(self->runtime);
    struct ties *ties = registry ? ties_of(self->runtime, proc_slot(self->current), true) : NULL;
    struct membership *spare = ties ? pool_take(&local->blocks, 0) : NULL;
    if (!spare) return WEFT_ENOMEM;
    lock_take(&registry->groups_lock);
    int error = group_join_locked(registry, ties, key, &spare, worker_pid(self));
    lock_drop(&registry->groups_lock);
    if (spare) pool_give(&local->blocks, 0, spare);
    state_owns(&self->current->state);
    return error;
}

int weft_group_join(const char *name) {
    struct worker *self = worker_here();
    struct name_key key;
    if (!self || !self->current) return WEFT_ENOTINSIDE;
    heed(self);
    if (!name_key_make(&key, name, self->runtime->seed)) return WEFT_EINVAL;
    local_enter(&self->local, "weft_group_join");
    int error = group_join(self, &key);
    local_leave(&self->local);
    return error;
}

static int group_leave(struct worker *self, const struct name_key *key) {
    struct registry *registry = registry_of(self->runtime);
    struct ties *ties = registry ? ties_of(self->runtime, proc_slot(self->current), false) : NULL;
    if (!ties) return WEFT_ENOENT;
    lock_take(&registry->groups_lock);
    struct proc_group *group = group_find(registry, key);
    struct membership *membership = group ? membership_find(ties, group) : NULL;
    if (membership && --membership->times == 0) membership_end(&self->local, registry, membership);
    lock_drop(&registry->groups_lock);
    return membership ? 0 : WEFT_ENOENT;
}

int weft_group_leave(const char *name) {
    struct worker *self = worker_here();
    struct name_key key;
    if (!self || !self->current) return WEFT_ENOTINSIDE;
    heed(self);
    if (!name_key_make(&key, name, self->runtime->seed)) return WEFT_ENOENT;
    local_enter(&self->local, "weft_group_leave");
    int error = group_leave(self, &key);
    local_leave(&self->local);
    return error;
}

/* ---- asking and sending ------------------------------------------------------------------------------------------------------------ */

/* A look at a group from anywhere: between group_look and rt_leave. `registry` may be NULL. */
struct group_look {
    struct rt_entry entry;
    struct registry *registry;
    struct name_key key;
};

static int group_look(struct group_look *look, weft_runtime *runtime, const char *name, const char *call) {
    int error = registry_enter(&look->entry, runtime, call);
    if (error) return error;
    look->registry = registry_of(look->entry.local->runtime);
    if (name_key_make(&look->key, name, look->entry.local->runtime->seed)) return 0;
    rt_leave(&look->entry);
    return WEFT_EINVAL;
}

/* The list of the group's members, with a reference; NULL: there are none, or *room are wanted for it: `spare` is used if it has them. */
static struct group_list *group_list_try(struct registry *registry, const struct name_key *key, struct group_list **spare, uint32_t *room) {
    lock_take(&registry->groups_lock);
    struct proc_group *group = group_find(registry, key);
    if (group && !group->list && *spare && (*spare)->room >= group->count) {
        group_list_fill(*spare, group);
        group->list = *spare;
        *spare = NULL;
    }
    struct group_list *list = group ? group->list : NULL;
    if (list) atom_add_rlx(&list->references, 1); /* rlx: under the lock the group has a reference */
    *room = group && !list ? group->count + group->count / 8 : 0;
    lock_drop(&registry->groups_lock);
    return list;
}

/* The same with the memory for it, which is taken outside of the lock. False: there is none. */
static bool group_list_take(struct group_look *look, struct group_list **list) {
    struct group_list *spare = NULL;
    uint32_t room = 0;
    do {
        if (room > 0 && !(spare = group_list_new(room))) return false;
        *list = look->registry ? group_list_try(look->registry, &look->key, &spare, &room) : NULL;
        group_list_drop(spare);
        spare = NULL;
    } while (!*list && room > 0);
    return true;
}

/* Those that live. One that is just ending may be in the list: as with names (registry.h, R3), it is not told any more. */
static size_t group_list_living(struct runtime *runtime, const struct group_list *list, weft_pid *pids, size_t capacity) {
    size_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!pid_is_open(runtime, list->pids[i])) continue;
        if (count < capacity) pids[count] = list->pids[i];
        count++;
    }
    return count;
}

int64_t weft_group_members_in(weft_runtime *runtime, const char *name, weft_pid *pids, size_t capacity) {
    struct group_look look;
    struct group_list *list;
    if (!pids && capacity > 0) WEFT_REFUSE("weft_group_members", "no place for the PIDs", "give one, or the capacity 0");
    int error = group_look(&look, runtime, name, "weft_group_members");
    if (error) return error;
    bool memory = group_list_take(&look, &list);
    size_t count = memory && list ? group_list_living(look.entry.local->runtime, list, pids, capacity) : 0;
    rt_leave(&look.entry);
    if (!memory) return WEFT_ENOMEM;
    group_list_drop(list);
    return (int64_t)count;
}

/* Some of them: behind a door nothing may take long. 0 and more: how many were sent to; it may be fewer if the runtime has been stopped. */
static uint32_t group_send_some(const weft_pid *pids, uint32_t count, uint64_t tag, const void *data, size_t size) {
    struct rt_entry entry;
    uint32_t sent = 0;
    if (!rt_enter(&entry, pids[0], "weft_group_send")) return 0;
    weft_pid from = weft_self();
    for (uint32_t i = 0; i < count; i++)
        sent += send_copy(entry.local, entry.self, from, pids[i], tag, data, size) == 0;
    rt_leave(&entry);
    return sent;
}

int64_t weft_group_send_in(weft_runtime *runtime, const char *name, uint64_t tag, const void *data, size_t size) {
    struct group_look look;
    struct group_list *list;
    int error = group_look(&look, runtime, name, "weft_group_send");
    if (error) return error;
    bool memory = group_list_take(&look, &list);
    rt_leave(&look.entry);
    if (!memory) return WEFT_ENOMEM;
    int64_t sent = 0;
    for (uint32_t i = 0; list && i < list->count; i += GROUP_BATCH) {
        uint32_t rest = list->count - i;
        sent += group_send_some(&list->pids[i], rest < GROUP_BATCH ? rest : GROUP_BATCH, tag, data, size);
    }
    group_list_drop(list);
    return sent;
}

/* The member whose turn it is, and how many there are; WEFT_NOBODY: there is none. */
static weft_pid group_next(struct group_look *look, uint32_t *count) {
    if (!look->registry) return WEFT_NOBODY;
    lock_take(&look->registry->groups_lock);
    struct proc_group *group = group_find(look->registry, &look->key);
    weft_pid pid = group ? group->members[group->turn++ % group->count].pid : WEFT_NOBODY;
    *count = group ? group->count : 0;
    lock_drop(&look->registry->groups_lock);
    return pid;
}

int weft_group_send_any_in(weft_runtime *runtime, const char *name, uint64_t tag, const void *data, size_t size) {
    struct group_look look;
    uint32_t count;
    int error = group_look(&look, runtime, name, "weft_group_send_any");
    if (error) return error;
    weft_pid from = weft_self(), pid;
    error = WEFT_ENOPROC;
    for (uint32_t tries = 0; (pid = group_next(&look, &count)) != WEFT_NOBODY && tries < count; tries++) {
        int now = send_copy(look.entry.local, look.entry.self, from, pid, tag, data, size);
        if (now != WEFT_ENOPROC) error = now;
        if (now != WEFT_ENOPROC && now != WEFT_EAGAIN && now != WEFT_ENOBUFS) break; /* else the next: it has ended, or has no room */
    }
    rt_leave(&look.entry);
    return error;
}
