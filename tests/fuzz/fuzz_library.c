// SOURCES: userland/lib/fao.c userland/lib/fao_services.c userland/lib/time.c
// SOURCES: userland/lib/lib_time.c userland/lib/message.c userland/lib/put_message.c
// SOURCES: userland/lib/descriptor.c
// SOURCES: userland/lib/strings.c userland/lib/lib_strings.c userland/lib/extract.c
// SOURCES: userland/lib/characters.c userland/lib/numbers.c
// TARGETS: userland/lib/fao.c userland/lib/fao_services.c userland/lib/time.c
// TARGETS: userland/lib/lib_time.c userland/lib/message.c userland/lib/put_message.c
// TARGETS: userland/lib/descriptor.c
// TARGETS: userland/lib/strings.c userland/lib/lib_strings.c userland/lib/extract.c
// TARGETS: userland/lib/characters.c userland/lib/numbers.c
// RUNS: 4000
/*
 * Services of the user library, with texts that the input defines and arguments that are valid:
 * $FAO and $FAOL, times in both directions, $GETMSG and $PUTMSG, strings by descriptors of all
 * classes, and numbers from text. Each buffer is a block of its own and exactly as long as its
 * descriptor says, so that AddressSanitizer sees an access beyond it, and what is not freed is
 * reported as a leak.
 *
 * Results are compared: what fits into a short buffer must be the beginning of what a long one
 * gets, a time must survive its text, strings are compared with a model, numbers and sums of times
 * with calculations in 128 bits.
 */
#include "tests/fuzz/fuzz.h"

#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <libdtdef.h>
#include <rmsdef.h>
#include <rtl/message.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <str$routines.h>
#include <strdef.h>
#include <string.h>
#include <sys/mman.h>

#include "userland/lib/clock.h"
#include "userland/lib/descriptor.h"
#include "userland/lib/handlers.h"
#include "userland/lib/message.h"

/* ---- what the library calls elsewhere ---- */

static int64_t now;
static unsigned signals;

int64_t mega$clock(void) { return now; }

int mega$signal(int stop, void *frame, int count, ...)
{
    (void)frame;
    (void)count;
    fuzz_check(!stop, "a string routine ends the program");
    signals++;
    return SS$_NORMAL;
}

static const int64_t *vector_quadwords;
static size_t vector_count;

const int64_t *mega$signal_quadwords(const void *longwords, size_t *count)
{
    (void)longwords;
    *count = vector_count;
    return vector_quadwords;
}

/* ---- memory ---- */

/* A descriptor of a fixed string in a block of exactly its length, which the caller frees. */
static struct dsc$descriptor_s exact(size_t n)
{
    return (struct dsc$descriptor_s){(unsigned short)n, DSC$K_DTYPE_T, DSC$K_CLASS_S, malloc(n)};
}

/* Text of the input: of letters that mean something to the routine, or any bytes. */
static struct dsc$descriptor_s in_text(struct fuzz_in *in, size_t most, const char *letters)
{
    size_t n = in_below(in, (unsigned)most + 1), count = strlen(letters);
    struct dsc$descriptor_s text = exact(n);

    for (size_t i = 0; i < n; i++) {
        uint8_t c = in_u8(in);

        text.dsc$a_pointer[i] = c < 224 ? letters[c % count] : (char)in_u8(in);
    }
    return text;
}

/*
 * What parameters of $FAO point to: at any of PLACES quadwords there is a descriptor of a short
 * string, which begins with a count too, and zeros end it. A parameter can also be taken for a
 * length, of which $FAO takes 16 bits: so many bytes are behind each place.
 */
#define PLACES 64
#define AREA   (65536 + 32 * PLACES + 256)

static char *area;

static int64_t place(struct fuzz_in *in) { return (int64_t)(area + 32 * in_below(in, PLACES)); }

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char strings[] = "a string, \x01\x7f\xff that is printed";

    (void)argc;
    (void)argv;
    /* Parameters are printed, too: at one address, as far as the host allows, inputs repeat. */
    area = mmap((void *)0x100000000000, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    fuzz_check(area != MAP_FAILED, "no memory on this machine");
    for (unsigned i = 0; i < PLACES; i++) {
        struct dsc$descriptor_s d = {(unsigned short)(i % sizeof(strings)), DSC$K_DTYPE_T,
                                     DSC$K_CLASS_S, strings};

        memcpy(area + 32 * i, &d, sizeof(d));
    }
    return 0;
}

