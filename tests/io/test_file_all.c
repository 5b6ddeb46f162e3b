/* File calls that move all, and tell how many bytes went before an error. */
#include "io_helpers.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

enum { SIZE = 20000, MOST = 1000, PARTS = 300 };
static unsigned char all_out[SIZE], all_in[SIZE];
static int all_file;

static int all_write(size_t size, size_t *moved) { return weft_file_write_all(all_file, all_out, size, moved, WEFT_FOREVER); }
static int all_pwrite(size_t size, size_t *moved) { return weft_file_pwrite_all(all_file, all_out, size, 0, moved); }
/* Every third part is empty. */
static int all_writev(size_t size, size_t *moved) {
    struct iovec parts[PARTS];
    for (size_t i = 0, at = 0; i < PARTS; i++) {
        size_t length = i == PARTS - 1 ? size - at : i % 3 == 0 ? 0 : size / PARTS;
        parts[i] = (struct iovec){all_out + at, length};
        at += length;
    }
    return weft_file_writev_all(all_file, parts, PARTS, moved, WEFT_FOREVER);
}
static int all_read(size_t size, size_t *moved) { return weft_file_read_all(all_file, all_in, size, moved, WEFT_FOREVER); }
static int all_pread(size_t size, size_t *moved) { return weft_file_pread_all(all_file, all_in, size, 0, moved); }

static int (*const all_writes[])(size_t size, size_t *moved) = {all_write, all_pwrite, all_writev};
static int (*const all_reads[])(size_t size, size_t *moved) = {all_read, all_pread};
enum { WRITES = sizeof all_writes / sizeof all_writes[0], READS = sizeof all_reads / sizeof all_reads[0] };

/* An empty file, or one with so many bytes. */
static void all_begin(size_t size) {
    for (unsigned i = 0; i < SIZE; i++)
        all_out[i] = (unsigned char)(i * 3 + i / 256);
    memset(all_in, 0, SIZE);
    all_file = memfd_create("all", MFD_CLOEXEC);
    EXPECT_EQ(pwrite(all_file, all_out, size, 0), size);
}
static void all_has(size_t size) {
    EXPECT_EQ(pread(all_file, all_in, SIZE, 0), size);
    EXPECT(memcmp(all_in, all_out, size) == 0);
    close(all_file);
}

/* A little at a time, and interrupted; the caller does not notice. */
static void go_on(void) {
    size_t moved;
    for (unsigned i = 0; i < WRITES; i++) {
        all_begin(0);
        EXPECT_EQ(all_writes[i](SIZE, &moved), 0);
        EXPECT_EQ(moved, SIZE);
        all_has(SIZE);
    }
    for (unsigned i = 0; i < READS; i++) {
        all_begin(SIZE);
        EXPECT_EQ(all_reads[i](SIZE, &moved), 0);
        EXPECT(moved == SIZE && memcmp(all_in, all_out, SIZE) == 0);
        close(all_file);
    }
}
static void all_go_on(void) {
    io_run(go_on);
    sys_script.file_eintr_every = 3;
    sys_script.file_most = 37;
    io_run(go_on);
    sys_script.file_eintr_every = 0;
    sys_script.file_most = 0;
}
TEST(file_all_of_it) { rt_each(all_go_on); }

/* The fourth call fails. Of a vector a call writes a part at most. */
static void fails(enum sys_file_call call, int code) {
    sys_script.file[call].error = -code;
    sys_script.file[call].at = atom_load_rlx(&sys_script.counts.file[call]) + 4;
}
static void in_the_middle(void) {
    size_t moved;
    for (unsigned i = 0; i < WRITES; i++) {
        all_begin(0);
        fails(SYS_FILE_WRITE, ENOSPC);
        EXPECT_EQ(all_writes[i](SIZE, &moved), WEFT_ENOSPC);
        EXPECT(all_writes[i] == all_writev ? moved > 0 && moved < SIZE : moved == 3 * MOST);
        all_has(moved);
    }
    for (unsigned i = 0; i < READS; i++) {
        all_begin(SIZE);
        fails(SYS_FILE_READ, EIO);
        EXPECT_EQ(all_reads[i](SIZE, &moved), WEFT_EIO);
        EXPECT_EQ(moved, 3 * MOST);
        EXPECT(memcmp(all_in, all_out, moved) == 0 && all_in[moved] == 0);
        close(all_file);
    }
    sys_script.file[SYS_FILE_WRITE].error = sys_script.file[SYS_FILE_READ].error = 0;
}
static void all_in_the_middle(void) {
    sys_script.file_most = MOST;
    io_run(in_the_middle);
    sys_script.file_most = 0;
}
TEST(file_all_until_there_is_no_space) { rt_each(all_in_the_middle); }

