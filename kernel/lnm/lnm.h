/*
 * Logical names (kernel/lnm/README.md): names that stand for strings, in tables.
 *
 * Everything here is protected by the LNM mutex (MUTEX_LNM: many readers or one writer), which the
 * functions take themselves. Callers are at IPL 0 and hold no spinlock and no mutex of that rank or
 * above. Memory is paged pool. Results are condition values. Strings are bytes with a length, case
 * sensitive. Rules: docs/openvms.md; where the manuals leave a choice: kernel/lnm/README.md.
 */
#ifndef KERNEL_LNM_LNM_H
#define KERNEL_LNM_LNM_H

#include "kernel/base/abi/lnmdef.h"
#include "kernel/base/cond.h"
#include "kernel/base/types.h"

#define LNM_TRANSLATIONS_MAX 128 /* of one name: indexes 0 to 127 */

struct lnm_space; /* the names of one process, and its job and group */
struct lnm_job;   /* the table that the processes of a job share */

struct lnm_string {
    const char *s;
    uint32_t length;
};

/* The process on whose behalf a function acts. Access modes of names are PSL$C_*; the caller has
   checked that the process may use the modes that it passes. */
struct lnm_who {
    struct lnm_space *space; /* NULL: SS$_INSFMEM is returned */
    uint32_t uic_group, uic_member;
    bool system; /* belongs to the system category of a protection mask */
    bool sysnam; /* may change system tables, and use the inner modes */
    bool grpnam; /* may change its group's table */
};

struct lnm_name;

/* ---- blocks: a name with its translations, built before it is inserted ---- */

/* Allocate a name (1 to 255 bytes) without translations, with room for `bytes` of them: the sum of
 * lnm_translation_bytes() of each. NULL: paged pool is short. */
struct lnm_name *lnm_name_alloc(struct lnm_string name, uint8_t mode, uint32_t attributes,
                                uint64_t bytes);
/* Free a block that was not inserted. */
void lnm_name_free(struct lnm_name *n);
/* The bytes that a translation of that length takes in a block. */
uint64_t lnm_translation_bytes(uint32_t length);
/* Add the next translation; the caller copies `length` bytes to the address that is returned. */
char *lnm_name_add(struct lnm_name *n, uint8_t index, uint32_t attributes, uint32_t length);

/* ---- operations ---- */

/* A name as a callback sees it: read-only, valid during the call, with the mutex held shared. The
 * callback must not wait for anything that a user can delay, as are page faults on user memory. */
struct lnm_view {
    struct lnm_string name, table;
    uint32_t attributes;
    uint8_t mode;
    int max_index; /* -1: no translation */
    const struct lnm_name *block;
};

/* Get the translation with that index, and its attributes with LNM$M_EXISTS. False: there is
   none. */
bool lnm_translation(const struct lnm_name *n, unsigned index, struct lnm_string *s,
                     uint32_t *attributes);

/* $TRNLNM: find a name in the tables that table_name stands for. The first table that has it wins,
   and in that table the outermost mode not above `mode` (PSL$C_USER: all modes). Calls fn and
   returns its result. SS$_NOLOGNAM, SS$_IVLOGTAB (table_name names no table), SS$_TOOMANYLNAM (too
   deep, too many tables), SS$_NOPRIV (no readable table has it, and one may not be read),
   SS$_INSFMEM. */
cond_t lnm_translate(const struct lnm_who *who, struct lnm_string table_name,
                     struct lnm_string name, uint8_t mode, bool case_blind,
                     cond_t (*fn)(const struct lnm_view *v, void *arg), void *arg);

/* $CRELNM: insert the block into the first table that table_name stands for; the table then owns
   it. SS$_NORMAL, or SS$_SUPERSEDE (a name of the same mode was replaced). create_if: if the name
   exists it stays, and *kept is set with SS$_NORMAL. After any other status, and with *kept set,
   the caller still owns the block: SS$_NOLOGTAB, SS$_TOOMANYLNAM, SS$_NOPRIV, SS$_EXLNMQUOTA,
   SS$_INSFMEM, SS$_IVLOGTAB (the table is of an outer mode), SS$_IVLOGNAM (in a directory: too long
   for a table's name), SS$_DUPLNAM (an inner mode has the name without alias; the name is a
   table's; it is one that only the system creates). table receives the table's name
   (LNM$C_TABNAMLEN bytes); may be NULL. */
cond_t lnm_define(const struct lnm_who *who, struct lnm_string table_name, struct lnm_name *block,
                  bool create_if, char *table, uint32_t *table_length, bool *kept);

