/* `weft check FILE.c... [NAME...] [options] [-- options of the compiler]`: a user's own files, compiled as the checker's own scenarios are, linked with its engine. */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/workshop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_UNUSABLE = 2, PATH = 4096 };

/* What a program that explores a file is made of. */
struct kit {
    char library[PATH], script[PATH], headers[PATH], names[PATH];
};

/* The words of the command: files, compiler options behind `--`, and the rest for the program. */
struct words {
    char *file[COMMAND_WORDS], *rest[COMMAND_WORDS + 2], **option;
    int files, rests, options;
};

static bool is_file(const char *word) {
    size_t length = strlen(word);
    return word[0] != '-' && length > 2 && strcmp(word + length - 2, ".c") == 0;
}

/* A file that is not C: scenarios' names have neither slash nor suffix. */
static bool is_other_file(const char *word) {
    static const char *const suffixes[] = {".h", ".cc", ".cpp", ".cxx", ".C", ".o", ".a", ".so", ".s", ".S"};
    const char *suffix = strrchr(word, '.');
    struct stat about;
    if (word[0] == '-' || is_file(word)) return false;
    for (size_t i = 0; suffix && i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(suffix, suffixes[i]) == 0) return true;
    return strchr(word, '/') || (stat(word, &about) == 0 && S_ISREG(about.st_mode));
}

bool check_names_file(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_file(argv[i]) || is_other_file(argv[i])) return true;
    return false;
}

static int sort_words(int argc, char **argv, struct words *w) {
    if (argc > COMMAND_WORDS) {
        fprintf(stderr, "weft check: more than %d words\n", COMMAND_WORDS);
        return -1;
    }
    w->rest[w->rests++] = "weft-check";
    int i = 0;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (is_other_file(argv[i])) {
            fprintf(stderr, "weft check: %s: only C is checked, in files whose names end in .c\n", argv[i]);
            return -1;
        }
        if (is_file(argv[i])) w->file[w->files++] = argv[i];
        else w->rest[w->rests++] = argv[i];
    }
    w->option = i < argc ? argv + i + 1 : argv + argc;
    w->options = i < argc ? argc - i - 1 : 0;
    return 0;
}

/* ---- what is installed, or built --------------------------------------------------------------------------------- */

static bool kit_at(struct kit *kit, const char *self, const char *lib, const char *headers) {
    snprintf(kit->library, PATH, "%.3000s%s/libweft-check.a", self, lib);
    snprintf(kit->script, PATH, "%.3000s%s/weft-check.ld", self, lib);
    snprintf(kit->headers, PATH, "%.3000s%s", self, headers);
    snprintf(kit->names, PATH, "%.3000s%s/weft/chk_names.h", self, headers);
    return access(kit->library, R_OK) == 0 && access(kit->script, R_OK) == 0 && access(kit->names, R_OK) == 0;
}

static int find_kit(struct kit *kit) {
    char self[PATH];
    if (cli_directory(self, sizeof self) != 0) return -1;
    if (kit_at(kit, self, ".", "../include") || kit_at(kit, self, WEFT_LIB, WEFT_HEADERS)) return 0;
    fprintf(
        stderr,
        "weft check: the checker's library, libweft-check.a, is neither in %s nor in %s%s; `make` builds it, `make install` installs it\n",
        self, self, WEFT_LIB);
    return -1;
}

/* ---- compiling and linking --------------------------------------------------------------------------------------------- */

static void add_compiler(struct command *command) {
    const char *cc = getenv("CC");
    command_add_words(command, cc && *cc ? cc : "cc");
}

static void add_options(struct command *command, const struct words *w) {
    for (int i = 0; i < w->options; i++)
        command_add(command, w->option[i]);
}

