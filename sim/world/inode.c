/* Files and directories of a simulated disk, and the bytes of files: see disk.h. */
#include "sim.h"
#include "world/disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INODE_MOST = 1 << 30 }; /* bytes in a file; a hole takes memory here */

static void inode_clean(struct inode *inode) {
    inode->dirty_from = SIZE_MAX;
    inode->dirty_to = 0;
    inode->low = inode->now.size;
}

struct inode *inode_new(struct disk *disk, uint32_t mode) {
    struct inode *inode = calloc(1, sizeof *inode);
    if (!inode) abort();
    inode->disk = disk;
    inode->number = ++disk->numbers;
    inode->mode = mode;
    inode->modified = sim_now();
    inode_clean(inode);
    *(disk->newest ? &disk->newest->next : &disk->inodes) = inode;
    disk->newest = inode;
    return inode;
}

static void inode_unlist(struct inode *inode) {
    struct disk *disk = inode->disk;
    struct inode **at = &disk->inodes, *before = NULL;
    while (*at != inode) {
        before = *at;
        at = &before->next;
    }
    *at = inode->next;
    if (disk->newest == inode) disk->newest = before;
}

void inode_hold(struct inode *inode) {
    if (inode) inode->refs++;
}

void inode_drop(struct inode *inode) {
    if (!inode || --inode->refs > 0) return;
    inode_unlist(inode);
    inode->disk->used -= inode->now.size;
    names_clear(&inode->names);
    names_clear(&inode->synced_names);
    free(inode->now.at);
    free(inode->synced.at);
    free(inode->real);
    free(inode);
}

bool inode_is_directory(const struct inode *inode) { return inode && S_ISDIR(inode->mode); }

/* ---- bytes ---------------------------------------------------------------------------------------------------------------- */

/* Bytes that are new are 0. */
static void bytes_resize(struct disk_bytes *bytes, size_t size) {
    bytes->at = disk_grow(bytes->at, &bytes->room, size, 1);
    if (size > bytes->size) memset(bytes->at + bytes->size, 0, size - bytes->size);
    bytes->size = size;
}

/* Copies what both have of a range. */
static void bytes_copy(struct disk_bytes *to, const struct disk_bytes *from, size_t begin, size_t end) {
    if (end > to->size) end = to->size;
    if (end > from->size) end = from->size;
    if (begin < end) memcpy(to->at + begin, from->at + begin, end - begin);
}

static void inode_dirty(struct inode *inode, size_t from, size_t to) {
    if (from < inode->dirty_from) inode->dirty_from = from;
    if (to > inode->dirty_to) inode->dirty_to = to;
    if (inode->now.size < inode->low) inode->low = inode->now.size;
    inode->modified = sim_now();
}

size_t inode_read(const struct inode *inode, void *data, size_t size, uint64_t offset) {
    if (offset >= inode->now.size) return 0;
    if (size > inode->now.size - offset) size = inode->now.size - (size_t)offset;
    if (size > 0) memcpy(data, inode->now.at + offset, size);
    return size;
}

/* A hole takes room as bytes do. */
int64_t inode_room(const struct inode *inode, uint64_t offset) {
    uint64_t left = inode->disk->limit - inode->disk->used, end = left < INODE_MOST ? inode->now.size + left : INODE_MOST;
    if (offset >= INODE_MOST) return -EFBIG;
    return offset >= end ? -ENOSPC : (int64_t)((end < INODE_MOST ? end : INODE_MOST) - offset);
}

int inode_resize(struct inode *inode, uint64_t size) {
    size_t before = inode->now.size;
    int64_t room = size > before ? inode_room(inode, before) : 0;
    if (size > INODE_MOST) return -EFBIG;
    if (room < 0 || (size > before && size - before > (uint64_t)room)) return -ENOSPC;
    inode->disk->used += size - before;
    bytes_resize(&inode->now, (size_t)size);
    inode_dirty(inode, size < before ? (size_t)size : before, size < before ? before : (size_t)size);
    return 0;
}

void inode_write(struct inode *inode, const void *data, size_t size, uint64_t offset) {
    if (size == 0) return;
    if (offset + size > inode->now.size) inode_resize(inode, offset + size);
    memcpy(inode->now.at + offset, data, size);
    inode_dirty(inode, (size_t)offset, (size_t)offset + size);
}

/* ---- what is on the disk -------------------------------------------------------------------------------------------------------- */

void inode_sync(struct inode *inode, bool fails) {
    if (!fails) {
        bytes_resize(&inode->synced, inode->now.size);
        bytes_copy(&inode->synced, &inode->now, inode->dirty_from, inode->dirty_to);
        journal_write(inode->disk, inode->last);
    }
    inode_clean(inode);
}

/* Bytes that existed all the time since the last sync: each sector is the old one or the new one. */
static void inode_tear_old(struct inode *inode, size_t end) {
    size_t from = inode->dirty_from, to = inode->dirty_to < end ? inode->dirty_to : end;
    for (size_t next; from < to; from = next) {
        next = from / DISK_SECTOR * DISK_SECTOR + DISK_SECTOR;
        if (next > to) next = to;
        if (sim_draw(SIM_TORN, 2) == 0) bytes_copy(&inode->synced, &inode->now, from, next);
    }
}

/* Bytes that were added since the last sync, after a truncation perhaps: a prefix of them up to the end of a sector, or the bytes that were
 * there before. */
static void inode_tear_new(struct inode *inode, size_t begin) {
    size_t end = inode->now.size, inside = end > begin ? (end - 1) / DISK_SECTOR - begin / DISK_SECTOR : 0;
    size_t lost = sim_draw(SIM_TORN, inside + 3);
    if (lost == inside + 2) return;
    if (lost > 0) end = lost > inside ? begin : (begin / DISK_SECTOR + inside + 1 - lost) * DISK_SECTOR;
    bytes_resize(&inode->synced, begin);
    bytes_resize(&inode->synced, end);
    bytes_copy(&inode->synced, &inode->now, begin > inode->dirty_from ? begin : inode->dirty_from, end);
}

void inode_tear(struct inode *inode) {
    size_t before = inode->synced.size, kept = inode->low < before ? inode->low : before;
    if (inode->dirty_from < inode->dirty_to) {
        inode_tear_old(inode, kept);
        if (inode->now.size > kept || before > kept) inode_tear_new(inode, kept);
    }
    inode->disk->used -= inode->now.size;
    bytes_resize(&inode->now, inode->synced.size);
    bytes_copy(&inode->now, &inode->synced, 0, inode->synced.size);
    inode->disk->used += inode->now.size;
    inode_clean(inode);
}
