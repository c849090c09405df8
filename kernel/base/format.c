/*
 * The formatter of printk and format(). It makes one pass over the format. Each conversion writes
 * its digits from the last to the first into a buffer that holds the longest number (64 bits in
 * octal: 22 digits) and then adds padding. It allocates nothing and never waits, so that it can be
 * used in a panic.
 */
#include "kernel/base/format.h"

#include "kernel/base/string.h"
#include "kernel/base/symbols.h"

#define DIGITS_MAX 24

struct spec {
    bool left, zero, alternate, upper;
    char sign;            /* '+', ' ' or 0 */
    int width, precision; /* precision -1: none */
};

struct sink {
    format_out_fn *out;
    void *arg;
    size_t total;
};

static void emit(struct sink *s, const char *text, size_t n)
{
    if (n == 0)
        return;
    s->out(s->arg, text, n);
    s->total += n;
}

static void emit_pad(struct sink *s, char c, int n)
{
    char pad[16];

    memset(pad, c, sizeof(pad));
    for (; n > 0; n -= (int)sizeof(pad))
        emit(s, pad, (size_t)MIN(n, (int)sizeof(pad)));
}

static void emit_text(struct sink *s, const struct spec *sp, const char *text, size_t n)
{
    int pad = sp->width - (int)n;

    if (!sp->left)
        emit_pad(s, ' ', pad);
    emit(s, text, n);
    if (sp->left)
        emit_pad(s, ' ', pad);
}

static void emit_number(struct sink *s, const struct spec *sp, uint64_t v, unsigned base,
                        bool negative)
{
    const char *digits = sp->upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char buf[DIGITS_MAX], prefix[3];
    int n = 0, nprefix = 0, zeros, pad;
    bool nonzero = v != 0;

    while (v != 0) {
        buf[DIGITS_MAX - ++n] = digits[v % base];
        v /= base;
    }
    if (negative)
        prefix[nprefix++] = '-';
    else if (sp->sign)
        prefix[nprefix++] = sp->sign;
    if (sp->alternate && base == 16 && nonzero) {
        prefix[nprefix++] = '0';
        prefix[nprefix++] = sp->upper ? 'X' : 'x';
    }
    zeros = (sp->precision < 0 ? 1 : sp->precision) - n;
    if (sp->alternate && base == 8 && zeros <= 0)
        zeros = 1;
    if (zeros < 0)
        zeros = 0;
    if (sp->zero && !sp->left && sp->precision < 0 && sp->width > nprefix + n + zeros)
        zeros = sp->width - nprefix - n;
    pad = sp->width - nprefix - zeros - n;
    if (!sp->left)
        emit_pad(s, ' ', pad);
    emit(s, prefix, (size_t)nprefix);
    emit_pad(s, '0', zeros);
    emit(s, buf + DIGITS_MAX - n, (size_t)n);
    if (sp->left)
        emit_pad(s, ' ', pad);
}

static void emit_symbol(struct sink *s, uint64_t address)
{
    static const struct spec plain = {.alternate = true, .precision = -1};
    uint64_t offset;
    const char *name = symbol_find(address, &offset);

    if (!name) {
        emit_number(s, &plain, address, 16, false);
        return;
    }
    emit(s, name, strlen(name));
    emit(s, "+", 1);
    emit(s, offset ? "" : "0", offset ? 0 : 1);
    if (offset)
        emit_number(s, &plain, offset, 16, false);
}

/* The flags and the two numbers of a conversion. Returns where the length modifier begins. */
static const char *parse_spec(const char *p, struct spec *sp, va_list *ap)
{
    *sp = (struct spec){.precision = -1};
    for (;; p++) {
        if (*p == '-')
            sp->left = true;
        else if (*p == '0')
            sp->zero = true;
        else if (*p == '#')
            sp->alternate = true;
        else if (*p == '+' || (*p == ' ' && sp->sign == 0))
            sp->sign = *p;
        else if (*p != ' ')
            break;
    }
    if (*p == '*') {
        sp->width = va_arg(*ap, int);
        if (sp->width < 0) {
            sp->left = true;
            sp->width = -sp->width;
        }
        p++;
    } else {
        for (; *p >= '0' && *p <= '9'; p++)
            sp->width = sp->width * 10 + (*p - '0');
    }
    if (*p == '.') {
        sp->precision = 0;
        if (*++p == '*') {
            sp->precision = va_arg(*ap, int);
            p++;
        } else {
            for (; *p >= '0' && *p <= '9'; p++)
                sp->precision = sp->precision * 10 + (*p - '0');
        }
    }
    return p;
}

