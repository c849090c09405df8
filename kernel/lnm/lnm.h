/*
 * Logical names (kernel/lnm/README.md): names that stand for strings, in tables.
 *
 * Everything here is protected by the LNM mutex (MUTEX_LNM: many readers or one writer), which
 * these functions take themselves; IPL 0, no spinlock, no mutex of its rank or above held. Memory
 * is paged pool. Results are condition values. Strings are bytes with a length, case sensitive.
 * Rules: docs/openvms.md; what the manuals leave open: kernel/lnm/README.md.
 */
#ifndef KERNEL_LNM_LNM_H
#define KERNEL_LNM_LNM_H

#include "kernel/base/abi/lnmdef.h"
#include "kernel/base/cond.h"
#include "kernel/base/types.h"

#define LNM_TRANSLATIONS_MAX 128 /* of one name: indexes 0 to 127 */

struct lnm_space; /* what a process has of its own */
struct lnm_job;   /* what the processes of a job share */

struct lnm_string {
    const char *s;
    uint32_t length;
};

/* Who asks. Access modes of names are PSL$C_*: the caller of these functions has seen to it that
   the modes it gives are the asker's to give. */
struct lnm_who {
    struct lnm_space *space;
    uint32_t uic_group, uic_member;
    bool system; /* system category of a protection mask */
    bool sysnam; /* may change system tables, and act in inner modes */
    bool grpnam; /* may change its group's table */
};

struct lnm_name;

/* ---- blocks: built before they are inserted ---- */

/* An empty name with room for `bytes` of translations (lnm_translation_bytes of each). NULL: paged
 * pool is short. name: 1 to 255 bytes. */
struct lnm_name *lnm_name_alloc(struct lnm_string name, uint8_t mode, uint32_t attributes,
                                uint64_t bytes);
/* Give back a block that was not inserted. */
void lnm_name_free(struct lnm_name *n);
/* What a translation of that length takes in a block, in bytes. */
uint64_t lnm_translation_bytes(uint32_t length);
/* Add the next translation; the string is filled in by the caller, at the address that comes back.
 */
char *lnm_name_add(struct lnm_name *n, uint8_t index, uint32_t attributes, uint32_t length);

/* ---- operations ---- */

/* A name as translations see it; valid during the call only, read-only, under the mutex (shared):
 * copying to user memory is allowed meanwhile. */
struct lnm_view {
    struct lnm_string name, table;
    uint32_t attributes;
    uint8_t mode;
    int max_index; /* -1: no translation */
    const struct lnm_name *block;
};

/* The translation of an index. False: there is none. attributes: with LNM$M_EXISTS. */
bool lnm_translation(const struct lnm_name *n, unsigned index, struct lnm_string *s,
                     uint32_t *attributes);

/* $TRNLNM: find a name in the tables that table_name stands for, the first that has it; in each the
   outermost mode not above `mode` (PSL$C_USER: all). fn's result is the result. SS$_NOLOGNAM,
   SS$_IVLOGTAB (the name is that of no table), SS$_TOOMANYLNAM (too deep, too many tables),
   SS$_NOPRIV (the table may not be read). */
cond_t lnm_translate(const struct lnm_who *who, struct lnm_string table_name,
                     struct lnm_string name, uint8_t mode, bool case_blind,
                     cond_t (*fn)(const struct lnm_view *v, void *arg), void *arg);

/* $CRELNM: insert the block into the first table that table_name stands for; it is the table's
   then. SS$_NORMAL, SS$_SUPERSEDE (a name of the same mode went), or, with the block still the
   caller's: SS$_NOLOGTAB, SS$_TOOMANYLNAM, SS$_NOPRIV, SS$_EXLNMQUOTA, SS$_DUPLNAM (an inner mode
   has the name without alias; the name is a table's; it is the system's to make), SS$_IVLOGTAB
   (table of an outer mode), SS$_IVLOGNAM (in a directory, too long for a table's name). create_if:
   a name that is there stays, SS$_NORMAL. table: receives the table's name (LNM$C_TABNAMLEN bytes),
   may be NULL. */
cond_t lnm_define(const struct lnm_who *who, struct lnm_string table_name, struct lnm_name *block,
                  bool create_if, char *table, uint32_t *table_length, bool *kept);

