/* Address space: the real table against the kernel, and its scripted twin. */
#include "scripted.h"
#include "test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static size_t page;
static int probe[2];

static void begin(void) {
    page = sys->vm_page();
    EXPECT(page >= 4096 && (page & (page - 1)) == 0);
    EXPECT(pipe(probe) == 0);
}

/* Can the kernel read it? */
static bool there(const void *at) {
    char byte;
    bool yes = write(probe[1], at, 1) == 1;
    if (yes) EXPECT(read(probe[0], &byte, 1) == 1);
    return yes;
}

TEST(vm_memory_comes_when_touched) {
    unsigned char pages[8];
    begin();
    unsigned char *memory = sys->vm_map(8 * page);
    EXPECT(memory && (uintptr_t)memory % page == 0);
    EXPECT(sys->vm_resident(memory, 8 * page, pages) == 0);
    for (unsigned i = 0; i < 8; i++)
        EXPECT(!pages[i]);
    memory[3 * page] = 1;
    EXPECT(sys->vm_resident(memory, 8 * page, pages) == 0);
    for (unsigned i = 0; i < 8; i++)
        EXPECT_EQ(!pages[i], i != 3);
    EXPECT(sys->vm_advise(memory, 8 * page, SYS_VM_DROP) == 0);
    EXPECT(sys->vm_resident(memory, 8 * page, pages) == 0);
    EXPECT(!pages[3]);
    EXPECT_EQ(memory[3 * page], 0);
    sys->vm_unmap(memory, 8 * page);
}

TEST(vm_is_reserved_in_plenty) {
    size_t much = (size_t)64 << 30; /* more than this machine has */
    begin();
    unsigned char *memory = sys->vm_map(much);
    EXPECT(memory);
    int small = sys->vm_advise(memory, much, SYS_VM_SMALL);
    EXPECT(small == 0 || small == -EINVAL); /* a kernel without huge pages */
    memory[much / 2] = 1;
    sys->vm_unmap(memory, much);
    EXPECT(!sys->vm_map(SIZE_MAX / 2 & ~(page - 1)));
}

static void expect_guard(enum sys_vm what) {
    unsigned char *memory = sys->vm_map(4 * page);
    memset(memory, 1, 4 * page);
    int error = sys->vm_advise(memory + page, page, what);
    if (what == SYS_VM_GUARD && error == -EINVAL) return; /* before Linux 6.13 */
    EXPECT_EQ(error, 0);
    EXPECT(there(memory) && !there(memory + page) && !there(memory + 2 * page - 1) && there(memory + 2 * page));
    EXPECT(sys->vm_advise(memory, 4 * page, SYS_VM_DROP) == 0); /* a guard is not contents */
    EXPECT(there(memory) && !there(memory + page) && there(memory + 2 * page));
    sys->vm_unmap(memory, 4 * page);
}

TEST(vm_guards_fault) {
    begin();
    expect_guard(SYS_VM_GUARD);
    expect_guard(SYS_VM_DENY);
}

TEST(vm_guards_come_in_numbers) {
    enum { COUNT = 16 };
    begin();
    unsigned char *memory = sys->vm_map(COUNT * 3 * page);
    int error = sys->vm_guards(memory, page, 3 * page, COUNT);
    if (error == -EBADF || error == -EPERM || error == -ENOSYS || error == -EINVAL) return; /* an old kernel */
    EXPECT_EQ(error, 0);
    for (unsigned i = 0; i < COUNT * 3; i++)
        EXPECT_EQ(there(memory + i * page), i % 3 != 0);
    EXPECT(sys->vm_guards(memory, page, 3 * page, 1000) < 0); /* too many */
    sys->vm_unmap(memory + 9 * page, (COUNT * 3 - 9) * page);
    EXPECT(sys->vm_guards(memory, page, 3 * page, 4) < 0); /* the fourth is nowhere */
    sys->vm_unmap(memory, 9 * page);
}

/* A process keeps its errno over weft's own calls. */
TEST(vm_leaves_errno_alone) {
    unsigned char pages[1];
    begin();
    unsigned char *memory = sys->vm_map(page);
    errno = 77;
    EXPECT(!sys->vm_map(SIZE_MAX / 2 & ~(page - 1)));
    EXPECT(sys->vm_advise(memory + 1, page, SYS_VM_DROP) < 0);
    EXPECT(sys->vm_guards(memory + 1, page, page, 1) < 0);
    EXPECT(sys->vm_resident(memory + 1, page, pages) < 0);
    EXPECT_EQ(errno, 77);
    sys->vm_unmap(memory, page);
}

TEST(vm_follows_the_script) {
    begin();
    sys_scripted_install();
    void *one = sys->vm_map(page), *two = sys->vm_map(2 * page);
    EXPECT(one && two);
    EXPECT_EQ(sys_scripted_mapped(), 3 * page);
    sys_script.map_most = page;
    EXPECT(!sys->vm_map(2 * page));
    sys_script.map_fail_from = 5;
    void *three = sys->vm_map(page);
    EXPECT(three);
    EXPECT(!sys->vm_map(page));
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.vm_map), 5);

    sys_script.advise_error[SYS_VM_DROP] = -ENOMEM;
    sys_script.advise_allowed[SYS_VM_DROP] = 1;
    EXPECT_EQ(sys->vm_advise(one, page, SYS_VM_DROP), 0);
    EXPECT_EQ(sys->vm_advise(one, page, SYS_VM_DROP), -ENOMEM);
    EXPECT_EQ(sys->vm_advise(one, page, SYS_VM_DENY), 0);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.vm_advise[SYS_VM_DROP]), 2);
    unsigned char pages[1];
    sys_script.resident_error = -EAGAIN;
    EXPECT_EQ(sys->vm_resident(one, page, pages), -EAGAIN);
    sys->vm_unmap(one, page);
    sys->vm_unmap(two, 2 * page);
    sys->vm_unmap(three, page);
    EXPECT_EQ(sys_scripted_mapped(), 0);
    sys_scripted_reset();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
