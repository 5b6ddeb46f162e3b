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

#endif
