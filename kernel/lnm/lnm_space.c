/*
 * The logical names of processes, jobs and groups, and the creation of the system's tables.
 *
 * A job consists of the process that called setsid and everything that it forked. Its table is
 * deleted with its last member. A group's table is deleted when no process that has used names is
 * in the group any more and the table is empty: names that were defined in it outlive the group's
 * processes. Most processes never use a logical name, so everything except the two small structures
 * is created at the first use.
 *
 * The LNM mutex protects everything, except a job's member count, and ready_for where it is only
 * read. It is that of all users, so it is not held while the names of a process are copied by fork,
 * or deleted at its end, which takes a time that grows with them. Copying needs only that the
 * process's own threads change nothing (space.changes); the copies, and the names of a process that
 * ends, nobody else can reach. Creation fails when a pool is short; what was created for one
 * request is then deleted again.
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/lnm/lnm_private.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool.h"
#include "sysman/params.h"

struct lnm_table *lnm_system_directory;

static uint32_t last_job; /* atomic */

/* ---- names with numbers ---- */

/* Build prefix and number in `digits` digits (of 3 or 4 bits each). */
static struct lnm_string numbered(char buffer[32], const char *prefix, uint32_t number,
                                  unsigned digits, unsigned bits)
{
    uint32_t n = (uint32_t)strlen(prefix);

    memcpy(buffer, prefix, n);
    for (unsigned i = 0; i < digits; i++)
        buffer[n + i] =
            "0123456789ABCDEF"[number >> (bits * (digits - 1 - i)) & ((1u << bits) - 1)];
    buffer[n + digits] = '\0';
    return (struct lnm_string){buffer, n + digits};
}

#define JOB_PREFIX   "LNM$JOB_"
#define GROUP_PREFIX "LNM$GROUP_"

static struct lnm_string job_name(char buffer[32], const struct lnm_job *j)
{
    return numbered(buffer, JOB_PREFIX, j->id, 8, 4);
}

static struct lnm_string group_name(char buffer[32], uint32_t group)
{
    return numbered(buffer, GROUP_PREFIX, group, 6, 3);
}

static bool begins(struct lnm_string s, const char *prefix)
{
    size_t n = strlen(prefix);

    return s.length >= n && memcmp(s.s, prefix, n) == 0;
}

bool lnm_reserved(const struct lnm_table *directory, struct lnm_string name, uint8_t mode)
{
    return directory == lnm_system_directory && mode == PSL$C_KERNEL &&
           (begins(name, JOB_PREFIX) || begins(name, GROUP_PREFIX));
}

/* ---- boot ---- */

static struct lnm_table *boot_table(struct lnm_table *parent, struct lnm_string name,
                                    uint32_t flags)
{
    struct lnm_table *t;

    if (lnm_table_new(parent, NULL, name, PSL$C_KERNEL, 0, &t) != SS$_NORMAL)
        panic("there is no memory for logical names");
    t->flags = LNM_BUILT_IN | flags;
    t->prot = LNM_PROT_READABLE;
    return t;
}

