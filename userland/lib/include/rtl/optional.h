/* MEGA_FIRST_N calls f with the first N arguments. A macro that appends N - M zeros to its
 * arguments thereby requires at least M of them. */
#ifndef RTL_OPTIONAL_H
#define RTL_OPTIONAL_H

#define MEGA_FIRST_2(f, a, b, ...)                          (f)(a, b)
#define MEGA_FIRST_3(f, a, b, c, ...)                       (f)(a, b, c)
#define MEGA_FIRST_4(f, a, b, c, d, ...)                    (f)(a, b, c, d)
#define MEGA_FIRST_5(f, a, b, c, d, e, ...)                 (f)(a, b, c, d, e)
#define MEGA_FIRST_6(f, a, b, c, d, e, g, ...)              (f)(a, b, c, d, e, g)
#define MEGA_FIRST_7(f, a, b, c, d, e, g, h, ...)           (f)(a, b, c, d, e, g, h)
#define MEGA_FIRST_8(f, a, b, c, d, e, g, h, i, ...)        (f)(a, b, c, d, e, g, h, i)
#define MEGA_FIRST_9(f, a, b, c, d, e, g, h, i, j, ...)     (f)(a, b, c, d, e, g, h, i, j)
#define MEGA_FIRST_10(f, a, b, c, d, e, g, h, i, j, k, ...) (f)(a, b, c, d, e, g, h, i, j, k)
#define MEGA_FIRST_12(f, a, b, c, d, e, g, h, i, j, k, l, m, ...) \
    (f)(a, b, c, d, e, g, h, i, j, k, l, m)
#define MEGA_FIRST_13(f, a, b, c, d, e, g, h, i, j, k, l, m, n, ...) \
    (f)(a, b, c, d, e, g, h, i, j, k, l, m, n)
#define MEGA_FIRST_14(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, ...) \
    (f)(a, b, c, d, e, g, h, i, j, k, l, m, n, o)

#endif
