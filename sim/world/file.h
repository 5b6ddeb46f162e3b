/* Open files and directories of simulated disks: what file_table.c is made of. None of these passes a point. */
#ifndef WEFT_SIM_WORLD_FILE_H
#define WEFT_SIM_WORLD_FILE_H

#include "world/disk.h"
#include "world/fd.h"

struct stat; /* <sys/stat.h> */

struct file {
    struct sim_fd fd; /* first */
    struct inode *inode;
    int flags; /* as open */
};

struct sys_file;
extern const struct sys_file sim_file;

/* A new descriptor, or a negative errno. */
int file_number(struct inode *inode, int flags);
/* NULL: it is no file or directory. */
struct file *file_at(int descriptor);
void file_stat(const struct inode *inode, struct stat *info);
/* As getdents64. */
int64_t file_list(struct file *file, void *entries, size_t size);

/* The machine has crashed and its descriptors are closed: what was not synced is lost, kept or torn by the seed. */
void sim_file_crash(unsigned machine);

#endif
