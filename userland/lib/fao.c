/*
 * The formatter of $FAO. The text goes to a buffer, and its length is counted beyond the buffer's
 * end, because a field (!n<...!>) can cut it to what fits. Every count is at most 65,535, so that
 * no control string of a few characters keeps the processor for long.
 *
 * Of a choice by plural (!1%Ctree!%Etrees!%F), what is not chosen is read like the rest, for its
 * end must be found, but it writes nothing and takes no parameters.
 */
#include "fao.h"

#include "clock.h"
#include "descriptor.h"

#include <descrip.h>
#include <rtl/time.h>
#include <ssdef.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COUNT_MAX 65535
#define NO_FIELD  ((size_t)-1)

struct fao {
    const char *at, *end; /* what is left of the control string */
    char *out;
    size_t size, length;
    char last;          /* the character written last */
    size_t field;       /* where the text of an open field begins, or NO_FIELD */
    size_t field_width; /* of that field */
    mega$fao_source *source;
    void *of;
    size_t next;    /* parameter */
    int64_t number; /* the number converted last */
    enum { NO_CHOICE, NOT_YET, CHOSEN, DONE } choice;
};

/* One directive: !repeat(width@code). */
struct directive {
    unsigned repeat, width;
    bool indirect;
    char code[2];
    char fill; /* of !n*c */
};

static bool skipped(const struct fao *f) { return f->choice == NOT_YET || f->choice == DONE; }

/* How many of n characters can be written: not those behind the buffer or behind an open field. */
static size_t room(const struct fao *f, size_t n)
{
    size_t end = f->size;

    if (f->field != NO_FIELD && f->field + f->field_width < end)
        end = f->field + f->field_width;
    if (f->length >= end)
        return 0;
    return n < end - f->length ? n : end - f->length;
}

static void put_fill(struct fao *f, char c, size_t n)
{
    if (n == 0 || skipped(f))
        return;
    if (room(f, n))
        memset(f->out + f->length, c, room(f, n));
    f->length += n;
    f->last = c;
}

static void put(struct fao *f, const char *text, size_t n)
{
    if (n == 0 || skipped(f))
        return;
    if (room(f, n))
        memcpy(f->out + f->length, text, room(f, n));
    f->length += n;
    f->last = text[n - 1];
}

static int64_t parameter(struct fao *f) { return skipped(f) ? 0 : f->source(f->of, f->next++); }

/* A string goes to the left of its field. */
static void put_text(struct fao *f, const char *text, size_t n, unsigned width)
{
    if (width && n > width)
        n = width;
    put(f, text, n);
    if (n < width)
        put_fill(f, ' ', width - n);
}

/* A number goes to the right of its field. */
static void put_right(struct fao *f, const char *text, size_t n, unsigned width, char fill)
{
    if (n < width)
        put_fill(f, fill, width - n);
    put(f, text, n);
}

/* Takes a value of so many bytes from the next parameter, or from where it points. */
static uint64_t value_of(struct fao *f, const struct directive *d, size_t bytes)
{
    int64_t parameter_value = parameter(f);
    uint64_t value = (uint64_t)parameter_value;

    if (d->indirect) {
        value = 0;
        if (parameter_value)
            memcpy(&value, (const void *)parameter_value, bytes);
    }
    return bytes == sizeof(value) ? value : value & ((1UL << 8 * bytes) - 1);
}

static size_t bytes_of(char size)
{
    switch (size) {
    case 'B':
        return 1;
    case 'W':
        return 2;
    case 'L':
    case 'I': /* an integer of the system's choice */
        return 4;
    case 'Q':
    case 'A': /* an address, by the system's choice and by the machine's */
    case 'H':
    case 'J': /* an integer of the machine's choice */
        return 8;
    default:
        return 0;
    }
}

/* Octal or hexadecimal: all digits that the size has. A field may cut off the first ones. */
static void put_digits(struct fao *f, const struct directive *d, uint64_t value, size_t bytes)
{
    unsigned bits = d->code[0] == 'X' ? 4 : 3;
    size_t digits = (8 * bytes + bits - 1) / bits;
    char text[24];

    for (size_t i = digits; i-- > 0; value >>= bits)
        text[i] = "0123456789ABCDEF"[value & ((1U << bits) - 1)];
    if (d->width && d->width < digits)
        put(f, text + digits - d->width, d->width);
    else
        put_right(f, text, digits, d->width, ' ');
}

