/* wc over a whole tree: one process for every file and every folder. Each reads as if it were alone; the runtime keeps the cores busy while
 * some of them wait for the disk.
 *
 *     wc FOLDER...        without one it makes a small tree, counts that and removes it */
#include <weft/weft.h>

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static weft_mutex total_lock = WEFT_MUTEX_INIT;
static struct { size_t files, lines, words, bytes; } total;

static int fail(const char *path, int error) {
    fprintf(stderr, "wc: %s: %s\n", path, weft_strerror(error));
    return error;
}

static void count_file(void *arg) {
    char *path = arg, *text;
    size_t size, lines = 0, words = 0;
    int error = weft_file_load(path, &text, &size); /* blocks this process and no other */
    if (error) fail(path, error);
    free(path);
    if (error) return;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n') lines++;
        if (!isspace((unsigned char)text[i]) && (i == 0 || isspace((unsigned char)text[i - 1]))) words++;
    }
    weft_file_free(text, size);
    if (weft_mutex_lock(&total_lock, WEFT_FOREVER) != 0) return; /* cancelled */
    total.files++, total.lines += lines, total.words += words, total.bytes += size;
    weft_mutex_unlock(&total_lock);
}

/* Returns when all that is below has been counted. */
static void count_folder(void *arg) {
    char *path = arg;
    weft_dir *dir;
    weft_dir_entry entry;
    weft_scope scope;
    int more, error = weft_dir_open(path, &dir);
    weft_scope_begin(&scope, WEFT_FOREVER);
    while (!error && (more = weft_dir_next(dir, &entry)) != 0) {
        char *below = more > 0 ? malloc(strlen(path) + strlen(entry.name) + 2) : NULL;
        if (!below) {
            error = more < 0 ? more : WEFT_ENOMEM;
            break;
        }
        sprintf(below, "%s/%s", path, entry.name);
        weft_entry count = entry.type == DT_DIR ? count_folder : entry.type == DT_REG ? count_file : NULL;
        if (!count || weft_scope_spawn(&scope, count, below) != 0) free(below);
    }
    if (error) fail(path, error);
    weft_dir_close(dir);
    weft_scope_end(&scope);
    free(path);
}

/* A tree to count: 3 folders with 100 files each. */
static void make_tree(const char *top, bool remove) {
    char path[128];
    if (!remove) weft_file_mkdir(top, 0700);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%d", top, i);
        if (!remove) weft_file_mkdir(path, 0700);
        for (int k = 0; k < 100; k++) {
            snprintf(path, sizeof path, "%s/%d/%d", top, i, k);
            if (remove) weft_file_unlink(path);
            else weft_file_save(path, "warp and\nweft\n", 14, 0600);
        }
        snprintf(path, sizeof path, "%s/%d", top, i);
        if (remove) weft_file_rmdir(path);
    }
    if (remove) weft_file_rmdir(top);
}

static int app(int argc, char **argv) {
    char own[] = "/tmp/weft-wc-XXXXXX";
    if (argc == 1) {
        if (!mkdtemp(own)) return 1;
        make_tree(own, false);
        count_folder(strdup(own));
        make_tree(own, true);
    }
    for (int i = 1; i < argc; i++)
        count_folder(strdup(argv[i]));
    printf("%zu files, %zu lines, %zu words, %zu bytes\n", total.files, total.lines, total.words, total.bytes);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * 300 files, 600 lines, 900 words, 4200 bytes
 */
