#include "source.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- lines, by addr2line from the debug information --------------------------------------------------------------------- */

enum { LINES = 512 };
static struct {
    uint32_t pc;
    char text[48];
} line[LINES];
static unsigned line_count;

void source_begin(void) { line_count = 0; }

static int line_index(uint32_t pc) {
    for (unsigned i = 0; i < line_count; i++)
        if (line[i].pc == pc) return (int)i;
    return -1;
}

void source_want(uint32_t pc) {
    if (line_count == LINES || line_index(pc) >= 0) return;
    line[line_count].pc = pc;
    line[line_count++].text[0] = 0;
}

const char *source_line(uint32_t pc) {
    int i = line_index(pc);
    return i < 0 ? "" : line[i].text;
}

static void read_lines(FILE *tool) {
    char text[256];
    for (unsigned i = 0; i < line_count && fgets(text, sizeof text, tool); i++) {
        text[strcspn(text, " \n")] = 0;
        if (!strchr(text, '?')) snprintf(line[i].text, sizeof line[i].text, "%.46s", text);
    }
}

/* By process, and not by name: the file may have been removed since. */
void source_find(void) {
    char command[16 * LINES + 100];
    int length = snprintf(command, sizeof command, "addr2line -s -e /proc/%d/exe 2>/dev/null", (int)getpid());
    for (unsigned i = 0; i < line_count; i++)
        length += snprintf(command + length, sizeof command - (size_t)length, " %x", line[i].pc - 1);
    FILE *tool = popen(command, "r");
    if (!tool) return;
    read_lines(tool);
    pclose(tool);
}

const char *source_one_line(uint32_t pc) {
    source_begin();
    source_want(pc);
    source_find();
    return source_line(pc);
}

/* ---- variables, from the symbol table ------------------------------------------------------------------------------------- */

static const unsigned char *image(void) {
    static const unsigned char *mapped;
    struct stat status;
    if (mapped) return mapped;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0) return NULL;
    void *all = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    return mapped = all == MAP_FAILED ? NULL : all;
}

static const char *in_table(const unsigned char *file, const ElfW(Shdr) * sections, const ElfW(Shdr) * table, uintptr_t address,
                            size_t *offset) {
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)(file + table->sh_offset);
    const char *names = (const char *)file + sections[table->sh_link].sh_offset;
    for (size_t i = 0; i < table->sh_size / sizeof *symbol; i++) {
        if ((symbol[i].st_info & 15) != STT_OBJECT || address - symbol[i].st_value >= symbol[i].st_size) continue;
        *offset = address - symbol[i].st_value;
        return names + symbol[i].st_name;
    }
    return NULL;
}

const char *source_variable(uintptr_t address, size_t *offset) {
    const unsigned char *file = image();
    if (!file) return NULL;
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)file;
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(file + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB) return in_table(file, sections, &sections[i], address, offset);
    return NULL;
}
