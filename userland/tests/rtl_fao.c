// TAP
// RUN: --smp 1
/*
 * $FAO and its relatives: the cases of rtl_fao.inc by $FAOL_64, those without addresses also by
 * $FAOL, some by $FAO; and what happens at the end of a buffer. The unit test of the same name
 * includes this file.
 */
#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tap.h>

static $DESCRIPTOR(blinken, "BLINKEN");
static $DESCRIPTOR64(wide, "WIDE");
static struct {
    uint16_t length;
    char text[8];
} varying = {6, "VARIES??"};
static struct dsc$descriptor_s varies = {8, DSC$K_DTYPE_T, DSC$K_CLASS_VS, (char *)&varying};
static struct dsc$descriptor_s matrix = {8, DSC$K_DTYPE_T, 77, (char *)&varying};
static const uint64_t quadword = 0x123456789abcdef0;
static int64_t some_time, some_delta = -(5 * 864000000000 + 3 * 36000000000 + 5000000);
static int64_t too_long = -9000 * 864000000000 * 2;

#define COUNTED  (int64_t)"\6WINKEN"
#define NOD      (int64_t)"NOD"
#define UGLY     (int64_t)"a\1\177b"
#define BLINKEN  (int64_t)&blinken
#define ZERO     (int64_t)"ZERO"
#define WIDE     (int64_t)&wide
#define VARIES   (int64_t)&varies
#define MATRIX   (int64_t)&matrix
#define QUADWORD (int64_t)&quadword
#define TIME     (int64_t)&some_time
#define DELTA    (int64_t)&some_delta
#define TOO_LONG (int64_t)&too_long

static struct dsc$descriptor_s string(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}

/* By longwords, if each parameter is the same as one. */
static int by_longwords(struct dsc$descriptor_s *control, struct dsc$descriptor_s *out,
                        unsigned short *n, const int64_t *parameters)
{
    int32_t list[12];

    for (int i = 0; i < 12; i++)
        if ((list[i] = (int32_t)parameters[i]) != parameters[i])
            return sys$faol_64(control, n, out, (void *)parameters);
    return sys$faol(control, n, out, list);
}

static void one(const char *control, const char *want, int status, const int64_t *parameters)
{
    struct dsc$descriptor_s text = string(control), out,
                            dynamic = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0};
    char buffer[100], *exact;
    size_t length = strlen(want);
    unsigned short n, m, k;
    int got, again, third;

    memset(buffer, '~', sizeof(buffer));
    out = (struct dsc$descriptor_s){sizeof(buffer) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, buffer};
    got = sys$faol_64(&text, &n, &out, (void *)parameters);
    ok(got == status && n == length && memcmp(buffer, want, n) == 0 && buffer[n] == '~', "\"%s\"",
       control);
    if (n != length || memcmp(buffer, want, n) != 0 || got != status)
        diag("status %d, \"%.*s\"", got, n, buffer);
    again = by_longwords(&text, &out, &m, parameters);
    third = lib$sys_faol_64(&text, &k, &dynamic, (void *)parameters);
    if (again != got || m != n || memcmp(buffer, want, m) != 0 || third != got ||
        (got == SS$_NORMAL &&
         (k != n || dynamic.dsc$w_length != n || (n && memcmp(dynamic.dsc$a_pointer, want, n)))))
        ok(0, "\"%s\" by $FAOL and LIB$SYS_FAOL_64", control);
    free(dynamic.dsc$a_pointer);
    /* A buffer one character too short, of its own, so that a sanitizer sees what lies behind. */
    if (got != SS$_NORMAL || length == 0)
        return;
    exact = malloc(length - 1 + !length);
    out = (struct dsc$descriptor_s){(unsigned short)(length - 1), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                    exact};
    got = sys$faol_64(&text, &n, &out, (void *)parameters);
    if (got != SS$_BUFFEROVF || n != length - 1 || memcmp(exact, want, n) != 0)
        ok(0, "\"%s\" into %d characters", control, n);
    free(exact);
}

#define CASE(control, want, status, ...) \
    one(control, want, SS$_##status, (const int64_t[12]){__VA_ARGS__});

static void arguments(void)
{
    struct dsc$descriptor_s text = string("VALUES !UL (DEC) !XL (HEX) !SL (SIGNED)");
    struct dsc$descriptor_s many = string("!16(UB)!%S"), lost = string("!AS!AZ!AC|");
    struct dsc$descriptor_s dynamic = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0};
    char buffer[80];
    struct dsc$descriptor_s out = {sizeof(buffer), DSC$K_DTYPE_T, DSC$K_CLASS_S, buffer};
    unsigned short n;

    is(sys$fao(&text, &n, &out, 200L, 300L, -400L), SS$_NORMAL, "$FAO, three numbers");
    ok(n == 45 && memcmp(buffer, "VALUES 200 (DEC) 0000012C (HEX) -400 (SIGNED)", n) == 0,
       "its text");
    is(sys$fao(&many, &n, &out, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 1L, 2L, 3L, 4L, 5L, 6L, 7L),
       SS$_NORMAL, "sixteen");
    ok(n == 17 && memcmp(buffer, "1234567891234567S", n) == 0, "its text");
    is(lib$sys_fao(&text, &n, &dynamic, 200L, 300L, -400L), SS$_NORMAL, "LIB$SYS_FAO");
    ok(n == 45 && dynamic.dsc$w_length == 45, "a dynamic string of 45 characters");
    free(dynamic.dsc$a_pointer);
    is(lib$sys_fao(&text, &n, &out, 200L, 300L, -400L), SS$_NORMAL, "a fixed one");
    ok(n == 45 && buffer[45] == ' ' && buffer[79] == ' ', "filled with blanks");
    out.dsc$w_length = 10;
    is(lib$sys_fao(&text, &n, &out, 200L, 300L, -400L), LIB$_STRTRU, "too short a one");
    is(n, 10, "10 characters");
    is(sys$fao(&text, 0, &out, 200L, 300L, -400L), SS$_BUFFEROVF, "length not wanted");
    is(sys$fao(0, &n, &out), SS$_ACCVIO, "no control string");
    is(sys$fao(&text, &n, 0), SS$_ACCVIO, "no buffer");
    is(sys$faol(&lost, &n, &out, 0), SS$_NORMAL, "no strings");
    ok(n == 1 && buffer[0] == '|', "are empty");
}

