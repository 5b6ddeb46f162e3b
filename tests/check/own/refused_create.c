/* A scenario that starts a thread of its own: refused when it does. */
#include <pthread.h>
#include <weft/chk.h>

static void *entry(void *arg) { return arg; }
static void starts(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, entry, NULL);
}
CHK_SCENARIO(starts_thread, .threads = {starts})

/* A file's own main is not called. */
int main(void) { return 1; }
