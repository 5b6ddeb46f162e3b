/* The build's switches, each 0 or 1, tested with #if.
 *
 *   WEFT_CHECK   the code is explored by the model checker: tiny capacities, indices just before wrap-around. Always
 *                given on the command line.
 *   WEFT_DEBUG   debug assertions. On by default under the checker and off otherwise; debug and sanitizer builds give
 *                -DWEFT_DEBUG=1.
 *   WEFT_SIM     the library runs in a simulation (sim/): atomic operations, spins and blocking functions are points at which another
 *                thread may be given its turn.
 *   WEFT_CARES   names may be resolved by c-ares, whose header was found by the build. */
#ifndef WEFT_BASE_CONFIG_H
#define WEFT_BASE_CONFIG_H

#if !defined(WEFT_CHECK)
#error "give -DWEFT_CHECK=0 or -DWEFT_CHECK=1"
#endif

#if !defined(WEFT_DEBUG)
#define WEFT_DEBUG WEFT_CHECK
#endif

#if !defined(WEFT_SIM)
#define WEFT_SIM 0
#endif

#if WEFT_SIM /* names come from the simulation's table */
#undef WEFT_CARES
#endif
#if !defined(WEFT_CARES)
#define WEFT_CARES 0
#endif

enum { CONFIG_CACHE_LINE = 64 };

#endif
