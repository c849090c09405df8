/* Private to kernel/lnm: structures, all in paged pool except lnm_job and lnm_space, which are in
   nonpaged pool; all protected by the LNM mutex except where a field says otherwise. Private names
   and tables are changed with the `changes` mutex of their space held, too: so fork copies them
   with that alone, and nobody waits for it but the same process. */
#ifndef KERNEL_LNM_LNM_PRIVATE_H
#define KERNEL_LNM_LNM_PRIVATE_H

#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/cond.h"
#include "kernel/base/list.h"
#include "kernel/base/treap.h"
#include "kernel/lnm/lnm.h"
#include "kernel/sched/mutex.h"

#define LNM_BUILT_IN  1u /* cannot be deleted by $DELLNM or $CRELNT */
#define LNM_DIRECTORY 2u
#define LNM_GROUP     4u /* table of a UIC group */
#define LNM_SYSTEM    8u

/* Protection masks: system, owner, group, world from the low end, four bits each; a set bit
   denies. */
#define LNM_READ          1u
#define LNM_WRITE         2u
#define LNM_CREATE        4u
#define LNM_DELETE        8u
#define LNM_PROT_READABLE 0xEE00u /* group and world read */
#define LNM_PROT_GROUP    0xFE00u /* the group reads */
#define LNM_PROT_OWNER    0xFF00u

/* The most names that one search of tables visits: lists may refer to lists, and to each other. */
#define LNM_VISITS_MAX 256u

struct lnm_hash {
    uint32_t nbuckets;     /* a power of two */
    uint16_t account;      /* charged for the buckets */
    uint64_t removed;      /* names, so far: while it is the same, pointers to names are valid */
    struct treap *buckets; /* each a search tree of names, by their order (lnm_name.c) */
};

struct lnm_translation { /* in the block of its name, 8-byte aligned */
    uint32_t attributes;
    uint16_t length;
    uint8_t index;
    char text[];
};

struct lnm_name {             /* LNMB: one block with its translations */
    struct treap_node node;   /* in its bucket */
    struct list in_table;     /* in table.names (lnm_order.c) */
    struct lnm_table *table;  /* the table that contains it */
    struct lnm_table *header; /* the table that it names, or NULL */
    uint32_t size;            /* bytes of the block */
    uint16_t used;            /* bytes filled in: at most 34 K, with 128 translations */
    uint16_t account;         /* charged for the block (mm/pool/pool_charged.h); constant */
    uint32_t attributes;
    uint8_t mode, length, translations;
    char text[]; /* the name, then the translations */
};

struct lnm_table { /* LNMTH */
    struct list sibling, children;
    struct lnm_table *parent;
    struct list names;  /* in the order of definition, with marks between (lnm_order.c) */
    struct treap marks; /* of those */
    uint32_t count;
    uint32_t flags; /* LNM_BUILT_IN and the others above */
    uint32_t uic_group, uic_member, prot;
    uint8_t mode;
    uint16_t account;           /* charged for it */
    struct lnm_name *name;      /* its own name, in a directory */
    struct lnm_table *quota_of; /* the table whose quota is charged: itself or one above */
    uint64_t limit, charged;    /* bytes; valid if quota_of is the table itself */
    struct lnm_space *space;    /* the process that owns it; NULL: shareable */
    uint64_t members;           /* of a group's table: number of spaces that belong to the group */
    uint64_t found;             /* lnm_census.c: bytes that are charged to its quota */
};

struct lnm_job {
    uint64_t members;        /* atomic */
    uint32_t id;             /* n of LNM$JOB_n; constant */
    struct lnm_table *table; /* NULL until a member uses logical names; LNM mutex */
};

struct lnm_space {
    struct mutex changes; /* MUTEX_NAMES, taken before the LNM mutex */
    struct lnm_job *job;  /* changed by the process itself, under both mutexes */
    /* 0: nothing below is set up; else 1 + the UIC group that LNM$GROUP stands for. Atomic: changed
       under the mutex; read without it by threads that need do nothing if it is right. */
    uint64_t ready_for;
    struct lnm_table *group; /* table of that group, which counts this space as a member; or NULL */
    struct lnm_hash hash;    /* of the private names */
    struct lnm_table *directory, *process_table; /* NULL until they are created */
};

