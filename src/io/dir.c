/* Directories: entries come from the kernel many at a time. */
#include "base/sized.h"
#include "io/file_call.h"

#include <weft/file.h>

#include <string.h>

struct weft_dir {
    int descriptor;
    size_t at, filled;
    _Alignas(8) unsigned char entries[16 << 10];
};

int weft_dir_open(const char *path, weft_dir **dir) {
    *dir = NULL;
    int descriptor = weft_file_open(path, O_RDONLY | O_DIRECTORY, 0);
    if (descriptor < 0) return descriptor;
    struct weft_dir *opened = sys->alloc(sizeof *opened);
    if (!opened) {
        weft_file_close(descriptor);
        return WEFT_ENOMEM;
    }
    opened->descriptor = descriptor;
    *dir = opened;
    return 0;
}

static bool dir_is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

int weft_dir_next_sized(weft_dir *dir, weft_dir_entry *entry, size_t entry_size) {
    for (;;) {
        if (dir->at == dir->filled) {
            int64_t filled = IO_CALL("weft_dir_next", sys->file->list(dir->descriptor, dir->entries, sizeof dir->entries));
            if (filled <= 0) return (int)filled;
            dir->at = 0;
            dir->filled = (size_t)filled;
        }
        const struct sys_entry *next = (const struct sys_entry *)(dir->entries + dir->at);
        dir->at += next->size;
        if (dir_is_dots(next->name)) continue;
        weft_dir_entry mine = {next->name, next->inode, next->type};
        sized_write(entry, entry_size, &mine, sizeof mine);
        return 1;
    }
}

int weft_dir_close(weft_dir *dir) {
    if (!dir) return 0;
    int error = weft_file_close(dir->descriptor);
    sys->free(dir, sizeof *dir);
    return error;
}
