/* Reads the table of symbols of an ELF file, piece by piece: see fiber/symtab.h. */
#include "fiber/symtab.h"

#include "base/config.h"
#include "sys/sys_file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

enum { SYMTAB_AT_ONCE = 64 };

/* The real files, in simulations too: the program itself is not in the simulated world. */
static bool symtab_read(int file, void *to, size_t size, uint64_t at) {
    struct iovec part = {to, size};
    return sys_linux_file.read(file, &part, 1, (int64_t)at, false) == (int64_t)size;
}

static bool symtab_is_at(const Elf64_Sym *symbol, uintptr_t address) {
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF && address - symbol->st_value < symbol->st_size;
}

static bool symtab_search(int file, const Elf64_Shdr *table, uintptr_t address, Elf64_Sym *found) {
    Elf64_Sym symbols[SYMTAB_AT_ONCE];
    uint64_t count = table->sh_size / sizeof *symbols;
    for (uint64_t first = 0; first < count; first += SYMTAB_AT_ONCE) {
        uint64_t some = count - first < SYMTAB_AT_ONCE ? count - first : SYMTAB_AT_ONCE;
        if (!symtab_read(file, symbols, some * sizeof *symbols, table->sh_offset + first * sizeof *symbols)) return false;
        for (uint64_t i = 0; i < some; i++)
            if (symtab_is_at(&symbols[i], address)) {
                *found = symbols[i];
                return true;
            }
    }
    return false;
}

/* The section with all symbols, or, of a stripped file, with those that are exported. */
static bool symtab_section(int file, const Elf64_Ehdr *header, uint32_t type, Elf64_Shdr *section) {
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (symtab_read(file, section, sizeof *section, header->e_shoff + i * sizeof *section) && section->sh_type == type) return true;
    return false;
}

static bool symtab_name(int file, const Elf64_Ehdr *header, const Elf64_Shdr *table, const Elf64_Sym *symbol, char *name, size_t size) {
    Elf64_Shdr strings;
    if (!symtab_read(file, &strings, sizeof strings, header->e_shoff + table->sh_link * sizeof strings)) return false;
    if (symbol->st_name >= strings.sh_size) return false;
    uint64_t left = strings.sh_size - symbol->st_name;
    size_t most = left < size ? left : size;
    if (!symtab_read(file, name, most, strings.sh_offset + symbol->st_name)) return false;
    name[most - 1] = '\0';
    return true;
}

static bool symtab_in(int file, uint32_t type, uintptr_t address, char *name, size_t size, uintptr_t *offset) {
    Elf64_Ehdr header;
    Elf64_Shdr table;
    Elf64_Sym symbol;
    if (!symtab_read(file, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (!symtab_section(file, &header, type, &table) || !symtab_search(file, &table, address, &symbol)) return false;
    *offset = address - symbol.st_value;
    return symtab_name(file, &header, &table, &symbol, name, size);
}

bool symtab_find(const char *path, uintptr_t address, char *name, size_t size, uintptr_t *offset) {
    int file = sys_linux_file.open(path, O_RDONLY, 0);
    if (file < 0) return false;
    bool found = symtab_in(file, SHT_SYMTAB, address, name, size, offset) || symtab_in(file, SHT_DYNSYM, address, name, size, offset);
    sys_linux_file.close(file);
    return found;
}