/* $DELLNM: the name, or with length 0 all names, of `mode` and outer modes. Tables whose names go
   are deleted with all that is below them. SS$_NORMAL, SS$_NOLOGNAM, SS$_NOLOGTAB, SS$_NOPRIV,
   SS$_TOOMANYLNAM. */
cond_t lnm_delete(const struct lnm_who *who, struct lnm_string table_name, struct lnm_string name,
                  uint8_t mode);

struct lnm_table_request {
    struct lnm_string name; /* length 0: the system makes one */
    struct lnm_string parent;
    uint32_t attributes; /* LNM$M_CREATE_IF, CONFINE, NO_ALIAS */
    uint64_t quota;      /* bytes; 0: out of the parent's */
    bool has_prot;
    uint32_t prot; /* SOGW, four bits each (RWED), a set bit denies */
    uint8_t mode;
};
/* $CRELNT. SS$_LNMCREATED, SS$_SUPERSEDE, SS$_NORMAL (CREATE_IF: it was there), SS$_IVLOGNAM,
   SS$_NOLOGTAB (no such parent), SS$_NOPRIV, SS$_EXLNMQUOTA, SS$_INSFMEM, SS$_DUPLNAM (as above, or
   the name stands for something else), SS$_PARENT_DEL, SS$_TOOMANYLNAM. name_out: LNM$C_TABNAMLEN
   bytes. */
cond_t lnm_table_create(const struct lnm_who *who, const struct lnm_table_request *r,
                        char *name_out, uint32_t *name_length);

/* Sections are looked up by GBL$name first: is there any logical name with that prefix, in any
   table? Costs one load. */
#define LNM_PREFIX "GBL$"
extern uint64_t lnm_prefixed; /* how many; atomic, changed under the mutex */
static inline bool lnm_prefix_in_use(void)
{
    return unlikely(__atomic_load_n(&lnm_prefixed, __ATOMIC_RELAXED) != 0);
}

/* ---- display ---- */

struct lnm_entry { /* one name of one table */
    struct lnm_view view;
    uint32_t table_number; /* its table's place among those that are listed */
    bool shareable;        /* its table is */
    bool is_table;         /* it names a table: the fields below are that table's */
    uint64_t quota, left;  /* 0: it draws on its parent's */
    uint32_t names;
};
struct lnm_place { /* where a list has come to: a name that it showed */
    struct lnm_string name;
    uint8_t mode;
    uint32_t table_number;
};
/* index-th name of the tables that table_name stands for (length 0: of all that the process sees),
   in the order of tables. SS$_NOLOGNAM: there are not so many. fn's result is the result. */
cond_t lnm_nth(const struct lnm_who *who, struct lnm_string table_name, uint64_t index,
               cond_t (*fn)(const struct lnm_entry *e, void *arg), void *arg);
/* The name at a place, or the next one behind it, without a walk over those before. The same; and
   SS$_NONEXPR: there is no such name any more. */
cond_t lnm_at(const struct lnm_who *who, struct lnm_string table_name,
              const struct lnm_place *place, bool next,
              cond_t (*fn)(const struct lnm_entry *e, void *arg), void *arg);

/* ---- life ---- */

/* The shared directory, LNM$SYSTEM_TABLE, LNM$SYSTEM, LNM$FILE_DEV. Pool and parameters are there.
 */
void lnm_boot(void);
/* What a process has of its own, in a job of its own. Its directory and table are made at the first
   use of names. NULL: memory is short. */
struct lnm_space *lnm_space_create(void);
/* As parent's, with copies of its private tables and names, but for those with LNM$M_CONFINE; in
   its job and group. NULL: memory is short. */
struct lnm_space *lnm_space_fork(struct lnm_space *parent);
/* The end of a process: private names go, with the job's last member its table, with the group's
   last one its table if it is empty. */
void lnm_space_free(struct lnm_space *s);
/* A new job, for one process to enter, or to be discarded. NULL: memory is short. */
struct lnm_job *lnm_job_create(void);
void lnm_job_discard(struct lnm_job *job);
/* Leave the job and enter the new one. */
void lnm_job_enter(struct lnm_space *s, struct lnm_job *job);

#endif
