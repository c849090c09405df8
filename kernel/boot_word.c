/* Words of the kernel command line: a linear search, without any state. */
#include "kernel/boot_word.h"

#include "kernel/base/string.h"

bool boot_word(const char *line, const char *name, char *value, size_t size)
{
    const char *p = line;
    size_t length = strlen(name);

    while (*p) {
        const char *end = strchr(p, ' ');
        size_t n = end ? (size_t)(end - p) : strlen(p);

        if (n >= length && strncmp(p, name, length) == 0 && (n == length || p[length] == '=')) {
            size_t have = n == length ? 0 : n - length - 1;

            if (!value)
                return true;
            if (have >= size)
                return false;
            memcpy(value, p + n - have, have);
            value[have] = 0;
            return true;
        }
        p += n;
        while (*p == ' ')
            p++;
    }
    return false;
}
