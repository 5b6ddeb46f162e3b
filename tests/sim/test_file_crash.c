/* What a crash leaves on a simulated disk: what was synced is there, and of the rest nothing is promised. Each test asks many crashes whether
 * the promises hold, and whether everything that is allowed to happen does happen. */
#include "world/file.h"

#include "sys/sys_file.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CRASHES = 300, SIZE_MOST = 8192 };

static char buffer[SIZE_MOST];

static void crash(void) {
    sim_fd_crash(0);
    sim_file_crash(0);
}

static int opened(const char *path, int flags) {
    int file = sim_file.open(path, flags, 0644);
    EXPECT(file >= 0);
    return file;
}

static void put(int file, const void *data, size_t size, int64_t offset) {
    struct iovec part = {(void *)data, size};
    EXPECT_EQ(sim_file.write(file, &part, 1, offset, false), size);
}

static void put_all(int file, char byte, size_t size) {
    memset(buffer, byte, size);
    put(file, buffer, size, 0);
}

/* The contents in `buffer`; -ENOENT ... */
static int64_t contents(const char *path) {
    struct iovec part = {buffer, sizeof buffer};
    int file = sim_file.open(path, O_RDONLY, 0);
    if (file < 0) return file;
    int64_t size = sim_file.read(file, &part, 1, 0, false);
    EXPECT_EQ(sim_file.close(file), 0);
    return size;
}

static bool all(char byte, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (buffer[i] != byte) return false;
    return true;
}

static void removed(const char *path) {
    int error = sim_file.unlink(path, false);
    EXPECT(error == 0 || error == -ENOENT);
}

static void sync_directory(const char *path) {
    int directory = opened(path, O_RDONLY | O_DIRECTORY);
    EXPECT_EQ(sim_file.sync(directory, false), 0);
    EXPECT_EQ(sim_file.close(directory), 0);
}

/* A file of `size` bytes that is on the disk. */
static void settled(const char *path, char byte, size_t size) {
    int file = opened(path, O_CREAT | O_TRUNC | O_WRONLY);
    put_all(file, byte, size);
    EXPECT_EQ(sim_file.sync(file, false), 0);
    EXPECT_EQ(sim_file.close(file), 0);
}

static void begin(void) { EXPECT_EQ(sim_file.mkdir("/weft-crash", 0755), 0); }

#define LOG "/weft-crash/log"
#define OTHER "/weft-crash/other"

/* ---- data ----------------------------------------------------------------------------------------------------------------------- */

TEST(what_was_appended_is_there_as_a_prefix) {
    unsigned none = 0, some = 0, whole = 0;
    begin();
    for (unsigned i = 0; i < CRASHES; i++) {
        settled(LOG, 'a', 700);
        int file = opened(LOG, O_WRONLY | O_APPEND);
        memset(buffer, 'b', 2000);
        put(file, buffer, 1000, -1);
        put(file, buffer, 1000, -1);
        crash();
        int64_t size = contents(LOG);
        EXPECT(size >= 700 && size <= 2700);
        EXPECT(all('a', 0, 700) && all('b', 700, (size_t)size));
        EXPECT(size == 700 || size == 2700 || size % 512 == 0);
        none += size == 700, some += size > 700 && size < 2700, whole += size == 2700;
    }
    EXPECT(none > 0 && some > 0 && whole > 0);
}

TEST(each_sector_is_the_old_one_or_the_new_one) {
    unsigned mixed = 0, old = 0, new = 0;
    begin();
    for (unsigned i = 0; i < CRASHES; i++) {
        settled(LOG, 'a', 4096);
        int file = opened(LOG, O_WRONLY);
        memset(buffer, 'b', 1024);
        put(file, buffer, 1024, 256); /* three sectors, two of them in part */
        crash();
        EXPECT_EQ(contents(LOG), 4096);
        EXPECT(all('a', 0, 256) && all('a', 1280, 4096));
        unsigned kept = 0;
        static const size_t ends[] = {256, 512, 1024, 1280};
        for (unsigned s = 0; s < 3; s++) {
            EXPECT(all('a', ends[s], ends[s + 1]) || all('b', ends[s], ends[s + 1]));
            kept += buffer[ends[s]] == 'b';
        }
        old += kept == 0, mixed += kept == 1 || kept == 2, new += kept == 3;
    }
    EXPECT(old > 0 && mixed > 0 && new > 0);
}