/* Counts near the limits take no time and write nothing behind the buffer. */
static void large(void)
{
    struct dsc$descriptor_s text = string("!65535(65535*x)!5<!65535(65535*y)!>"), cut;
    char *buffer = malloc(10);
    struct dsc$descriptor_s out = {10, DSC$K_DTYPE_T, DSC$K_CLASS_S, buffer};
    unsigned short n;

    is(sys$faol(&text, &n, &out, 0), SS$_BUFFEROVF, "four thousand million characters");
    ok(n == 10 && memcmp(buffer, "xxxxxxxxxx", 10) == 0, "of which 10 fit");
    cut = string("!3<!60000*y!>ab");
    is(sys$faol(&cut, &n, &out, 0), SS$_NORMAL, "a field cuts off what would not fit");
    ok(n == 5 && memcmp(buffer, "yyyab", 5) == 0, "and text goes on behind it");
    free(buffer);
}

static unsigned seed = 14;

static unsigned chance(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % below;
}

static void longwords(void)
{
    static const int list[] = {-5, 17};
    char out[20];
    struct dsc$descriptor_s to = {sizeof(out), DSC$K_DTYPE_T, DSC$K_CLASS_S, out};
    struct dsc$descriptor_s small = {3, DSC$K_DTYPE_T, DSC$K_CLASS_S, out};
    $DESCRIPTOR(control, "!SL and !UL");
    $DESCRIPTOR(wrong, "!??");
    unsigned short n = 0;

    is(lib$sys_faol(&control, &n, &to, (void *)list), SS$_NORMAL, "LIB$SYS_FAOL");
    ok(n == 9 && memcmp(out, "-5 and 17 ", 10) == 0, "takes longwords, and fills with blanks");
    is(lib$sys_faol(&control, &n, &small, (void *)list), LIB$_STRTRU, "cuts off");
    ok(n == 3 && memcmp(out, "-5 ", 3) == 0, "what does not fit");
    is(lib$sys_faol(&wrong, &n, &to, (void *)list), SS$_BADPARAM, "refuses what is no directive");
}

/* Control strings of random directives, but those that take addresses: what a short buffer gets is
 * the beginning of what a long one gets, and nothing is written behind either. */
static void random_directives(void)
{
    static const char letters[] = "!!!!!!OXZUSBWLQIJHCEF%(())##01239<>**-+/_^ sS";
    int64_t parameters[40];
    int wrong = 0, refused = 0;

    for (int round = 0; round < 20000; round++) {
        char control[24], *buffer = malloc(300), *shorter = malloc(7);
        struct dsc$descriptor_s text = {sizeof(control), DSC$K_DTYPE_T, DSC$K_CLASS_S, control};
        struct dsc$descriptor_s out = {300, DSC$K_DTYPE_T, DSC$K_CLASS_S, buffer};
        struct dsc$descriptor_s cut = {7, DSC$K_DTYPE_T, DSC$K_CLASS_S, shorter};
        unsigned short n, m;
        int status, other;

        for (size_t i = 0; i < sizeof(control); i++)
            control[i] = letters[chance(sizeof(letters) - 1)];
        for (int i = 0; i < 40; i++)
            parameters[i] = chance(9) ? chance(5) : -(int64_t)chance(70000);
        text.dsc$w_length = (unsigned short)(1 + chance(sizeof(control)));
        /* There are parameters for each directive, but not for as many as a repeat count says. */
        for (int i = 0; i < text.dsc$w_length; i++)
            if (control[i] >= '4' && control[i] <= '9')
                control[i] = '2';
        memset(buffer, 'a', 300);
        memset(shorter, 'b', 7);
        status = sys$faol_64(&text, &n, &out, parameters);
        other = sys$faol_64(&text, &m, &cut, parameters);
        refused += status == SS$_BADPARAM;
        if (m > 7 || n > 300 ||
            (status != SS$_NORMAL && status != SS$_BADPARAM && status != SS$_BUFFEROVF) ||
            (other == SS$_BADPARAM) != (status == SS$_BADPARAM) || m != (n < 7 ? n : 7) ||
            (m && memcmp(buffer, shorter, m) != 0)) {
            diag("round %d: \"%.*s\" %d %d", round, text.dsc$w_length, control, status, other);
            wrong++;
        }
        free(buffer);
        free(shorter);
    }
    is(wrong, 0, "random directives");
    ok(refused > 1000 && refused < 19000, "%d of 20000 refused", refused);
}

int main(void)
{
    $DESCRIPTOR(when, "30-DEC-1988 04:15:28.00");

    sys$bintim(&when, &some_time);
#include "rtl_fao.inc"
    arguments();
    large();
    longwords();
    random_directives();
    return tap_done();
}
