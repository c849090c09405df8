// SOURCES: kernel/base/cpio.c
/* The archive reader on a small archive: complete, cut at every length, with each byte changed. */
#include "kernel/base/cpio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userland/lib/include/tap.h"

/* The name's size counts `more` NULs besides its own. */
static size_t put_padded(char *to, const char *name, size_t more, unsigned mode, const char *data)
{
    size_t n = (size_t)sprintf(to, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X%s",
                               1, mode, 2, 3, 1, 4, strlen(data), 0, 0, 0, 0,
                               strlen(name) + 1 + more, 0, name);

    memset(to + n, 0, more + 1);
    for (n += more + 1; n % 4;)
        to[n++] = 0;
    memcpy(to + n, data, strlen(data));
    for (n += strlen(data); n % 4;)
        to[n++] = 0;
    return n;
}

static size_t put(char *to, const char *name, unsigned mode, const char *data)
{
    return put_padded(to, name, 0, mode, data);
}

/* Read all of a heap copy of exactly n bytes; returns the number of entries. */
static int count(const char *archive, size_t n, bool *damaged)
{
    char *copy = malloc(n ? n : 1);
    struct cpio c;
    struct cpio_entry e;
    int entries = 0;
    volatile unsigned sum = 0;

    memcpy(copy, archive, n);
    cpio_open(&c, copy, n);
    while (cpio_next(&c, &e)) {
        entries++;
        sum += (unsigned)strlen(e.name);
        for (uint32_t i = 0; i < e.nbytes; i++)
            sum += e.data[i];
    }
    *damaged = c.damaged;
    free(copy);
    return entries;
}

/* Behind the NUL of a name, and counted in its size, there may be NULs, and nothing else. */
static void test_padding(void)
{
    char a[600];
    struct cpio_entry e;
    bool damaged, all = true, refused = true;

    for (size_t more = 0; more < 16; more++) {
        size_t n = put_padded(a, "etc/rc", more, 0100644, "12345");

        n += put_padded(a + n, "TRAILER!!!", more, 0, "");
        all &= count(a, n, &damaged) == 1 && !damaged && cpio_find(a, n, "etc/rc", &e) &&
               e.nbytes == 5 && !memcmp(e.data, "12345", 5);
        for (size_t at = 0; at < more; at++) {
            a[110 + 7 + at] = 'x';
            refused &= count(a, n, &damaged) == 0 && damaged;
            a[110 + 7 + at] = 0;
        }
    }
    ok(all, "NULs that align the data, up to 15");
    ok(refused, "anything else behind the name's end is damage");
}

int main(void)
{
    static char a[4096], b[4096];
    struct cpio_entry e;
    size_t n = 0, last;
    bool damaged;
    int most = 0;

    n += put(a + n, "boot", 040755, "");
    n += put(a + n, "boot/config", 0100644, "hello");
    n += put(a + n, "bin/sh", 0100755, "12345678");
    last = n;
    n += put(a + n, "TRAILER!!!", 0, "");
    is(count(a, n, &damaged), 3, "three entries");
    ok(!damaged, "and a trailer");
    ok(cpio_find(a, n, "boot/config", &e) && e.nbytes == 5 && !memcmp(e.data, "hello", 5), "found");
    is(e.mode, 0100644, "its mode");
    is(e.uid * 100 + e.gid * 10 + e.mtime, 234, "owner and time");
    ok(!cpio_find(a, n, "boot/conf", &e), "a beginning of a name is not found");
    for (size_t cut = 0; cut < n; cut++) {
        int entries = count(a, cut, &damaged);

        if (cut < last + 110 && !damaged)
            bail_out("cut at %zu was not noticed", cut);
        most = entries > most ? entries : most;
    }
    is(most, 3, "cut at every length: noticed, no entry too many, nothing read beyond");
    for (size_t at = 0; at < n; at++)
        for (int v = 1; v < 256; v += 7) {
            memcpy(b, a, n);
            b[at] ^= (char)v;
            most = count(b, n, &damaged) > 4 ? 5 : most;
        }
    is(most, 3, "every byte changed: at most the trailer becomes an entry, nothing read beyond");
    test_padding();
    return tap_done();
}