/* ---- $FAO ---- */

#define PARAMETERS 24

static const char directives[] = "!!!!!!0123#(@)%<>ASDCZFXOUSWLBQHJITE*-+_/^ ,ab";

static bool is_fao_status(int status)
{
    return status == SS$_NORMAL || status == SS$_BUFFEROVF || status == SS$_BADPARAM;
}

/* A source with a limit would hide what is read beyond the parameters: the list is a block, too,
 * and the text cannot take more of them than this. A count says how often a directive is to be
 * done, so counts of digits are kept small, and those of # are those of the list. */
static bool takes_few(const struct dsc$descriptor_s *control, unsigned *count)
{
    unsigned long takes = 0, number = 0;

    for (unsigned i = 0; i < control->dsc$w_length; i++) {
        char c = control->dsc$a_pointer[i];

        number = c >= '0' && c <= '9' ? 10 * number + (unsigned long)(c - '0') : 0;
        if (number > 20)
            return false;
        takes += c == '!' || c == '#' ? 2 : 0;
        takes += c == '(' ? 40 : 0;
    }
    *count = (unsigned)takes + 2;
    return takes < 400;
}

static void fao(struct fuzz_in *in)
{
    struct dsc$descriptor_s control = in_text(in, 48, directives);
    struct dsc$descriptor_s shorter = exact(in_below(in, 40)), longer = exact(UINT16_MAX);
    unsigned short n_short = 0xEEEE, n_long = 0xEEEE, n_dynamic = 0xEEEE;
    struct dsc$descriptor_d dynamic = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, NULL};
    unsigned count = 0;
    int64_t *list = NULL;
    int status, again;

    if (!takes_few(&control, &count))
        goto out;
    list = malloc(count * sizeof(*list));
    for (unsigned i = 0; i < count; i++)
        list[i] = place(in);
    status = sys$faol_64(&control, &n_short, &shorter, list);
    again = sys$faol_64(&control, &n_long, &longer, list);
    fuzz_check(is_fao_status(status) && is_fao_status(again), "$FAOL_64: %d, %d", status, again);
    fuzz_check(n_short <= shorter.dsc$w_length && n_short <= n_long, "lengths %u, %u", n_short,
               n_long);
    fuzz_check(n_short == 0 || memcmp(shorter.dsc$a_pointer, longer.dsc$a_pointer, n_short) == 0,
               "a short buffer has another text");
    fuzz_check(again == SS$_BUFFEROVF || status == again ||
                   (status == SS$_BUFFEROVF && n_long > n_short),
               "status %d with a short buffer, %d with a long one", status, again);
    status = lib$sys_faol_64(&control, &n_dynamic, &dynamic, list);
    fuzz_check(again == SS$_BUFFEROVF || status == again, "lib$sys_faol_64: %d, $FAOL_64: %d",
               status, again);
    fuzz_check(again != SS$_NORMAL ||
                   (n_dynamic == n_long && dynamic.dsc$w_length == n_long &&
                    (!n_long || memcmp(dynamic.dsc$a_pointer, longer.dsc$a_pointer, n_long) == 0)),
               "lib$sys_faol_64 of \"%.*s\" has another text: status %d, %u and %u characters",
               control.dsc$w_length, control.dsc$a_pointer, status, n_dynamic, n_long);
    (void)lib$sys_faol_64(&control, &n_short, &shorter, list);
    fuzz_check(n_short <= shorter.dsc$w_length, "a fixed string of %u characters", n_short);
out:
    free(list);
    free(dynamic.dsc$a_pointer);
    free(control.dsc$a_pointer);
    free(shorter.dsc$a_pointer);
    free(longer.dsc$a_pointer);
}

/* Counts of any size, with parameters that are numbers: directives that follow addresses are left
 * out. */
