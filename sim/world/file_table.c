/* The table of file operations in the simulation (sys/sys_file.h). Every operation is a point, may take time and may fail by the seed; then it
 * does on the machine's disk what the kernel would do. Permissions are not checked: the program is its machine's superuser. */
#include "world/child.h"
#include "world/file.h"
#include "world/net.h"

#include "sys/sys_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FILE_UMASK = 022,
    FILE_DISK_DRAW = 4,
    FILE_TICK = 20 * 1000,        /* ns: the shortest time on the disk that is none */
    FILE_SYNC_TICK = 1000 * 1000, /* a sync waits for the device */
};

static struct disk *file_disk(void) { return disk_of(sim_me() ? sim_me()->machine : 0); }

/* ---- points, time, faults ------------------------------------------------------------------------------------------------------- */

static void file_takes_time(uint64_t tick) {
    uint64_t factor = sim_draw(SIM_DISK, FILE_DISK_DRAW);
    if (factor > 0) sim_block("a disk", &file_disk()->serial, sim_now() + (tick << (3 * (factor - 1))));
}

static int file_fault(bool writes) {
    if (!sim_fault(SIM_FAULT_FILE, SIM_FILE)) return 0;
    return writes && sim_draw(SIM_FILE, 2) ? -ENOSPC : -EIO;
}

/* 0 or the error that the seed wants. What was looked up before has to be looked up again. */
static int file_begin(const char *what, int64_t detail, bool writes) {
    sim_effect(what, (uint64_t)detail);
    file_takes_time(FILE_TICK);
    return file_fault(writes);
}

/* ---- by path ---------------------------------------------------------------------------------------------------------------------- */

/* Makes what is missing at the place. */
static struct inode *file_create(const struct place *place, uint32_t mode) {
    struct inode *inode = inode_new(place->directory->disk, mode);
    struct disk_set set = {place->directory, inode, place->name, place->size}, none = {0};
    journal_add(inode->disk, &set, &none);
    return inode;
}

static int file_may_open(const struct inode *inode, int flags) {
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) return -EEXIST;
    if (inode_is_directory(inode) && (writes || flags & (O_CREAT | O_TRUNC))) return -EISDIR;
    return flags & O_DIRECTORY && !inode_is_directory(inode) ? -ENOTDIR : 0;
}

static int file_open_at(struct inode *inode, int flags) {
    int error = path_load(inode);
    bool cuts = flags & O_TRUNC && inode->now.size > 0;
    if (!error && cuts) error = inode_resize(inode, 0);
    return error ? error : file_number(inode, flags);
}

/* A device such as /dev/null is the real one. */
static int file_open_place(const struct place *place, const char *path, int flags, unsigned mode) {
    struct inode *inode = place->inode;
    if (flags & O_CREAT && place->slash && !place->dots) return -EISDIR;
    if (!inode && !(flags & O_CREAT)) return -ENOENT;
    if (place->file_slash) return -ENOTDIR;
    int error = inode ? file_may_open(inode, flags) : 0;
    if (error) return error;
    if (inode && S_ISCHR(inode->mode)) return sys_linux_file.open(path, flags, mode);
    error = sim_fd_may_open(1);
    if (error) return error;
    return file_open_at(inode ? inode : file_create(place, S_IFREG | (mode & 07777 & ~FILE_UMASK)), flags);
}

static int file_open(const char *path, int flags, unsigned mode) {
    struct place place;
    int error = file_begin("open", flags, flags & O_CREAT);
    if (error) return error;
    if ((flags & O_TMPFILE) == O_TMPFILE) return -EOPNOTSUPP;
    if (sim_net_is_socket(path)) return -ENXIO;
    error = path_find(file_disk(), path, &place);
    return error ? error : file_open_place(&place, path, flags, mode);
}

static int file_stat_path(const char *path, struct stat *info, bool follow) {
    struct place place;
    (void)follow; /* there are no symbolic links: those of the real disk are followed */
    sim_effect("stat", 0);
    if (sim_net_is_socket(path)) {
        *info = (struct stat){.st_mode = S_IFSOCK | 0755, .st_nlink = 1};
        return 0;
    }
    int error = path_find(file_disk(), path, &place);
    if (!error && (!place.inode || place.file_slash)) error = place.inode ? -ENOTDIR : -ENOENT;
    if (!error) error = path_load(place.inode);
    if (!error) file_stat(place.inode, info);
    return error;
}

int sim_file_may_bind(const char *path) {
    struct place place;
    int error = path_find(file_disk(), path, &place);
    return error ? error : place.inode ? -EADDRINUSE : 0;
}

