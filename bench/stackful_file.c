/* file: reads of 64 cached bytes through weft, and beside them in the same run plain ones: what a blocking call that does not block costs. */
#include "bench/trial.h"

#include <weft/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PORTION = 64, SOME = 1000 };

static uint64_t reads;
static int file;
static double plain_seconds, weft_seconds;

static void must_read(int64_t n) {
    if (n == PORTION) return;
    fprintf(stderr, "a read failed\n");
    exit(1);
}

/* In turns, so that both have the same weather. */
static void reader(void *unused) {
    char data[PORTION];
    (void)unused;
    plain_seconds = weft_seconds = 0;
    trial_begin();
    for (uint64_t done = 0; done < reads; done += SOME) {
        uint64_t start = bench_now();
        for (unsigned i = 0; i < SOME; i++)
            must_read(pread(file, data, PORTION, 0));
        plain_seconds += bench_since(start);
        start = bench_now();
        for (unsigned i = 0; i < SOME; i++)
            must_read(weft_file_pread(file, data, PORTION, 0));
        weft_seconds += bench_since(start);
    }
    trial_end();
}

static void run_file(const struct bench_args *args, struct bench_result *result) {
    file = trial_file(result, PORTION);
    if (file < 0) return;
    reads = (args->n + SOME - 1) / SOME * SOME;
    trial_run_stackful(args, result, reader, NULL);
    result->n = reads;
    result->seconds = weft_seconds;
    bench_extra(result, "plain_ns", plain_seconds / (double)reads * 1e9);
    close(file);
}
BENCH(file, .name = "file", .about = "read of 64 cached bytes, beside a plain pread", .kind = "stackful", .n = 200000, .run = run_file)
