/*
 * Queues with interlock, of longwords and of quadwords.
 *
 * A link is the distance from the header or entry that has it. Bit 0 of the header's first link,
 * which is else 0 because of the alignment, is the interlock: it is taken by a compare-and-swap
 * with acquire semantics and given back by a store with release semantics, so that the next holder
 * sees the links that one wrote. Nobody waits for it long: it is held for a dozen instructions,
 * between which no AST comes (hold.h): its routine could not get the interlock. A process that is
 * killed while it holds it leaves it set, and LIB$_SECINTFAI is returned from then on, as on
 * OpenVMS.
 */
#include "hold.h"

#include <libdef.h>
#include <rtl/misc.h>
#include <sched.h>
#include <ssdef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#undef lib$insqhi
#undef lib$insqti
#undef lib$remqhi
#undef lib$remqti
#undef lib$insqhiq
#undef lib$insqtiq
#undef lib$remqhiq
#undef lib$remqtiq

#define ATTEMPTS_DEFAULT 10 /* "a value of 1 causes no retries": RTL Library manual */

enum { FLINK, BLINK };

/* A header or entry as links of one width. Links are read as atomic variables, because others look
 * at the header's first one without holding the interlock. */
#define DEFINE_LINKS(suffix, type)                                                            \
    static int64_t get_##suffix(const char *at, int link)                                     \
    {                                                                                         \
        return __atomic_load_n((const type *)at + link, __ATOMIC_RELAXED);                    \
    }                                                                                         \
    static void set_##suffix(char *at, int link, int64_t distance)                            \
    {                                                                                         \
        ((type *)at)[link] = (type)distance;                                                  \
    }                                                                                         \
    static bool lock_##suffix(char *header)                                                   \
    {                                                                                         \
        type free = __atomic_load_n((type *)header, __ATOMIC_RELAXED) & ~(type)1;             \
        return __atomic_compare_exchange_n((type *)header, &free, free | 1, false,            \
                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);               \
    }                                                                                         \
    static void unlock_##suffix(char *header, int64_t flink)                                  \
    {                                                                                         \
        __atomic_store_n((type *)header, (type)flink, __ATOMIC_RELEASE);                      \
    }                                                                                         \
    static const struct width width_##suffix = {2 * sizeof(type), get_##suffix, set_##suffix, \
                                                lock_##suffix, unlock_##suffix};

struct width {
    uintptr_t alignment;
    int64_t (*get)(const char *at, int link);
    void (*set)(char *at, int link, int64_t distance);
    bool (*lock)(char *header);
    void (*unlock)(char *header, int64_t flink); /* stores the header's first link */
};

DEFINE_LINKS(longword, int32_t)
DEFINE_LINKS(quadword, int64_t)

/* Takes the interlock, and puts ASTs off if that succeeds. */
static int take(const struct width *w, char *header, const unsigned int *retry_count)
{
    unsigned attempts = retry_count ? *retry_count : ATTEMPTS_DEFAULT;

    for (;;) {
        mega$hold_asts();
        if (w->lock(header))
            return SS$_NORMAL;
        mega$release_asts();
        if (attempts <= 1)
            return LIB$_SECINTFAI;
        attempts--;
        sched_yield(); /* the holder may wait for this CPU */
    }
}

/* Stores the header's first link, which gives the interlock back. */
static void give(const struct width *w, char *header, int64_t flink)
{
    w->unlock(header, flink);
    mega$release_asts();
}

/* Where a link of something leads; the header's first one without its interlock. */
static char *follow(const struct width *w, char *at, int link)
{
    return at + (w->get(at, link) & ~(int64_t)1);
}

/* Makes two neighbours; the header's first link is left to who gives the interlock back. */
static void join(const struct width *w, char *header, char *before, char *behind)
{
    if (before != header)
        w->set(before, FLINK, behind - before);
    w->set(behind, BLINK, before - behind);
}

static bool is_place(const struct width *w, const void *at)
{
    return at && (uintptr_t)at % w->alignment == 0;
}

static bool near(const struct width *w, const char *a, const char *b)
{
    return w == &width_quadword || (a - b >= INT32_MIN && a - b <= INT32_MAX);
}

static int insert(const struct width *w, char *entry, char *header, const unsigned int *retry_count,
                  bool at_head)
{
    char *before, *behind, *first;
    int status;

    if (!is_place(w, entry) || !is_place(w, header) || entry == header || !near(w, entry, header))
        return SS$_ROPRAND;
    w->set(entry, FLINK, w->get(entry, FLINK)); /* an access violation, if any, comes here */
    if ((status = take(w, header, retry_count)) != SS$_NORMAL)
        return status;
    first = follow(w, header, FLINK);
    before = at_head ? header : follow(w, header, BLINK);
    behind = at_head ? first : header;
    status = first == header ? LIB$_ONEENTQUE : SS$_NORMAL;
    if (!near(w, entry, before) || !near(w, entry, behind)) {
        give(w, header, first - header);
        return SS$_ROPRAND;
    }
    join(w, header, before, entry);
    w->set(entry, FLINK, behind - entry);
    w->set(behind, BLINK, entry - behind);
    give(w, header, (before == header ? entry : first) - header);
    return status;
}

static int take_out(const struct width *w, char *header, void *remque_address,
                    const unsigned int *retry_count, bool at_head)
{
    char *entry, *before, *behind, *first;
    int status;

    if (!is_place(w, header) || !remque_address)
        return SS$_ROPRAND;
    if ((status = take(w, header, retry_count)) != SS$_NORMAL)
        return status;
    first = follow(w, header, FLINK);
    if (first == header) {
        give(w, header, 0);
        memcpy(remque_address, &header, sizeof(header)); /* as the manual has it */
        return LIB$_QUEWASEMP;
    }
    entry = at_head ? first : follow(w, header, BLINK);
    before = follow(w, entry, BLINK);
    behind = follow(w, entry, FLINK);
    join(w, header, before, behind);
    if (before == header)
        first = behind;
    give(w, header, first - header);
    memcpy(remque_address, &entry, sizeof(entry));
    return first == header ? LIB$_ONEENTQUE : SS$_NORMAL;
}

int lib$insqhi(void *entry, void *header, const unsigned int *retry_count)
{
    return insert(&width_longword, entry, header, retry_count, true);
}

int lib$insqti(void *entry, void *header, const unsigned int *retry_count)
{
    return insert(&width_longword, entry, header, retry_count, false);
}

int lib$remqhi(void *header, void *remque_address, const unsigned int *retry_count)
{
    return take_out(&width_longword, header, remque_address, retry_count, true);
}

int lib$remqti(void *header, void *remque_address, const unsigned int *retry_count)
{
    return take_out(&width_longword, header, remque_address, retry_count, false);
}

int lib$insqhiq(void *entry, void *header, const unsigned int *retry_count)
{
    return insert(&width_quadword, entry, header, retry_count, true);
}

int lib$insqtiq(void *entry, void *header, const unsigned int *retry_count)
{
    return insert(&width_quadword, entry, header, retry_count, false);
}

int lib$remqhiq(void *header, void *remque_address, const unsigned int *retry_count)
{
    return take_out(&width_quadword, header, remque_address, retry_count, true);
}

int lib$remqtiq(void *header, void *remque_address, const unsigned int *retry_count)
{
    return take_out(&width_quadword, header, remque_address, retry_count, false);
}
