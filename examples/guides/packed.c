/* Many processes that wait for long, with packed stacks; what each of them takes is measured.
 *
 *     packed --self-test [PROCESSES] */
#include <weft/weft.h>

#include <stdio.h>
#include <unistd.h>

enum { MOST = 10000000, PING = 1, PONG };

/* No address of a local variable leaves the process. */
static void waits(void *first) {
    weft_msg *message;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_send((weft_pid)(uintptr_t)first, PONG, NULL, 0);
        weft_msg_free(message);
    }
}

/* Bytes of memory that the program has now. */
static size_t memory(void) {
    char *text;
    size_t size, whole = 0, resident = 0;
    if (weft_file_load("/proc/self/statm", &text, &size) != 0) return 0;
    if (sscanf(text, "%zu %zu", &whole, &resident) != 2) resident = 0;
    weft_file_free(text, size);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static bool count_packed(const weft_process_info *info, void *count) {
    *(size_t *)count += info->packed;
    return true;
}
/* Waits until so many are packed: a second after they began to wait, and a little longer on a busy machine. */
static bool all_packed(size_t wanted) {
    for (int tries = 0; tries < 600; tries++) {
        size_t packed = 0;
        weft_each_process(weft_own_runtime(), count_packed, &packed);
        if (packed >= wanted) return true;
        if (weft_sleep(50 * WEFT_MILLISECOND) != 0) return false;
    }
    return false;
}

static int app(int argc, char **argv) {
    size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 10000;
    weft_stackful_options options = {.name = "waits", .flags = WEFT_SPAWN_PACK};
    weft_pid *pids = count > 0 && count <= MOST ? malloc(count * sizeof *pids) : NULL;
    if (!pids) return 1;
    size_t before = memory();
    for (size_t i = 0; i < count; i++) {
        int error = weft_spawn_with(waits, (void *)(uintptr_t)weft_self(), &options, &pids[i]);
        if (error) {
            fprintf(stderr, "packed: process %zu: %s\n", i, weft_strerror(error));
            return 1;
        }
    }
    bool packed = all_packed(count);
    size_t each = (memory() - before) / count;
    fprintf(stderr, "%zu bytes each\n", each);
    printf("%s, %s\n", packed ? "all are packed" : "not packed", each < 2000 ? "and take less than half a page each" : "and take more");

    weft_msg *pong;
    size_t answers = 0;
    for (size_t i = 0; i < count; i += count / 100 + 1) /* those that are woken unpack themselves */
        if (weft_send(pids[i], PING, NULL, 0) == 0 && weft_recv(&pong, weft_in(10 * WEFT_SECOND)) == 0) weft_msg_free(pong), answers++;
    printf("%s\n", answers == (count + count / 100) / (count / 100 + 1) ? "those that were asked have answered" : "some have not answered");
    free(pids);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
/* Prints:
 * all are packed, and take less than half a page each
 * those that were asked have answered
 */
