/*
 * The pager's rounds for users at their limits.
 *
 * A user who has reached his limit of memory (USER_PAGES), or of contents of files in memory
 * (USER_FILE_PAGES), waits for the pager, which then frees pages of this user alone, and of those
 * only what counts for this limit. Such users are served in turn, one round each, with a round for
 * all in between if memory is short: so none of them has the pager for himself, however fast he
 * uses up what it frees.
 *
 * The rounds for a user go on until he has some room, not only as much as somebody waits for: so
 * who waits goes on before they end, and may wait again before they end. It is a verdict that they
 * were in vain only if there was no room at the beginning of any of those that freed nothing:
 * otherwise pages were in use meanwhile that are not while their users wait, and who waits asks
 * anew.
 *
 * Who was refused a page may have had others for the same attempt, tables above it, and has given
 * them back. Then there is room for what was refused, but not for all of the attempt: the rounds
 * are to make room for both (quota_refused). If they cannot, what room there is is tried once.
 *
 * A user who has room neither in memory nor in page files for PAGE_OUT_THRASH_NS thrashes: pages
 * that are freed only make place for others of his that come back.
 */
#include "kernel/proc/page_file.h"
#include "kernel/proc/page_out_private.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/timer.h"
#include "mm/pagefile/pagefile.h"

#define OWN_SHIFT 5           /* a user at his limit gets 1/32 of it back, */
#define OWN_LEAST 32u         /* or so many pages, or what he has asked for */
#define STALE_NS  1000000000u /* so long after his last round, what is known of a user is too old */

/* A user at a limit, of pages or of pages of files: one for each of these counters. The account
 * stays while somebody waits, by his process; afterwards the pager reads its counters at most. */
static struct need {
    uint16_t wanted;   /* pages that somebody waits for; 0: nobody, or it is over; atomic */
    uint8_t vain;      /* rounds so far that have freed nothing; pager's thread */
    bool had_room;     /* at the beginning of one of these; pager's thread */
    uint32_t verdicts; /* how often they were in vain; atomic */
    uint64_t tight_ns; /* since when there is neither room nor a slot, 0: there is; atomic */
    uint64_t next_ns;  /* when its next round may begin; atomic */
} needs[ACCOUNTS_MAX][QUOTA_FILE_PAGES + 1];
static uint32_t nneeds; /* those whose `wanted` is not 0; atomic */

static struct need *need_of(const struct quota_count *c)
{
    const struct account *a = quota_account(quota_number(c));

    return &needs[a - accounts][c - a->count];
}

/* The room that rounds for the counter are to make. */
static uint64_t room_to_make(const struct quota_count *c, uint64_t wanted)
{
    uint64_t limit = __atomic_load_n(&c->limit, __ATOMIC_RELAXED);

    return MIN(MAX(MAX(limit >> OWN_SHIFT, OWN_LEAST), wanted), limit);
}

bool page_out_user_has_room(const struct quota_count *c, uint64_t wanted)
{
    return quota_room(c) >= room_to_make(c, wanted);
}

/* Slots that the user of the counter can have still. *few: so many, or less, are none. */
static uint64_t slots_left(const struct quota_count *c, uint64_t *few)
{
    const struct quota_count *slots = &quota_account(quota_number(c))->count[QUOTA_PAGE_FILE];
    uint64_t all, free;

    pagefile_totals(&all, &free);
    *few = PAGEFILE_CLUSTER + MIN(__atomic_load_n(&slots->limit, __ATOMIC_RELAXED), all) / 128;
    return MIN(quota_room(slots), free);
}

/* What the last rounds have found is of no account if they were long ago, or if somebody has freed
 * memory or slots since. A page that goes or comes changes the sum of both by nothing. */
bool page_out_user_is_thrash(const struct quota_count *c)
{
    const struct need *n = need_of(c);
    uint64_t since = __atomic_load_n(&n->tight_ns, __ATOMIC_RELAXED), now = clock_ns(), few, left;

    if (!since || now - since <= PAGE_OUT_THRASH_NS ||
        now >= __atomic_load_n(&n->next_ns, __ATOMIC_RELAXED) + STALE_NS)
        return false;
    left = slots_left(c, &few);
    return left + quota_room(c) <= few + room_to_make(c, 0);
}

bool page_out_is_limited(const struct account *a)
{
    uint64_t n;
    const struct quota_count *c = quota_refused(&n);

    return page_out_is_full(a) || (c && quota_account(quota_number(c)) == a && quota_room(c) < n);
}

