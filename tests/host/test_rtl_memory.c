// SOURCES: userland/lib/strings.c userland/lib/vm.c userland/lib/descriptor.c userland/lib/fao.c
// SOURCES: userland/lib/fao_services.c userland/lib/time.c userland/lib/lib_time.c
// SOURCES: userland/lib/clock.c userland/lib/extract.c userland/lib/characters.c
// SOURCES: userland/lib/lib_strings.c userland/lib/message.c userland/lib/put_message.c
// WRAP: malloc calloc posix_memalign tsearch
/*
 * The run-time library without memory: in each routine that allocates, each allocation fails in
 * turn. The condition value says so, STR$ routines signal it first, the strings are as they were,
 * and nothing is lost, which AddressSanitizer checks at the end.
 */
#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <rtl/characters.h>
#include <rtl/fao.h>
#include <rtl/message.h>
#include <rtl/vm.h>
#include <search.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <str$routines.h>
#include <strdef.h>
#include <tap.h>

#include "userland/lib/handlers.h"

/* ---- allocations, by the linker's --wrap ---- */

static unsigned countdown; /* the n-th from now fails; 0: none does */
static bool fired;

static bool fails(void)
{
    if (!countdown || --countdown)
        return false;
    return fired = true;
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
int __real_posix_memalign(void **at, size_t alignment, size_t n);
int __wrap_posix_memalign(void **at, size_t alignment, size_t n);
int __wrap_posix_memalign(void **at, size_t alignment, size_t n)
{
    return fails() ? ENOMEM : __real_posix_memalign(at, alignment, n);
}
void *__real_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *))
{
    return fails() ? NULL : __real_tsearch(key, root, compare);
}

/* ---- conditions ---- */

static int signalled; /* the last one */

int mega$signal(int stop, void *frame, int count, ...)
{
    va_list list;

    (void)frame;
    (void)count;
    if (stop)
        abort();
    va_start(list, count);
    signalled = va_arg(list, int);
    va_end(list);
    return SS$_NORMAL;
}

/* $PUTMSG is not called. */
const int64_t *mega$signal_quadwords(const void *longwords, size_t *count)
{
    (void)longwords;
    *count = 0;
    return NULL;
}

/* ---- the routines ---- */

static struct dsc$descriptor_d to = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, NULL};
static $DESCRIPTOR(source, "a source");
static $DESCRIPTOR(letters, "abc");
static $DESCRIPTOR(control, "!UL and !AS");
static unsigned short length;
static unsigned zone;
static void *block;
static const int one = 1, four = 4, twenty = 20;

static int copy_dx(void) { return str$copy_dx(&to, &source); }
static int copy_r(void) { return str$copy_r(&to, &source.dsc$w_length, source.dsc$a_pointer); }
static int concat(void) { return str$concat(&to, &source, &letters); }
static int append(void) { return str$append(&to, &source); }
static int prefix(void) { return str$prefix(&to, &source); }
static int get1_dx(void) { return str$get1_dx(&source.dsc$w_length, &to); }
static int upcase(void) { return str$upcase(&to, &source); }
static int trim(void) { return str$trim(&to, &source, &length); }
static int dupl_char(void) { return str$dupl_char(&to, &twenty, "x"); }
static int len_extr(void) { return str$len_extr(&to, &source, &one, &four); }
static int pos_extr(void) { return str$pos_extr(&to, &source, &one, &four); }
static int left(void) { return str$left(&to, &source, &four); }
static int right(void) { return str$right(&to, &source, &four); }
static int replace(void) { return str$replace(&to, &source, &one, &four, &letters); }
static int translate(void) { return str$translate(&to, &source, &letters, &letters); }
static int scopy_dxdx(void) { return lib$scopy_dxdx(&source, &to); }
static int scopy_r_dx(void)
{
    return lib$scopy_r_dx(&source.dsc$w_length, source.dsc$a_pointer, &to);
}
static int sget1_dd(void) { return lib$sget1_dd(&source.dsc$w_length, &to); }
static int one_char(void) { return lib$char(&to, (const unsigned char *)"c"); }
static int sys_fao(void) { return lib$sys_fao(&control, &length, &to, 1234l, &source); }
static int sys_faol(void)
{
    int64_t list[] = {1234, (int64_t)&source};

    return lib$sys_faol_64(&control, &length, &to, list);
}
static int sys_asctim(void) { return lib$sys_asctim(&length, &to, 0, 0); }
static int date_time(void) { return lib$date_time(&to); }
static int sys_getmsg(void)
{
    unsigned status = SS$_ACCVIO;

    return lib$sys_getmsg(&status, &length, &to, 0, 0);
}
static int create_zone(void) { return lib$create_vm_zone(&zone); }
static int get_vm(void) { return lib$get_vm(&twenty, &block); }
static void delete_zone(void) { lib$delete_vm_zone(&zone); }
static void free_vm(void) { lib$free_vm(&twenty, &block); }

