/* Files: every call does what the system's own does, says every error as it is, and never one that only a signal made. */
#include "io_helpers.h"

/* ---- each call --------------------------------------------------------------------------------------------------------- */

static void calls(void) {
    const char *path = io_path("file");
    char data[64] = {0}, more[4] = {0};
    struct stat info;
    errno = 123;
    int file = weft_file_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT(file >= 0);
    EXPECT(fcntl(file, F_GETFD) & FD_CLOEXEC);
    EXPECT_EQ(weft_file_open(path, O_RDWR | O_CREAT | O_EXCL, 0600), WEFT_EEXIST);
    EXPECT_EQ(weft_file_write(file, "hello", 5, WEFT_FOREVER), 5);
    EXPECT_EQ(weft_file_write(file, " world", 6, 0), 6); /* a file is always ready */
    EXPECT_EQ(weft_file_pwrite(file, "J", 1, 0), 1);
    EXPECT_EQ(weft_file_pread(file, data, sizeof data, 6), 5);
    EXPECT(memcmp(data, "world", 5) == 0);
    EXPECT_EQ(weft_file_pread(file, data, sizeof data, 11), 0);
    EXPECT_EQ(weft_file_pread(file, data, sizeof data, -1), WEFT_EINVAL);
    EXPECT_EQ(weft_file_pwrite(file, data, 1, -5), WEFT_EINVAL);
    EXPECT_EQ(lseek(file, 0, SEEK_SET), 0);
    struct iovec parts[2] = {{more, 4}, {data, 64}};
    EXPECT_EQ(weft_file_readv(file, parts, 2, WEFT_FOREVER), 11);
    EXPECT(memcmp(more, "Jell", 4) == 0 && memcmp(data, "o world", 7) == 0);
    EXPECT_EQ(weft_file_read(file, data, 64, WEFT_FOREVER), 0);
    parts[1].iov_len = 7;
    EXPECT_EQ(weft_file_writev(file, parts, 2, WEFT_FOREVER), 11);
    EXPECT_EQ(weft_file_sync(file), 0);
    EXPECT_EQ(weft_file_datasync(file), 0);
    EXPECT_EQ(weft_file_fstat(file, &info), 0);
    EXPECT_EQ(info.st_size, 22);
    EXPECT_EQ(weft_file_truncate(file, 3), 0);
    EXPECT_EQ(weft_file_stat(path, &info), 0);
    EXPECT_EQ(info.st_size, 3);
    EXPECT_EQ(weft_file_close(file), 0);
    EXPECT_EQ(weft_file_close(file), WEFT_EBADF);
    EXPECT_EQ(errno, 123); /* as it was */
}
static void names(void) {
    const char *path = io_path("file"), *other = io_path("other"), *folder = io_path("folder"), *link = io_path("link");
    struct stat info;
    EXPECT_EQ(weft_file_rename(path, other), 0);
    EXPECT_EQ(weft_file_stat(path, &info), WEFT_ENOENT);
    EXPECT_EQ(symlink("other", link), 0);
    EXPECT_EQ(weft_file_stat(link, &info), 0);
    EXPECT(S_ISREG(info.st_mode));
    EXPECT_EQ(weft_file_lstat(link, &info), 0);
    EXPECT(S_ISLNK(info.st_mode));
    EXPECT_EQ(weft_file_unlink(link), 0);
    EXPECT_EQ(weft_file_mkdir(folder, 0700), 0);
    EXPECT_EQ(weft_file_mkdir(folder, 0700), WEFT_EEXIST);
    EXPECT_EQ(weft_file_rmdir(io_folder), WEFT_ENOTEMPTY);
    EXPECT_EQ(weft_file_rmdir(other), WEFT_ENOTDIR);
    EXPECT_EQ(weft_file_unlink(folder), WEFT_EISDIR);
    EXPECT_EQ(weft_file_open(folder, O_WRONLY, 0), WEFT_EISDIR);
    EXPECT_EQ(weft_file_open("/nowhere/at/all", O_RDONLY, 0), WEFT_ENOENT);
    int opened = weft_file_open(folder, O_RDONLY, 0);
    char byte;
    EXPECT_EQ(weft_file_read(opened, &byte, 1, WEFT_FOREVER), WEFT_EISDIR);
    EXPECT_EQ(weft_file_close(opened), 0);
    EXPECT_EQ(weft_file_rmdir(folder), 0);
    EXPECT_EQ(weft_file_unlink(other), 0);
}
static void each_call(void) {
    io_folder_begin();
    io_run(calls);
    io_run(names);
    io_folder_end();
}
TEST(file_calls) { rt_each(each_call); }