void lnm_boot(void)
{
    static const char *const system[] = {"LNM$SYSTEM_TABLE", NULL};
    static const char *const file_dev[] = {"LNM$PROCESS", "LNM$JOB", "LNM$GROUP", "LNM$SYSTEM",
                                           NULL};
    static const char *const directories[] = {"LNM$PROCESS_DIRECTORY", "LNM$SYSTEM_DIRECTORY",
                                              NULL};
    /* Where $CREMBX defines the names of mailboxes. */
    static const char *const temporary[] = {"LNM$JOB", NULL};
    static const char *const permanent[] = {"LNM$SYSTEM", NULL};
    bool defined;

    if (!lnm_hash_init(lnm_shared_hash(), (uint64_t)sysparam(SYSPARAM_LNMSHASHTBL)))
        panic("there is no memory for the hash table of logical names");
    mutex_lock(&lnm_mutex);
    lnm_system_directory = boot_table(NULL, LNM_STRING("LNM$SYSTEM_DIRECTORY"), LNM_DIRECTORY);
    boot_table(lnm_system_directory, LNM_STRING("LNM$SYSTEM_TABLE"), LNM_SYSTEM);
    defined = cond_ok(lnm_define_static(lnm_system_directory, LNM_STRING("LNM$SYSTEM"), system)) &&
              cond_ok(
                  lnm_define_static(lnm_system_directory, LNM_STRING("LNM$FILE_DEV"), file_dev)) &&
              cond_ok(lnm_define_static(lnm_system_directory, LNM_STRING("LNM$DIRECTORIES"),
                                        directories)) &&
              cond_ok(lnm_define_static(lnm_system_directory, LNM_STRING("LNM$TEMPORARY_MAILBOX"),
                                        temporary)) &&
              cond_ok(lnm_define_static(lnm_system_directory, LNM_STRING("LNM$PERMANENT_MAILBOX"),
                                        permanent));
    mutex_unlock(&lnm_mutex);
    if (!defined)
        panic("there is no memory for the first logical names");
    lnm_census_boot();
}

/* ---- jobs ---- */

struct lnm_job *lnm_job_create(void)
{
    struct lnm_job *j = npp_alloc_zeroed(sizeof(*j));

    if (j) {
        j->members = 1;
        j->id = __atomic_add_fetch(&last_job, 1, __ATOMIC_RELAXED);
    }
    return j;
}

/* Its job has no members any more, but others may have found it by its name. */
static void job_table_delete(struct lnm_table *t)
{
    struct lnm_deletion d = {0};
    bool cleared;

    do {
        mutex_lock(&lnm_mutex);
        lnm_deletion_begin(&d, lnm_hash_of(t));
        cleared = lnm_table_clear(t, &d);
        if (cleared)
            lnm_table_delete(t);
        lnm_deletion_end(&d);
        mutex_unlock(&lnm_mutex);
        (void)lnm_deletion_goes_on(&d); /* its job does not exist any more: it must */
    } while (!cleared);
}

