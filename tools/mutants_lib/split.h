/* For mutants: read-modify-writes in two steps, each as strong as can be, so that only their being one step is lost. */
#define MUTANT_SPLIT(a, v, operation)                                                                                                      \
    ({                                                                                                                                     \
        __auto_type mutant_a = (a);                                                                                                        \
        __auto_type mutant_old = atom_load_sc(mutant_a);                                                                                   \
        __auto_type mutant_v = (v);                                                                                                        \
        (void)mutant_v;                                                                                                                    \
        atom_store_sc(mutant_a, operation);                                                                                                \
        mutant_old;                                                                                                                        \
    })
#define mutant_swap(a, v) MUTANT_SPLIT(a, v, mutant_v)
#define mutant_add(a, v) MUTANT_SPLIT(a, v, mutant_old + mutant_v)
#define mutant_sub(a, v) MUTANT_SPLIT(a, v, mutant_old - mutant_v)
#define mutant_or(a, v) MUTANT_SPLIT(a, v, mutant_old | mutant_v)
#define mutant_and(a, v) MUTANT_SPLIT(a, v, mutant_old &mutant_v)
#define mutant_cas(a, expected, v)                                                                                                         \
    ({                                                                                                                                     \
        __auto_type mutant_a = (a);                                                                                                        \
        __auto_type mutant_expected = (expected);                                                                                          \
        __auto_type mutant_old = atom_load_sc(mutant_a);                                                                                   \
        bool mutant_same = mutant_old == *mutant_expected;                                                                                 \
        if (mutant_same) atom_store_sc(mutant_a, (v));                                                                                     \
        else *mutant_expected = mutant_old;                                                                                                \
        mutant_same;                                                                                                                       \
    })
