/* How the public headers declare things: what is exported from the shared library, and C linkage for C++. */
#ifndef WEFT_API_H
#define WEFT_API_H

/* The library is compiled with hidden visibility; a function with this mark is part of its interface. */
#define WEFT_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define WEFT_BEGIN extern "C" {
#define WEFT_END }
#else
#define WEFT_BEGIN
#define WEFT_END
#endif

/* Structs that grow. A later version of weft may have more fields in a struct that a program fills in for a call (weft_config, the options
 * of spawning) or has filled in by one (weft_stats, weft_stop_report). New fields come at its end. A call with such a struct is an inline
 * function here; it gives the struct's size, as this header knows it, to a function of the library whose name ends in _sized. So program
 * and library may be of different versions:
 *
 *   - The library reads and writes no byte beyond the caller's size. A field that only the library knows counts as 0, which always means
 *     "as before".
 *   - A field that only the program knows is set to 0 where the library fills the struct in. Where the program fills it in it must be 0,
 *     otherwise the call returns WEFT_EINVAL: the program wants what this library cannot do.
 *
 * Zero such a struct before filling it in: weft_config config = {.workers = 4}. Callers from other languages call the _sized functions. All
 * other structs never change: weft_event, weft_request, weft_completion, weft_timer, weft_case, weft_bytes, weft_addr, weft_signal, weft_task, and those
 * with opaque or reserved fields. */

#endif
