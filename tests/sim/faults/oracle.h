/* What the programs of this directory share: ordinary programs, each with a statement about itself that a fault makes false. */
#ifndef WEFT_TESTS_SIM_FAULTS_ORACLE_H
#define WEFT_TESTS_SIM_FAULTS_ORACLE_H

#include <weft/weft.h>

#include <stdio.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

/* Ends the program with a sentence if the statement is false. */
#define MUST(statement, sentence)                                                                                                          \
    do {                                                                                                                                   \
        if (!(statement)) {                                                                                                                \
            fprintf(stderr, "wrong: %s (%s)\n", sentence, #statement);                                                                     \
            _exit(1);                                                                                                                      \
        }                                                                                                                                  \
    } while (0)

#endif
