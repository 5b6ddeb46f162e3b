/* A reader for names as the Itanium C++ ABI encodes them, as far as reports need it: see fiber/demangle.h.
 *
 *   name       N component... E  |  Z function parameters E name  |  component [template arguments]
 *   component  3abc  |  L3abc (static)  |  St (std)  |  UlvE_ (lambda)  |  3$_0 (lambda, by clang)  |  cl (the operator of a lambda)
 *              |  C and D with a number (constructor, destructor)
 *
 * Whatever else comes makes it give up. Types are only passed over. */
#include "fiber/demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DEMANGLE_DEEPEST = 24 };

struct demangle {
    const char *at;
    char *text;
    size_t size, used;
    unsigned depth;
};

static const char closure[] = "weft::detail::closure"; /* of weft.hpp */

static bool demangle_is_of(char letter, const char *letters) { return letter && strchr(letters, letter); }

static void demangle_put(struct demangle *own, const char *part, size_t length) {
    for (size_t i = 0; i < length && own->used + 1 < own->size; i++)
        own->text[own->used++] = part[i];
    own->text[own->used] = '\0';
}
static bool demangle_put_part(struct demangle *own, size_t begin, const char *part, size_t length) {
    if (own->used > begin) demangle_put(own, "::", 2);
    demangle_put(own, part, length);
    return true;
}

/* The length of 3abc, whose first letter is then next; 0: it is none. */
static size_t demangle_length(struct demangle *own) {
    size_t length = 0;
    while (isdigit((unsigned char)*own->at) && length < 1000)
        length = length * 10 + (size_t)(*own->at++ - '0');
    return strnlen(own->at, length) == length ? length : 0;
}
/* [number] _ */
static bool demangle_pass_number(struct demangle *own) {
    while (isdigit((unsigned char)*own->at) || isupper((unsigned char)*own->at))
        own->at++;
    return *own->at++ == '_';
}

/* ---- types ------------------------------------------------------------------------------------------------------------------------ */

static bool demangle_pass_to_end(struct demangle *own);

static bool demangle_pass_lambda(struct demangle *own) {
    own->at += 2;
    return demangle_pass_to_end(own) && demangle_pass_number(own);
}
/* What does not consist of one letter. */
static bool demangle_pass_one(struct demangle *own) {
    char first = own->at[0], second = own->at[1];
    if (isdigit((unsigned char)first)) {
        size_t length = demangle_length(own);
        own->at += length;
        return length > 0;
    }
    if (first == 'U' && second == 'l') return demangle_pass_lambda(own);
    own->at++;
    if (demangle_is_of(first, "NIFXJZ")) return demangle_pass_to_end(own);
    if (first == 'T' || first == 'A' || (first == 'U' && second == 't')) return own->at += first == 'U', demangle_pass_number(own);
    if (first == 'S') return islower((unsigned char)second) ? own->at++, true : demangle_pass_number(own);
    if (first == '_') return own->at += isdigit((unsigned char)second) != 0, true;
    if (first == 'D') return own->at++, second == 'T' || second == 't' ? demangle_pass_to_end(own) : second != '\0';
    if (first == 'L' && !isdigit((unsigned char)second)) { /* a number */
        own->at += strcspn(own->at, "E");
        return *own->at++ == 'E';
    }
    return true;
}
/* Past the E that ends this. */
static bool demangle_pass_to_end(struct demangle *own) {
    bool known = ++own->depth < DEMANGLE_DEEPEST;
    while (known && *own->at && *own->at != 'E')
        known = demangle_pass_one(own);
    own->depth--;
    return known && *own->at++ == 'E';
}

/* ---- names ------------------------------------------------------------------------------------------------------------------------ */

static bool demangle_name(struct demangle *own);

/* Of what was just written, from `begin` on. A closure is named by its function object. */
static bool demangle_arguments(struct demangle *own, size_t begin, bool *whole) {
    bool is_closure = strcmp(own->text + begin, closure) == 0;
    own->at++;
    if (!is_closure || !demangle_is_of(*own->at, "NZ")) return demangle_pass_to_end(own);
    own->used = begin;
    *whole = true;
    return demangle_name(own);
}

static bool demangle_component(struct demangle *own, size_t begin) {
    if (strncmp(own->at, "St", 2) == 0) return own->at += 2, demangle_put_part(own, begin, "std", 3);
    if (strncmp(own->at, "cl", 2) == 0) return own->at += 2, true;
    if (strncmp(own->at, "Ul", 2) == 0) return demangle_put_part(own, begin, "{lambda}", 8), demangle_pass_lambda(own);
    if (demangle_is_of(*own->at, "CD") && isdigit((unsigned char)own->at[1])) {
        demangle_put_part(own, begin, *own->at == 'C' ? "{constructor}" : "{destructor}", *own->at == 'C' ? 13 : 12);
        return own->at += 2, true;
    }
    own->at += *own->at == 'L';
    size_t length = demangle_length(own);
    if (length == 0) return false;
    const char *name = own->at;
    own->at += length;
    if (strncmp(name, "_GLOBAL__N", 10) == 0) return demangle_put_part(own, begin, "{unnamed}", 9);
    if (strncmp(name, "$_", 2) == 0) return demangle_put_part(own, begin, "{lambda}", 8);
    demangle_put_part(own, begin, name, length);
    return true;
}

static bool demangle_nested(struct demangle *own) {
    size_t begin = own->used;
    bool known = true, whole = false;
    own->at += 1 + strspn(own->at + 1, "rVKRO");
    while (known && !whole && *own->at != 'E')
        known = *own->at == 'I' ? demangle_arguments(own, begin, &whole) : demangle_component(own, begin);
    return known && (whole || *own->at++ == 'E');
}

/* A name in a function. */
static bool demangle_local(struct demangle *own) {
    own->at++;
    if (!demangle_name(own) || !demangle_pass_to_end(own)) return false;
    if (*own->at == 's') return true; /* a string */
    demangle_put(own, "::", 2);
    return demangle_name(own);
}

static bool demangle_name(struct demangle *own) {
    if (++own->depth >= DEMANGLE_DEEPEST) return false;
    bool known;
    if (*own->at == 'N') known = demangle_nested(own);
    else if (*own->at == 'Z') known = demangle_local(own);
    else {
        size_t begin = own->used;
        bool std = strncmp(own->at, "St", 2) == 0;
        known = demangle_component(own, begin) && (!std || demangle_component(own, begin));
        if (known && *own->at == 'I') own->at++, known = demangle_pass_to_end(own);
    }
    own->depth--;
    return known;
}

void demangle(const char *mangled, char *text, size_t size) {
    struct demangle own = {.at = mangled + 2, .text = text, .size = size};
    if (strncmp(mangled, "_Z", 2) != 0 || !demangle_name(&own)) snprintf(text, size, "%s", mangled);
}