/* A thread of the program's own calls them too. */
TEST(file_calls_outside_of_a_process) {
    io_folder_begin();
    calls();
    names();
    io_folder_end();
}
TEST(file_calls_from_a_foreign_thread_beside_a_runtime) {
    rt_start("ring", 1);
    io_folder_begin();
    calls();
    names();
    io_folder_end();
    rt_stop();
}

/* ---- whole files, directories ------------------------------------------------------------------------------------------ */

static const size_t whole_sizes[] = {0, 1, 4094, 4095, 4096, 4097, 300000};
static void wholes(void) {
    const char *path = io_path("whole");
    static char data[300000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 31 >> 3);
    for (unsigned i = 0; i < sizeof whole_sizes / sizeof whole_sizes[0]; i++) {
        char *got;
        size_t size;
        EXPECT_EQ(weft_file_save(path, data, whole_sizes[i], 0600), 0);
        EXPECT_EQ(weft_file_load(path, &got, &size), 0);
        EXPECT_EQ(size, whole_sizes[i]);
        EXPECT(memcmp(got, data, size) == 0 && got[size] == '\0');
        weft_file_free(got, size);
    }
    EXPECT_EQ(weft_file_unlink(path), 0);
    char *text = data;
    size_t size = 7;
    EXPECT_EQ(weft_file_load(path, &text, &size), WEFT_ENOENT);
    EXPECT(text == NULL && size == 0);
    weft_file_free(NULL, 0);
    EXPECT_EQ(weft_file_load(io_folder, &text, &size), WEFT_EISDIR);
    EXPECT_EQ(weft_file_save("/dev/full", "x", 1, 0), WEFT_ENOSPC);
}
static void without_length(void) {
    char *text;
    size_t size;
    EXPECT_EQ(weft_file_load("/proc/self/status", &text, &size), 0);
    EXPECT(strstr(text, "VmSize") && strlen(text) == size);
    weft_file_free(text, size);
}
static void whole_files(void) {
    io_folder_begin();
    io_run(wholes);
    io_run(without_length);
    io_folder_end();
}
TEST(file_load_and_save) { rt_each(whole_files); }

enum { ENTRIES = 700 };
static void entries(void) {
    bool seen[ENTRIES] = {false};
    weft_dir *dir;
    weft_dir_entry entry;
    EXPECT_EQ(weft_dir_open(io_folder, &dir), 0);
    EXPECT_EQ(weft_dir_next(dir, &entry), 0);
    EXPECT_EQ(weft_dir_close(dir), 0);
    for (int i = 0; i < ENTRIES; i++)
        EXPECT_EQ(weft_file_save(io_path("%d-with-a-name-that-fills-the-block", i), NULL, 0, 0600), 0);
    EXPECT_EQ(weft_dir_open(io_folder, &dir), 0);
    for (int i = 0; i < ENTRIES; i++) {
        EXPECT_EQ(weft_dir_next(dir, &entry), 1);
        EXPECT(entry.type == DT_REG || entry.type == DT_UNKNOWN);
        int number = atoi(entry.name);
        EXPECT(!seen[number]);
        seen[number] = true;
    }
    EXPECT_EQ(weft_dir_next(dir, &entry), 0);
    EXPECT_EQ(weft_dir_next(dir, &entry), 0);
    EXPECT_EQ(weft_dir_close(dir), 0);
    for (int i = 0; i < ENTRIES; i++)
        EXPECT_EQ(weft_file_unlink(io_path("%d-with-a-name-that-fills-the-block", i)), 0);
    EXPECT_EQ(weft_dir_open(io_path("gone"), &dir), WEFT_ENOENT);
    EXPECT(dir == NULL);
    EXPECT_EQ(weft_dir_open("/dev/null", &dir), WEFT_ENOTDIR);
    EXPECT_EQ(weft_dir_close(NULL), 0);
}
static void directories(void) {
    io_folder_begin();
    io_run(entries);
    io_folder_end();
}
TEST(file_directories) { rt_each(directories); }

