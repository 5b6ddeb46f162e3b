/* Sets of events and relations between them, written as the papers write them.
 *
 *     a | b, a & b, a - b   union, intersection, difference
 *     seq(a, b, ...)        a ; b ; ...
 *     on(S)                 [S], the identity on S
 *     cross(S, T)           S x T
 *     opt(a) plus(a) star(a)  a?  a+  a* */
#pragma once

#include <cstdint>

enum { MAX_EVENTS = 48 };

typedef uint64_t Set;
inline Set just(unsigned event) { return Set(1) << event; }
inline bool has(Set set, unsigned event) { return set >> event & 1; }

struct Relation {
    unsigned n;         /* events in the execution */
    Set to[MAX_EVENTS]; /* what each is related to */

    explicit Relation(unsigned events) : n(events) {
        for (unsigned i = 0; i < n; i++)
            to[i] = 0;
    }
    bool operator()(unsigned a, unsigned b) const { return has(to[a], b); }
    void add(unsigned a, unsigned b) { to[a] |= just(b); }
};

inline Relation operator|(Relation a, const Relation &b) {
    for (unsigned i = 0; i < a.n; i++)
        a.to[i] |= b.to[i];
    return a;
}

inline Relation operator&(Relation a, const Relation &b) {
    for (unsigned i = 0; i < a.n; i++)
        a.to[i] &= b.to[i];
    return a;
}

inline Relation operator-(Relation a, const Relation &b) {
    for (unsigned i = 0; i < a.n; i++)
        a.to[i] &= ~b.to[i];
    return a;
}

inline Relation seq(const Relation &a, const Relation &b) {
    Relation result(a.n);
    for (unsigned i = 0; i < a.n; i++)
        for (Set rest = a.to[i]; rest; rest &= rest - 1)
            result.to[i] |= b.to[__builtin_ctzll(rest)];
    return result;
}

template <class... More> Relation seq(const Relation &a, const Relation &b, const Relation &c, const More &...more) {
    return seq(seq(a, b), c, more...);
}

inline Relation cross(unsigned n, Set from, Set to) {
    Relation result(n);
    for (unsigned i = 0; i < n; i++)
        if (has(from, i)) result.to[i] = to & (just(n) - 1);
    return result;
}

inline Relation inverse(const Relation &a) {
    Relation result(a.n);
    for (unsigned i = 0; i < a.n; i++)
        for (unsigned k = 0; k < a.n; k++)
            if (a(i, k)) result.add(k, i);
    return result;
}

inline Relation opt(Relation a) {
    for (unsigned i = 0; i < a.n; i++)
        a.add(i, i);
    return a;
}

inline Relation plus(Relation a) {
    for (unsigned k = 0; k < a.n; k++)
        for (unsigned i = 0; i < a.n; i++)
            if (a(i, k)) a.to[i] |= a.to[k];
    return a;
}

inline Relation star(const Relation &a) { return opt(plus(a)); }

inline bool irreflexive(const Relation &a) {
    for (unsigned i = 0; i < a.n; i++)
        if (a(i, i)) return false;
    return true;
}

inline bool acyclic(const Relation &a) { return irreflexive(plus(a)); }
