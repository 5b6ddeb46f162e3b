/* The unwinder for signal handlers: reads .eh_frame_hdr and .eh_frame, and runs their instructions for one frame. */
#include "ctx/unwind.h"

#include <dlfcn.h>
#include <string.h>

/* ---- reading the tables ------------------------------------------------------------------------------------------------------- */

struct bytes {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t bytes_take(struct bytes *bytes, unsigned size) {
    uint64_t value = 0;
    if (bytes->bad || (size_t)(bytes->end - bytes->at) < size) {
        bytes->bad = true;
        return 0;
    }
    memcpy(&value, bytes->at, size);
    bytes->at += size;
    return value;
}
static uint64_t bytes_uleb(struct bytes *bytes) {
    uint64_t value = 0, byte;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        byte = bytes_take(bytes, 1);
        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    bytes->bad = true;
    return 0;
}
static int64_t bytes_sleb(struct bytes *bytes) {
    uint64_t value = 0, byte;
    for (unsigned shift = 0; shift < 64;) {
        byte = bytes_take(bytes, 1);
        value |= (byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80) continue;
        if (shift < 64 && (byte & 0x40)) value |= UINT64_MAX << shift;
        return (int64_t)value;
    }
    bytes->bad = true;
    return 0;
}
static void bytes_skip(struct bytes *bytes, uint64_t size) {
    if (bytes->bad || (uint64_t)(bytes->end - bytes->at) < size) bytes->bad = true;
    else bytes->at += size;
}

enum { ENC_PCREL_S4 = 0x1b, ENC_DATAREL_S4 = 0x3b, ENC_U4 = 0x03 };

/* One function's entry (FDE), with the one that it shares with others (CIE). */
struct entry {
    uint64_t begin, size;
    uint64_t code_align;
    int64_t data_align;
    struct bytes shared, own; /* instructions */
};

/* Reads an entry's length; *bytes is the rest of the entry. */
static bool unwind_open(const unsigned char *at, struct bytes *bytes) {
    uint32_t length;
    memcpy(&length, at, 4);
    if (length == 0 || length >= 0xfffffff0) return false;
    *bytes = (struct bytes){at + 4, at + 4 + length, false};
    return true;
}

/* Reads the data that the letters behind the 'z' announce. */
static bool unwind_augmentation(const char *letters, struct bytes *data) {
    for (; *letters; letters++) {
        if (!strchr("RLPB", *letters)) return false; /* S: a signal handler's frame */
        if (*letters == 'B') continue;
        uint64_t encoding = bytes_take(data, 1), format = encoding & 7;
        if (*letters == 'R' && encoding != ENC_PCREL_S4) return false;
        if (*letters == 'P') bytes_skip(data, format == 0 || format == 4 ? 8 : format == 3 ? 4 : 2);
    }
    return !data->bad;
}

static bool unwind_shared(const unsigned char *at, struct entry *entry, bool *augmented) {
    struct bytes *bytes = &entry->shared;
    if (!unwind_open(at, bytes) || bytes_take(bytes, 4) != 0) return false;
    uint64_t version = bytes_take(bytes, 1);
    const char *text = (const char *)bytes->at;
    bytes_skip(bytes, strnlen(text, (size_t)(bytes->end - bytes->at)) + 1);
    entry->code_align = bytes_uleb(bytes);
    entry->data_align = bytes_sleb(bytes);
    uint64_t return_register = version == 1 ? bytes_take(bytes, 1) : bytes_uleb(bytes);
    *augmented = text[0] == 'z';
    if (bytes->bad || (version != 1 && version != 3) || return_register != UNWIND_RETURN || (text[0] && !*augmented)) return false;
    if (!*augmented) return false; /* then the entries hold absolute addresses; compilers do not write these */
    uint64_t length = bytes_uleb(bytes);
    struct bytes data = {bytes->at, bytes->at + length, false};
    bytes_skip(bytes, length);
    return !bytes->bad && unwind_augmentation(text + 1, &data);
}

static bool unwind_read(const unsigned char *at, struct entry *entry) {
    struct bytes *bytes = &entry->own;
    bool augmented;
    if (!unwind_open(at, bytes)) return false;
    const unsigned char *here = bytes->at;
    uint64_t back = bytes_take(bytes, 4);
    if (bytes->bad || back == 0 || !unwind_shared(here - back, entry, &augmented)) return false;
    entry->begin = (uint64_t)(uintptr_t)bytes->at;
    entry->begin += (uint64_t)(int64_t)(int32_t)bytes_take(bytes, 4);
    entry->size = bytes_take(bytes, 4);
    bytes_skip(bytes, bytes_uleb(bytes));
    return !bytes->bad;
}

/* ---- finding an entry ------------------------------------------------------------------------------------------------------------ */

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
// NOLINTNEXTLINE(readability-redundant-declaration): this one makes it weak
extern int _dl_find_object(void *address, struct dl_find_object *result) __attribute__((weak)); /* since glibc 2.35; takes no locks */
static const unsigned char *unwind_index(uint64_t pc) {
    struct dl_find_object found;
    if (!_dl_find_object || _dl_find_object((void *)(uintptr_t)pc, &found) != 0) return NULL;
    return found.dlfo_eh_frame;
}
#else
static const unsigned char *unwind_index(uint64_t pc) { return (void)pc, NULL; }
#endif

static bool unwind_find(uint64_t pc, struct entry *entry) {
    const unsigned char *index = unwind_index(pc);
    uint32_t count;
    if (!index || index[0] != 1 || index[1] != ENC_PCREL_S4 || index[2] != ENC_U4 || index[3] != ENC_DATAREL_S4) return false;
    memcpy(&count, index + 8, 4);
    const unsigned char *table = index + 12;
    uint32_t low = 0, high = count; /* searches the last entry that begins at pc or before */
    int32_t pair[2];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        memcpy(pair, table + (size_t)middle * 8, 8);
        if ((uint64_t)(uintptr_t)index + (uint64_t)(int64_t)pair[0] <= pc) low = middle + 1;
        else high = middle;
    }
    if (low == 0) return false;
    memcpy(pair, table + (size_t)(low - 1) * 8, 8);
    return unwind_read(index + pair[1], entry) && pc - entry->begin < entry->size;
}

