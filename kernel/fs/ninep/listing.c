/*
 * The names of a directory, in an order of our own.
 *
 * readdir() wants positions that ascend and that a name keeps, and the server's are good for one
 * pass over an open directory only. So the position of a name is a hash of it, and a listing is a
 * part of the directory in the order of these: the LISTING_MOST names that follow a position. It is
 * made by reading the whole directory and keeping the lowest positions above that one. Two names
 * with the same hash get positions that follow each other.
 *
 * A directory keeps the listing that was read last. It is read anew by whoever begins at the start,
 * or comes from a position that it does not cover. So several readers of a directory with more
 * names than a listing holds take turns in reading it, and each of them still gets every name once.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ninep/private.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

#define LISTING_MOST 1024u
#define FIRST        2u /* positions up to this stand for "." and ".." */

struct listed {
    uint64_t cookie, ino;
    char *text; /* in paged pool, charged as the listing */
    uint8_t type;
    uint8_t len;
};

struct listing {      /* in paged pool; the directory's listing_lock */
    uint64_t from;    /* it begins with the first name above that */
    bool whole;       /* no name follows the last one */
    uint16_t account; /* that is charged for it */
    uint32_t count;   /* of entries, in ascending order of cookies */
    struct listed entry[LISTING_MOST];
};

static uint64_t cookie_of(const char *text, uint32_t len)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (uint32_t k = 0; k < len; k++)
        h = (h ^ (uint8_t)text[k]) * UINT64_C(1099511628211);
    return FIRST + 1 + ((h ^ h >> 32) & (UINT64_MAX >> 2));
}

/* The index of the first entry whose cookie is above pos. */
static uint32_t first_above(const struct listing *l, uint64_t pos)
{
    uint32_t low = 0, high = l->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (l->entry[middle].cookie > pos)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void drop_text(const struct listing *l, const struct listed *e)
{
    pgd_free_charged(e->text, e->len, l->account);
}

static void listing_free(struct listing *l)
{
    for (uint32_t k = 0; k < l->count; k++)
        drop_text(l, &l->entry[k]);
    pgd_free_charged(l, sizeof(*l), l->account);
}

void share_listing_free(struct share_inode *i)
{
    if (i->listing)
        listing_free(i->listing);
    i->listing = NULL;
}

/* Add a name, if it belongs to the part that is listed. */
static int add(struct listing *l, const struct ninep_dirent *d)
{
    uint64_t cookie = cookie_of(d->name, d->len);
    struct listed *e;
    uint32_t at;

    if (cookie <= l->from)
        return 0;
    at = first_above(l, cookie);
    while (at && l->entry[at - 1].cookie == cookie) /* another name has it: take the next one */
        cookie++, at = first_above(l, cookie);
    if (l->count == LISTING_MOST) {
        l->whole = false;
        if (at == LISTING_MOST)
            return 0;
        drop_text(l, &l->entry[--l->count]);
    }
    e = &l->entry[at];
    memmove(e + 1, e, (l->count - at) * sizeof(*e));
    e->text = pgd_alloc_charged(d->len, l->account);
    if (!e->text) {
        memmove(e, e + 1, (l->count - at) * sizeof(*e));
        return -ENOMEM;
    }
    memcpy(e->text, d->name, d->len);
    e->len = (uint8_t)d->len;
    e->type = d->type;
    e->ino = d->qid.path;
    e->cookie = cookie;
    l->count++;
    return 0;
}

static bool is_dot(const struct ninep_dirent *d)
{
    return d->name[0] == '.' && (d->len == 1 || (d->len == 2 && d->name[1] == '.'));
}

/* Read on from *offset. 1: there is more; 0; or a negative errno. */
static int read_part(struct share_inode *i, uint32_t fid, struct listing *l, uint64_t *offset)
{
    uint64_t before = *offset;
    struct ninep_dirent d;
    struct ninep_call *call;
    int err = ninep_list(client_of(i), fid, *offset, &call), more;
    bool any = false;

    if (err)
        return err;
    while ((more = ninep_get_dirent(&call->m, &d)) > 0 && !err) {
        any = true;
        *offset = d.offset;
        if (!is_dot(&d))
            err = add(l, &d);
    }
    ninep_call_free(call);
    if (err || more < 0)
        return err ? err : -EIO;
    if (any && *offset == before) /* it would go on for ever */
        return -EIO;
    return any;
}

/* Read the whole directory. */
static int read_all(struct share_inode *i, struct listing *l)
{
    struct ninep_qid q;
    uint64_t offset = 0;
    uint32_t fid;
    int err = share_walk(i, NULL, &fid, &q);

    if (err)
        return err;
    err = ninep_open(client_of(i), fid, NINEP_READ_ONLY, &q);
    if (!err)
        while ((err = read_part(i, fid, l, &offset)) > 0) /* ends with -EINTR for a killed thread */
            ;
    ninep_fid_drop(client_of(i), fid);
    return err;
}

static int read_listing(struct share_inode *i, uint64_t from)
{
    uint16_t account = pool_account();
    struct listing *l = pgd_alloc_charged(sizeof(*l), account);
    int err;

    if (!l)
        return -ENOMEM;
    l->from = from;
    l->whole = true;
    l->account = account;
    l->count = 0;
    err = read_all(i, l);
    if (err) {
        listing_free(l);
        return err;
    }
    share_listing_free(i);
    i->listing = l;
    return 0;
}

/* Does the listing say what follows pos? */
static bool covers(const struct listing *l, uint64_t pos)
{
    return l && pos > FIRST && pos >= l->from &&
           (l->whole || (l->count && pos < l->entry[l->count - 1].cookie));
}

int share_readdir(struct inode *dir, uint64_t pos, struct fs_entry *to)
{
    struct share_inode *i = share_inode_of(dir);
    const struct listed *e;
    uint32_t at;
    int err = mutex_lock_killable(&i->listing_lock);

    if (err)
        return err;
    if (!covers(i->listing, pos))
        err = read_listing(i, pos);
    at = err ? 0 : first_above(i->listing, pos);
    if (!err && at == i->listing->count)
        err = -ENOENT;
    if (!err) {
        e = &i->listing->entry[at];
        to->ino = e->ino;
        to->cookie = e->cookie;
        to->mode = (uint32_t)e->type << 12;
        to->len = e->len;
        memcpy(to->text, e->text, e->len);
        to->text[e->len] = '\0';
    }
    mutex_unlock(&i->listing_lock);
    return err;
}

void share_listing_census(struct census *c, const struct share_inode *i)
{
    const struct listing *l = i->listing;

    if (!l)
        return;
    census_explain(c, CENSUS_PAGED, sizeof(*l), 1);
    for (uint32_t k = 0; k < l->count; k++)
        census_explain(c, CENSUS_PAGED, l->entry[k].len, 1);
}