/* ---- every error ------------------------------------------------------------------------------------------------------- */

static int file; /* open, with something in it */
static weft_dir *directory;
static char io_byte;
static struct stat io_info;
static weft_dir_entry io_entry;

static int64_t do_open(void) { return weft_file_open("/dev/null", O_RDONLY, 0); }
static int64_t do_close(void) { return weft_file_close(open("/dev/null", O_RDONLY)); }
static int64_t do_read(void) { return weft_file_read(file, &io_byte, 1, WEFT_FOREVER); }
static int64_t do_pread(void) { return weft_file_pread(file, &io_byte, 1, 0); }
static int64_t do_write(void) { return weft_file_write(file, "x", 1, WEFT_FOREVER); }
static int64_t do_pwrite(void) { return weft_file_pwrite(file, "x", 1, 0); }
static int64_t do_write_all(void) { return weft_file_write_all(file, "x", 1, NULL, WEFT_FOREVER); }
static int64_t do_sync(void) { return weft_file_sync(file); }
static int64_t do_datasync(void) { return weft_file_datasync(file); }
static int64_t do_truncate(void) { return weft_file_truncate(file, 4); }
static int64_t do_stat(void) { return weft_file_stat("/", &io_info); }
static int64_t do_fstat(void) { return weft_file_fstat(file, &io_info); }
static int64_t do_unlink(void) { return weft_file_unlink("/nothing"); }
static int64_t do_rmdir(void) { return weft_file_rmdir("/nothing"); }
static int64_t do_rename(void) { return weft_file_rename("/nothing", "/nowhere"); }
static int64_t do_mkdir(void) { return weft_file_mkdir("/proc/nothing", 0); }
static int64_t do_list(void) { return weft_dir_next(directory, &io_entry); }
static int64_t do_dir(void) {
    weft_dir *dir;
    int error = weft_dir_open("/", &dir);
    if (!error) weft_dir_close(dir);
    return error;
}
static int64_t do_load(void) {
    char *data;
    size_t size;
    int error = weft_file_load("/proc/self/status", &data, &size);
    if (!error) weft_file_free(data, size);
    return error;
}
static int64_t do_save(void) { return weft_file_save("/dev/null", "x", 1, 0); }

static const struct {
    int64_t (*call)(void);
    enum sys_file_call fails;
} failing[] = {
    {do_open, SYS_FILE_OPEN},       {do_close, SYS_FILE_CLOSE}, {do_read, SYS_FILE_READ},     {do_read, SYS_FILE_STAT},
    {do_pread, SYS_FILE_READ},      {do_write, SYS_FILE_WRITE}, {do_write, SYS_FILE_STAT},    {do_pwrite, SYS_FILE_WRITE},
    {do_write_all, SYS_FILE_WRITE}, {do_sync, SYS_FILE_SYNC},   {do_datasync, SYS_FILE_SYNC}, {do_truncate, SYS_FILE_TRUNCATE},
    {do_stat, SYS_FILE_STAT_PATH},  {do_fstat, SYS_FILE_STAT},  {do_unlink, SYS_FILE_UNLINK}, {do_rmdir, SYS_FILE_UNLINK},
    {do_rename, SYS_FILE_RENAME},   {do_mkdir, SYS_FILE_MKDIR}, {do_list, SYS_FILE_LIST},     {do_dir, SYS_FILE_OPEN},
    {do_load, SYS_FILE_OPEN},       {do_load, SYS_FILE_STAT},   {do_load, SYS_FILE_READ},     {do_save, SYS_FILE_OPEN},
    {do_save, SYS_FILE_WRITE},      {do_save, SYS_FILE_CLOSE},
};

