/*
 * Shared by the tests of logical names: a pool that counts and fails, the census's complaints, and
 * shorthand for definitions and translations.
 */
#ifndef TESTS_HOST_LNM_WORLD_H
#define TESTS_HOST_LNM_WORLD_H

#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/lnm/lnm.h"
#include "kernel/lnm/lnm_private.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"
#include "userland/lib/include/tap.h"

#include <stdarg.h>
#include <stdlib.h>

static long in_use, allocations, fail_at; /* fail_at: the n-th allocation from now; 0: none */

static void *take(size_t n)
{
    if (fail_at && --fail_at == 0)
        return NULL;
    in_use += (long)n;
    allocations++;
    return malloc(n);
}
static void give(void *p, size_t n)
{
    in_use -= (long)n;
    free(p);
}
void *pgd_alloc(size_t n) { return take(n); }
void pgd_free(void *p, size_t n) { give(p, n); }
void *pgd_alloc_zeroed(size_t n)
{
    void *p = take(n);

    return p ? memset(p, 0, n) : NULL;
}
void *npp_alloc_zeroed(size_t n) { return pgd_alloc_zeroed(n); }
/* As in the kernel, what nobody has cleared holds anything. */
void *npp_alloc(size_t n)
{
    void *p = take(n);

    return p ? memset(p, 0xA5, n) : NULL;
}
void npp_free(void *p, size_t n) { give(p, n); }

/* ---- the census: here in_use counts what is allocated, so only its complaints matter ---- */

static void (*explain)(struct census *c);
static char complaint[200];

void census_register(void (*fn)(struct census *c), const struct census_kind *kinds, unsigned nkinds)
{
    (void)kinds;
    (void)nkinds;
    explain = fn;
}
void census_explain(struct census *c, enum census_pool pool, size_t nbytes, uint64_t count)
{
    (void)c;
    (void)pool;
    (void)nbytes;
    (void)count;
}
void census_error(struct census *c, const char *fmt, ...)
{
    va_list ap;

    c->errors++;
    va_start(ap, fmt);
    vsnprintf(complaint, sizeof(complaint), fmt, ap);
    va_end(ap);
}

/* ---- shorthand ---- */

static struct lnm_string text(const char *s) { return (struct lnm_string){s, (uint32_t)strlen(s)}; }

static int define_by(const struct lnm_who *who, const char *table, struct lnm_string name,
                     uint8_t mode, uint32_t attributes, const char *value)
{
    uint32_t n = (uint32_t)strlen(value);
    struct lnm_name *b = lnm_name_alloc(name, mode, attributes, lnm_translation_bytes(n));
    bool kept;
    int status;

    if (!b)
        return SS$_INSFMEM;
    memcpy(lnm_name_add(b, 0, 0, n), value, n);
    status = lnm_define(who, text(table), b, false, NULL, NULL, &kept);
    if (!(status & 1))
        lnm_name_free(b);
    return status;
}

static char found[32];

static int copy_out(const struct lnm_view *v, void *arg)
{
    struct lnm_string s;
    uint32_t attributes;

    (void)arg;
    found[0] = '\0';
    if (lnm_translation(v->block, 0, &s, &attributes)) {
        memcpy(found, s.s, s.length);
        found[s.length] = '\0';
    }
    return SS$_NORMAL;
}

#endif