/* $DELLNM: delete the name (length 0: all names) of `mode` and outer modes. If a name is a table's,
   the table and all tables below it are deleted with it; others see the names in it go one after
   the other. SS$_NORMAL, SS$_NOLOGNAM, SS$_NOLOGTAB, SS$_NOPRIV, SS$_TOOMANYLNAM, SS$_INSFMEM;
   SS$_ABORT: the thread is to end, and some may have been deleted. */
cond_t lnm_delete(const struct lnm_who *who, struct lnm_string table_name, struct lnm_string name,
                  uint8_t mode);

struct lnm_table_request {
    struct lnm_string name; /* length 0: the system makes up a name */
    struct lnm_string parent;
    uint32_t attributes; /* LNM$M_CREATE_IF, CONFINE, NO_ALIAS */
    uint64_t quota;      /* bytes; 0: the table draws on its parent's quota */
    bool has_prot;
    uint32_t prot; /* SOGW, four bits each (RWED); a set bit denies */
    uint8_t mode;
};
/* $CRELNT: create a table. SS$_LNMCREATED, SS$_SUPERSEDE, SS$_NORMAL (LNM$M_CREATE_IF: it exists),
   SS$_IVLOGNAM, SS$_NOLOGTAB (no such parent), SS$_NOPRIV, SS$_EXLNMQUOTA, SS$_INSFMEM, SS$_DUPLNAM
   (as above, or the name is not a table's), SS$_PARENT_DEL, SS$_TOOMANYLNAM. name_out receives the
   name (LNM$C_TABNAMLEN bytes). */
cond_t lnm_table_create(const struct lnm_who *who, const struct lnm_table_request *r,
                        char *name_out, uint32_t *name_length);

/* Is there any logical name with this prefix, in any table? Sections are looked up by GBL$name
   first if there is. Costs one load. Any IPL. */
#define LNM_PREFIX "GBL$"
extern uint64_t lnm_prefixed; /* number of such names; atomic, changed under the mutex */
static inline bool lnm_prefix_in_use(void)
{
    return unlikely(__atomic_load_n(&lnm_prefixed, __ATOMIC_RELAXED) != 0);
}

/* ---- display ---- */

struct lnm_entry { /* one name of one table */
    struct lnm_view view;
    uint32_t table_number; /* position of its table among those that are listed */
    bool shareable;        /* its table is shareable */
    bool is_table;         /* it names a table: the fields below are that table's */
    uint64_t quota, left;  /* bytes; 0: the table draws on its parent's quota */
    uint32_t names;
};
struct lnm_place { /* the position of a list: the name that was shown last */
    struct lnm_string name;
    uint8_t mode;
    uint32_t table_number;
};
/* Call fn for the index-th name of the tables that table_name stands for (length 0: of all tables
   that the process sees), in the order of tables, and return its result. SS$_NOLOGNAM: there are
   not so many names; SS$_TOOMANYLNAM, SS$_INSFMEM. */
cond_t lnm_nth(const struct lnm_who *who, struct lnm_string table_name, uint64_t index,
               cond_t (*fn)(const struct lnm_entry *e, void *arg), void *arg);
/* Call fn for the name at a place, or for the one after it, without walking over those before. The
   same results; and SS$_NONEXPR: that name does not exist any more. */
cond_t lnm_at(const struct lnm_who *who, struct lnm_string table_name,
              const struct lnm_place *place, bool next,
              cond_t (*fn)(const struct lnm_entry *e, void *arg), void *arg);

/* ---- creation and end of processes, jobs and groups ---- */

/* Boot: create the system directory, LNM$SYSTEM_TABLE, LNM$SYSTEM, LNM$FILE_DEV. Needs pool and
   system parameters. */
void lnm_boot(void);
/* The space of a new process, in a new job. Directory and table are created when names are first
   used. NULL: memory is short. */
struct lnm_space *lnm_space_create(void);
/* The space of a child: in the job and group of parent, with copies of its private tables and
   names, except those with LNM$M_CONFINE. NULL: memory is short. */
struct lnm_space *lnm_space_fork(struct lnm_space *parent);
/* The process ends: free its private names; with the last member of a job also the job's table, and
   with the last one of a group the group's table if it is empty. */
void lnm_space_free(struct lnm_space *s);
/* Create a job, for one process to enter, or to be discarded. NULL: memory is short. */
struct lnm_job *lnm_job_create(void);
void lnm_job_discard(struct lnm_job *job);
/* Move a process from its job to the new one, which it owns from now on. */
void lnm_job_enter(struct lnm_space *s, struct lnm_job *job);

#endif
