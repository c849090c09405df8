/*
 * MEGA_UP_TO(N, f, (0, 0), arguments) calls f with N arguments: those that the program gives, and
 * as many of the zeros as it takes. N less the zeros must be given; more than N are all passed, so
 * that the compiler refuses them, by the name of the function.
 */
#ifndef RTL_OPTIONAL_H
#define RTL_OPTIONAL_H

#define MEGA_UP_TO(n, f, zeros, ...)                             \
    MEGA_PASS(MEGA_FIRST_##n, f, (MEGA_BEHIND_##n(__VA_ARGS__)), \
              __VA_ARGS__ __VA_OPT__(, ) MEGA_WITHOUT_PARENS zeros)

#define MEGA_PASS(first, f, rest, ...) first(f, rest, __VA_ARGS__)
#define MEGA_WITHOUT_PARENS(...)       __VA_ARGS__
#define MEGA_AND(...)                  __VA_OPT__(, ) __VA_ARGS__

/* What is behind the first N arguments; nothing, if that is all. */
#define MEGA_BEHIND_1(...)      __VA_OPT__(MEGA_BEHIND_ONE(__VA_ARGS__))
#define MEGA_BEHIND_ONE(a, ...) __VA_ARGS__
#define MEGA_BEHIND_2(...)      MEGA_BEHIND_1(MEGA_BEHIND_1(__VA_ARGS__))
#define MEGA_BEHIND_3(...)      MEGA_BEHIND_1(MEGA_BEHIND_2(__VA_ARGS__))
#define MEGA_BEHIND_4(...)      MEGA_BEHIND_1(MEGA_BEHIND_3(__VA_ARGS__))
#define MEGA_BEHIND_5(...)      MEGA_BEHIND_1(MEGA_BEHIND_4(__VA_ARGS__))
#define MEGA_BEHIND_6(...)      MEGA_BEHIND_1(MEGA_BEHIND_5(__VA_ARGS__))
#define MEGA_BEHIND_7(...)      MEGA_BEHIND_1(MEGA_BEHIND_6(__VA_ARGS__))
#define MEGA_BEHIND_8(...)      MEGA_BEHIND_1(MEGA_BEHIND_7(__VA_ARGS__))
#define MEGA_BEHIND_9(...)      MEGA_BEHIND_1(MEGA_BEHIND_8(__VA_ARGS__))
#define MEGA_BEHIND_10(...)     MEGA_BEHIND_1(MEGA_BEHIND_9(__VA_ARGS__))
#define MEGA_BEHIND_11(...)     MEGA_BEHIND_1(MEGA_BEHIND_10(__VA_ARGS__))
#define MEGA_BEHIND_12(...)     MEGA_BEHIND_1(MEGA_BEHIND_11(__VA_ARGS__))
#define MEGA_BEHIND_13(...)     MEGA_BEHIND_1(MEGA_BEHIND_12(__VA_ARGS__))
#define MEGA_BEHIND_14(...)     MEGA_BEHIND_1(MEGA_BEHIND_13(__VA_ARGS__))
#define MEGA_BEHIND_15(...)     MEGA_BEHIND_1(MEGA_BEHIND_14(__VA_ARGS__))

/* f with the first N arguments, then those in parentheses. */
#define MEGA_FIRST_1(f, rest, a, ...)                      (f)(a MEGA_AND rest)
#define MEGA_FIRST_2(f, rest, a, b, ...)                   (f)(a, b MEGA_AND rest)
#define MEGA_FIRST_3(f, rest, a, b, c, ...)                (f)(a, b, c MEGA_AND rest)
#define MEGA_FIRST_4(f, rest, a, b, c, d, ...)             (f)(a, b, c, d MEGA_AND rest)
#define MEGA_FIRST_5(f, rest, a, b, c, d, e, ...)          (f)(a, b, c, d, e MEGA_AND rest)
#define MEGA_FIRST_6(f, rest, a, b, c, d, e, g, ...)       (f)(a, b, c, d, e, g MEGA_AND rest)
#define MEGA_FIRST_7(f, rest, a, b, c, d, e, g, h, ...)    (f)(a, b, c, d, e, g, h MEGA_AND rest)
#define MEGA_FIRST_8(f, rest, a, b, c, d, e, g, h, i, ...) (f)(a, b, c, d, e, g, h, i MEGA_AND rest)
#define MEGA_FIRST_9(f, rest, a, b, c, d, e, g, h, i, j, ...) \
    (f)(a, b, c, d, e, g, h, i, j MEGA_AND rest)
#define MEGA_FIRST_10(f, rest, a, b, c, d, e, g, h, i, j, k, ...) \
    (f)(a, b, c, d, e, g, h, i, j, k MEGA_AND rest)
#define MEGA_FIRST_11(f, rest, a, b, c, d, e, g, h, i, j, k, l, ...) \
    (f)(a, b, c, d, e, g, h, i, j, k, l MEGA_AND rest)
#define MEGA_FIRST_12(f, rest, a, b, c, d, e, g, h, i, j, k, l, m, ...) \
    (f)(a, b, c, d, e, g, h, i, j, k, l, m MEGA_AND rest)
#define MEGA_FIRST_13(f, rest, a, b, c, d, e, g, h, i, j, k, l, m, n, ...) \
    (f)(a, b, c, d, e, g, h, i, j, k, l, m, n MEGA_AND rest)
#define MEGA_FIRST_14(f, rest, a, b, c, d, e, g, h, i, j, k, l, m, n, o, ...) \
    (f)(a, b, c, d, e, g, h, i, j, k, l, m, n, o MEGA_AND rest)
#define MEGA_FIRST_15(f, rest, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, ...) \
    (f)(a, b, c, d, e, g, h, i, j, k, l, m, n, o, p MEGA_AND rest)

#endif