static void all_errors(void) {
    unsigned before = io_descriptors(), tried = 0;
    for (unsigned i = 0; i < sizeof failing / sizeof failing[0]; i++)
        for (int code = 1; code < 134; code++) {
            if (code == EINTR) continue;
            /* These mean "not now" to what can be waited for, as /dev/null and /proc seem to be. */
            if (code == EAGAIN || code == EOPNOTSUPP || code == ENOSYS)
                if (failing[i].call == do_save && failing[i].fails == SYS_FILE_WRITE) continue;
            sys_script.file[failing[i].fails].error = -code;
            EXPECT_EQ(failing[i].call(), -code);
            sys_script.file[failing[i].fails].error = 0;
            tried++;
        }
    printf("%u errors\n", tried);
    io_expect_descriptors(before);
}
static void every_error(void) {
    io_folder_begin();
    file = open(io_path("file"), O_RDWR | O_CREAT, 0600);
    EXPECT_EQ(write(file, "data", 4), 4);
    EXPECT_EQ(weft_dir_open("/", &directory), 0);
    io_run(all_errors);
    EXPECT_EQ(weft_dir_close(directory), 0);
    close(file);
    unlink(io_path("file"));
    io_folder_end();
}
TEST(file_every_error_of_every_call) { rt_each(every_error); }

/* Signals interrupt every second call, and only three bytes are moved at a time: the caller does not notice. */
static void interrupted(void) {
    sys_script.file_eintr_every = 2;
    io_folder_begin();
    io_run(calls);
    io_run(names);
    io_run(entries);
    sys_script.file_most = 3;
    io_run(without_length);
    sys_script.file_eintr_every = 0;
    sys_script.file_most = 1000;
    io_run(wholes);
    sys_script.file_most = 0;
    io_folder_end();
}
TEST(file_interrupted_calls_go_on) { rt_each(interrupted); }

static void stormy(void) {
    if (rt.workers != 2) return; /* it is a storm */
    io_storm_begin();
    each_call();
    whole_files();
    io_storm_end();
}
TEST(file_calls_in_a_storm_of_signals) { rt_each(stormy); }

/* ---- things run out ------------------------------------------------------------------------------------------------------ */

static void scarce_memory(void) {
    enum { NTH = 12 }; /* three are its own: the text, the text's final length, the directory; the runtime's threads have some too */
    unsigned descriptors = io_descriptors(), refused = 0;
    for (uint64_t n = 1; n <= NTH; n++) {
        sys_scripted_recount();
        sys_script.alloc_fail_at = n;
        int64_t loaded = do_load(), listed = do_dir();
        sys_script.alloc_fail_at = 0;
        EXPECT(loaded == 0 || loaded == WEFT_ENOMEM);
        EXPECT(listed == 0 || listed == WEFT_ENOMEM);
        refused += loaded != 0 || listed != 0;
        io_expect_descriptors(descriptors);
    }
    EXPECT(refused > 0 && refused < NTH);
    EXPECT(do_load() == 0 && do_dir() == 0);
} /* that nothing was lost is seen at the end */
static void without_memory(void) { io_run(scarce_memory); }
TEST(file_nth_allocation_fails) { rt_each(without_memory); }

static void scarce_descriptors(void) {
    struct rlimit before, none;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    int64_t opened = do_open(), loaded = do_load(), listed = do_dir();
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(opened, WEFT_EMFILE);
    EXPECT_EQ(loaded, WEFT_EMFILE);
    EXPECT_EQ(listed, WEFT_EMFILE);
}
static void without_descriptors(void) { io_run(scarce_descriptors); }
TEST(file_descriptors_run_out) { rt_each(without_descriptors); }