/* ---- the instructions ------------------------------------------------------------------------------------------------------------- */

enum rule_kind { RULE_SAME, RULE_SAVED, RULE_LOST };
struct row {
    struct {
        uint8_t kind; /* enum rule_kind */
        int32_t offset;
    } rules[UNWIND_REGISTERS];
    uint64_t base; /* the frame's address (CFA) is this register plus the offset */
    int64_t offset;
};
enum { ROWS = 3 };

struct machine {
    const struct entry *entry;
    uint64_t pc; /* run the instructions up to here */
    struct row row, first, kept[ROWS];
    unsigned depth;
};

static bool machine_rule(struct row *row, uint64_t number, enum rule_kind kind, int64_t offset) {
    if (number >= UNWIND_REGISTERS) return true; /* a vector register */
    if (offset != (int32_t)offset) return false;
    row->rules[number].kind = (uint8_t)kind;
    row->rules[number].offset = (int32_t)offset;
    return true;
}

static bool machine_restore(struct machine *machine, uint64_t number) {
    if (number < UNWIND_REGISTERS) machine->row.rules[number] = machine->first.rules[number];
    return true;
}

/* The instructions that are not encoded in the two uppermost bits. */
static bool machine_other(struct machine *machine, struct bytes *bytes, uint64_t code) {
    struct row *row = &machine->row;
    int64_t align = machine->entry->data_align;
    uint64_t number;
    switch (code) {
    case 0x00: /* nop */
    case 0x2d: /* the return address is signed from here on, or no longer */ return true;
    case 0x05: number = bytes_uleb(bytes); return machine_rule(row, number, RULE_SAVED, (int64_t)bytes_uleb(bytes) * align);
    case 0x11: number = bytes_uleb(bytes); return machine_rule(row, number, RULE_SAVED, bytes_sleb(bytes) * align);
    case 0x2f: number = bytes_uleb(bytes); return machine_rule(row, number, RULE_SAVED, -(int64_t)bytes_uleb(bytes) * align);
    case 0x06: return machine_restore(machine, bytes_uleb(bytes));
    case 0x07: return machine_rule(row, bytes_uleb(bytes), RULE_LOST, 0);
    case 0x08: return machine_rule(row, bytes_uleb(bytes), RULE_SAME, 0);
    case 0x09: /* in another register */
    case 0x14: /* a value */
        number = bytes_uleb(bytes);
        bytes_uleb(bytes);
        return machine_rule(row, number, RULE_LOST, 0);
    case 0x15:
        number = bytes_uleb(bytes);
        bytes_sleb(bytes);
        return machine_rule(row, number, RULE_LOST, 0);
    case 0x10: /* expressions: of the address, of the value */
    case 0x16:
        number = bytes_uleb(bytes);
        bytes_skip(bytes, bytes_uleb(bytes));
        return machine_rule(row, number, RULE_LOST, 0);
    case 0x0a:
        if (machine->depth == ROWS) return false;
        machine->kept[machine->depth++] = *row;
        return true;
    case 0x0b:
        if (machine->depth == 0) return false;
        *row = machine->kept[--machine->depth];
        return true;
    case 0x0c: row->base = bytes_uleb(bytes), row->offset = (int64_t)bytes_uleb(bytes); return true;
    case 0x12: row->base = bytes_uleb(bytes), row->offset = bytes_sleb(bytes) * align; return true;
    case 0x0d: row->base = bytes_uleb(bytes); return true;
    case 0x0e: row->offset = (int64_t)bytes_uleb(bytes); return true;
    case 0x13: row->offset = bytes_sleb(bytes) * align; return true;
    case 0x2e: bytes_uleb(bytes); return true; /* the size of arguments */
    default: return false;
    }
}

