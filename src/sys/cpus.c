/* How many CPUs the cgroups of this program allow.
 *
 * A quota may be set on any group from ours up to the root, in version 2 (cpu.max) or 1 (cpu.cfs_quota_us over
 * cpu.cfs_period_us); the smallest counts. Inside a container /proc/self/cgroup may name a path that is not visible
 * there: walking up ends at the mount's root, which then is the container's own group. A file that is missing or
 * makes no sense sets no limit. */
#include "sys/sys.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_PATH = 4096, CPUS_TEXT = 8192 };

/* Reads a small file as a string; false when there is none. */
static bool cpus_read(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t used = 0;
    for (ssize_t n; used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    close(fd);
    text[used] = '\0';
    return used > 0;
}

/* quota / period, rounded up. */
static unsigned cpus_ratio(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return UINT_MAX; /* "max" (which reads as 0) and -1: no limit */
    long long cpus = quota / period + (quota % period != 0);
    return cpus < UINT_MAX ? (unsigned)cpus : UINT_MAX;
}

/* The quota of the one group in directory `dir`, by version 2 files and then by version 1 files. */
static unsigned cpus_group(const char *dir) {
    char path[CPUS_PATH + 32], text[128];
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (cpus_read(path, text, sizeof text)) {
        char *rest;
        long long quota = strtoll(text, &rest, 10);
        return cpus_ratio(quota, strtoll(rest, NULL, 10));
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    if (!cpus_read(path, text, sizeof text)) return UINT_MAX;
    long long quota = strtoll(text, NULL, 10);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    if (!cpus_read(path, text, sizeof text)) return UINT_MAX;
    return cpus_ratio(quota, strtoll(text, NULL, 10));
}

/* The smallest quota on the way from `group` up to the mount point itself. */
static unsigned cpus_walk(const char *root, const char *mount, const char *group) {
    char dir[CPUS_PATH];
    int used = snprintf(dir, sizeof dir, "%s/sys/fs/cgroup%s", root, mount);
    if (used < 0 || used + strlen(group) >= sizeof dir) return UINT_MAX;
    strcpy(dir + used, group);
    unsigned least = UINT_MAX;
    for (;;) {
        unsigned here = cpus_group(dir);
        if (here < least) least = here;
        char *slash = strrchr(dir + used, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

/* True when the comma separated `names` contain `name`. */
static bool cpus_names(const char *names, const char *name) {
    size_t length = strlen(name);
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        if (n == length && memcmp(at, name, n) == 0) return true;
        at += n + (at[n] == ',');
    }
    return false;
}

/* One line of /proc/self/cgroup, "number:controllers:/path". */
static unsigned cpus_line(const char *root, char *line) {
    char *controllers = strchr(line, ':');
    if (!controllers) return UINT_MAX;
    char *group = strchr(++controllers, ':');
    if (!group) return UINT_MAX;
    *group++ = '\0';
    static const char *const everything[] = {"", "/unified"};
    static const char *const cpu_only[] = {"/cpu", "/cpu,cpuacct", "/cpuacct,cpu"};
    const char *const *mounts = everything;
    unsigned count = 2;
    if (*controllers) {
        if (!cpus_names(controllers, "cpu")) return UINT_MAX;
        mounts = cpu_only;
        count = 3;
    }
    unsigned least = UINT_MAX;
    for (unsigned i = 0; i < count; i++) {
        unsigned here = cpus_walk(root, mounts[i], group);
        if (here < least) least = here;
    }
    return least;
}

unsigned sys_cpus_quota(const char *root) {
    char path[CPUS_PATH], text[CPUS_TEXT];
    int used = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (used < 0 || used >= CPUS_PATH || !cpus_read(path, text, sizeof text)) return UINT_MAX;
    unsigned least = UINT_MAX;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        unsigned here = cpus_line(root, line);
        if (here < least) least = here;
    }
    return least;
}
