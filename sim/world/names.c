/* Names in directories of a simulated disk, and the journal of their changes: see disk.h. */
#include "sim.h"
#include "world/disk.h"

#include <stdlib.h>
#include <string.h>

struct disk_name *names_find(const struct disk_names *names, const char *text, size_t size) {
    for (size_t i = 0; i < names->count; i++)
        if (strncmp(names->at[i].text, text, size) == 0 && names->at[i].text[size] == '\0') return &names->at[i];
    return NULL;
}

const struct disk_name *names_after(const struct disk_names *names, uint64_t serial) {
    for (size_t i = 0; i < names->count; i++)
        if (names->at[i].serial > serial && names->at[i].inode) return &names->at[i];
    return NULL;
}

bool names_are_empty(const struct disk_names *names) { return !names_after(names, 0); }

static void names_remove(struct disk_names *names, struct disk_name *name) {
    free(name->text);
    memmove(name, name + 1, (size_t)(names->at + names->count - (name + 1)) * sizeof *name);
    names->count--;
}

static void names_add(struct disk_names *names, const char *text, size_t size, struct inode *inode, uint64_t serial) {
    names->at = disk_grow(names->at, &names->room, names->count + 1, sizeof *names->at);
    struct disk_name *name = &names->at[names->count++];
    *name = (struct disk_name){strndup(text, size), inode, serial};
    if (!name->text) abort();
    inode_hold(inode);
}

/* A directory that was imported remembers what was removed: otherwise the name would be imported again. */
void names_set(struct inode *directory, struct disk_names *names, const char *text, size_t size, struct inode *inode) {
    struct disk_name *name = names_find(names, text, size);
    struct inode *before = name ? name->inode : NULL;
    if (name && (inode || directory->real)) {
        inode_hold(inode);
        name->inode = inode;
    } else if (name) {
        names_remove(names, name);
    } else if (inode) {
        names_add(names, text, size, inode, ++directory->disk->serial);
    }
    inode_drop(before);
}

void names_clear(struct disk_names *names) {
    struct disk_names old = *names;
    *names = (struct disk_names){NULL, 0, 0};
    for (size_t i = 0; i < old.count; i++) {
        free(old.at[i].text);
        inode_drop(old.at[i].inode);
    }
    free(old.at);
}

void names_copy(struct disk_names *to, const struct disk_names *from) {
    struct disk_names old = *to;
    *to = (struct disk_names){NULL, 0, 0};
    for (size_t i = 0; i < from->count; i++)
        names_add(to, from->at[i].text, strlen(from->at[i].text), from->at[i].inode, from->at[i].serial);
    names_clear(&old);
}

/* ---- the journal ------------------------------------------------------------------------------------------------------------ */

static void journal_names(struct inode *inode, uint64_t number, int links) {
    if (!inode) return;
    inode->last = number;
    inode->links += (unsigned)links;
}

/* The record names the directory, what the name means now, and what it meant before. */
static void journal_set(const struct disk_set *set, struct disk_set *kept, uint64_t number) {
    if (!set->directory) return;
    struct disk_name *before = names_find(&set->directory->names, set->name, set->size);
    journal_names(before ? before->inode : NULL, number, -1);
    journal_names(set->inode, number, 1);
    set->directory->last = number;
    set->directory->modified = sim_now();
    *kept = (struct disk_set){set->directory, set->inode, strndup(set->name, set->size), set->size};
    if (!kept->name) abort();
    inode_hold(kept->directory);
    inode_hold(kept->inode);
    names_set(set->directory, &set->directory->names, set->name, set->size, set->inode);
    if (inode_is_directory(set->inode)) set->inode->parent = set->directory;
}

void journal_add(struct disk *disk, const struct disk_set *first, const struct disk_set *second) {
    disk->records = disk_grow(disk->records, &disk->room, disk->count + 1, sizeof *disk->records);
    struct disk_record *record = &disk->records[disk->count++];
    *record = (struct disk_record){0};
    journal_set(first, &record->set[0], disk->written + disk->count);
    journal_set(second, &record->set[1], disk->written + disk->count);
}

static void journal_write_set(const struct disk_set *set) {
    struct inode *directory = set->directory;
    if (directory) names_set(directory, &directory->synced_names, set->name, set->size, set->inode);
}

static void journal_free_set(const struct disk_set *set) {
    free((char *)set->name);
    inode_drop(set->inode);
    inode_drop(set->directory);
}

/* The first records. */
static void journal_drop(struct disk *disk, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct disk_record record = disk->records[i];
        journal_free_set(&record.set[0]);
        journal_free_set(&record.set[1]);
    }
    if (count > 0) memmove(disk->records, disk->records + count, (disk->count - count) * sizeof *disk->records);
    disk->count -= count;
}

void journal_write(struct disk *disk, uint64_t last) {
    if (last <= disk->written) return;
    size_t count = (size_t)(last - disk->written);
    for (size_t i = 0; i < count; i++) {
        journal_write_set(&disk->records[i].set[0]);
        journal_write_set(&disk->records[i].set[1]);
    }
    disk->written = last;
    journal_drop(disk, count);
}

void journal_forget(struct disk *disk) { journal_drop(disk, disk->count); }