static void fao_large(struct fuzz_in *in)
{
    struct dsc$descriptor_s control = in_text(in, 12, "!!!!0123456789#(*)%<>SXOUZWLBQ-+/x");
    struct dsc$descriptor_s buffer = exact(in_below(in, 300));
    unsigned short n = 0xEEEE;
    int64_t a = (int64_t)in_u64(in), b = in_below(in, 512), c = 65535 - in_below(in, 4);

    for (unsigned i = 0; i < control.dsc$w_length; i++)
        if (strchr("A@TD", control.dsc$a_pointer[i]))
            control.dsc$a_pointer[i] = '!';
    fuzz_check(is_fao_status(sys$fao(&control, &n, &buffer, b, a, c, b, a, c, b, a)), "$FAO");
    fuzz_check(n <= buffer.dsc$w_length, "length %u of %u", n, buffer.dsc$w_length);
    (void)lib$sys_fao(&control, &n, &buffer, b, a, c, b, a, c, b, a);
    fuzz_check(n <= buffer.dsc$w_length, "lib$sys_fao: length %u of %u", n, buffer.dsc$w_length);
    free(control.dsc$a_pointer);
    free(buffer.dsc$a_pointer);
}

/* ---- times ---- */

#define HUNDREDTH (TICKS_PER_SECOND / 100)

static int text_of(int64_t time, char *text, unsigned size, unsigned short *n)
{
    struct dsc$descriptor_s d = {(unsigned short)size, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};

    return sys$asctim(n, &d, &time, 0);
}