static int put_number(struct fao *f, const struct directive *d)
{
    size_t bytes = bytes_of(d->code[1]);
    uint64_t value;
    char text[24];
    int n;

    if (bytes == 0)
        return SS$_BADPARAM;
    value = value_of(f, d, bytes);
    if (skipped(f))
        return SS$_NORMAL;
    f->number = (int64_t)value;
    if (d->code[0] == 'X' || d->code[0] == 'O') {
        put_digits(f, d, value, bytes);
        return SS$_NORMAL;
    }
    if (d->code[0] == 'S') {
        f->number = (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
        n = snprintf(text, sizeof(text), "%ld", (long)f->number);
    } else {
        n = snprintf(text, sizeof(text), "%lu", (unsigned long)value);
    }
    if (d->width && (unsigned)n > d->width)
        put_fill(f, '*', d->width);
    else
        put_right(f, text, (size_t)n, d->width, d->code[0] == 'Z' ? '0' : ' ');
    return SS$_NORMAL;
}

/* Strings by length and address; those of !AF with points for what cannot be printed. */
static void put_counted(struct fao *f, const struct directive *d)
{
    size_t n = (size_t)parameter(f) & COUNT_MAX;
    const char *text = (const char *)parameter(f);

    if (!text)
        n = 0;
    if (d->code[1] == 'D') {
        put_text(f, text, n, d->width);
        return;
    }
    if (d->width && n > d->width)
        n = d->width;
    for (size_t i = 0; i < n; i++)
        put_fill(f, text[i] < ' ' || text[i] > '~' ? '.' : text[i], 1);
    if (n < d->width)
        put_fill(f, ' ', d->width - n);
}

static int put_string(struct fao *f, const struct directive *d)
{
    struct text text = {0};
    const char *at;

    switch (d->code[1]) {
    case 'D':
    case 'F':
        put_counted(f, d);
        return SS$_NORMAL;
    case 'C':
        if ((at = (const char *)parameter(f)))
            text = (struct text){(char *)at + 1, (unsigned char)*at};
        break;
    case 'S':
        if ((at = (const char *)parameter(f)) && !mega$text_of(at, &text))
            return SS$_BADPARAM;
        break;
    case 'Z':
        if ((at = (const char *)parameter(f)))
            text = (struct text){(char *)at, strlen(at)};
        break;
    default:
        return SS$_BADPARAM;
    }
    put_text(f, text.at, text.length, d->width);
    return SS$_NORMAL;
}

/* !%T and !%D: the parameter is a time's address, 0 for now. */
static int put_time(struct fao *f, const struct directive *d)
{
    char line[32];
    struct dsc$descriptor_s buffer = {sizeof(line), DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    unsigned short n;
    void *time = (void *)parameter(f);

    if (skipped(f))
        return SS$_NORMAL;
    if (sys$asctim(&n, &buffer, time, d->code[1] == 'T') != SS$_NORMAL)
        return SS$_BADPARAM;
    put_text(f, line, n, d->width);
    return SS$_NORMAL;
}

/* !%U and !%I: a UIC, group and member in octal. Users have no names in this system's identifiers,
 * so an identifier that is no UIC is shown as a number. */
static void put_identifier(struct fao *f, const struct directive *d)
{
    uint32_t value = (uint32_t)parameter(f);
    char text[32];
    int n;

    if (d->code[1] == 'I' && value >> 31)
        n = snprintf(text, sizeof(text), "%%X%08X", value);
    else
        n = snprintf(text, sizeof(text), "[%o,%o]", value >> 16, value & 0xffff);
    put_text(f, text, (size_t)n, d->width);
}

/* Directives that begin with a percent sign. d->width is the n of !n%C. */
static int put_special(struct fao *f, const struct directive *d)
{
    switch (d->code[1]) {
    case 'S':
        if (f->number != 1)
            put(f, f->last >= 'a' && f->last <= 'z' ? "s" : "S", 1);
        return SS$_NORMAL;
    case 'T':
    case 'D':
        return put_time(f, d);
    case 'U':
    case 'I':
        put_identifier(f, d);
        return SS$_NORMAL;
    case 'C':
        if (f->choice == CHOSEN || f->choice == DONE)
            f->choice = DONE;
        else
            f->choice = f->number == (int64_t)d->width ? CHOSEN : NOT_YET;
        return SS$_NORMAL;
    case 'E':
        if (f->choice == NO_CHOICE)
            return SS$_BADPARAM;
        f->choice = f->choice == NOT_YET ? CHOSEN : DONE;
        return SS$_NORMAL;
    case 'F':
        if (f->choice == NO_CHOICE)
            return SS$_BADPARAM;
        f->choice = NO_CHOICE;
        return SS$_NORMAL;
    default:
        return SS$_BADPARAM;
    }
}

static int open_field(struct fao *f, unsigned width)
{
    if (skipped(f))
        return SS$_NORMAL;
    if (f->field != NO_FIELD)
        return SS$_BADPARAM;
    f->field = f->length;
    f->field_width = width;
    return SS$_NORMAL;
}

static int close_field(struct fao *f)
{
    size_t end = f->field + f->field_width;

    if (skipped(f))
        return SS$_NORMAL;
    if (f->field == NO_FIELD)
        return SS$_BADPARAM;
    if (f->length < end) {
        put_fill(f, ' ', end - f->length);
    } else if (f->length > end) {
        f->length = end;
        f->last = end > 0 && end <= f->size ? f->out[end - 1] : ' ';
    }
    f->field = NO_FIELD;
    return SS$_NORMAL;
}

static int act(struct fao *f, const struct directive *d)
{
    switch (d->code[0]) {
    case 'A':
        return put_string(f, d);
    case 'O':
    case 'X':
    case 'Z':
    case 'U':
    case 'S':
        return put_number(f, d);
    case '%':
        return put_special(f, d);
    case '/':
        put(f, "\r\n", 2);
        return SS$_NORMAL;
    case '_':
        put(f, "\t", 1);
        return SS$_NORMAL;
    case '^':
        put(f, "\f", 1);
        return SS$_NORMAL;
    case '!':
        put(f, "!", 1);
        return SS$_NORMAL;
    case '*':
        put_fill(f, d->fill, d->width);
        return SS$_NORMAL;
    case '<':
        return open_field(f, d->width);
    case '>':
        return close_field(f);
    case '-':
        f->next -= !skipped(f) && f->next > 0;
        return SS$_NORMAL;
    case '+':
        parameter(f);
        return SS$_NORMAL;
    default:
        return SS$_BADPARAM;
    }
}

static char next_character(struct fao *f) { return f->at < f->end ? *f->at++ : '\0'; }

/* Reads a number, or takes it from the next parameter for "#". */
static bool read_count(struct fao *f, unsigned *count)
{
    int64_t n;

    if (f->at < f->end && *f->at == '#') {
        f->at++;
        n = (int32_t)parameter(f);
    } else {
        for (n = 0; f->at < f->end && *f->at >= '0' && *f->at <= '9' && n <= COUNT_MAX; f->at++)
            n = 10 * n + *f->at - '0';
    }
    *count = (unsigned)n;
    return n >= 0 && n <= COUNT_MAX;
}

/* Reads what follows an exclamation mark. */
static bool read_directive(struct fao *f, struct directive *d)
{
    bool group;

    *d = (struct directive){.repeat = 1};
    if (!read_count(f, &d->width))
        return false;
    group = f->at < f->end && *f->at == '(';
    if (group) {
        f->at++;
        d->repeat = d->width;
        if (!read_count(f, &d->width))
            return false;
    }
    d->code[0] = next_character(f);
    if (d->code[0] == '@') {
        d->indirect = true;
        d->code[0] = next_character(f);
        if (!d->code[0] || !strchr("OXZUS", d->code[0]))
            return false;
    }
    if (d->code[0] == '%' || (d->code[0] >= 'A' && d->code[0] <= 'Z'))
        d->code[1] = next_character(f);
    if (d->code[0] == '*') {
        if (f->at == f->end)
            return false;
        d->fill = *f->at++;
    }
    return !group || next_character(f) == ')';
}

int mega$fao(const char *control, size_t control_length, char *out, size_t size, size_t *length,
             mega$fao_source *source, void *of)
{
    struct fao f = {.at = control,
                    .end = control + control_length,
                    .out = out,
                    .size = out ? size : 0,
                    .field = NO_FIELD,
                    .source = source,
                    .of = of};
    struct directive d;
    int status = SS$_NORMAL;

    while (f.at < f.end && status == SS$_NORMAL) {
        const char *mark = memchr(f.at, '!', (size_t)(f.end - f.at));

        put(&f, f.at, (size_t)((mark ? mark : f.end) - f.at));
        if (!mark)
            break;
        f.at = mark + 1;
        if (!read_directive(&f, &d))
            status = SS$_BADPARAM;
        for (unsigned i = 0; i < d.repeat && status == SS$_NORMAL; i++)
            status = act(&f, &d);
    }
    if (f.field != NO_FIELD) { /* what does not fit into the open field was not written */
        if (f.length > f.field + f.field_width)
            f.length = f.field + f.field_width;
        status = SS$_BADPARAM;
    }
    *length = f.length;
    return status;
}