/* An integer argument. length: -2 char, -1 short, 0 int, 1 long and longer types. */
static uint64_t integer_argument(int length, bool is_signed, va_list *ap)
{
    if (length > 0)
        return va_arg(*ap, uint64_t);

    unsigned v = va_arg(*ap, unsigned);

    if (length == -2)
        return is_signed ? (uint64_t)(signed char)v : (unsigned char)v;
    if (length == -1)
        return is_signed ? (uint64_t)(short)v : (unsigned short)v;
    return is_signed ? (uint64_t)(int)v : v;
}

static const char *convert(struct sink *s, const char *p, va_list *ap)
{
    struct spec sp;
    int length = 0;
    uint64_t v;
    const char *text;
    char c;

    p = parse_spec(p, &sp, ap);
    for (;; p++) {
        if (*p == 'l' || *p == 'z' || *p == 'j' || *p == 't')
            length = 1;
        else if (*p == 'h')
            length--;
        else
            break;
    }
    switch (*p) {
    case 'd':
    case 'i':
        v = integer_argument(length, true, ap);
        emit_number(s, &sp, (int64_t)v < 0 ? -v : v, 10, (int64_t)v < 0);
        break;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        sp.upper = *p == 'X';
        sp.sign = 0;
        v = integer_argument(length, false, ap);
        emit_number(s, &sp, v, *p == 'u' ? 10 : *p == 'o' ? 8 : 16, false);
        break;
    case 'p':
        v = (uint64_t)va_arg(*ap, void *);
        if (p[1] == 'S') {
            emit_symbol(s, v);
            p++;
            break;
        }
        sp.alternate = true;
        emit_number(s, &sp, v, 16, false);
        break;
    case 'c':
        c = (char)va_arg(*ap, int);
        emit_text(s, &sp, &c, 1);
        break;
    case 's':
        text = va_arg(*ap, const char *);
        if (!text)
            text = "(null)";
        emit_text(s, &sp, text,
                  sp.precision < 0 ? strlen(text) : strnlen(text, (size_t)sp.precision));
        break;
    case '%':
        emit(s, "%", 1);
        break;
    case 0:
        return p;
    default: /* unknown conversion: printed as it is */
        emit(s, "%", 1);
        emit(s, p, 1);
    }
    return p + 1;
}

size_t format_to(format_out_fn *out, void *arg, const char *fmt, va_list ap)
{
    struct sink s = {.out = out, .arg = arg};
    va_list args;

    va_copy(args, ap);
    while (*fmt) {
        const char *percent = strchr(fmt, '%');

        if (!percent) {
            emit(&s, fmt, strlen(fmt));
            break;
        }
        emit(&s, fmt, (size_t)(percent - fmt));
        fmt = convert(&s, percent + 1, &args);
    }
    va_end(args);
    return s.total;
}

struct buffer {
    char *at;
    size_t left; /* room besides the terminator */
};

static void buffer_out(void *arg, const char *text, size_t n)
{
    struct buffer *b = arg;

    n = MIN(n, b->left);
    if (n == 0)
        return;
    memcpy(b->at, text, n);
    b->at += n;
    b->left -= n;
}

size_t vformat(char *buf, size_t size, const char *fmt, va_list ap)
{
    struct buffer b = {buf, size ? size - 1 : 0};
    size_t n = format_to(buffer_out, &b, fmt, ap);

    if (size)
        *b.at = 0;
    return n;
}

size_t format(char *buf, size_t size, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    size_t n = vformat(buf, size, fmt, ap);

    va_end(ap);
    return n;
}
