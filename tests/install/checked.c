/* A program with a fault that a checking build finds, chosen by its argument; without one it has none. */
#include <weft/weft.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static weft_mutex mutex;
static int shared, there;

static void *adds(void *arg) {
    (void)arg;
    __atomic_store_n(&there, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 10000; i++) /* two accesses at the very same time may escape the sanitizer */
        shared++;
    return NULL;
}

/* Both add at about the same time, and nothing orders them. */
static void races(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, adds, NULL) != 0) return;
    while (!__atomic_load_n(&there, __ATOMIC_RELAXED)) {}
    for (int i = 0; i < 10000; i++)
        shared++;
    pthread_join(thread, NULL);
}

static int app(int argc, char **argv) {
    const char *fault = argc > 1 ? argv[1] : "";
    weft_msg *message;
    weft_send(weft_self(), 7, "abc", 3);
    weft_recv(&message, WEFT_FOREVER);
    if (strcmp(fault, "twice") == 0) weft_msg_free(message);
    if (strcmp(fault, "lock") == 0) weft_mutex_lock(&mutex, WEFT_FOREVER);
    if (strcmp(fault, "race") == 0) races();
    if (strcmp(fault, "duration") == 0) weft_sem_acquire(&(weft_sem){{0}}, 1, WEFT_SECOND);
    if (strcmp(fault, "never") != 0) weft_msg_free(message);
    puts("done");
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