static int file_mkdir(const char *path, unsigned mode) {
    struct place place;
    int error = file_begin("mkdir", 0, true);
    if (!error) error = path_find(file_disk(), path, &place);
    if (error) return error;
    if (place.inode) return -EEXIST;
    file_create(&place, S_IFDIR | (mode & 01777 & ~FILE_UMASK));
    return 0;
}

/* The last component is "." or "..", or the path is the root. */
static int file_unlink_dots(const struct place *place, bool directory) {
    if (!place->name || place->inode == place->inode->disk->root) return directory ? -EBUSY : -EISDIR;
    if (!directory) return -EISDIR;
    return place->size == 1 ? -EINVAL : -ENOTEMPTY;
}

static int file_may_unlink(const struct place *place, bool directory) {
    if (place->dots) return file_unlink_dots(place, directory);
    if (!place->inode) return -ENOENT;
    if (place->file_slash) return -ENOTDIR;
    if (!directory) return inode_is_directory(place->inode) ? -EISDIR : 0;
    if (!inode_is_directory(place->inode)) return -ENOTDIR;
    path_import_all(place->inode);
    return names_are_empty(&place->inode->names) ? 0 : -ENOTEMPTY;
}

static int file_unlink(const char *path, bool directory) {
    struct place place;
    int error = file_begin("unlink", directory, false);
    if (error) return error;
    if (!directory && sim_net_unlink(path)) return 0;
    error = path_find(file_disk(), path, &place);
    if (!error) error = file_may_unlink(&place, directory);
    if (error) return error;
    struct disk_set set = {place.directory, NULL, place.name, place.size}, none = {0};
    journal_add(file_disk(), &set, &none);
    return 0;
}

/* ---- rename ----------------------------------------------------------------------------------------------------------------------- */

static bool file_is_within(const struct inode *directory, const struct inode *ancestor) {
    while (directory != ancestor && directory->parent != directory)
        directory = directory->parent;
    return directory == ancestor;
}

static int file_may_replace(const struct inode *old, const struct inode *replaced) {
    if (!inode_is_directory(old)) return inode_is_directory(replaced) ? -EISDIR : 0;
    if (!inode_is_directory(replaced)) return -ENOTDIR;
    return names_are_empty(&replaced->names) ? 0 : -ENOTEMPTY;
}

static int file_may_rename(const struct place *from, const struct place *to) {
    if (from->dots || to->dots) return -EBUSY;
    if (!from->inode) return -ENOENT;
    if (!inode_is_directory(from->inode) && (from->slash || to->slash)) return -ENOTDIR;
    if (inode_is_directory(from->inode) && file_is_within(to->directory, from->inode)) return -EINVAL;
    if (inode_is_directory(to->inode) && file_is_within(from->directory, to->inode)) return -ENOTEMPTY;
    if (!to->inode || to->inode == from->inode) return 0;
    if (inode_is_directory(to->inode)) path_import_all(to->inode);
    return file_may_replace(from->inode, to->inode);
}

static int file_rename(const char *from, const char *to) {
    struct place old, new;
    int error = file_begin("rename", 0, true);
    if (!error) error = path_find(file_disk(), from, &old);
    if (!error) error = path_find(file_disk(), to, &new);
    if (!error) error = file_may_rename(&old, &new);
    if (!error) error = path_load(old.inode);
    if (error || new.inode == old.inode) return error;
    struct disk_set add = {new.directory, old.inode, new.name, new.size}, remove = {old.directory, NULL, old.name, old.size};
    journal_add(file_disk(), &add, &remove);
    return 0;
}

/* ---- by descriptor ---------------------------------------------------------------------------------------------------------------- */

static int file_close_number(int descriptor) {
    if (sim_fd_is_real(descriptor)) return sys_linux_file.close(descriptor);
    sim_effect("close", (uint64_t)descriptor);
    return sim_fd_close(descriptor);
}

/* Only disks have faults here: pipes and sockets have their own. */
static int file_begin_move(const char *what, int descriptor, bool nowait, bool writes) {
    sim_effect(what, (uint64_t)descriptor);
    if (!file_at(descriptor)) return 0;
    if (!nowait) file_takes_time(FILE_TICK);
    return file_fault(writes);
}

static int64_t file_read_number(int descriptor, const struct iovec *parts, int count, int64_t offset, bool nowait) {
    if (sim_fd_is_real(descriptor)) return sys_linux_file.read(descriptor, parts, count, offset, nowait);
    int error = file_begin_move("read", descriptor, nowait, false);
    return error ? error : sim_fd_read(descriptor, parts, count, offset, nowait);
}