static void check_text_of(int64_t time)
{
    unsigned short fields[7] = {0}, n = 0;
    char text[32];
    int status = text_of(time, text, sizeof(text), &n), numbered = sys$numtim(fields, &time);
    struct dsc$descriptor_s d = {n, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    int64_t back = 77;

    fuzz_check(status == SS$_NORMAL || status == SS$_IVTIME, "$ASCTIM: %d", status);
    if (status != SS$_NORMAL) {
        fuzz_check(numbered == SS$_IVTIME || fields[0] > 9999, "$NUMTIM: %d", numbered);
        return;
    }
    fuzz_check(numbered == SS$_NORMAL && fields[1] <= 12 && fields[2] <= 9999 && fields[3] < 24 &&
                   fields[4] < 60 && fields[5] < 60 && fields[6] < 100,
               "fields of %ld", (long)time);
    fuzz_check(sys$bintim(&d, &back) == SS$_NORMAL, "$BINTIM of \"%.*s\"", n, text);
    fuzz_check(back == time / HUNDREDTH * HUNDREDTH, "%ld, by text %ld", (long)time, (long)back);
    fuzz_check(lib$cvt_vectim(fields, &back) == LIB$_NORMAL, "lib$cvt_vectim of %ld", (long)time);
    fuzz_check(back == time / HUNDREDTH * HUNDREDTH, "%ld, by fields %ld", (long)time, (long)back);
}

static void times_of_text(struct fuzz_in *in)
{
    static const char *const parts[] = {"JAN", "FEB",  "DEC",  "--",           ":",
                                        "31-", "9999", "1858", "17-NOV-1858 ", "23:59:59.99",
                                        " ",   ".",    "0"};
    struct dsc$descriptor_s tail = in_text(in, 24, "0123456789-:. JANFEBMRPYUL"), text;
    const char *part = parts[in_below(in, sizeof(parts) / sizeof(parts[0]))];
    size_t n = in_u8(in) & 1 ? strlen(part) : 0;
    int64_t time = 77;
    int status;

    text = exact(n + tail.dsc$w_length);
    memcpy(text.dsc$a_pointer, part, n);
    memcpy(text.dsc$a_pointer + n, tail.dsc$a_pointer, tail.dsc$w_length);
    status = sys$bintim(&text, &time);
    fuzz_check(status == SS$_NORMAL || (status == SS$_IVTIME && time == 77), "$BINTIM: %d", status);
    if (status == SS$_NORMAL) {
        char back[32];
        unsigned short length;

        fuzz_check(time % HUNDREDTH == 0, "$BINTIM: %ld", (long)time);
        fuzz_check(text_of(time, back, sizeof(back), &length) == SS$_NORMAL,
                   "$ASCTIM refuses what $BINTIM made of \"%.*s\"", text.dsc$w_length,
                   text.dsc$a_pointer);
        check_text_of(time);
    }
    free(tail.dsc$a_pointer);
    free(text.dsc$a_pointer);
}

static int64_t in_time(struct fuzz_in *in)
{
    uint64_t v = in_u64(in);

    return (int64_t)v >> in_below(in, 64);
}

static void times(struct fuzz_in *in)
{
    const int64_t limit = (DELTA_DAYS_MAX + 1) * TICKS_PER_DAY;
    int64_t a = in_time(in), b = in_time(in), result = 77, delta = a;
    unsigned operation = in_below(in, 40), value = 0, day = 0;
    struct dsc$descriptor_s buffer = exact(in_below(in, 30));
    int number = (int)in_u32(in), status;
    unsigned short n;
    float fraction;
    uint32_t bits = in_u32(in);
    __int128 sum = a >= 0 && b < 0   ? (__int128)a - b
                   : a < 0 && b >= 0 ? (__int128)b - a
                                     : (__int128)a + b;

    now = in_time(in);
    now = now < 0 ? ~now : now;
    check_text_of(a);
    check_text_of(b);
    status = sys$asctim(&n, &buffer, in_u8(in) & 1 ? &a : NULL, (char)in_u8(in));
    fuzz_check(status == SS$_IVTIME || n <= buffer.dsc$w_length, "$ASCTIM: %u", n);
    status = lib$add_times(&a, &b, &result);
    if (status == LIB$_NORMAL)
        fuzz_check(result == sum && result > -limit, "a sum: %ld", (long)result);
    else
        fuzz_check(result == 77 && ((a >= 0 && b >= 0) || a <= -limit || b <= -limit ||
                                    sum <= -limit || sum > INT64_MAX),
                   "no sum: %d", status);
    status = lib$sub_times(&a, &b, &result);
    fuzz_check(status != LIB$_NORMAL || result > -limit, "a difference: %ld", (long)result);
    status = lib$mult_delta_time(&number, &delta);
    fuzz_check(status == LIB$_NORMAL
                   ? a < 0 && delta == (__int128)a * (number < 0 ? -(__int128)number : number)
                   : delta == a,
               "a product: %ld", (long)delta);
    memcpy(&fraction, &bits, sizeof(fraction));
    delta = a;
    (void)lib$multf_delta_time(&fraction, &delta);
    fuzz_check(delta == a || (delta <= 0 && delta > -limit), "a product: %ld", (long)delta);
    (void)lib$cvt_from_internal_time(&operation, &value, in_u8(in) & 1 ? &a : NULL);
    if (lib$cvt_to_internal_time(&operation, &number, &result) == LIB$_NORMAL) {
        fuzz_check(lib$cvt_from_internal_time(&operation, &value, &result) == LIB$_NORMAL &&
                       value == (unsigned)number,
                   "%d units are %u", number, value);
    }
    if (lib$cvtf_to_internal_time(&operation, &fraction, &result) == LIB$_NORMAL)
        fuzz_check(result <= 0 && result > -limit, "%f units: %ld", (double)fraction, (long)result);
    (void)lib$cvtf_from_internal_time(&operation, &fraction, &a);
    if (lib$day_of_week(&a, &day) == SS$_NORMAL)
        fuzz_check(day >= 1 && day <= 7, "day %u", day);
    (void)lib$day(&number, &b, (int *)&value);
    free(buffer.dsc$a_pointer);
}

/* ---- messages ---- */

#define MESSAGE(prefix, name, text, help) {(unsigned)prefix##name, text},

static const struct {
    unsigned status;
    const char *text;
} messages[] = {
#include <messages.def>
};

static unsigned in_status(struct fuzz_in *in)
{
    unsigned status = messages[in_below(in, sizeof(messages) / sizeof(messages[0]))].status;

    return in_u8(in) < 192 ? status ^ (in_u8(in) & 7) : in_u32(in);
}

static void getmsg(struct fuzz_in *in)
{
    unsigned status = in_status(in), flags = in_u8(in) & 31;
    struct dsc$descriptor_s shorter = exact(in_below(in, 80)), longer = exact(600);
    unsigned short n_short = 0xEEEE, n_long = 0xEEEE;
    unsigned char *out = malloc(4);
    int answer = sys$getmsg(status, &n_short, &shorter, flags, out), again;

    again = sys$getmsg(status, &n_long, &longer, flags, NULL);
    fuzz_check(again == SS$_NORMAL || again == SS$_MSGNOTFND, "$GETMSG: %d", again);
    fuzz_check(answer == again || (answer == SS$_BUFFEROVF && n_short == shorter.dsc$w_length),
               "$GETMSG, a short buffer: %d", answer);
    fuzz_check(n_short <= n_long && (n_short == n_long || answer == SS$_BUFFEROVF) &&
                   (!n_short || memcmp(shorter.dsc$a_pointer, longer.dsc$a_pointer, n_short) == 0),
               "a short buffer has another text");
    fuzz_check(lib$sys_getmsg(&status, &n_short, &shorter, &flags) != SS$_NORMAL ||
                   n_short <= shorter.dsc$w_length,
               "lib$sys_getmsg: %u", n_short);
    free(out);
    free(shorter.dsc$a_pointer);
    free(longer.dsc$a_pointer);
}

static unsigned lines, wrong_lines;

static int count_line(const struct dsc$descriptor_s *line, unsigned long first)
{
    const char *at = line->dsc$a_pointer;

    wrong_lines += line->dsc$w_length > 512;
    wrong_lines += first && line->dsc$w_length > 1 && lines == 0 && *at == '-' && at[1] > '9';
    lines++;
    return 0; /* it is not to be written */
}

/* How many parameters follow a message of this facility, and whether a count of them does. */
static unsigned parameters(unsigned status, bool *counted)
{
    unsigned n = 0;

    *counted = FACILITY_OF(status) > 1;
    if (FACILITY_OF(status) == 1)
        return 1;
    for (unsigned pass = 0; pass < 2 && status; pass++)
        for (unsigned i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
            if (((messages[i].status ^ status) & (pass ? 0xffffff8u : 0xfffffffu)) == 0) {
                for (const char *c = messages[i].text; (c = strchr(c, '!')); c++)
                    n++;
                return n;
            }
    return 0;
}

/* The vector is a block, and parameters are addresses, which fit into quadwords only. */
static void putmsg(struct fuzz_in *in)
{
    int64_t quadwords[64];
    unsigned most = 1 + in_below(in, 60), n = 0, expected = 0, flags = in_u8(in);
    struct dsc$descriptor_s facility = in_text(in, 20, "ABC$");
    int32_t *vector;
    int status;

    while (n < most) {
        unsigned code = in_status(in), count;
        bool counted;

        quadwords[n++] = (int32_t)code;
        count = parameters(code, &counted);
        expected += code != 0;
        if (counted && n < most) {
            count = in_below(in, 6);
            quadwords[n++] = (int64_t)(count | (in_u8(in) & 15u) << 16);
        } else if (counted) {
            count = 0;
        }
        for (; count && n < most; count--)
            quadwords[n++] = place(in);
    }
    vector = malloc((n + 1) * sizeof(*vector));
    vector[0] = (int32_t)(n | flags << 16);
    for (unsigned i = 0; i < n; i++)
        vector[i + 1] = (int32_t)quadwords[i];
    vector_quadwords = quadwords;
    vector_count = n;
    status = sys$putmsg(vector, count_line, in_u8(in) & 1 ? &facility : NULL, 1);
    fuzz_check(status == SS$_NORMAL, "$PUTMSG: %d", status);
    fuzz_check(lines == expected, "%u lines of %u messages", lines, expected);
    fuzz_check(wrong_lines == 0, "a line is too long, or the first is not marked as such");
    free(vector);
    free(facility.dsc$a_pointer);
}

/* ---- strings ---- */

#define STRINGS    6
#define LENGTH     40 /* of what is not dynamic */
#define LENGTH_MAX (UINT16_MAX + 500)

static struct string {
    struct dsc64$descriptor wide;
    struct dsc$descriptor_s d; /* the one that is used, unless is_wide */
    bool is_wide;
    int class;
    size_t size; /* of what is not dynamic */
    char *model; /* its characters */
    size_t length;
} string[STRINGS];

static void *descriptor_of(struct string *s)
{
    return s->is_wide ? (void *)&s->wide : (void *)&s->d;
}

static char *memory_of(const struct string *s)
{
    return s->is_wide ? s->wide.dsc64$pq_pointer : s->d.dsc$a_pointer;
}

static void string_make(struct fuzz_in *in, struct string *s)
{
    static const int classes[] = {DSC$K_CLASS_S, DSC$K_CLASS_D, DSC$K_CLASS_D, DSC$K_CLASS_VS};
    size_t bytes;
    char *memory;

    s->is_wide = in_u8(in) & 1;
    s->class = classes[in_u8(in) & 3];
    s->size = s->class == DSC$K_CLASS_D ? 0 : in_below(in, LENGTH);
    bytes = s->size + (s->class == DSC$K_CLASS_VS ? 2 : 0);
    memory = bytes ? calloc(1, bytes) : NULL;
    s->length = s->class == DSC$K_CLASS_S ? s->size : 0;
    s->model = calloc(1, s->size + 1);
    s->d = (struct dsc$descriptor_s){(unsigned short)s->size, DSC$K_DTYPE_T,
                                     (unsigned char)s->class, memory};
    s->wide = (struct dsc64$descriptor){.dsc64$w_mbo = 1,
                                        .dsc64$b_dtype = DSC$K_DTYPE_T,
                                        .dsc64$b_class = (unsigned char)s->class,
                                        .dsc64$l_mbmo = -1,
                                        .dsc64$q_length = s->size,
                                        .dsc64$pq_pointer = memory};
}

/* The string was to become this text; or, `refused`, stays as it was. */
static void string_becomes(struct string *s, const char *text, size_t n)
{
    size_t length = s->class == DSC$K_CLASS_D   ? n
                    : s->class == DSC$K_CLASS_S ? s->size
                    : n < s->size               ? n
                                                : s->size;
    char *model = malloc(length + 1);

    memset(model, ' ', length);
    memcpy(model, text, n < length ? n : length);
    free(s->model);
    s->model = model;
    s->length = length;
}

static void string_check(struct string *s)
{
    struct text has;

    fuzz_check(mega$text_of(descriptor_of(s), &has), "a string without a class");
    fuzz_check(has.length == s->length, "a string of %zu characters, not %zu", has.length,
               s->length);
    fuzz_check(!has.length || memcmp(has.at, s->model, has.length) == 0, "another text");
}

/* Do one routine whose first argument is `to`, and which makes this text of `n` characters. */
static void check_store(struct string *to, int status, const char *text, size_t n)
{
    bool cut = to->class != DSC$K_CLASS_D && n > to->size;

    if (signals) { /* nothing else can be wrong than the length */
        fuzz_check(n > UINT16_MAX && !to->is_wide, "a string of %zu characters: %x", n,
                   (unsigned)status);
        return;
    }
    if (status == LIB$_INVSTRDES && n > UINT16_MAX && !to->is_wide) /* of LIB$ routines */
        return;
    fuzz_check(cut ? status == STR$_TRU || status == LIB$_STRTRU : status & 1, "%zu characters: %x",
               n, (unsigned)status);
    string_becomes(to, text, n);
}

static void strings(struct fuzz_in *in)
{
    struct string *a = &string[in_below(in, STRINGS)], *b = &string[in_below(in, STRINGS)],
                  *to = &string[in_below(in, STRINGS)];
    void *da = descriptor_of(a), *db = descriptor_of(b), *d = descriptor_of(to);
    int start = (int)in_below(in, 100) - 10, end = (int)in_below(in, 100) - 10;
    size_t na = a->length, nb = b->length, n = 0;
    char *made = malloc(2 * (na + nb + to->length) + 300);
    unsigned short length = (unsigned short)in_below(in, 300);
    unsigned what = in_u8(in) % 20;

    signals = 0;
    if (na + nb + to->length > LENGTH_MAX) /* twice as long each time */
        what = to->class == DSC$K_CLASS_D ? 11 : 13;
    switch (what) {
    case 0:
        memcpy(made, a->model, n = na);
        check_store(to, str$copy_dx(d, da), made, n);
        break;
    case 1: {
        struct dsc$descriptor_s text = in_text(in, 100, "abcABC \t*%");

        memcpy(made, text.dsc$a_pointer, n = text.dsc$w_length);
        length = text.dsc$w_length;
        check_store(to,
                    start & 1
                        ? str$copy_r_64(d, &(const unsigned __int64){length}, text.dsc$a_pointer)
                        : str$copy_r(d, &length, text.dsc$a_pointer),
                    made, n);
        free(text.dsc$a_pointer);
        break;
    }
    case 2:
    case 3:
        memcpy(made, a->model, na);
        memcpy(made + na, b->model, nb);
        check_store(to, str$concat(d, da, db), made, na + nb);
        break;
    case 4:
        n = to->length;
        memcpy(made, to->model, n);
        memcpy(made + n, a->model, na);
        check_store(to, str$append(d, da), made, n + na);
        break;
    case 5:
        n = to->length;
        memcpy(made, a->model, na);
        memcpy(made + na, to->model, n);
        check_store(to, str$prefix(d, da), made, n + na);
        break;
    case 6:
        memcpy(made, a->model, n = na);
        while (n && (made[n - 1] == ' ' || made[n - 1] == '\t'))
            n--;
        check_store(to, str$trim(d, da, &length), made, n);
        break;
    case 7:
        for (; n < na; n++)
            made[n] = a->model[n] >= 'a' && a->model[n] <= 'z' ? a->model[n] - 32 : a->model[n];
        check_store(to, str$upcase(d, da), made, n);
        break;
    case 8:
        n = end < 0 ? 0 : (size_t)end;
        memset(made, 'x', n);
        check_store(to, str$dupl_char(d, &end, "x"), made, n);
        break;
    case 9:
        memcpy(made, a->model, n = na);
        check_store(to, lib$scopy_dxdx(da, d), made, n);
        break;
    case 10:
        if (to->class == DSC$K_CLASS_D) {
            fuzz_check((start & 1 ? str$get1_dx_64(&(const unsigned __int64){length}, d)
                                  : str$get1_dx(&length, d)) == STR$_NORMAL,
                       "str$get1_dx");
            memset(made, 'g', length);
            if (length)
                memset(memory_of(to), 'g', length);
            string_becomes(to, made, length);
        } else {
            (void)str$get1_dx(&length, d);
            fuzz_check(signals == 1, "str$get1_dx of a fixed string");
        }
        break;
    case 11:
        if (to->class == DSC$K_CLASS_D) {
            fuzz_check(str$free1_dx(d) == STR$_NORMAL, "str$free1_dx");
            string_becomes(to, "", 0);
        } else {
            (void)lib$sfree1_dd(d);
        }
        break;
    case 12:
        n = str$position(da, db, &start);
        fuzz_check(n <= na + 1, "position %zu in %zu characters", n, na);
        fuzz_check(n == 0 || nb == 0 || memcmp(a->model + n - 1, b->model, nb) == 0, "position");
        n = (size_t)(str$compare(da, db) + str$compare(db, da));
        fuzz_check(n == 0 && str$case_blind_compare(da, da) == 0, "comparison");
        fuzz_check((str$compare_eql(da, db) == 0) ==
                       (na == nb && memcmp(a->model, b->model, na) == 0),
                   "equality");
        break;
    case 13:
        fuzz_check(str$find_first_in_set(da, db) <= na &&
                       str$find_first_not_in_set(da, db) <= na + !na,
                   "a set");
        if (na <= LENGTH && nb <= LENGTH)
            (void)str$match_wild(da, db);
        (void)lib$len(da); /* has 16 bits */
        fuzz_check(signals == (na > UINT16_MAX), "a length");
        fuzz_check((na > UINT16_MAX || lib$len(da) == na) && lib$index(da, db) <= na + 1 &&
                       lib$locc(db, da) <= na && lib$skpc(db, da) <= na,
                   "a position");
        break;
    default: /* the result, whatever it is, becomes the model: what is checked are accesses */
        switch (what) {
        case 14:
            (void)str$len_extr(d, da, &start, &end);
            break;
        case 15:
            (void)str$pos_extr(d, da, &start, &end);
            break;
        case 16:
            (void)str$replace(d, da, &start, &end, db);
            break;
        case 17:
            (void)str$element(d, &start, db, da);
            break;
        case 18:
            (void)str$translate(d, da, db, da);
            break;
        default:
            (void)(start & 1 ? str$left(d, da, &end) : str$right(d, da, &start));
        }
        struct text has;

        fuzz_check(mega$text_of(d, &has), "a string without a class");
        fuzz_check(to->class != DSC$K_CLASS_S || has.length == to->size, "its length has changed");
        n = has.length;
        free(made);
        made = malloc(n + 1);
        if (n)
            memcpy(made, has.at, n);
        string_becomes(to, made, n);
    }
    free(made);
    for (unsigned i = 0; i < STRINGS; i++)
        string_check(&string[i]);
}

static void strings_end(void)
{
    for (unsigned i = 0; i < STRINGS; i++) {
        free(memory_of(&string[i]));
        free(string[i].model);
    }
}

/* ---- numbers ---- */

static void numbers(struct fuzz_in *in)
{
    static const unsigned radixes[] = {10, 16, 8};
    struct dsc$descriptor_s text = in_text(in, 26, "0123456789ABCDEFabcdef00001777+-");
    int count = text.dsc$w_length, which = (int)in_below(in, 3), narrow = 77, good;
    unsigned radix = radixes[which], digit;
    const char *at = text.dsc$a_pointer;
    bool negative = count && *at == '-', right = true;
    unsigned __int128 n = 0;
    __int64 wide = 77;

    for (int i = count && (*at == '-' || *at == '+'); i < count && right; i++) {
        const char *all = "0123456789ABCDEF0123456789abcdef",
                   *found = at[i] ? strchr(all, at[i]) : 0;

        digit = found ? (unsigned)(found - all) % 16 : 16;
        right = digit < radix;
        n = n > (unsigned __int128)1 << 100 ? n : n * radix + digit;
    }
    good = which == 0   ? lib$cvt_dtb(count, at, &narrow)
           : which == 1 ? lib$cvt_htb(count, at, &narrow)
                        : lib$cvt_otb(count, at, &narrow);
    fuzz_check(good == (right && n <= UINT32_MAX), "\"%.*s\": %d", count, at, good);
    fuzz_check(narrow == (good ? (int)(uint32_t)(negative ? -n : n) : 77), "%d", narrow);
    good = which == 0   ? lib$cvt_dtb_64(count, at, &wide)
           : which == 1 ? lib$cvt_htb_64(count, at, &wide)
                        : lib$cvt_otb_64(count, at, &wide);
    fuzz_check(good == (right && n <= UINT64_MAX), "\"%.*s\": %d, 64 bits", count, at, good);
    fuzz_check(wide == (good ? (__int64)(uint64_t)(negative ? -n : n) : 77), "%ld", (long)wide);
    free(text.dsc$a_pointer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const routines[])(struct fuzz_in *) = {
        fao, fao_large, times_of_text, times, getmsg, putmsg, strings, strings, strings, numbers};
    struct fuzz_in in = fuzz_in(data, n);

    fuzz_begin();
    for (unsigned i = 0; i < STRINGS; i++)
        string_make(&in, &string[i]);
    for (unsigned i = 0; i < 24 && in_more(&in); i++) {
        lines = wrong_lines = 0;
        routines[in_below(&in, sizeof(routines) / sizeof(routines[0]))](&in);
    }
    strings_end();
    return 0;
}
