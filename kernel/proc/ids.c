/* User and group ids: ids.h states the rules. */
#include "kernel/proc/ids.h"

#include "kernel/base/errno.h"
#include "kernel/fs/inode.h"
#include "kernel/proc/process.h"
#include "kernel/proc/threads.h"
#include "kernel/quota/quota.h"

/* The four ids of a kind. */
enum { REAL, EFF, SAVED, FS, IDS };

static uint32_t *word(struct process *p, enum id_kind kind, unsigned which)
{
    uint32_t *const user[IDS] = {&p->uid, &p->euid, &p->suid, &p->fsuid};
    uint32_t *const group[IDS] = {&p->gid, &p->egid, &p->sgid, &p->fsgid};

    return kind == ID_USER ? user[which] : group[which];
}

static uint32_t get(struct process *p, enum id_kind kind, unsigned which)
{
    return __atomic_load_n(word(p, kind, which), __ATOMIC_RELAXED);
}

static void put(struct process *p, enum id_kind kind, unsigned which, uint32_t id)
{
    __atomic_store_n(word(p, kind, which), id, __ATOMIC_RELAXED);
}

static bool is_super(const struct process *p) { return process_euid(p) == 0; }

/* Is this id one of those of p in the mask, of bits 1 << REAL and so on? ID_KEEP always is. */
static bool has(struct process *p, enum id_kind kind, uint32_t id, unsigned mask)
{
    bool found = id == ID_KEEP;

    for (unsigned k = 0; k < IDS; k++)
        found |= (mask >> k & 1) && get(p, kind, k) == id;
    return found;
}

/* Set real, effective and saved ids; the fs id follows the effective one. 0 or -EAGAIN. */
static int change(struct process *p, enum id_kind kind, const uint32_t now[3])
{
    struct account *a = NULL;
    uint32_t was;
    ipl_t ipl;

    if (kind == ID_USER && now[REAL] != process_uid(p)) {
        a = account_get(now[REAL]);
        if (!a)
            return -EAGAIN;
    }
    ipl = spin_lock(&process_lock);
    was = get(p, kind, EFF);
    if (a)
        a = creds_change_account_locked(p, a);
    if (kind == ID_USER)
        creds_follow_locked(p, now);
    for (unsigned k = REAL; k <= SAVED; k++)
        put(p, kind, k, now[k]);
    /* Until exec, what it has got as another user is not to be seen by the new one. */
    if (get(p, kind, FS) != now[EFF] || was != now[EFF])
        __atomic_store_n(&p->personal.undumpable, true, __ATOMIC_RELAXED);
    put(p, kind, FS, now[EFF]);
    __atomic_store_n(kind == ID_USER ? &p->uic_member : &p->uic_group, now[EFF], __ATOMIC_RELAXED);
    spin_unlock(&process_lock, ipl);
    if (a) {
        threads_account_changed(p, a);
        account_unref(a);
    }
    return 0;
}

int ids_set(enum id_kind kind, uint32_t id)
{
    struct process *p = process_self();

    if (id == ID_KEEP)
        return -EINVAL;
    if (is_super(p))
        return change(p, kind, (uint32_t[3]){id, id, id});
    if (!has(p, kind, id, 1u << REAL | 1u << SAVED))
        return -EPERM;
    return change(p, kind, (uint32_t[3]){get(p, kind, REAL), id, get(p, kind, SAVED)});
}

int ids_set_two(enum id_kind kind, uint32_t real, uint32_t eff)
{
    struct process *p = process_self();
    uint32_t now[3] = {get(p, kind, REAL), get(p, kind, EFF), get(p, kind, SAVED)};
    bool save = real != ID_KEEP || (eff != ID_KEEP && eff != now[REAL]);

    if (!is_super(p) && (!has(p, kind, real, 1u << REAL | 1u << EFF) ||
                         !has(p, kind, eff, 1u << REAL | 1u << EFF | 1u << SAVED)))
        return -EPERM;
    if (real != ID_KEEP)
        now[REAL] = real;
    if (eff != ID_KEEP)
        now[EFF] = eff;
    if (save)
        now[SAVED] = now[EFF];
    return change(p, kind, now);
}

int ids_set_three(enum id_kind kind, const uint32_t want[3])
{
    struct process *p = process_self();
    uint32_t now[3];

    for (unsigned k = REAL; k <= SAVED; k++) {
        if (!is_super(p) && !has(p, kind, want[k], 1u << REAL | 1u << EFF | 1u << SAVED))
            return -EPERM;
        now[k] = want[k] == ID_KEEP ? get(p, kind, k) : want[k];
    }
    return change(p, kind, now);
}

uint32_t ids_set_fs(enum id_kind kind, uint32_t id)
{
    struct process *p = process_self();
    uint32_t was = get(p, kind, FS);

    if (id != ID_KEEP && (is_super(p) || has(p, kind, id, (1u << IDS) - 1)))
        put(p, kind, FS, id); /* one word, and nothing follows it */
    return was;
}

/* ---- supplementary groups ---- */

static void insert_sorted(uint32_t *list, unsigned n, uint32_t gid)
{
    while (n && list[n - 1] > gid) {
        list[n] = list[n - 1];
        n--;
    }
    list[n] = gid;
}

int ids_set_groups(const uint32_t *gid, unsigned n)
{
    struct process *p = process_self();
    uint32_t sorted[IO_GROUPS_MAX];
    ipl_t ipl;

    if (!is_super(p))
        return -EPERM;
    if (n > IO_GROUPS_MAX)
        return -EINVAL;
    for (unsigned k = 0; k < n; k++)
        insert_sorted(sorted, k, gid[k]);
    ipl = spin_lock(&process_lock);
    io_groups_set(&p->groups, sorted, n);
    spin_unlock(&process_lock, ipl);
    return 0;
}

void ids_fork(struct process *to, const struct process *from)
{
    to->fsuid = __atomic_load_n(&from->fsuid, __ATOMIC_RELAXED);
    to->fsgid = __atomic_load_n(&from->fsgid, __ATOMIC_RELAXED);
    io_groups_get(&from->groups, &to->groups);
}