static const struct routine {
    const char *name;
    int (*call)(void);
    int without; /* memory: what it returns */
    unsigned allocations;
    void (*undo)(void);
} routines[] = {
    {"str$copy_dx", copy_dx, STR$_INSVIRMEM, 2, 0},
    {"str$copy_r", copy_r, STR$_INSVIRMEM, 2, 0},
    {"str$concat", concat, STR$_INSVIRMEM, 3, 0},
    {"str$append", append, STR$_INSVIRMEM, 3, 0},
    {"str$prefix", prefix, STR$_INSVIRMEM, 3, 0},
    {"str$get1_dx", get1_dx, STR$_INSVIRMEM, 1, 0},
    {"str$upcase", upcase, STR$_INSVIRMEM, 2, 0},
    {"str$trim", trim, STR$_INSVIRMEM, 2, 0},
    {"str$dupl_char", dupl_char, STR$_INSVIRMEM, 3, 0},
    {"str$len_extr", len_extr, STR$_INSVIRMEM, 2, 0},
    {"str$pos_extr", pos_extr, STR$_INSVIRMEM, 2, 0},
    {"str$left", left, STR$_INSVIRMEM, 2, 0},
    {"str$right", right, STR$_INSVIRMEM, 2, 0},
    {"str$replace", replace, STR$_INSVIRMEM, 3, 0},
    {"str$translate", translate, STR$_INSVIRMEM, 3, 0},
    {"lib$scopy_dxdx", scopy_dxdx, LIB$_INSVIRMEM, 2, 0},
    {"lib$scopy_r_dx", scopy_r_dx, LIB$_INSVIRMEM, 2, 0},
    {"lib$sget1_dd", sget1_dd, LIB$_INSVIRMEM, 1, 0},
    {"lib$char", one_char, LIB$_INSVIRMEM, 2, 0},
    {"lib$sys_fao", sys_fao, LIB$_INSVIRMEM, 3, 0},
    {"lib$sys_faol_64", sys_faol, LIB$_INSVIRMEM, 3, 0},
    {"lib$sys_asctim", sys_asctim, LIB$_INSVIRMEM, 2, 0},
    {"lib$date_time", date_time, LIB$_INSVIRMEM, 2, 0},
    {"lib$sys_getmsg", sys_getmsg, LIB$_INSVIRMEM, 2, 0},
    {"lib$create_vm_zone", create_zone, LIB$_INSVIRMEM, 1, delete_zone},
    {"lib$get_vm", get_vm, LIB$_INSVIRMEM, 3, free_vm},
};

static bool is_old(void) { return to.dsc$w_length == 3 && memcmp(to.dsc$a_pointer, "old", 3) == 0; }

static void test(const struct routine *r)
{
    bool right = true;
    unsigned n = 0;
    int status;

    do {
        str$copy_r(&to, &(unsigned short){3}, "old");
        length = 77;
        zone = 77;
        block = NULL;
        signalled = 0;
        fired = false;
        countdown = ++n;
        status = r->call();
        countdown = 0;
        if (fired && (status != r->without || !is_old() || zone != 77 || block ||
                      (length != 77 && length != 0) ||
                      signalled != (r->without == STR$_INSVIRMEM ? r->without : 0))) {
            diag("allocation %u: %d, %u characters, signalled %d", n, status, to.dsc$w_length,
                 signalled);
            right = false;
        }
    } while (fired && n < 20);
    ok(right, "%s says that there is no memory, and changes nothing", r->name);
    ok(status & 1, "and succeeds when there is");
    is(n - 1, r->allocations, "after so many allocations");
    if (r->undo)
        r->undo();
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(routines) / sizeof(routines[0]); i++)
        test(&routines[i]);
    str$free1_dx(&to);
    return tap_done();
}