static void disk_is_full(void) {
    int full = weft_file_open("/dev/full", O_WRONLY, 0);
    size_t written = 77;
    EXPECT(full >= 0);
    EXPECT_EQ(weft_file_write(full, "x", 1, WEFT_FOREVER), WEFT_ENOSPC);
    EXPECT_EQ(weft_file_pwrite(full, "x", 1, 5), WEFT_ENOSPC);
    EXPECT_EQ(weft_file_write_all(full, "xyz", 3, &written, WEFT_FOREVER), WEFT_ENOSPC);
    EXPECT_EQ(written, 0);
    EXPECT_EQ(weft_file_close(full), 0);
}
static void full_disk(void) { io_run(disk_is_full); }
TEST(file_full_disk) { rt_each(full_disk); }

/* No thread to be had for a worker whose own is in a call: everything gets done, if later. */
static void reads_itself(void *arg) {
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(do_load(), 0);
        EXPECT_EQ(weft_file_datasync(*(int *)arg), 0);
        weft_yield();
    }
    atom_add_rel(&io_done, 1);
}
static void without_threads(void) {
    io_folder_begin();
    int synced = open(io_path("synced"), O_RDWR | O_CREAT, 0600);
    atom_store_rlx(&io_done, 0);
    sys_scripted_recount();
    sys_script.threads_limited = true;
    for (unsigned i = 0; i < 10; i++)
        io_spawn(reads_itself, &synced);
    rt_wait(&io_done, 10);
    sys_script.threads_limited = false;
    close(synced);
    unlink(io_path("synced"));
    io_folder_end();
}
TEST(file_threads_are_refused) { rt_each(without_threads); }

/* And the runtime stops while a worker still waits for a thread. */
static void syncs_once(void *arg) {
    weft_shield_begin();
    EXPECT_EQ(weft_file_datasync(*(int *)arg), 0);
    weft_shield_end();
}
static void stops_without_threads(const char *policy, unsigned workers) {
    for (unsigned i = 0; i < 30; i++) {
        rt_start(policy, workers);
        int synced = open("/tmp", O_RDONLY | O_DIRECTORY);
        sys_scripted_recount();
        sys_script.threads_limited = true;
        for (unsigned k = 0; k < 4; k++)
            io_spawn(syncs_once, &synced);
        rt_stop();
        close(synced);
    }
}
TEST(file_threads_are_refused_until_the_end) { rt_cases(stops_without_threads); }

/* ---- cancelled, misused ---------------------------------------------------------------------------------------------------- */

static void cancelled_body(void) {
    struct stat info;
    char byte;
    int opened = weft_file_open("/dev/zero", O_RDONLY, 0);
    weft_cancel(weft_self());
    EXPECT_EQ(weft_file_open("/dev/null", O_RDONLY, 0), WEFT_ECANCELED);
    EXPECT_EQ(weft_file_read(opened, &byte, 1, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(weft_file_pread(opened, &byte, 1, 0), WEFT_ECANCELED);
    EXPECT_EQ(weft_file_stat("/", &info), WEFT_ECANCELED);
    EXPECT_EQ(do_load(), WEFT_ECANCELED);
    EXPECT_EQ(do_dir(), WEFT_ECANCELED);
    weft_shield_begin();
    EXPECT_EQ(weft_file_read(opened, &byte, 1, WEFT_FOREVER), 1);
    EXPECT_EQ(do_load(), 0);
    weft_shield_end();
    EXPECT_EQ(weft_file_close(opened), 0); /* in every case */
    EXPECT_EQ(fcntl(opened, F_GETFD), -1);
}
static void cancelled_first(void) { io_run(cancelled_body); }
TEST(file_calls_of_a_cancelled_process) { rt_each(cancelled_first); }

static int step_reads(void *self, const weft_event *events, size_t count, weft_out *out) {
    char byte;
    (void)self, (void)events, (void)count, (void)out;
    weft_file_read(0, &byte, 1, WEFT_FOREVER);
    return 0;
}
static void misuse(void) {
    static const weft_behavior behavior = {.name = "reads", .step = step_reads};
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1}, &rt.runtime), 0);
    rt_spawn(&behavior);
    rt_pause(10 * RT_SECOND);
}
TEST(file_calls_abort_in_a_step_process) { EXPECT_ABORT(misuse, "weft_file_read", "step process", "yield a command"); }

