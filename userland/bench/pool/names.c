/* Logical names whose blocks have given sizes. */
#include "pool.h"

#include <descrip.h>
#include <fcntl.h>
#include <iledef.h>
#include <lnmdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The size of a name's block (kernel/lnm): 80 bytes, the name, and for each translation its string
 * and 7 bytes, each rounded up to a multiple of 8. Names here have 8 characters. names_check
 * compares this with the pool's own figures. */
#define HEAD  88u
#define EXTRA 7u

uint64_t random_next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s * 0x2545F4914F6CDD1Dul >> 32;
}

unsigned random_size(uint64_t *s)
{
    if (random_next(s) % 100 < 92)
        return NAME_SMALLEST + 16 * (unsigned)(random_next(s) % 8);
    return 224 + 16 * (unsigned)(random_next(s) % 19);
}

static struct dsc$descriptor_s string(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}

static char text[256];

/* Fill in items for translations that take `bytes` bytes. */
static unsigned fill_items(ILE3 *items, unsigned bytes)
{
    unsigned n = 0;

    for (; bytes > 0; n++) {
        unsigned part = bytes > 256 ? 256 : bytes;

        items[n] = (ILE3){(unsigned short)(part - EXTRA), LNM$_STRING, text, NULL};
        bytes -= part;
    }
    items[n] = (ILE3){0};
    return n;
}

static void define(const char *table, const char *name, unsigned bytes)
{
    struct dsc$descriptor_s t = string(table), n = string(name);
    ILE3 items[132];

    memset(text, 'x', sizeof(text));
    fill_items(items, bytes);
    status_need(sys$crelnm(NULL, &t, &n, NULL, items), "sys$crelnm");
}

static const char *name_of(unsigned n)
{
    static char name[16];

    snprintf(name, sizeof(name), "JOB%05X", n);
    return name;
}

void name_create(unsigned n, unsigned size)
{
    define("LNM$JOB", name_of(n), size - HEAD);
    board->size[n] = (uint16_t)size;
}

void name_delete(unsigned n)
{
    struct dsc$descriptor_s table = string("LNM$JOB"), name = string(name_of(n));

    status_need(sys$dellnm(&table, &name, NULL), "sys$dellnm");
    board->size[n] = 0;
}

void name_delete_none(void)
{
    struct dsc$descriptor_s table = string("LNM$JOB"), name = string("NOSUCH");

    bench_need(sys$dellnm(&table, &name, NULL) == SS$_NOLOGNAM);
}

void names_check(unsigned size)
{
    uint64_t before;

    name_create(0, size); /* the first name of a job creates the job's table */
    name_delete(0);
    before = pool_now().in_use;
    name_create(0, size);
    bench_need(pool_now().in_use - before == size);
    name_delete(0);
}

#define LINKS      100u /* names in a directory, of characters from FIRST_LINK on */
#define FIRST_LINK 128
#define LINKED     "/tmp/pool"

void link_create(unsigned n)
{
    char path[32];
    int at = snprintf(path, sizeof(path), "%s.%u", LINKED, n / LINKS);

    if (n == 0)
        bench_need(close(creat(LINKED, 0600)) == 0);
    if (n % LINKS == 0)
        bench_need(mkdir(path, 0700) == 0);
    path[at] = '/';
    path[at + 1] = (char)(FIRST_LINK + n % LINKS);
    path[at + 2] = '\0';
    bench_need(link(LINKED, path) == 0);
}

void links_check(void)
{
    char path[32];
    uint64_t before;

    link_create(0); /* the first one makes the file and the directory */
    before = pool_now().in_use;
    snprintf(path, sizeof(path), "%s.0/a", LINKED);
    bench_need(link(LINKED, path) == 0);
    bench_need(pool_now().in_use - before == LINK_SIZE);
    bench_need(unlink(path) == 0 && unlink(LINKED) == 0);
    snprintf(path, sizeof(path), "%s.0/%c", LINKED, FIRST_LINK);
    bench_need(unlink(path) == 0);
    snprintf(path, sizeof(path), "%s.0", LINKED);
    bench_need(rmdir(path) == 0);
}

void landmark_create(void) { define("LNM$SYSTEM", "LANDMARK", 16); }

void landmark_translate(void)
{
    struct dsc$descriptor_s table = string("LNM$SYSTEM"), name = string("LANDMARK");
    char to[256];
    unsigned short length;
    ILE3 items[] = {{255, LNM$_STRING, to, &length}, {0}};

    status_need(sys$trnlnm(NULL, &table, &name, NULL, items), "sys$trnlnm");
}

void ballast_create(uint64_t bytes)
{
    enum { EACH = HEAD + 127 * 256 };

    for (unsigned i = 0; bytes >= HEAD + 8; i++) {
        uint64_t size = bytes > EACH ? EACH : bytes;
        char name[16];

        snprintf(name, sizeof(name), "BAL%05X", i);
        define("LNM$SYSTEM", name, (unsigned)(size - HEAD) & ~7u);
        bytes -= size;
    }
}
