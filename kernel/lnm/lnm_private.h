/* Private to kernel/lnm: structures, all in paged pool, all under the LNM mutex. */
#ifndef KERNEL_LNM_LNM_PRIVATE_H
#define KERNEL_LNM_LNM_PRIVATE_H

#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/cond.h"
#include "kernel/base/list.h"
#include "kernel/lnm/lnm.h"
#include "kernel/sched/mutex.h"

#define LNM_BUILT_IN  1u /* not to be deleted */
#define LNM_DIRECTORY 2u
#define LNM_GROUP     4u /* of the group that owns it */
#define LNM_SYSTEM    8u

/* Protection masks, SOGW from the right; a set bit denies. */
#define LNM_READ          1u
#define LNM_WRITE         2u
#define LNM_CREATE        4u
#define LNM_DELETE        8u
#define LNM_PROT_READABLE 0xEE00u /* group and world read */
#define LNM_PROT_GROUP    0xFE00u /* the group reads */
#define LNM_PROT_OWNER    0xFF00u

/* A search of tables visits at most this many names: a list of lists could be endless. */
#define LNM_VISITS_MAX 256u

struct lnm_hash {
    uint64_t nbuckets; /* a power of two */
    struct list *buckets;
};

struct lnm_translation { /* in its name's block, 8-byte aligned */
    uint32_t attributes;
    uint16_t length;
    uint8_t index;
    char text[];
};

struct lnm_name { /* LNMB: one block with its translations */
    struct list hash, in_table;
    struct lnm_table *table;  /* that holds it */
    struct lnm_table *header; /* the table that it names, or NULL */
    uint32_t size, used;      /* bytes of the block; of them filled */
    uint32_t attributes;
    uint8_t mode, length, translations;
    char text[]; /* the name, then the translations */
};

struct lnm_table { /* LNMTH */
    struct list sibling, children;
    struct lnm_table *parent;
    struct list names;
    uint32_t count;
    uint32_t flags; /* LNM_BUILT_IN ... */
    uint32_t uic_group, uic_member, prot;
    uint8_t mode;
    struct lnm_name *name;      /* its own, in a directory */
    struct lnm_table *quota_of; /* whose quota its names take: itself or a table above */
    uint64_t limit, charged;    /* bytes, if quota_of is itself */
    struct lnm_space *space;    /* NULL: shareable */
    uint64_t members;           /* of a group's table: the spaces whose group it is */
};

struct lnm_job {
    uint64_t members; /* atomic */
    uint32_t id;
    struct lnm_table *table; /* NULL until a member uses names */
};

struct lnm_space {
    struct lnm_job *job;
    /* 0: the rest is not made; else 1 and the UIC group that LNM$GROUP stands for. Atomic: changed
       under the mutex, read without by threads that find it right and need do nothing. */
    uint64_t ready_for;
    struct lnm_table *group; /* that LNM$GROUP stands for: it counts this space among its members */
    struct lnm_hash hash;    /* of the private names */
    struct lnm_table *directory, *process_table;
};

extern struct mutex lnm_mutex;
extern struct lnm_table *lnm_system_directory;

static inline struct lnm_string lnm_name_string(const struct lnm_name *n)
{
    return (struct lnm_string){n->text, n->length};
}
#define LNM_STRING(literal) ((struct lnm_string){(literal), sizeof(literal) - 1})

/* ---- lnm_name.c ---- */

/* False: no memory. */
bool lnm_hash_init(struct lnm_hash *h, uint64_t buckets);
void lnm_hash_free(struct lnm_hash *h);
struct lnm_hash *lnm_shared_hash(void);
struct lnm_name *lnm_name_copy(const struct lnm_name *n);
const struct lnm_translation *lnm_translation_at(const struct lnm_name *n, unsigned number);
/* The name in t of the outermost mode in [inner, outer], NULL. */
struct lnm_name *lnm_lookup(const struct lnm_table *t, struct lnm_string name, uint8_t inner,
                            uint8_t outer, bool case_blind);
/* What a name takes from its table's quota: its block and, if it names a table, that one's header.
 */
uint64_t lnm_cost(const struct lnm_name *n);
/* The same of a table's name of that length. */
uint64_t lnm_table_cost(uint32_t name_length);
void lnm_insert(struct lnm_table *t, struct lnm_name *n); /* charges the quota */
void lnm_remove(struct lnm_name *n);                      /* from its table, and frees it */

/* ---- lnm.c ---- */

/* As translations and displays see it, for as long as the mutex is held. */
struct lnm_view lnm_view_of(const struct lnm_name *n);

/* ---- lnm_table.c ---- */

bool lnm_allowed(const struct lnm_who *who, const struct lnm_table *t, unsigned access);
/* Is there room for `more` bytes where `less` are about to go? */
bool lnm_quota_allows(const struct lnm_table *t, uint64_t more, uint64_t less);
/* A table under parent (NULL: a directory), named in the parent's directory. *out or SS$_INSFMEM.
 */
cond_t lnm_table_new(struct lnm_table *parent, struct lnm_space *space, struct lnm_string name,
                     uint8_t mode, uint32_t attributes, struct lnm_table **out);
/* With all names and tables in and below it, and its own name. */
void lnm_table_delete(struct lnm_table *t);
/* A name with translations (NULL-terminated array), in t, kernel mode. SS$_NORMAL or
   SS$_INSFMEM. */
cond_t lnm_define_static(struct lnm_table *t, struct lnm_string name, const char *const *to);

/* ---- lnm_space.c ---- */

/* Called before the mutex is taken: makes what the caller's process needs. SS$_NORMAL
   or SS$_INSFMEM. */
cond_t lnm_space_ready(const struct lnm_who *who);
/* Would a name of that mode in that directory stand where the system puts the tables of jobs and
   groups, which it finds by name and keeps addresses of? */
bool lnm_reserved(const struct lnm_table *directory, struct lnm_string name, uint8_t mode);
/* t (NULL: nothing) goes if it is a group's table that no process is in, without names and without
   tables below it. Mutex held exclusively. */
void lnm_group_reap(struct lnm_table *t);

/* ---- lnm_census.c ---- */

/* Boot: what names take of pool is accounted for. */
void lnm_census_boot(void);

/* ---- lnm_search.c ---- */

/* Call fn for each table that `name` stands for, in order, as long as it returns SS$_NOLOGNAM; what
   else it returns is the result. SS$_NOLOGNAM: the end, *any says whether there was a table.
   SS$_TOOMANYLNAM. */
cond_t lnm_for_tables(const struct lnm_who *who, struct lnm_string name, bool *any,
                      cond_t (*fn)(struct lnm_table *t, void *arg), void *arg);
/* The first of them. SS$_NORMAL, SS$_NOLOGTAB, SS$_TOOMANYLNAM. */
cond_t lnm_first_table(const struct lnm_who *who, struct lnm_string name, struct lnm_table **out);

#endif
