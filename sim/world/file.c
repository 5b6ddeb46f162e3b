/* Open files and directories in the simulation: reading, writing, syncing, listing. The table is in file_table.c, the disk in disk.h. */
#include "world/file.h"

#include "sys/sys_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- bytes -------------------------------------------------------------------------------------------------------------------- */

static int64_t parts_size(const struct iovec *parts, int count) {
    uint64_t size = 0;
    if (count < 0 || count > IOV_MAX) return -EINVAL;
    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    return size > SSIZE_MAX ? -EINVAL : (int64_t)size;
}

/* The seed may let a read or write move less than it could, but not nothing. */
static size_t file_shorten(size_t size) {
    if (size < 2 || !sim_fault(SIM_FAULT_SHORT, SIM_SHORT)) return size;
    return size - sim_draw(SIM_SHORT, size);
}

static ssize_t file_read(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset) {
    struct file *file = (struct file *)fd;
    int64_t size = parts_size(parts, count), at = offset < 0 ? fd->position : offset;
    if ((file->flags & O_ACCMODE) == O_WRONLY) return -EBADF;
    if (inode_is_directory(file->inode)) return -EISDIR;
    if (size < 0) return size;
    size_t left = file_shorten((size_t)size), done = 0;
    for (int i = 0; i < count && left > 0; i++) {
        size_t wanted = parts[i].iov_len < left ? parts[i].iov_len : left;
        size_t got = inode_read(file->inode, parts[i].iov_base, wanted, (uint64_t)at + done);
        done += got;
        left = got < wanted ? 0 : left - got;
    }
    if (offset < 0) fd->position += (int64_t)done;
    return (ssize_t)done;
}

static size_t file_put(struct inode *inode, const struct iovec *parts, size_t left, uint64_t at) {
    size_t done = 0;
    for (size_t size; left > 0; parts++, left -= size, done += size) {
        size = parts->iov_len < left ? parts->iov_len : left;
        inode_write(inode, parts->iov_base, size, at + done);
    }
    return done;
}

static ssize_t file_write(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset) {
    struct file *file = (struct file *)fd;
    int64_t size = parts_size(parts, count);
    int64_t at = file->flags & O_APPEND ? (int64_t)file->inode->now.size : offset < 0 ? fd->position : offset;
    if ((file->flags & O_ACCMODE) == O_RDONLY) return -EBADF;
    if (size <= 0) return size;
    int64_t room = inode_room(file->inode, (uint64_t)at);
    if (room < 0) return room;
    size_t done = file_put(file->inode, parts, file_shorten((size_t)(size < room ? size : room)), (uint64_t)at);
    if (offset < 0) fd->position = at + (int64_t)done;
    if (file->flags & O_DSYNC) inode_sync(file->inode, false);
    return (ssize_t)done;
}

/* ---- open files --------------------------------------------------------------------------------------------------------------- */

static void file_close(struct sim_fd *fd, bool crash) {
    struct file *file = (struct file *)fd;
    (void)crash;
    inode_drop(file->inode);
    free(file);
}

static const struct sim_fd_ops file_ops = {
    .name = "file", .mode = S_IFREG, .always_ready = true, .read = file_read, .write = file_write, .close = file_close};
static const struct sim_fd_ops directory_ops = {
    .name = "directory", .mode = S_IFDIR, .always_ready = true, .read = file_read, .write = file_write, .close = file_close};

int file_number(struct inode *inode, int flags) {
    struct file *file = calloc(1, sizeof *file);
    if (!file) abort();
    sim_fd_begin(&file->fd, inode_is_directory(inode) ? &directory_ops : &file_ops);
    inode_hold(inode);
    file->inode = inode;
    file->flags = flags;
    return sim_fd_number(&file->fd);
}

struct file *file_at(int descriptor) {
    struct sim_fd *fd = sim_fd_at(descriptor);
    return fd && (fd->ops == &file_ops || fd->ops == &directory_ops) ? (struct file *)fd : NULL;
}

/* ---- what stat tells ------------------------------------------------------------------------------------------------------------ */

enum { FILE_DEVICE = 1000, FILE_BLOCK = 4096, FILE_STAT_SECTOR = 512 };

static nlink_t file_links(const struct inode *inode) {
    nlink_t links = 0;
    if (inode_is_directory(inode)) links = 2;
    for (const struct disk_name *name = NULL; links >= 2 && (name = names_after(&inode->names, name ? name->serial : 0));)
        links += inode_is_directory(name->inode);
    return links ? links : inode->links;
}

void file_stat(const struct inode *inode, struct stat *info) {
    memset(info, 0, sizeof *info);
    info->st_dev = FILE_DEVICE;
    info->st_ino = inode->number;
    info->st_mode = inode->mode;
    info->st_nlink = file_links(inode);
    info->st_uid = geteuid();
    info->st_gid = getegid();
    info->st_size = (off_t)inode->now.size;
    info->st_blksize = FILE_BLOCK;
    info->st_blocks = (blkcnt_t)((inode->now.size + FILE_STAT_SECTOR - 1) / FILE_STAT_SECTOR);
    info->st_mtim.tv_sec = (time_t)(inode->modified / 1000000000);
    info->st_mtim.tv_nsec = (long)(inode->modified % 1000000000);
    info->st_atim = info->st_ctim = info->st_mtim;
}

/* ---- listing -------------------------------------------------------------------------------------------------------------------- */

static size_t entry_size(const char *name) { return (offsetof(struct sys_entry, name) + strlen(name) + 1 + 7) & ~(size_t)7; }

static void entry_put(void *at, const char *name, const struct inode *inode, uint64_t serial) {
    struct sys_entry *entry = at;
    size_t size = entry_size(name);
    memset(entry, 0, size);
    entry->inode = inode->number;
    entry->offset = (int64_t)serial;
    entry->size = (uint16_t)size;
    entry->type = inode_is_directory(inode) ? DT_DIR : S_ISCHR(inode->mode) ? DT_CHR : DT_REG;
    memcpy(entry->name, name, strlen(name));
}

/* "." and ".." have the serial numbers 1 and 2. */
static struct disk_name file_next_name(struct inode *directory, uint64_t serial) {
    if (serial == 0) return (struct disk_name){".", directory, 1};
    if (serial == 1) return (struct disk_name){"..", directory->parent, 2};
    const struct disk_name *name = names_after(&directory->names, serial);
    return name ? *name : (struct disk_name){NULL, NULL, 0};
}

int64_t file_list(struct file *file, void *entries, size_t size) {
    size_t done = 0;
    if (!inode_is_directory(file->inode)) return -ENOTDIR;
    if (file->fd.position == 0) path_import_all(file->inode);
    for (;;) {
        struct disk_name next = file_next_name(file->inode, (uint64_t)file->fd.position);
        if (!next.inode) return (int64_t)done;
        if (done + entry_size(next.text) > size) return done ? (int64_t)done : -EINVAL;
        entry_put((char *)entries + done, next.text, next.inode, next.serial);
        done += entry_size(next.text);
        file->fd.position = (int64_t)next.serial;
    }
}