extern struct mutex lnm_mutex;
extern struct lnm_table *lnm_system_directory;

static inline struct lnm_string lnm_name_string(const struct lnm_name *n)
{
    return (struct lnm_string){n->text, n->length};
}
#define LNM_STRING(literal) ((struct lnm_string){(literal), sizeof(literal) - 1})

/* ---- lnm_name.c ---- */

/* Allocate a hash table with that many buckets, rounded down to a power of two. False: no
   memory. */
bool lnm_hash_init(struct lnm_hash *h, uint64_t buckets);
void lnm_hash_free(struct lnm_hash *h);
struct lnm_hash *lnm_shared_hash(void);
/* The one with the names of t. */
struct lnm_hash *lnm_hash_of(const struct lnm_table *t);
/* The name after n in the hash table, in no particular order; NULL: the first one, or no more. */
struct lnm_name *lnm_hash_next(const struct lnm_hash *h, const struct lnm_name *n);
struct lnm_name *lnm_name_copy(const struct lnm_name *n);
const struct lnm_translation *lnm_translation_at(const struct lnm_name *n, unsigned number);
/* The name in t of the outermost mode in [inner, outer]; NULL: there is none. */
struct lnm_name *lnm_lookup(const struct lnm_table *t, struct lnm_string name, uint8_t inner,
                            uint8_t outer, bool case_blind);
/* Bytes charged to a table's quota for a name: its block and, if it names a table, that table's
   header. */
uint64_t lnm_cost(const struct lnm_name *n);
/* The same for a table's name of that length. */
uint64_t lnm_table_cost(uint32_t name_length);
void lnm_insert(struct lnm_table *t, struct lnm_name *n); /* mutex held; charges the quota */
void lnm_remove(struct lnm_name *n);                      /* mutex held; from its table; frees it */

/* ---- lnm_order.c; mutex held ---- */

/* Put n at the end of t's names, of which it is the table already; take it out. */
void lnm_enter_order(struct lnm_table *t, struct lnm_name *n);
void lnm_leave_order(struct lnm_name *n);
/* The first and the last name of a table, the one after n, and the one with that number, the first
   being 0. NULL: there is none. */
struct lnm_name *lnm_first_name(const struct lnm_table *t);
struct lnm_name *lnm_last_name(const struct lnm_table *t);
struct lnm_name *lnm_next_name(const struct lnm_name *n);
struct lnm_name *lnm_nth_name(const struct lnm_table *t, uint64_t number);
/* The number of blocks between the names, and the size of one. */
uint64_t lnm_marks(const struct lnm_table *t, size_t *bytes);

/* ---- lnm_space.c ---- */

/* Take both mutexes for a change of names, private or shareable. False: the thread is to end, and
   none is taken. The caller has been through lnm_space_ready(). Inline, so that traces of mutexes
   name the caller. */
static __attribute__((always_inline, warn_unused_result)) inline bool
lnm_change_begin(struct lnm_space *s)
{
    if (mutex_lock_killable(&s->changes) != 0)
        return false;
    if (mutex_lock_killable(&lnm_mutex) == 0)
        return true;
    mutex_unlock(&s->changes);
    return false;
}

static inline void lnm_change_end(struct lnm_space *s)
{
    mutex_unlock(&lnm_mutex);
    mutex_unlock(&s->changes);
}

/* ---- lnm.c ---- */

/* The view of a name for callbacks; valid as long as the mutex is held. */
struct lnm_view lnm_view_of(const struct lnm_name *n);

/* ---- lnm_table.c ---- */

/* May the process access t in that way (LNM_READ ...)? */
bool lnm_allowed(const struct lnm_who *who, const struct lnm_table *t, unsigned access);
/* Is there room in the quota for `more` bytes if `less` bytes are about to be freed? */
bool lnm_quota_allows(const struct lnm_table *t, uint64_t more, uint64_t less);
/* Create a table under parent (NULL: a directory), with its name in the parent's directory. Mutex
   held exclusively. SS$_NORMAL and *out, or SS$_INSFMEM. */