bool page_out_is_full(const struct account *a)
{
    uint64_t n;
    const struct quota_count *c = quota_refused(&n);

    if (!page_out_active()) /* nobody makes room: what there is is tried again */
        n = thread_self()->refused_pages;
    if (account_is_full(a, QUOTA_PAGES, 1) ||
        (c && quota_account(quota_number(c)) == a && quota_room(c) < n))
        return true;
    return page_out_user_is_thrash(&a->count[QUOTA_PAGES]) ||
           (c == &a->count[QUOTA_FILE_PAGES] && page_out_user_is_thrash(c));
}

/* Note since when the user has neither room nor slots. Once in a round: a page that comes back
 * leaves its slot until another one takes it. */
static void look_at_slots(struct need *n, const struct quota_count *c, bool room)
{
    uint64_t now = clock_ns(), few;

    if (room || slots_left(c, &few) > few)
        now = 0;
    if (!now || !n->tight_ns)
        __atomic_store_n(&n->tight_ns, now, __ATOMIC_RELAXED);
}

/* One round for the user of a counter, who has asked for some pages. */
static void serve(const struct quota_count *c, struct need *n, uint64_t wanted)
{
    bool room, vain;

    if (clock_ns() > n->next_ns + STALE_NS) {
        n->vain = 0;
        __atomic_store_n(&n->tight_ns, 0, __ATOMIC_RELAXED);
    }
    /* More than that only one call of his wants, and others are told the same. */
    n->had_room = (n->vain && n->had_room) || quota_room(c) >= MIN(wanted, QUOTA_ATTEMPT_PAGES + 1);
    n->vain = pagefile_any() && page_out_round_for(c, wanted) ? 0 : n->vain + 1;
    room = page_out_user_has_room(c, wanted);
    __atomic_store_n(&n->next_ns,
                     clock_ns() + (n->vain == PAGE_OUT_ROUNDS - 1 ? 0 : PAGE_OUT_ROUND_NS),
                     __ATOMIC_RELAXED);
    look_at_slots(n, c, room);
    vain = !pagefile_any() || (n->vain >= PAGE_OUT_ROUNDS && !n->had_room) ||
           page_out_user_is_thrash(c);
    if (!room && !vain && n->vain < PAGE_OUT_ROUNDS)
        return;
    n->vain = 0;
    if (__atomic_exchange_n(&n->wanted, 0, __ATOMIC_ACQUIRE))
        __atomic_fetch_sub(&nneeds, 1, __ATOMIC_RELAXED);
    if (!room && vain)
        __atomic_fetch_add(&n->verdicts, 1, __ATOMIC_RELEASE);
    page_out_tell();
}

bool page_out_users_wait(void) { return __atomic_load_n(&nneeds, __ATOMIC_RELAXED) != 0; }

bool page_out_serve_user(void)
{
    static unsigned last; /* a number of one of needs[][] */
    const unsigned kinds = QUOTA_FILE_PAGES + 1, all = ACCOUNTS_MAX * kinds;

    if (!page_out_users_wait())
        return false;
    for (unsigned k = 1; k <= all; k++) {
        unsigned i = (last + k) % all;
        struct need *n = &needs[i / kinds][i % kinds];
        uint64_t wanted = __atomic_load_n(&n->wanted, __ATOMIC_ACQUIRE);

        if (!wanted || clock_ns() < n->next_ns)
            continue;
        last = i;
        serve(&accounts[i / kinds].count[i % kinds], n, wanted);
        return true;
    }
    return false;
}

uint32_t page_out_user_verdicts(const struct quota_count *c)
{
    return __atomic_load_n(&need_of(c)->verdicts, __ATOMIC_ACQUIRE);
}

bool page_out_user_ask(const struct quota_count *c, uint16_t pages)
{
    struct need *n = need_of(c);
    uint16_t was = __atomic_load_n(&n->wanted, __ATOMIC_RELAXED);

    while (was < pages)
        if (__atomic_compare_exchange_n(&n->wanted, &was, pages, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
            if (!was)
                __atomic_fetch_add(&nneeds, 1, __ATOMIC_RELAXED);
            return true;
        }
    return false;
}

const struct quota_count *page_out_user_full(uint64_t *wanted)
{
    const struct account *a = account_self();
    const struct quota_count *c = quota_refused(wanted);

    if (c && quota_account(quota_number(c)) == a && quota_room(c) < *wanted)
        return c;
    *wanted = 1;
    return account_is_full(a, QUOTA_PAGES, 1) ? &a->count[QUOTA_PAGES] : NULL;
}