static int compile(const struct kit *kit, const struct words *w, int which) {
    static const char *const flags[] = {"-O1", "-g", "-fno-pie", "-fno-common", "-U_FORTIFY_SOURCE", "-fsanitize=thread", "-DWEFT_CHECK=1"};
    struct command command = {0};
    add_compiler(&command);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        command_add(&command, flags[i]);
    command_add(&command, "-include");
    command_add(&command, kit->names);
    command_add(&command, "-idirafter");
    command_add(&command, kit->headers);
    add_options(&command, w);
    command_add(&command, "-c");
    command_add(&command, w->file[which]);
    command_add(&command, "-o");
    command_add(&command, workshop_file("object", which));
    return command_run(&command);
}

static int link_all(const struct kit *kit, const struct words *w) {
    struct command command = {0};
    char script[PATH + 16];
    snprintf(script, sizeof script, "-Wl,-T,%s", kit->script);
    add_compiler(&command);
    command_add(&command, "-no-pie");
    for (int i = 0; i < w->files; i++)
        command_add(&command, workshop_file("object", i));
    command_add(&command, kit->library);
    command_add(&command, script);
    command_add(&command, "-pthread");
    add_options(&command, w);
    command_add(&command, "-o");
    command_add(&command, workshop_file("program", 0));
    return command_run(&command);
}

static int make_program(const struct kit *kit, const struct words *w) {
    for (int i = 0; i < w->files; i++)
        if (compile(kit, w, i) != 0) {
            fprintf(stderr, "weft check: %s was not compiled\n", w->file[i]);
            return -1;
        }
    if (link_all(kit, w) == 0) return 0;
    fprintf(stderr, "weft check: %s%s was not linked; a file that the named ones need can be named beside them\n", w->file[0],
            w->files > 1 ? " with the others" : "");
    return -1;
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

/* For the line that tells how to replay: the files before its option, the compiler's options behind it. */
static void tell_words(const char *variable, char **word, int count, const char *before, const char *after) {
    char text[PATH];
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", before, word[i], after);
    if (used < sizeof text && used > 0) setenv(variable, text, 1);
}

static int run_program(struct words *w) {
    int program = open(workshop_file("program", 0), O_RDONLY | O_CLOEXEC);
    int why = errno;
    workshop_close();
    if (program >= 0) fexecve(program, w->rest, environ);
    if (program >= 0) why = errno;
    fprintf(stderr, "weft check: the program cannot be run: %s%s\n", strerror(why),
            why == EACCES ? "; programs may not be run in the temporary folder: set TMPDIR" : "");
    return EXIT_UNUSABLE;
}

static bool is_readable(const char *path, struct stat *about) {
    bool there = stat(path, about) == 0 && access(path, R_OK) == 0;
    if (!there) fprintf(stderr, "weft check: %s: %s\n", path, strerror(errno));
    else if (S_ISDIR(about->st_mode)) fprintf(stderr, "weft check: %s is a folder\n", path);
    return there && !S_ISDIR(about->st_mode);
}

/* Each can be read, and is named once, by whatever names. */
static bool are_usable(const struct words *w) {
    static struct stat about[COMMAND_WORDS];
    for (int i = 0; i < w->files; i++) {
        if (!is_readable(w->file[i], &about[i])) return false;
        for (int k = 0; k < i; k++)
            if (about[k].st_dev == about[i].st_dev && about[k].st_ino == about[i].st_ino) {
                fprintf(stderr, "weft check: %s is named twice\n", w->file[i]);
                return false;
            }
    }
    return true;
}

int check_own(int argc, char **argv) {
    static struct kit kit;
    static struct words w;
    if (sort_words(argc, argv, &w) != 0 || !are_usable(&w) || find_kit(&kit) != 0 || workshop_open(w.files) != 0) return EXIT_UNUSABLE;
    if (make_program(&kit, &w) != 0) {
        workshop_close();
        return EXIT_UNUSABLE;
    }
    tell_words("WEFT_CHECK_FILES", w.file, w.files, "", " ");
    tell_words("WEFT_CHECK_OPTIONS", w.option - (w.options > 0), w.options + (w.options > 0), " ", "");
    return run_program(&w);
}
