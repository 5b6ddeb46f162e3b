/* A lock for exactly two parties, from loads and stores alone. */
#include <weft/synch2.h>

#include <pthread.h>
#include <stdio.h>

static weft_synch2 door; /* zeroed memory is ready for use */
static long turns;

static void *party(void *argument) {
    unsigned role = *(unsigned *)argument; /* 0 or 1 */
    for (int i = 0; i < 10000; i++) {
        weft_synch2_enter(&door, role);
        turns++; /* never both at once; the one that waits is passed at most once */
        weft_synch2_leave(&door, role);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    unsigned roles[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, party, &roles[i]) != 0) return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld turns\n", turns);
    return 0;
}
/* Prints:
 * 20000 turns
 */