TEST(what_was_synced_is_there) {
    begin();
    for (unsigned i = 0; i < CRASHES; i++) {
        settled(LOG, 'a', 3000);
        int file = opened(LOG, O_RDWR);
        put_all(file, 'b', 1000);
        EXPECT_EQ(sim_file.truncate(file, 1500), 0);
        EXPECT_EQ(sim_file.sync(file, true), 0);
        crash();
        EXPECT_EQ(contents(LOG), 1500);
        EXPECT(all('b', 0, 1000) && all('a', 1000, 1500));
    }
}

TEST(a_write_with_o_dsync_is_there) {
    begin();
    for (unsigned i = 0; i < CRASHES; i++) {
        int file = opened(LOG, O_CREAT | O_TRUNC | O_WRONLY | O_DSYNC);
        put_all(file, 'c', 2500);
        crash();
        EXPECT_EQ(contents(LOG), 2500);
        EXPECT(all('c', 0, 2500));
    }
}

TEST(a_truncation_may_be_lost_and_its_new_bytes_too) {
    unsigned old = 0, empty = 0, new = 0;
    begin();
    for (unsigned i = 0; i < CRASHES; i++) {
        settled(LOG, 'a', 1000);
        put_all(opened(LOG, O_WRONLY | O_TRUNC), 'b', 300);
        crash();
        int64_t size = contents(LOG);
        old += size == 1000 && all('a', 0, 1000);
        empty += size == 0;
        new += size == 300 && all('b', 0, 300);
    }
    EXPECT(old > 0 && empty > 0 && new > 0);
    EXPECT_EQ(old + empty + new, CRASHES);
}

/* ---- names ---------------------------------------------------------------------------------------------------------------------- */

TEST(a_name_is_there_after_a_sync_of_its_file_or_its_directory) {
    unsigned lost = 0, kept = 0;
    begin();
    sync_directory("/weft-crash");
    for (unsigned i = 0; i < CRASHES; i++) {
        removed(LOG), removed(OTHER);
        sync_directory("/weft-crash");
        opened(LOG, O_CREAT | O_WRONLY);
        int synced = i % 3;
        if (synced == 1) sync_directory("/weft-crash");
        if (synced == 2) settled(LOG, 'a', 10);
        opened(OTHER, O_CREAT | O_WRONLY); /* later in the journal */
        crash();
        int64_t size = contents(LOG);
        if (synced) EXPECT_EQ(size, synced == 1 ? 0 : 10);
        else if (size == -ENOENT) lost++;
        else kept++;
        if (contents(OTHER) == 0) EXPECT(size >= 0); /* a prefix of the journal */
    }
    EXPECT(lost > 0 && kept > 0);
}

TEST(an_unlinked_file_may_come_back_unless_its_directory_was_synced) {
    unsigned back = 0, gone = 0;
    begin();
    for (unsigned i = 0; i < CRASHES; i++) {
        settled(LOG, 'a', 100);
        removed(LOG);
        if (i % 2) sync_directory("/weft-crash");
        crash();
        int64_t size = contents(LOG);
        EXPECT(size == 100 || size == -ENOENT);
        if (i % 2) EXPECT_EQ(size, -ENOENT);
        else if (size == 100) back++;
        else gone++;
    }
    EXPECT(back > 0 && gone > 0);
}

