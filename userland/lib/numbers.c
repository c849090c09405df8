/* Numbers from text: lib$cvt_dtb and its relatives. */
#include <limits.h>
#include <rtl/numbers.h>
#include <stdbool.h>
#include <stdint.h>

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'))
        return (c & 7) + 9;
    return INT_MAX;
}

/* 1 and *value, or 0: a character that is no digit, or a magnitude beyond most. */
static int convert(int count, const char *text, unsigned radix, uint64_t most, uint64_t *value)
{
    bool negative = count > 0 && *text == '-';
    uint64_t n = 0;

    if (count > 0 && (*text == '-' || *text == '+')) {
        text++;
        count--;
    }
    for (; count > 0; count--, text++) {
        unsigned digit = (unsigned)digit_of(*text);

        if (digit >= radix || n > (most - digit) / radix)
            return 0;
        n = n * radix + digit;
    }
    *value = negative ? -n : n;
    return 1;
}

static int convert_32(int count, const char *text, unsigned radix, int *result)
{
    uint64_t value;
    int good = convert(count, text, radix, UINT32_MAX, &value);

    if (good)
        *result = (int)(uint32_t)value;
    return good;
}

static int convert_64(int count, const char *text, unsigned radix, __int64 *result)
{
    uint64_t value;
    int good = convert(count, text, radix, UINT64_MAX, &value);

    if (good)
        *result = (int64_t)value;
    return good;
}

int lib$cvt_dtb(int count, const char *text, int *result)
{
    return convert_32(count, text, 10, result);
}

int lib$cvt_htb(int count, const char *text, int *result)
{
    return convert_32(count, text, 16, result);
}

int lib$cvt_otb(int count, const char *text, int *result)
{
    return convert_32(count, text, 8, result);
}

int lib$cvt_dtb_64(int count, const char *text, __int64 *result)
{
    return convert_64(count, text, 10, result);
}

int lib$cvt_htb_64(int count, const char *text, __int64 *result)
{
    return convert_64(count, text, 16, result);
}

int lib$cvt_otb_64(int count, const char *text, __int64 *result)
{
    return convert_64(count, text, 8, result);
}
