/* Paths of a simulated disk, and what is imported from the real one: see disk.h. */
#include "world/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the real disk ------------------------------------------------------------------------------------------------------------ */

/* Without printf: it takes more stack than some processes have. */
static char *join(const char *directory, const char *name, size_t size) {
    size_t before = strlen(directory);
    char *path = malloc(before + size + 2);
    if (!path) abort();
    memcpy(path, directory, before);
    path[before] = '/';
    memcpy(path + before + 1, name, size);
    path[before + 1 + size] = '\0';
    return path;
}

/* Directories, files, and devices such as /dev/null. Symbolic links are followed. NULL: there is nothing, or something else. */
static struct inode *import(struct inode *directory, const char *name, size_t size) {
    struct stat info;
    char *path = join(directory->real, name, size);
    struct inode *inode = NULL;
    if (stat(path, &info) == 0 && (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode) || S_ISCHR(info.st_mode))) {
        inode = inode_new(directory->disk, info.st_mode);
        inode->real = path;
        inode->parent = directory;
        inode->links = 1;
        names_set(directory, &directory->names, name, size, inode);
        names_set(directory, &directory->synced_names, name, size, inode);
    } else {
        free(path);
    }
    return inode;
}

static struct inode *lookup(struct inode *directory, const char *name, size_t size) {
    struct disk_name *found = names_find(&directory->names, name, size);
    if (found) return found->inode;
    int before = errno;
    struct inode *imported = directory->real ? import(directory, name, size) : NULL;
    errno = before;
    return imported;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static int is_no_dots(const struct dirent *entry) { return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0; }

void path_import_all(struct inode *directory) {
    struct dirent **entries = NULL;
    int before = errno;
    int count = directory->real ? scandir(*directory->real ? directory->real : "/", &entries, is_no_dots, by_name) : 0;
    for (int i = 0; i < count; i++) {
        lookup(directory, entries[i]->d_name, strlen(entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    errno = before;
}

static int load(struct inode *inode, int descriptor) {
    unsigned char piece[512];
    ssize_t n;
    while ((n = read(descriptor, piece, sizeof piece)) > 0) {
        if (inode->disk->limit != DISK_UNLIMITED) inode->disk->limit += (uint64_t)n; /* what is imported takes no room */
        if (inode_room(inode, inode->now.size) < n) return -EFBIG;
        inode_write(inode, piece, (size_t)n, inode->now.size);
    }
    return n < 0 ? -errno : 0;
}

int path_load(struct inode *inode) {
    if (!inode->real || !S_ISREG(inode->mode)) return 0;
    int before = errno, descriptor = open(inode->real, O_RDONLY | O_CLOEXEC);
    int error = descriptor < 0 ? -errno : load(inode, descriptor);
    if (descriptor >= 0) close(descriptor);
    errno = before;
    if (error) return error;
    free(inode->real);
    inode->real = NULL;
    inode_sync(inode, false);
    return 0;
}

/* ---- walking -------------------------------------------------------------------------------------------------------------------- */

static bool is(const char *name, size_t size, const char *text) { return strlen(text) == size && memcmp(name, text, size) == 0; }

/* One step from place->inode, which has to be a directory. */
static int path_step(struct place *place, const char *name, size_t size) {
    struct inode *from = place->inode;
    if (!from) return -ENOENT;
    if (!inode_is_directory(from)) return -ENOTDIR;
    if (size > DISK_NAME_MOST) return -ENAMETOOLONG;
    place->dots = is(name, size, ".") || is(name, size, "..");
    place->name = name;
    place->size = size;
    place->directory = place->dots ? NULL : from;
    place->inode = !place->dots ? lookup(from, name, size) : size == 1 ? from : from->parent;
    return 0;
}

static int path_walk(struct place *place, const char *path) {
    while (*path) {
        size_t size = strcspn(path, "/");
        int error = size > 0 ? path_step(place, path, size) : 0;
        if (error) return error;
        path += size;
        place->slash = *path == '/';
        path += strspn(path, "/");
    }
    return 0;
}

/* From the program's current directory, which is one of the real disk. */
static int path_walk_here(struct place *place) {
    int before = errno;
    char *here = getcwd(NULL, 0);
    errno = before;
    int error = here ? path_walk(place, here) : -ENOENT;
    free(here);
    return error;
}

int path_find(struct disk *disk, const char *path, struct place *place) {
    *place = (struct place){.inode = disk->root, .dots = true};
    size_t size = strnlen(path, DISK_PATH_MOST);
    if (size == 0) return -ENOENT;
    if (size == DISK_PATH_MOST) return -ENAMETOOLONG;
    int error = *path == '/' ? 0 : path_walk_here(place);
    if (!error) error = path_walk(place, path);
    place->file_slash = place->slash && place->inode && !inode_is_directory(place->inode);
    return error;
}
