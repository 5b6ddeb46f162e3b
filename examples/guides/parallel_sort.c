/* Sorts the lines of a file on all cores, as `LC_ALL=C sort --stable` does.
 *
 *     parallel_sort FILE                to standard output
 *     parallel_sort --self-test [N]     N lines, beside qsort
 *
 * A merge sort in which the halves are sorted in parallel, and merged in parallel, too. */
#include <weft/weft.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 32, MERGE_SMALL = 2048 };

struct line {
    const char *text;
    size_t size;
};

static int compare(const struct line *a, const struct line *b) {
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* ---- merging: equal lines of `a` come before those of `b` -------------------------------------------------------------------------- */

/* How many of the n sorted lines come before this one; equal ones count, or they do not. */
static size_t before(const struct line *sorted, size_t n, const struct line *line, bool equal_count) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&sorted[middle], line) < (equal_count ? 1 : 0)) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void merge_plainly(const struct line *a, size_t na, const struct line *b, size_t nb, struct line *out) {
    while (na && nb) {
        if (compare(b, a) < 0) *out++ = *b++, nb--;
        else *out++ = *a++, na--;
    }
    memcpy(out, na ? a : b, (na ? na : nb) * sizeof *out); /* one of the two is used up */
}

/* Cuts the longer one in the middle, the other one where that line belongs, and merges both parts at the same time. */
WEFT_VOID_TASK(merge, const struct line *, a, size_t, na, const struct line *, b, size_t, nb, struct line *, out) {
    size_t half_a, half_b;
    if (na + nb <= MERGE_SMALL) {
        merge_plainly(a, na, b, nb, out);
        return;
    }
    if (na >= nb) {
        half_a = na / 2;
        half_b = before(b, nb, &a[half_a], false);
    } else {
        half_b = nb / 2;
        half_a = before(a, na, &b[half_b], true);
    }
    WEFT_FORK(merge, a, half_a, b, half_b, out);
    WEFT_CALL(merge, a + half_a, na - half_a, b + half_b, nb - half_b, out + half_a + half_b);
    WEFT_JOIN(merge);
}

/* ---- sorting ---------------------------------------------------------------------------------------------------------------------- */

static void sort_small(struct line *lines, size_t n) {
    for (size_t i = 1; i < n; i++) {
        struct line line = lines[i];
        size_t k = i;
        for (; k > 0 && compare(&line, &lines[k - 1]) < 0; k--)
            lines[k] = lines[k - 1];
        lines[k] = line;
    }
}

/* Sorts the n lines; the result is in `lines`, or in `spare` if so asked for. Both have room for n. */
WEFT_VOID_TASK(sort, struct line *, lines, struct line *, spare, size_t, n, bool, to_spare) {
    if (n <= SMALL) {
        sort_small(lines, n);
        if (to_spare) memcpy(spare, lines, n * sizeof *lines);
        return;
    }
    if (weft_fork_cancelled()) return; /* the caller looks at that, too */
    size_t half = n / 2;
    WEFT_FORK(sort, lines, spare, half, !to_spare);
    WEFT_CALL(sort, lines + half, spare + half, n - half, !to_spare);
    WEFT_JOIN(sort);
    struct line *from = to_spare ? lines : spare, *to = to_spare ? spare : lines;
    WEFT_CALL(merge, from, half, from + half, n - half, to);
}

/* 0, or WEFT_ENOMEM, WEFT_ECANCELED. In a stackful process. */
static int sort_lines(struct line *lines, size_t n) {
    struct line *spare = n ? malloc(n * sizeof *spare) : NULL;
    if (n && !spare) return WEFT_ENOMEM;
    WEFT_RUN(sort, lines, spare, n, false);
    free(spare);
    return weft_cancelled() ? WEFT_ECANCELED : 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------------ */

static int cut(const char *text, size_t size, struct line **lines, size_t *count) {
    size_t n = 0;
    for (const char *at = text, *end = text + size; at < end; n++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    *count = n;
    if (!(*lines = malloc((n ? n : 1) * sizeof **lines))) return WEFT_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *newline = memchr(text, '\n', size);
        size_t length = newline ? (size_t)(newline - text) : size;
        (*lines)[i] = (struct line){text, length};
        if (newline) length++;
        text += length, size -= length;
    }
    return 0;
}

/* Some hundred lines with each call: writev(2) takes them from where they are. */
static int print_lines(const struct line *lines, size_t n) {
    struct iovec parts[512];
    for (size_t i = 0; i < n;) {
        int count = 0;
        for (; i < n && count < 512; i++) {
            parts[count++] = (struct iovec){(char *)(uintptr_t)lines[i].text, lines[i].size};
            parts[count++] = (struct iovec){"\n", 1};
        }
        int error = weft_file_writev_all(STDOUT_FILENO, parts, count, NULL, WEFT_FOREVER);
        if (error) return error;
    }
    return 0;
}

static int sort_file(const char *path) {
    char *text;
    struct line *lines = NULL;
    size_t size, count;
    int error = weft_file_load(path, &text, &size);
    if (!error) error = cut(text, size, &lines, &count);
    if (!error) error = sort_lines(lines, count);
    if (!error) error = print_lines(lines, count);
    free(lines);
    weft_file_free(text, size);
    if (error) fprintf(stderr, "parallel_sort: %s: %s\n", path, weft_strerror(error));
    return error ? 1 : 0;
}

/* ---- a test ----------------------------------------------------------------------------------------------------------------------- */

/* qsort is not stable: equal lines by where they are in the text. */
static int compare_places(const void *a, const void *b) {
    const struct line *left = a, *right = b;
    int order = compare(left, right);
    return order ? order : (left->text > right->text) - (left->text < right->text);
}

static int self_test(size_t n) {
    char *text = malloc(n * 8);
    struct line *lines = malloc(n * sizeof *lines), *wanted = malloc(n * sizeof *wanted);
    uint64_t random = 1;
    int error = text && lines && wanted ? 0 : WEFT_ENOMEM;
    for (size_t i = 0; i < n && !error; i++) { /* many are equal */
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        int size = snprintf(text + i * 8, 8, "%u", (unsigned)(random >> 33) % (unsigned)(n / 4 + 1));
        lines[i] = wanted[i] = (struct line){text + i * 8, (size_t)size};
    }
    if (!error) error = sort_lines(lines, n);
    if (!error) qsort(wanted, n, sizeof *wanted, compare_places);
    if (error) printf("%s\n", weft_strerror(error));
    else printf("%s\n", memcmp(lines, wanted, n * sizeof *lines) == 0 ? "sorted, and equal lines are in their order" : "wrong");
    free(text), free(lines), free(wanted);
    return error ? 1 : 0;
}

static int app(int argc, char **argv) {
    bool test = argc >= 2 && strcmp(argv[1], "--self-test") == 0;
    long count = argc == 3 ? atol(argv[2]) : 100000;
    if (test && argc <= 3 && count > 0 && count <= 1000000) return self_test((size_t)count);
    if (!test && argc == 2) return sort_file(argv[1]);
    fprintf(stderr, "usage: parallel_sort FILE | --self-test [N]\n");
    return 2;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * sorted, and equal lines are in their order
 */