/* Runs instructions until the row for machine->pc is complete. */
static bool machine_run(struct machine *machine, struct bytes bytes, uint64_t *place) {
    while (bytes.at < bytes.end) {
        uint64_t code = bytes_take(&bytes, 1), low = code & 0x3f, step = 0;
        switch (code & 0xc0) {
        case 0x40: step = low; break;
        case 0x80:
            if (!machine_rule(&machine->row, low, RULE_SAVED, (int64_t)bytes_uleb(&bytes) * machine->entry->data_align)) return false;
            continue;
        case 0xc0: machine_restore(machine, low); continue;
        default:
            if (code >= 0x02 && code <= 0x04) step = bytes_take(&bytes, 1u << (code - 2));
            else if (!machine_other(machine, &bytes, code)) return false;
        }
        if (bytes.bad) return false;
        *place += step * machine->entry->code_align;
        if (step && *place > machine->pc) return true;
    }
    return !bytes.bad;
}

/* ---- a frame ------------------------------------------------------------------------------------------------------------------------ */

/* Reads a word of the stack; false: outside of the limits. */
static __attribute__((no_sanitize("address"))) bool unwind_word(const struct unwind *unwind, uint64_t address, uint64_t *word) {
    if (address < unwind->low || address + 8 > unwind->high || address % 8 != 0) return false;
    *word = *(const volatile uint64_t *)(uintptr_t)address;
    return true;
}

static bool unwind_apply(struct unwind *unwind, const struct row *row) {
    if (row->base >= UNWIND_REGISTERS || !(unwind->known >> row->base & 1)) return false;
    uint64_t frame = unwind->registers[row->base] + (uint64_t)row->offset, sp = unwind->registers[UNWIND_SP];
    if (frame < sp || (unwind->called && frame == sp) || frame > unwind->high) return false;
    struct unwind caller = *unwind;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
        if (row->rules[i].kind == RULE_LOST) caller.known &= ~(UINT64_C(1) << i);
        if (row->rules[i].kind != RULE_SAVED) continue;
        if (!unwind_word(unwind, frame + (uint64_t)(int64_t)row->rules[i].offset, &caller.registers[i])) return false;
        caller.known |= UINT64_C(1) << i;
    }
    if (!(caller.known >> UNWIND_RETURN & 1)) return false;
    caller.pc = caller.registers[UNWIND_RETURN] & UNWIND_ADDRESS;
    caller.registers[UNWIND_SP] = frame;
    caller.known |= UINT64_C(1) << UNWIND_SP;
    caller.called = true;
    *unwind = caller;
    return true;
}