static void end_too_early(void) {
    size_t moved;
    for (unsigned i = 0; i < READS; i++) {
        all_begin(5000);
        EXPECT_EQ(all_reads[i](SIZE, &moved), WEFT_EEOF);
        EXPECT(moved == 5000 && memcmp(all_in, all_out, 5000) == 0);
        EXPECT_EQ(all_reads[i](5000, NULL), all_reads[i] == all_read ? WEFT_EEOF : 0); /* the first has moved the position */
        close(all_file);
    }
}
static void all_end_too_early(void) { io_run(end_too_early); }
TEST(file_all_of_one_that_ends) { rt_each(all_end_too_early); }

static void are_refused(void) {
    size_t moved = 1;
    all_begin(10);
    EXPECT_EQ(weft_file_pread_all(all_file, all_in, 5, -1, &moved), WEFT_EINVAL);
    EXPECT_EQ(moved, 0);
    moved = 1;
    EXPECT_EQ(weft_file_pwrite_all(all_file, all_out, 5, -1, &moved), WEFT_EINVAL);
    EXPECT_EQ(moved, 0);
    moved = 1;
    EXPECT_EQ(weft_file_writev_all(all_file, NULL, -1, &moved, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(moved, 0);
    moved = 1;
    EXPECT_EQ(weft_file_read_all(-1, all_in, 5, &moved, WEFT_FOREVER), WEFT_EBADF);
    EXPECT_EQ(moved, 0);
    EXPECT_EQ(weft_file_read_all(all_file, NULL, 0, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_file_writev_all(all_file, NULL, 0, NULL, WEFT_FOREVER), 0);
    close(all_file);
}
static void all_are_refused(void) { io_run(are_refused); }
TEST(file_all_refused) { rt_each(all_are_refused); }

/* ---- pipes: a deadline, a cancellation and the other end's going in the middle ------------------------------------------------------ */

enum { MUCH = 1 << 20, LITTLE = 3000 };
static struct {
    int ends[2];
    bool reads, by_parts;
    uint64_t deadline;
    weft_pid pid;
    size_t moved;
    int error;
    unsigned char data[MUCH];
} piped;

static void piped_moves(void *arg) {
    struct iovec parts[] = {{piped.data, MUCH / 2}, {piped.data + MUCH / 2, MUCH / 2}};
    (void)arg;
    piped.moved = SIZE_MAX;
    piped.error = piped.reads      ? weft_file_read_all(piped.ends[0], piped.data, MUCH, &piped.moved, piped.deadline)
                  : piped.by_parts ? weft_file_writev_all(piped.ends[1], parts, 2, &piped.moved, piped.deadline)
                                   : weft_file_write_all(piped.ends[1], piped.data, MUCH, &piped.moved, piped.deadline);
}
static int piped_lie_there(void) {
    int there;
    EXPECT_EQ(ioctl(piped.ends[0], FIONREAD, &there), 0);
    return there;
}
/* The process is in the middle: it has read what there was, or written some. */
static void piped_begin(uint64_t deadline) {
    EXPECT_EQ(pipe(piped.ends), 0);
    if (piped.reads) EXPECT_EQ(write(piped.ends[1], piped.data, LITTLE), LITTLE);
    piped.deadline = deadline;
    piped.pid = weft_spawn_joinable(piped_moves, NULL);
    EXPECT(piped.pid != WEFT_NOBODY);
    while ((piped_lie_there() == 0) != piped.reads)
        weft_yield();
}
static void piped_end(int error) {
    EXPECT_EQ(weft_join(piped.pid, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(piped.error, error);
    if (piped.reads) EXPECT_EQ(piped.moved, LITTLE);
    else if (error != WEFT_EPIPE) EXPECT_EQ(piped.moved, piped_lie_there());
    EXPECT(piped.moved > 0 && piped.moved < MUCH);
    if (error == WEFT_ETIMEDOUT || error == WEFT_ECANCELED) EXPECT_EQ(close(piped.ends[0]) | close(piped.ends[1]), 0);
    else close(piped.ends[!piped.reads]);
}
static void piped_case(void) {
    piped_begin(weft_in(20 * WEFT_MILLISECOND));
    piped_end(WEFT_ETIMEDOUT);
    piped_begin(WEFT_FOREVER);
    EXPECT_EQ(weft_cancel(piped.pid), 0);
    piped_end(WEFT_ECANCELED);
    piped_begin(WEFT_FOREVER);
    close(piped.ends[piped.reads]);
    piped_end(piped.reads ? WEFT_EEOF : WEFT_EPIPE);
}
static void piped_cases(void) {
    for (unsigned i = 0; i < 3; i++) {
        piped.reads = i == 0;
        piped.by_parts = i == 2;
        piped_case();
    }
}
static void all_piped(void) {
    signal(SIGPIPE, SIG_IGN);
    io_run(piped_cases);
}
TEST(file_all_through_pipes) { rt_each(all_piped); }

int main(int argc, char **argv) { return test_main(argc, argv); }