static int64_t file_write_number(int descriptor, const struct iovec *parts, int count, int64_t offset, bool nowait) {
    if (sim_fd_is_real(descriptor)) return sys_linux_file.write(descriptor, parts, count, offset, nowait);
    int error = file_begin_move("write", descriptor, nowait, true);
    return error ? error : sim_fd_write(descriptor, parts, count, offset, nowait);
}

/* It needs none: what is virtual can always be read and written without waiting. */
static int file_reopen(int descriptor, bool writes) {
    return sim_fd_is_real(descriptor) ? sys_linux_file.reopen(descriptor, writes) : -EOPNOTSUPP;
}

static int file_no_file(int descriptor) { return sim_fd_at(descriptor) ? -EINVAL : -EBADF; }

static int file_sync(int descriptor, bool data_only) {
    if (sim_fd_is_real(descriptor)) return sys_linux_file.sync(descriptor, data_only);
    sim_effect("sync", (uint64_t)descriptor);
    file_takes_time(FILE_SYNC_TICK);
    struct file *file = file_at(descriptor);
    if (!file) return file_no_file(descriptor);
    int error = file_fault(true);
    inode_sync(file->inode, error != 0);
    return error;
}

static int file_truncate(int descriptor, int64_t size) {
    if (sim_fd_is_real(descriptor)) return sys_linux_file.truncate(descriptor, size);
    int error = file_begin_move("truncate", descriptor, false, true);
    struct file *file = file_at(descriptor);
    if (!file) return file_no_file(descriptor);
    if (size < 0 || inode_is_directory(file->inode) || (file->flags & O_ACCMODE) == O_RDONLY) return -EINVAL;
    return error ? error : inode_resize(file->inode, (uint64_t)size);
}

static int file_stat_number(int descriptor, struct stat *info) {
    if (sim_fd_is_real(descriptor)) return sys_linux_file.stat(descriptor, info);
    sim_effect("fstat", (uint64_t)descriptor);
    struct file *file = file_at(descriptor);
    struct sim_fd *fd = sim_fd_at(descriptor);
    if (!fd) return -EBADF;
    if (file) {
        file_stat(file->inode, info);
    } else {
        memset(info, 0, sizeof *info);
        info->st_mode = fd->ops->mode | 0600;
    }
    return 0;
}

static int64_t file_list_number(int descriptor, void *entries, size_t size) {
    if (sim_fd_is_real(descriptor)) return sys_linux_file.list(descriptor, entries, size);
    int error = file_begin_move("list", descriptor, false, false);
    struct file *file = file_at(descriptor);
    if (!file) return sim_fd_at(descriptor) ? -ENOTDIR : -EBADF;
    return error ? error : file_list(file, entries, size);
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------------------- */

static int file_poll(struct pollfd *descriptors, unsigned count, uint64_t deadline) {
    sim_effect("poll", count);
    return sim_fd_poll(descriptors, count, deadline);
}

static int file_event_open(void) {
    sim_effect("event_open", 0);
    return sim_bell_open();
}

static void file_event_signal(int descriptor) {
    sim_effect("event_signal", (uint64_t)descriptor);
    sim_bell_ring(descriptor);
}

static int file_child_open(int pid) { return sim_child_is_real(pid) ? sys_linux_file.child_open(pid) : sim_child_open(pid); }
static int file_child_reap(int pid, int *status) {
    return sim_child_is_real(pid) ? sys_linux_file.child_reap(pid, status) : sim_child_reap(pid, status);
}
/* There are no process groups in the simulated world: nothing is left of a child that has ended. */
static int file_child_peek(int pid) { return sim_child_is_real(pid) ? sys_linux_file.child_peek(pid) : sim_child_peek(pid); }
static int file_child_signal(int pid, int number, bool group) {
    return sim_child_is_real(pid) ? sys_linux_file.child_signal(pid, number, group) : sim_child_kill(pid, number);
}

void sim_file_crash(unsigned machine) { disk_crash(disk_of(machine)); }

const struct sys_file sim_file = {
    .open = file_open,
    .close = file_close_number,
    .read = file_read_number,
    .write = file_write_number,
    .reopen = file_reopen,
    .sync = file_sync,
    .truncate = file_truncate,
    .stat_path = file_stat_path,
    .stat = file_stat_number,
    .unlink = file_unlink,
    .rename = file_rename,
    .mkdir = file_mkdir,
    .list = file_list_number,
    .poll = file_poll,
    .event_open = file_event_open,
    .event_signal = file_event_signal,
    .child_open = file_child_open,
    .child_reap = file_child_reap,
    .child_peek = file_child_peek,
    .child_signal = file_child_signal,
};