static uint64_t unwind_place(const struct unwind *unwind) { return unwind->called ? unwind->pc - 1 : unwind->pc; }

bool unwind_step(struct unwind *unwind) {
    struct entry entry;
    struct machine machine = {.entry = &entry, .pc = unwind_place(unwind)};
    if (!unwind_find(machine.pc, &entry)) return false;
    uint64_t place = entry.begin;
    machine.row.base = UNWIND_REGISTERS;
    if (!machine_run(&machine, entry.shared, &place)) return false;
    machine.first = machine.row;
    place = entry.begin;
    return machine_run(&machine, entry.own, &place) && unwind_apply(unwind, &machine.row);
}

uint64_t unwind_function(const struct unwind *unwind) {
    struct entry entry;
    return unwind_find(unwind_place(unwind), &entry) ? entry.begin : 0;
}

/* ---- from a context, and into one ---------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* The registers of a context, by their numbers in the tables. */
static const unsigned char unwind_order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                             REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
#define UNWIND_KEPT (UINT64_C(0xf0c8)) /* rbx, rbp, rsp, r12 to r15 */

void unwind_begin(struct unwind *unwind, const ucontext_t *context, uintptr_t high) {
    *unwind = (struct unwind){.pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP], .high = high};
    for (unsigned i = 0; i < sizeof unwind_order; i++)
        unwind->registers[i] = (uint64_t)context->uc_mcontext.gregs[unwind_order[i]];
    unwind->known = (UINT64_C(1) << sizeof unwind_order) - 1;
    unwind->low = unwind->registers[UNWIND_SP];
}

bool unwind_call(struct unwind *unwind) {
    if (!unwind_word(unwind, unwind->registers[UNWIND_SP], &unwind->pc)) return false;
    unwind->registers[UNWIND_SP] += 8;
    return unwind->called = true;
}

bool unwind_resume(const struct unwind *unwind, ucontext_t *context, uint64_t result) {
    if ((unwind->known & UNWIND_KEPT) != UNWIND_KEPT) return false;
    for (unsigned i = 0; i < sizeof unwind_order; i++)
        if (UNWIND_KEPT >> i & 1) context->uc_mcontext.gregs[unwind_order[i]] = (greg_t)unwind->registers[i];
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)unwind->pc;
    context->uc_mcontext.gregs[REG_RAX] = (greg_t)result;
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x400; /* the ABI wants the direction flag clear */
    return true;
}
#elif defined(__aarch64__)
#define UNWIND_KEPT (UINT64_C(0xbff80000)) /* x19 to x29, sp. Not d8 to d15: the tables that are read here do not have them */

void unwind_begin(struct unwind *unwind, const ucontext_t *context, uintptr_t high) {
    *unwind = (struct unwind){.pc = context->uc_mcontext.pc, .high = high};
    for (unsigned i = 0; i < 31; i++)
        unwind->registers[i] = context->uc_mcontext.regs[i];
    unwind->low = unwind->registers[UNWIND_SP] = context->uc_mcontext.sp;
    unwind->known = (UINT64_C(1) << UNWIND_REGISTERS) - 1;
}

bool unwind_call(struct unwind *unwind) {
    unwind->pc = unwind->registers[UNWIND_RETURN] & UNWIND_ADDRESS;
    return unwind->called = true;
}

bool unwind_resume(const struct unwind *unwind, ucontext_t *context, uint64_t result) {
    if ((unwind->known & UNWIND_KEPT) != UNWIND_KEPT) return false;
    for (unsigned i = 0; i < 31; i++)
        if (UNWIND_KEPT >> i & 1) context->uc_mcontext.regs[i] = unwind->registers[i];
    context->uc_mcontext.sp = unwind->registers[UNWIND_SP];
    context->uc_mcontext.pc = unwind->pc;
    context->uc_mcontext.regs[0] = result;
    return true;
}
#endif
