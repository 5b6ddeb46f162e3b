/* The disk of a simulated machine: files and directories in memory, and what of them a crash leaves.
 *
 * Everything exists twice: as the program sees it now, and as it is on the disk. A sync brings the second up to the first. The rules are
 * those of ext4 without its luck:
 *
 *   K1  Changes of names (create, mkdir, unlink, rename) are records of one journal for each disk. A crash keeps a prefix of the journal.
 *       A rename is one record: it has happened or it has not.
 *   K2  A sync of a file writes its data and its size, and the journal up to the last record that names the file. So a new file that
 *       was synced is found again. A sync of a directory writes the journal up to the last record of that directory.
 *   K3  Data that was not synced may be there or not, in sectors of 512 bytes. What was appended may be there as a prefix. Names and data
 *       know nothing of each other: a file that was renamed and not synced may be found empty under its new name.
 *   K4  When a sync fails, the data that it should have written counts as written, as in the kernel: the next sync succeeds without it.
 *
 * A path that is not in memory but exists on the real disk is imported when it is first looked for. The real file is never written. */
#ifndef WEFT_SIM_WORLD_DISK_H
#define WEFT_SIM_WORLD_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DISK_SECTOR = 512, DISK_NAME_MOST = 255, DISK_PATH_MOST = 4096 };
#define DISK_UNLIMITED UINT64_MAX

struct inode;

struct disk_bytes {
    unsigned char *at;
    size_t size, room;
};

/* In order of `serial`, so that a listing goes on where it was although names come and go. `inode` NULL: the name was removed, and hides
 * one of the real directory. */
struct disk_name {
    char *text;
    struct inode *inode;
    uint64_t serial;
};
struct disk_names {
    struct disk_name *at;
    size_t count, room;
};

struct inode {
    struct inode *next; /* of its disk, in order of their numbers */
    struct disk *disk;
    uint64_t number, modified;
    uint32_t mode;  /* as st_mode */
    unsigned links; /* names now */
    unsigned refs;  /* names now and on the disk, records of the journal, open descriptors */
    uint64_t last;  /* the last record that names it */
    char *real;     /* the path that it was imported from. Of a file: until it is opened */

    /* A file. */
    struct disk_bytes now, synced;
    size_t dirty_from, dirty_to; /* changed since the last sync; nothing if from >= to */
    size_t low;                  /* the smallest size since then */

    /* A directory. */
    struct inode *parent;
    struct disk_names names, synced_names;
};

/* One change of names: one or two names mean another inode, or none. */
struct disk_record {
    struct disk_set {
        struct inode *directory, *inode;
        const char *name;
        size_t size;
    } set[2];
};

struct disk {
    struct inode *root, *inodes, *newest;
    uint64_t numbers, serial;
    uint64_t used, limit; /* bytes of all files */
    struct disk_record *records;
    size_t count, room;
    uint64_t written; /* records that are on the disk. Numbers of records count from 1 */
};

/* ---- disk.c ---- */
struct disk *disk_of(unsigned machine);
/* The machine has stopped: what was not synced is lost, kept or torn by the seed. No descriptor is open. */
void disk_crash(struct disk *disk);
void *disk_grow(void *array, size_t *room, size_t wanted, size_t each);

/* ---- inode.c ---- */
struct inode *inode_new(struct disk *disk, uint32_t mode);
void inode_hold(struct inode *inode);
void inode_drop(struct inode *inode);
bool inode_is_directory(const struct inode *inode);
/* Bytes, or 0 at the end. */
size_t inode_read(const struct inode *inode, void *data, size_t size, uint64_t offset);
/* How many bytes can be written there, or -ENOSPC or -EFBIG. */
int64_t inode_room(const struct inode *inode, uint64_t offset);
/* There is room. */
void inode_write(struct inode *inode, const void *data, size_t size, uint64_t offset);
/* 0, -ENOSPC or -EFBIG. */
int inode_resize(struct inode *inode, uint64_t size);
/* K2, K4. `fails`: the data is lost although the next sync will say nothing. */
void inode_sync(struct inode *inode, bool fails);
/* K3. */
void inode_tear(struct inode *inode);

/* ---- names.c ---- */
struct disk_name *names_find(const struct disk_names *names, const char *text, size_t size);
/* The first name after the serial number; NULL: none. */
const struct disk_name *names_after(const struct disk_names *names, uint64_t serial);
bool names_are_empty(const struct disk_names *names);
void names_set(struct inode *directory, struct disk_names *names, const char *text, size_t size, struct inode *inode);
void names_copy(struct disk_names *to, const struct disk_names *from);
void names_clear(struct disk_names *names);
/* Changes names now, and writes the record. The second change is left out if its directory is NULL. */
void journal_add(struct disk *disk, const struct disk_set *first, const struct disk_set *second);
/* Writes the records to the disk up to this one. */
void journal_write(struct disk *disk, uint64_t last);
/* Forgets the records that are not written. */
void journal_forget(struct disk *disk);

/* ---- path.c ---- */
/* Where a path leads: the directory, the last component, and what is there (NULL: nothing). */
struct place {
    struct inode *directory, *inode;
    const char *name;
    size_t size;
    bool slash;      /* the path ends with one: it means a directory */
    bool file_slash; /* but there is something else */
    bool dots;       /* the last component is "." or "..", or there is none: `directory` is NULL */
};
/* 0 or a negative errno. */
int path_find(struct disk *disk, const char *path, struct place *place);
/* Imports all names of a directory. */
void path_import_all(struct inode *directory);
/* Imports the contents of a file. 0 or a negative errno. */
int path_load(struct inode *inode);

#endif