/* What cannot be given up: the process is told afterwards. A runtime that stops says which process is still there, and nothing breaks when
 * the call comes back after all. */
static void opens_fifo(void *arg) {
    atom_add_rel(&io_done, 1);
    int fd = weft_file_open(arg, O_RDONLY, 0);
    EXPECT(fd >= 0); /* its result counts */
    EXPECT_EQ(weft_file_fstat(fd, &io_info), WEFT_ECANCELED);
    EXPECT_EQ(weft_file_close(fd), 0);
    atom_add_rel(&io_done, 1);
}
static void told_afterwards(void) {
    io_folder_begin();
    const char *path = io_path("fifo");
    EXPECT_EQ(mkfifo(path, 0600), 0);
    atom_store_rlx(&io_done, 0);
    weft_pid pid = io_spawn(opens_fifo, (void *)path);
    rt_wait(&io_done, 1);
    rt_pause(2 * RT_MS);
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_pause(2 * RT_MS);
    EXPECT_EQ(atom_load_acq(&io_done), 1);
    int other = open(path, O_WRONLY);
    rt_wait(&io_done, 2);
    close(other);
    unlink(path);
    io_folder_end();
}
TEST(file_calls_that_cannot_be_given_up) { rt_each(told_afterwards); }

static void waits_for_ever(void *arg) {
    atom_add_rel(&io_done, 1);
    weft_file_open(arg, O_RDONLY, 0);
    test_fail(__FILE__, __LINE__, "no thread runs it any more");
}
TEST(file_calls_that_outlast_the_runtime) {
    io_folder_begin();
    const char *path = io_path("fifo");
    EXPECT_EQ(mkfifo(path, 0600), 0);
    rt_start("ring", 2);
    weft_pid pid = io_spawn(waits_for_ever, (void *)path);
    rt_wait(&io_done, 1);
    rt_pause(2 * RT_MS);
    weft_stop_report report;
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_in(20 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 1);
    EXPECT_EQ(report.first[0], pid);
    rt_watch_end();
    int other = open(path, O_WRONLY);
    EXPECT(other >= 0);
    rt_pause(20 * RT_MS);
    close(other);
    unlink(path);
    io_folder_end();
}

/* ---- many at once ---------------------------------------------------------------------------------------------------------- */

enum { WRITERS = 40, LINES = 50 };
static int shared_file;
static void appends(void *arg) {
    char line[32];
    for (int i = 0; i < LINES; i++) {
        snprintf(line, sizeof line, "%7d%7d\n", (int)(uintptr_t)arg, i);
        EXPECT_EQ(weft_file_pwrite(shared_file, line, 15, ((int)(uintptr_t)arg * LINES + i) * 15), 15);
        if (i % 16 == 0) EXPECT_EQ(weft_file_datasync(shared_file), 0);
    }
    atom_add_rel(&io_done, 1);
}
static void many_writers(void) {
    io_folder_begin();
    const char *path = io_path("lines");
    shared_file = open(path, O_RDWR | O_CREAT, 0600);
    atom_store_rlx(&io_done, 0);
    for (uintptr_t i = 0; i < WRITERS; i++)
        io_spawn(appends, (void *)i);
    rt_wait(&io_done, WRITERS);
    char *text;
    size_t size;
    EXPECT_EQ(weft_file_load(path, &text, &size), 0);
    EXPECT_EQ(size, WRITERS * LINES * 15);
    for (int i = 0; i < WRITERS * LINES; i++) {
        char line[32];
        snprintf(line, sizeof line, "%7d%7d\n", i / LINES, i % LINES);
        EXPECT(memcmp(text + i * 15, line, 15) == 0);
    }
    weft_file_free(text, size);
    close(shared_file);
    unlink(path);
    io_folder_end();
}
TEST(file_many_processes_at_once) { rt_each(many_writers); }

int main(int argc, char **argv) { return test_main(argc, argv); }