cond_t lnm_table_new(struct lnm_table *parent, struct lnm_space *space, struct lnm_string name,
                     uint8_t mode, uint32_t attributes, struct lnm_table **out);
/* The parts of lnm_table_new: the table with its name, NULL: no memory; needs no mutex. Free one
   that was not entered. Enter it below parent, under its name. */
struct lnm_table *lnm_table_alloc(struct lnm_string name, uint8_t mode, uint32_t attributes);
void lnm_table_free(struct lnm_table *t);
void lnm_table_enter(struct lnm_table *t, struct lnm_table *parent, struct lnm_space *space);
/* Delete a table with its name and all names and tables in and below it. Mutex held exclusively,
   for a time that grows with them: where others wait for it, lnm_table_clear() comes first. */
void lnm_table_delete(struct lnm_table *t);

/* How far a deletion has come that drops the mutex after each portion; all 0 at first. */
struct lnm_deletion {
    const struct lnm_hash *hash; /* of the names, */
    uint64_t removed;        /* and its count when the mutex was dropped: if that has changed, the
                                    rest of this is not valid */
    struct lnm_table *clear; /* the table that is being cleared, or NULL, */
    struct lnm_table *at;    /* and the one in or below it where that goes on */
    struct lnm_name *stays;  /* of a table of which all names are deleted: the last that stays */
    unsigned steps;          /* since the mutex was taken */
    unsigned portions;
    bool wanted; /* others waited for the mutex when it was dropped */
};
#define LNM_AT_ONCE 32u /* steps in one hold of the mutex, 500 instructions each */
/* Delete names and tables in and below t until LNM_AT_ONCE steps are made. True: there are none
   left. */
bool lnm_table_clear(struct lnm_table *t, struct lnm_deletion *d);
/* As the result of a portion: there is more to delete. */
#define LNM_MORE ((cond_t){0})
/* Begin a portion of a deletion among the names of h, or end it. Mutex held. */
void lnm_deletion_begin(struct lnm_deletion *d, const struct lnm_hash *h);
/* After a portion, with no mutex held: let those run who waited for the mutex, and once in a while
   any others: who holds a mutex has precedence over all threads of its user. False: the thread is
   to end. */
bool lnm_deletion_goes_on(struct lnm_deletion *d);
static inline void lnm_deletion_end(struct lnm_deletion *d)
{
    d->removed = d->hash->removed;
    d->wanted = mutex_wanted(&lnm_mutex);
}
/* Define a name with translations (NULL-terminated array) in t, kernel mode. Mutex held
   exclusively. SS$_NORMAL or SS$_INSFMEM. */
cond_t lnm_define_static(struct lnm_table *t, struct lnm_string name, const char *const *to);

/* ---- lnm_space.c ---- */

/* Set up what the process needs, if it is not there; called before the mutex is taken. SS$_NORMAL
   or SS$_INSFMEM. */
cond_t lnm_space_ready(const struct lnm_who *who);
/* Is this a name that only the system creates: a kernel-mode name in the system directory of the
   form used for the tables of jobs and groups, which the system finds by name and keeps pointers
   to? */
bool lnm_reserved(const struct lnm_table *directory, struct lnm_string name, uint8_t mode);
/* Delete t (NULL: nothing) if it is the table of a group without members and has neither names nor
   tables below it. Mutex held exclusively. */
void lnm_group_reap(struct lnm_table *t);

/* ---- lnm_census.c ---- */

/* Boot: register what names hold of the pools with the census. */
void lnm_census_boot(void);

/* ---- lnm_search.c ---- */

/* Call fn for each table that `name` stands for, in order, as long as it returns SS$_NOLOGNAM; any
   other result of fn ends the search and is returned. SS$_NOLOGNAM: no more tables; *any says
   whether there was one. SS$_TOOMANYLNAM. Mutex held. */
cond_t lnm_for_tables(const struct lnm_who *who, struct lnm_string name, bool *any,
                      cond_t (*fn)(struct lnm_table *t, void *arg), void *arg);
/* The first of these tables. SS$_NORMAL, SS$_NOLOGTAB, SS$_TOOMANYLNAM. Mutex held. */
cond_t lnm_first_table(const struct lnm_who *who, struct lnm_string name, struct lnm_table **out);

#endif