/* The way programs replace a file: it is the old one or the new one, whole. */
TEST(a_rename_of_a_synced_file_happens_or_does_not) {
    unsigned old = 0, new = 0;
    begin();
    for (unsigned i = 0; i < CRASHES; i++) {
        removed(OTHER);
        settled(LOG, 'a', 1000);
        settled(OTHER, 'b', 1500);
        EXPECT_EQ(sim_file.rename(OTHER, LOG), 0);
        crash();
        int64_t size = contents(LOG);
        EXPECT((size == 1000 && all('a', 0, 1000)) || (size == 1500 && all('b', 0, 1500)));
        if (size == 1000) old++;
        else new ++;
        EXPECT_EQ(contents(OTHER), size == 1000 ? 1500 : -ENOENT);
    }
    EXPECT(old > 0 && new > 0);
}

TEST(a_file_that_was_renamed_and_not_synced_may_be_empty) {
    unsigned empty = 0;
    begin();
    for (unsigned i = 0; i < CRASHES; i++) {
        removed(OTHER);
        settled(LOG, 'a', 1000);
        put_all(opened(OTHER, O_CREAT | O_WRONLY), 'b', 400);
        EXPECT_EQ(sim_file.rename(OTHER, LOG), 0);
        crash();
        empty += contents(LOG) == 0;
    }
    EXPECT(empty > 0);
}

TEST(a_directory_and_what_is_in_it_come_back_where_they_were) {
    unsigned moved = 0, stayed = 0;
    begin();
    for (unsigned i = 0; i < 50; i++) {
        sim_file.mkdir("/weft-crash/d", 0755);
        settled("/weft-crash/d/file", 'a', 10);
        EXPECT_EQ(sim_file.rename("/weft-crash/d", "/weft-crash/e"), 0);
        crash();
        bool is_moved = contents("/weft-crash/e/file") == 10;
        EXPECT_EQ(contents("/weft-crash/d/file"), is_moved ? -ENOENT : 10);
        EXPECT_EQ(contents(is_moved ? "/weft-crash/e/../e/file" : "/weft-crash/d/../d/file"), 10);
        moved += is_moved, stayed += !is_moved;
        if (is_moved) EXPECT_EQ(sim_file.rename("/weft-crash/e", "/weft-crash/d"), 0);
    }
    EXPECT(moved > 0 && stayed > 0);
}

/* Draws of 0 are the harmless choice (draw.h). */
TEST(a_script_without_draws_keeps_everything) {
    setenv("WEFT_SIM_SCRIPT", "/dev/null", 1);
    sim_draw_setup(1);
    begin();
    settled(LOG, 'a', 3000);
    int file = opened(LOG, O_WRONLY);
    put_all(file, 'b', 5000);
    EXPECT_EQ(sim_file.rename(LOG, OTHER), 0);
    crash();
    EXPECT_EQ(contents(OTHER), 5000);
    EXPECT(all('b', 0, 5000));
}

/* ---- faults ------------------------------------------------------------------------------------------------------------------------- */

/* Writes until the disk is full or the seed fails a write; what was written before is there. */
static int64_t fill(int file, size_t *written) {
    struct iovec part = {buffer, sizeof buffer};
    int64_t n = 0;
    memset(buffer, 'f', sizeof buffer);
    for (*written = 0; *written < (2 << 20); *written += (size_t)n)
        if ((n = sim_file.write(file, &part, 1, -1, false)) < 0) return n;
    return 0;
}