static void job_leave(struct lnm_job *j)
{
    /* Acquire and release: what other members did to the table comes before its deletion. */
    if (__atomic_sub_fetch(&j->members, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (j->table)
        job_table_delete(j->table);
    npp_free(j, sizeof(*j));
}

/* ---- what a process needs, created at its first use of names ---- */

/* Find or create the shareable table of that name; flags and prot are for a new one. Only this file
   creates kernel-mode names of these forms (lnm_reserved), so an existing one was created here. */
static cond_t shared_table(const struct lnm_who *who, struct lnm_string name, uint32_t flags,
                           uint32_t prot, struct lnm_table **out)
{
    struct lnm_name *n = lnm_lookup(lnm_system_directory, name, PSL$C_KERNEL, PSL$C_KERNEL, false);
    cond_t status;

    if (n) {
        *out = n->header;
        return SS$_NORMAL;
    }
    status = lnm_table_new(lnm_system_directory, NULL, name, PSL$C_KERNEL, 0, out);
    if (status == SS$_NORMAL) {
        (*out)->flags = LNM_BUILT_IN | flags;
        (*out)->prot = prot;
        (*out)->uic_group = who->uic_group;
        (*out)->uic_member = flags & LNM_GROUP ? 0 : who->uic_member;
    }
    return status;
}

void lnm_group_reap(struct lnm_table *t)
{
    if (t && (t->flags & LNM_GROUP) && !t->members && !t->count && list_empty(&t->children))
        lnm_table_delete(t);
}

/* Make s a member of that group's table (NULL: of none) instead of its previous one. */
static void group_join(struct lnm_space *s, struct lnm_table *group)
{
    struct lnm_table *old = s->group;

    if (group)
        group->members++;
    s->group = group;
    if (old) {
        old->members--;
        lnm_group_reap(old);
    }
}

/* Have LNM$GROUP stand for the table of the group that the process is in now. */
static cond_t group_set(const struct lnm_who *who)
{
    struct lnm_space *s = who->space;
    struct lnm_name *old = lnm_lookup(s->directory, LNM_STRING("LNM$GROUP"), PSL$C_KERNEL,
                                      PSL$C_KERNEL, false);
    struct lnm_table *group;
    char buffer[32];
    struct lnm_string name = group_name(buffer, who->uic_group);
    const char *const to[] = {buffer, NULL};
    cond_t status = shared_table(who, name, LNM_GROUP, LNM_PROT_GROUP, &group);

    if (status != SS$_NORMAL)
        return status;
    status = lnm_define_static(s->directory, LNM_STRING("LNM$GROUP"), to);
    if (status != SS$_NORMAL) {
        lnm_group_reap(group);
        return status;
    }
    if (old)
        lnm_remove(old);
    group_join(s, group);
    return SS$_NORMAL;
}

static cond_t job_table(const struct lnm_who *who)
{
    struct lnm_job *j = who->space->job;
    char buffer[32];
    struct lnm_string name = job_name(buffer, j);
    cond_t status = SS$_NORMAL;

    if (!j->table) {
        status = shared_table(who, name, 0, LNM_PROT_OWNER, &j->table);
        if (status == SS$_NORMAL) {
            j->table->quota_of = j->table;
            j->table->limit = (uint64_t)sysparam(SYSPARAM_PQL_DJTQUOTA);
            lnm_system_directory->charged += j->table->limit;
        }
    }
    return status;
}

static cond_t private_tables(struct lnm_space *s)
{
    cond_t status;

    if (!s->hash.buckets && !lnm_hash_init(&s->hash, (uint64_t)sysparam(SYSPARAM_LNMPHASHTBL)))
        return SS$_INSFMEM;
    if (!s->directory) {
        status = lnm_table_new(NULL, s, LNM_STRING("LNM$PROCESS_DIRECTORY"), PSL$C_KERNEL, 0,
                               &s->directory);
        if (status != SS$_NORMAL)
            return status;
        s->directory->flags = LNM_BUILT_IN | LNM_DIRECTORY;
        s->directory->limit = (uint64_t)sysparam(SYSPARAM_PQL_DJTQUOTA);
    }
    if (!s->process_table) {
        status = lnm_table_new(s->directory, s, LNM_STRING("LNM$PROCESS_TABLE"), PSL$C_KERNEL, 0,
                               &s->process_table);
        if (status != SS$_NORMAL)
            return status;
        s->process_table->flags = LNM_BUILT_IN;
    }
    return SS$_NORMAL;
}

/* Define a name in the process directory, unless it exists. */
static cond_t directory_name(struct lnm_space *s, struct lnm_string name, const char *to)
{
    const char *const list[] = {to, NULL};

    if (lnm_lookup(s->directory, name, PSL$C_KERNEL, PSL$C_KERNEL, false))
        return SS$_NORMAL;
    return lnm_define_static(s->directory, name, list);
}

/* Each step does nothing if it has been done already. */
static cond_t make_locked(const struct lnm_who *who)
{
    struct lnm_space *s = who->space;
    char buffer[32];
    cond_t status = private_tables(s);

    if (status == SS$_NORMAL)
        status = job_table(who);
    if (status == SS$_NORMAL) {
        job_name(buffer, s->job);
        status = directory_name(s, LNM_STRING("LNM$JOB"), buffer);
    }
    if (status == SS$_NORMAL)
        status = directory_name(s, LNM_STRING("LNM$PROCESS"), "LNM$PROCESS_TABLE");
    if (status == SS$_NORMAL)
        status = group_set(who);
    return status;
}

/* Set up everything or nothing: if a step finds no memory, what was created before it is
   deleted. */
static cond_t make_ready_locked(const struct lnm_who *who)
{
    struct lnm_space *s = who->space;
    bool had_directory = s->directory != NULL, had_job = s->job->table != NULL;
    cond_t status = make_locked(who);
    struct lnm_name *name;

    if (status == SS$_NORMAL)
        return status;
    if (had_directory) { /* LNM$JOB may be defined already, for a job without a table */
        name = lnm_lookup(s->directory, LNM_STRING("LNM$JOB"), PSL$C_KERNEL, PSL$C_KERNEL, false);
        if (name)
            lnm_remove(name);
    } else {
        if (s->directory)
            lnm_table_delete(s->directory);
        s->directory = s->process_table = NULL;
        lnm_hash_free(&s->hash);
    }
    if (!had_job && s->job->table) {
        lnm_table_delete(s->job->table);
        s->job->table = NULL;
    }
    return status;
}

cond_t lnm_space_ready(const struct lnm_who *who)
{
    uint64_t wanted = (uint64_t)who->uic_group + 1;
    struct lnm_space *s = who->space;
    cond_t status;

    if (!s)
        return SS$_INSFMEM;
    if (likely(__atomic_load_n(&s->ready_for, __ATOMIC_ACQUIRE) == wanted))
        return SS$_NORMAL;
    if (!lnm_change_begin(s))
        return SS$_ABORT;
    if (s->ready_for == wanted) /* another thread has done it */
        status = SS$_NORMAL;
    else
        status = s->ready_for ? group_set(who) : make_ready_locked(who);
    if (status == SS$_NORMAL)
        __atomic_store_n(&s->ready_for, wanted, __ATOMIC_RELEASE);
    lnm_change_end(s);
    return status;
}

/* ---- creation and end ---- */

static struct lnm_space *space_alloc(void)
{
    struct lnm_space *s = npp_alloc(sizeof(*s));

    if (!s)
        return NULL;
    mutex_init(&s->changes, "private names", MUTEX_NAMES);
    s->job = NULL;
    s->ready_for = 0;
    s->group = s->directory = s->process_table = NULL;
    s->hash = (struct lnm_hash){.nbuckets = 0};
    return s;
}

struct lnm_space *lnm_space_create(void)
{
    struct lnm_space *s = space_alloc();

    if (s)
        s->job = lnm_job_create();
    if (s && !s->job) {
        npp_free(s, sizeof(*s));
        return NULL;
    }
    return s;
}

/* Copy the names of one table, except those of tables and those that are confined to the process
   that defined them. SS$_ABORT: the thread is to end. */
static cond_t copy_names(const struct lnm_table *from, struct lnm_table *to)
{
    struct lnm_name *n;

    for (n = lnm_first_name(from); n; n = lnm_next_name(n)) {
        struct lnm_name *copy;

        if (thread_killed())
            return SS$_ABORT;
        if (n->header || (n->attributes & LNM$M_CONFINE))
            continue;
        copy = lnm_name_copy(n);
        if (!copy)
            return SS$_INSFMEM;
        lnm_insert(to, copy);
    }
    return SS$_NORMAL;
}

/* Create a table under `parent` like `from`, with its names. */
static cond_t copy_table(const struct lnm_table *from, struct lnm_table *parent,
                         struct lnm_space *s, struct lnm_table **out)
{
    cond_t status = lnm_table_new(parent, s, lnm_name_string(from->name), from->mode,
                                  from->name->attributes, out);

    if (status != SS$_NORMAL)
        return status;
    (*out)->flags = from->flags;
    (*out)->limit = from->limit;
    if (parent && from->quota_of == from) {
        (*out)->quota_of = *out;
        parent->quota_of->charged += from->limit;
    }
    return copy_names(from, *out);
}

/* The first table from l on in parent's list that is not confined to its process. */
static struct lnm_table *unconfined(const struct lnm_table *parent, struct list *l)
{
    while (l) {
        struct lnm_table *t = list_entry(l, struct lnm_table, sibling);

        if (!(t->name->attributes & LNM$M_CONFINE))
            return t;
        l = list_next(&parent->children, l);
    }
    return NULL;
}

/* Copy all tables below `from`, without recursion: down to the first child, else to the next
   sibling, else up. A confined table is left out with all tables below it. */
static cond_t copy_tree(const struct lnm_table *from, struct lnm_table *to, struct lnm_space *s,
                        const struct lnm_table *process_table)
{
    const struct lnm_table *root = from, *next;
    cond_t status = SS$_NORMAL;

    for (;;) {
        next = unconfined(from, list_first(&from->children));
        while (!next && from != root) { /* no more below: next sibling, under to's parent */
            next = unconfined(from->parent, list_next(&from->parent->children, &from->sibling));
            from = from->parent;
            to = to->parent;
        }
        if (!next)
            return SS$_NORMAL;
        status = copy_table(next, to, s, &to);
        if (status != SS$_NORMAL)
            return status;
        if (next == process_table)
            s->process_table = to;
        from = next;
    }
}

/* Make s a member of parent's job. parent->changes is held: so parent cannot change its job. */
static void job_join(struct lnm_space *s, const struct lnm_space *parent)
{
    s->job = parent->job;
    __atomic_fetch_add(&s->job->members, 1, __ATOMIC_RELAXED);
}

/* Make s a copy of parent's names, which has some. parent->changes is held; the caller frees s
   after an error. */
static cond_t copy_space(struct lnm_space *s, const struct lnm_space *parent)
{
    cond_t status = SS$_NORMAL;

    if (!lnm_hash_init(&s->hash, parent->hash.nbuckets))
        status = SS$_INSFMEM;
    if (status == SS$_NORMAL)
        status = copy_table(parent->directory, NULL, s, &s->directory);
    if (status == SS$_NORMAL)
        status = copy_tree(parent->directory, s->directory, s, parent->process_table);
    mutex_lock(&lnm_mutex);
    group_join(s, parent->group);
    mutex_unlock(&lnm_mutex);
    s->ready_for = parent->ready_for;
    return status;
}

struct lnm_space *lnm_space_fork(struct lnm_space *parent)
{
    struct lnm_space *s = space_alloc();
    cond_t status = SS$_NORMAL;

    if (!s)
        return NULL;
    if (unlikely(mutex_lock_killable(&parent->changes) != 0)) {
        npp_free(s, sizeof(*s));
        return NULL;
    }
    job_join(s, parent);
    /* Most processes have no names. The parent's may be set up in part only, or lack a new job's
       table: so will the copy. */
    if (unlikely(parent->directory != NULL))
        status = copy_space(s, parent);
    mutex_unlock(&parent->changes);
    if (status != SS$_NORMAL) {
        lnm_space_free(s);
        return NULL;
    }
    return s;
}

/* Nobody else can reach the space any more. */
static void free_private(struct lnm_space *s)
{
    if (!s->hash.buckets && !s->group)
        return;
    if (s->directory)
        lnm_table_delete(s->directory);
    lnm_hash_free(&s->hash);
    mutex_lock(&lnm_mutex);
    group_join(s, NULL);
    mutex_unlock(&lnm_mutex);
}

void lnm_space_free(struct lnm_space *s)
{
    free_private(s);
    job_leave(s->job);
    npp_free(s, sizeof(*s));
}

void lnm_job_discard(struct lnm_job *job) { npp_free(job, sizeof(*job)); }

void lnm_job_enter(struct lnm_space *s, struct lnm_job *job)
{
    struct lnm_job *old = s->job;
    struct lnm_name *name;

    mutex_lock(&s->changes);
    mutex_lock(&lnm_mutex);
    /* LNM$JOB is defined again at the next use. */
    name = s->directory
               ? lnm_lookup(s->directory, LNM_STRING("LNM$JOB"), PSL$C_KERNEL, PSL$C_KERNEL, false)
               : NULL;
    if (name)
        lnm_remove(name);
    s->job = job;
    __atomic_store_n(&s->ready_for, 0, __ATOMIC_RELAXED);
    lnm_change_end(s);
    job_leave(old);
}
