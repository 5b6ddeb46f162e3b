/* The same at the highest level of optimisation: cmake/tests.cmake. */
#include "test_errno.c"