TEST(disks_fill_up_and_fail_by_the_seed) {
    unsigned full = 0, failed = 0, fine = 0, limited = 0;
    setenv("WEFT_SIM_FAULTS", "file", 1);
    for (unsigned seed = 1; seed <= 100; seed++) {
        size_t written;
        struct stat info;
        sim_draw_setup(seed);
        sim_me()->machine = seed; /* each with a new disk */
        int file = sim_file.open(LOG + sizeof "/weft-crash" - 1, O_CREAT | O_RDWR, 0644);
        if (file < 0) continue;
        int64_t error = fill(file, &written);
        EXPECT(error == 0 || error == -ENOSPC || error == -EIO);
        full += error == -ENOSPC, failed += error == -EIO, fine += error == 0;
        limited += error == -ENOSPC && disk_of(seed)->used == disk_of(seed)->limit;
        EXPECT_EQ(sim_file.stat(file, &info), 0);
        EXPECT_EQ(info.st_size, written);
        EXPECT_EQ(sim_file.close(file), 0);
    }
    sim_me()->machine = 0;
    EXPECT(full > 0 && failed > 0 && fine > 0 && limited > 0);
}

/* After a sync that failed the next one succeeds, as in the kernel, and the data is not on the disk all the same. */
TEST(data_of_a_failed_sync_is_lost) {
    unsigned lost = 0;
    for (unsigned seed = 1; seed <= 300 && lost == 0; seed++) {
        setenv("WEFT_SIM_FAULTS", "", 1);
        sim_draw_setup(seed);
        sim_me()->machine = seed;
        settled("/log", 'a', 1000);
        int file = opened("/log", O_WRONLY);
        put_all(file, 'b', 1000);
        setenv("WEFT_SIM_FAULTS", "file", 1);
        sim_draw_setup(seed);
        bool failed = sim_file.sync(file, false) != 0;
        unsetenv("WEFT_SIM_FAULTS");
        sim_draw_setup(seed);
        EXPECT_EQ(sim_file.sync(file, false), 0);
        sim_fd_crash(seed);
        sim_file_crash(seed);
        EXPECT_EQ(contents("/log"), 1000);
        EXPECT(all(failed ? 'a' : 'b', 0, 1000));
        lost += failed;
    }
    sim_me()->machine = 0;
    EXPECT(lost > 0);
}

TEST(reads_and_writes_may_be_short_but_not_empty) {
    unsigned shorts = 0;
    setenv("WEFT_SIM_FAULTS", "short", 1);
    for (unsigned seed = 1; seed <= 500; seed++) {
        sim_draw_setup(seed);
        int file = opened(LOG + sizeof "/weft-crash" - 1, O_CREAT | O_TRUNC | O_WRONLY);
        memset(buffer, 's', 1000);
        for (size_t done = 0; done < 1000;) {
            struct iovec part = {buffer, 1000 - done};
            int64_t n = sim_file.write(file, &part, 1, -1, false);
            EXPECT(n > 0 && (size_t)n <= 1000 - done);
            done += (size_t)n;
            shorts += done < 1000;
        }
        EXPECT_EQ(sim_file.close(file), 0);
    }
    EXPECT(shorts > 0);
}

/* ---- the real disk ---------------------------------------------------------------------------------------------------------------- */

TEST(a_real_file_is_imported_and_never_written) {
    struct stat info;
    EXPECT_EQ(sim_file.stat_path("/proc/self/exe", &info, true), 0);
    EXPECT(S_ISREG(info.st_mode) && info.st_size > 1000);
    char name[] = "/tmp/weft-crash-XXXXXX";
    int real = mkstemp(name);
    EXPECT(real >= 0 && write(real, "real", 4) == 4);
    EXPECT_EQ(contents(name), 4);
    EXPECT(memcmp(buffer, "real", 4) == 0);
    int file = opened(name, O_WRONLY | O_TRUNC);
    put(file, "simulated", 9, 0);
    EXPECT_EQ(contents(name), 9);
    removed(name);
    EXPECT_EQ(contents(name), -ENOENT);
    EXPECT_EQ(pread(real, buffer, sizeof buffer, 0), 4);
    EXPECT(access(name, F_OK) == 0 && unlink(name) == 0);
    close(real);
    crash();
}

TEST(a_device_is_the_real_one) {
    int null = opened("/dev/null", O_WRONLY);
    EXPECT(sim_fd_is_real(null));
    EXPECT_EQ(sim_file.close(null), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
