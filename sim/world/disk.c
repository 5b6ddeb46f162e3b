/* The disks of simulated machines: see disk.h. */
#include "world/disk.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DISK_LEAST = 8 };

static struct {
    struct disk **at;
    size_t room;
} disks;

void *disk_grow(void *array, size_t *room, size_t wanted, size_t each) {
    if (wanted <= *room) return array;
    size_t before = *room;
    *room = wanted < before * 2 ? before * 2 : wanted < DISK_LEAST ? DISK_LEAST : wanted;
    array = realloc(array, *room * each);
    if (!array) abort();
    memset((unsigned char *)array + before * each, 0, (*room - before) * each);
    return array;
}

/* When files may fail, most disks are small: 64 KiB, 1 MiB or 16 MiB. */
static uint64_t disk_draw_limit(void) {
    if (!sim_fault_is_on(SIM_FAULT_FILE)) return DISK_UNLIMITED;
    uint64_t size = sim_draw(SIM_FILE, 4);
    return size == 0 ? DISK_UNLIMITED : UINT64_C(4096) << (size * 4);
}

static struct disk *disk_new(void) {
    struct disk *disk = calloc(1, sizeof *disk);
    if (!disk) abort();
    disk->limit = disk_draw_limit();
    disk->serial = 2; /* "." and ".." come first */
    disk->root = inode_new(disk, S_IFDIR | 0755);
    disk->root->parent = disk->root;
    disk->root->real = strdup("");
    inode_hold(disk->root);
    return disk;
}

struct disk *disk_of(unsigned machine) {
    disks.at = disk_grow(disks.at, &disks.room, machine + 1, sizeof *disks.at);
    if (!disks.at[machine]) disks.at[machine] = disk_new();
    return disks.at[machine];
}

/* ---- a crash ------------------------------------------------------------------------------------------------------------------ */

/* Every inode once, in order of their numbers, although `visit` may free some. */
static void disk_each(struct disk *disk, void (*visit)(struct inode *inode)) {
    for (struct inode *inode = disk->inodes, *next; inode; inode = next) {
        inode_hold(inode);
        visit(inode);
        next = inode->next;
        if (next) inode_hold(next);
        inode_drop(inode);
        if (next) next->refs--;
    }
}

static void disk_forget(struct inode *inode) { inode->last = inode->links = 0; }

static void disk_lose_names(struct inode *inode) {
    names_copy(&inode->names, &inode->synced_names);
    for (size_t i = 0; i < inode->names.count; i++) {
        struct inode *named = inode->names.at[i].inode;
        if (!named) continue;
        named->links++;
        named->parent = inode;
    }
}

static void disk_tear(struct inode *inode) {
    if (!inode_is_directory(inode)) inode_tear(inode);
}

void disk_crash(struct disk *disk) {
    uint64_t lost = sim_draw(SIM_TORN, disk->count + 1);
    journal_write(disk, disk->written + disk->count - lost);
    journal_forget(disk);
    disk_each(disk, disk_forget);
    disk_each(disk, disk_lose_names);
    disk_each(disk, disk_tear);
}
