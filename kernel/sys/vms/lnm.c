/*
 * Logical-name services: $CRELNM, $CRELNT, $DELLNM, $TRNLNM.
 *
 * An item list is read twice. The first pass checks every item, reads its input and probes its
 * output; the second pass fills in a name's block, or writes a translation. Between the two,
 * another thread or a process that shares the memory may change the list, so the second pass checks
 * what it reads against the space that the first pass computed.
 *
 * Access modes: programs run in user mode, and the shell does what DCL does in supervisor mode.
 * Therefore any program may use supervisor mode; executive and kernel mode need SYSNAM.
 *
 * Locks: those of kernel/lnm, with which no access to user memory faults. A definition can fail for
 * lack of nonpaged pool.
 */
#include "kernel/sys/vms/lnm.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/proc/creds.h"
#include "kernel/proc/process.h"
#include "kernel/sched/thread.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/items.h"
#include "mm/pool/pool.h"
#include "mm/section/section.h"

#define NAME_MAX LNM$C_NAMLENGTH

struct lnm_who vms_lnm_who(void)
{
    const struct process *p = process_self();

    return (struct lnm_who){.space = p->names,
                            .uic_group = process_uic_group(p),
                            .uic_member = process_uic_member(p),
                            .system = creds_is_system(p),
                            .sysnam = (process_privileges(p) & PRV_SYSNAM) != 0,
                            .grpnam = (process_privileges(p) & PRV_GRPNAM) != 0};
}

/* ---- arguments ---- */

/* Copy in a name by descriptor, 1 to 255 characters. bad: the result for another length. */
static cond_t decode_name(vaddr_t descriptor, char name[NAME_MAX + 1], struct lnm_string *s,
                          cond_t bad)
{
    uint32_t n;
    cond_t status = vms_string(descriptor, name, NAME_MAX + 1, &n);

    if (status != SS$_NORMAL)
        return status == SS$_ACCVIO ? status : bad;
    if (n == 0 || n > NAME_MAX)
        return bad;
    *s = (struct lnm_string){name, n};
    return SS$_NORMAL;
}

/* Read attr by reference; 0: none. SS$_BADPARAM: one that is not in `known`. */
static cond_t decode_attributes(vaddr_t ua, uint32_t known, uint32_t *attributes)
{
    *attributes = 0;
    if (ua && copyin_u32(attributes, ua) != 0)
        return SS$_ACCVIO;
    return *attributes & ~known ? SS$_BADPARAM : SS$_NORMAL;
}

/* Read acmode by reference; 0: `otherwise`. An inner mode becomes supervisor mode without
   SYSNAM. */
static cond_t decode_mode(const struct lnm_who *who, vaddr_t ua, uint8_t otherwise, uint8_t *mode)
{
    *mode = otherwise;
    if (ua && copyin(mode, ua, sizeof(*mode)) != 0)
        return SS$_ACCVIO;
    if (*mode > PSL$C_USER)
        return SS$_IVACMODE;
    if (ua && *mode < PSL$C_SUPER && !who->sysnam)
        *mode = PSL$C_SUPER;
    return SS$_NORMAL;
}

/* The arguments common to services on one name. */
struct named {
    struct lnm_who who;
    struct lnm_string table, name;
    uint8_t mode;
    char table_buffer[NAME_MAX + 1], name_buffer[NAME_MAX + 1];
};

/* all: lognam may be 0, which means all names; n->name is then empty. */
static cond_t decode_named(vaddr_t tabnam, vaddr_t lognam, vaddr_t acmode, bool all,
                           struct named *n)
{
    cond_t status = decode_name(tabnam, n->table_buffer, &n->table, SS$_IVLOGTAB);

    n->who = vms_lnm_who();
    n->name = (struct lnm_string){"", 0};
    if (status == SS$_NORMAL && (lognam || !all))
        status = decode_name(lognam, n->name_buffer, &n->name, SS$_IVLOGNAM);
    return status == SS$_NORMAL ? decode_mode(&n->who, acmode, PSL$C_USER, &n->mode) : status;
}

/* ---- item lists ---- */

/* Read the next item, following LNM$_CHAIN. SS$_NORMAL, SS$_ACCVIO, SS$_BADPARAM (also for a buffer
   that is too long for any item, for which these services have no value of their own). */
static cond_t next_item(struct vms_items *l, struct vms_item *item)
{
    cond_t status = vms_items_chained(l, item);

    return status == SS$_BADBUFLEN ? SS$_BADPARAM : status;
}

/* Write an answer of `length` bytes. SS$_BUFFEROVF: it was truncated to the buffer's length. */
static cond_t answer(const struct vms_item *item, const void *from, uint32_t length)
{
    uint64_t n = MIN(item->length, (uint64_t)length);
    uint16_t word = (uint16_t)n;

    if (copyout(item->buffer, from, n) != 0)
        return SS$_ACCVIO;
    if (!item->return_length)
        return n < length ? SS$_BUFFEROVF : SS$_NORMAL;
    if (item->wide ? copyout_u64(item->return_length, n) != 0
                   : copyout(item->return_length, &word, sizeof(word)) != 0)
        return SS$_ACCVIO;
    return n < length ? SS$_BUFFEROVF : SS$_NORMAL;
}

static cond_t read_index(const struct vms_item *item, unsigned *index)
{
    uint32_t v;

    if (item->length != sizeof(v))
        return SS$_BADPARAM;
    if (copyin_u32(&v, item->buffer) != 0)
        return SS$_ACCVIO;
    if (v >= LNM_TRANSLATIONS_MAX)
        return SS$_BADPARAM;
    *index = v;
    return SS$_NORMAL;
}

/* ---- $CRELNM ---- */

struct definition {
    unsigned index;
    uint32_t attributes;
    uint64_t given[LNM_TRANSLATIONS_MAX / 64]; /* a bit for each index that has a string */
    uint64_t bytes;                            /* size of the translations in the block */
    struct lnm_name *block;                    /* second pass; NULL in the first one */
    struct vms_item table; /* where to write the table's name; code 0: nowhere */
};

static cond_t define_string(struct definition *d, const struct vms_item *item)
{
    uint32_t n = (uint32_t)item->length;
    uint64_t *word, bit = UINT64_C(1) << d->index % 64;

    if (item->length > NAME_MAX || d->index >= LNM_TRANSLATIONS_MAX)
        return SS$_BADPARAM;
    word = &d->given[d->index / 64];
    if (*word & bit)
        return SS$_BADPARAM; /* two strings for one index */
    *word |= bit;
    if (d->block) {
        if (d->bytes < lnm_translation_bytes(n))
            return SS$_BADPARAM; /* an index has changed since the first pass */
        d->bytes -= lnm_translation_bytes(n);
        if (copyin(lnm_name_add(d->block, (uint8_t)d->index, d->attributes, n), item->buffer, n))
            return SS$_ACCVIO;
    } else {
        d->bytes += lnm_translation_bytes(n);
    }
    d->index++;
    return SS$_NORMAL;
}

static cond_t define_item(struct definition *d, const struct vms_item *item)
{
    switch (item->code) {
    case LNM$_INDEX:
        return read_index(item, &d->index);
    case LNM$_ATTRIBUTES:
        if (item->length != sizeof(uint32_t))
            return SS$_BADPARAM;
        if (copyin_u32(&d->attributes, item->buffer) != 0)
            return SS$_ACCVIO;
        return d->attributes & ~(uint32_t)(LNM$M_CONCEALED | LNM$M_TERMINAL) ? SS$_BADPARAM
                                                                             : SS$_NORMAL;
    case LNM$_STRING:
        return define_string(d, item);
    case LNM$_TABLE:
        d->table = *item;
        return vms_item_probe(item);
    default:
        return SS$_BADPARAM;
    }
}

/* One pass over the item list. */
static cond_t define_pass(struct definition *d, const struct vms_item_list *list)
{
    cond_t status = SS$_NORMAL;

    d->index = 0;
    d->attributes = 0;
    memset(d->given, 0, sizeof(d->given));
    for (unsigned i = 0; i < list->count && status == SS$_NORMAL; i++)
        status = define_item(d, &list->item[i]);
    return status;
}

/* Make the name's block from the list, which was read with the status `read`. NULL with *status. */
static struct lnm_name *make_block(const struct named *n, uint32_t attributes, cond_t read,
                                   const struct vms_item_list *list, struct definition *d,
                                   cond_t *status)
{
    *status = define_pass(d, list);
    if (*status == SS$_NORMAL)
        *status = read;
    if (*status != SS$_NORMAL)
        return NULL;
    d->block = lnm_name_alloc(
        n->name, n->mode, attributes & (LNM$M_NO_ALIAS | LNM$M_CONFINE | LNM$M_CRELOG), d->bytes);
    if (!d->block) {
        *status = SS$_INSFMEM;
        return NULL;
    }
    *status = define_pass(d, list);
    return d->block;
}

static cond_t define(const struct named *n, uint32_t attributes, vaddr_t itmlst)
{
    struct vms_item_list list = {.item = list.few};
    struct definition d = {0};
    char table_name[LNM$C_TABNAMLEN];
    uint32_t length = 0;
    bool kept = false;
    cond_t status = itmlst ? vms_items_read(itmlst, next_item, &list) : SS$_NORMAL;

    if (!make_block(n, attributes, status, &list, &d, &status)) {
        vms_items_end(&list);
        return status;
    }
    vms_items_end(&list);
    if (status == SS$_NORMAL)
        status = lnm_define(&n->who, n->table, d.block, (attributes & LNM$M_CREATE_IF) != 0,
                            table_name, &length, &kept);
    if (!cond_ok(status) || kept)
        lnm_name_free(d.block);
    if (cond_ok(status) && d.table.code && answer(&d.table, table_name, length) == SS$_BUFFEROVF)
        status = SS$_BUFFEROVF;
    return status;
}

cond_t vms_crelnm(uint64_t attr, uint64_t tabnam, uint64_t lognam, uint64_t acmode, uint64_t itmlst)
{
    struct named n;
    uint32_t attributes;
    cond_t status = decode_attributes(
        attr, LNM$M_NO_ALIAS | LNM$M_CONFINE | LNM$M_CRELOG | LNM$M_CREATE_IF, &attributes);

    if (status == SS$_NORMAL)
        status = decode_named(tabnam, lognam, acmode, false, &n);
    return status == SS$_NORMAL ? define(&n, attributes, itmlst) : status;
}

/* ---- $TRNLNM ---- */

/* Answer one item about a name. */
static cond_t translate_item(const struct lnm_view *v, const struct vms_item *item, unsigned *index)
{
    struct lnm_string s = {"", 0};
    uint32_t attributes = v->attributes, word;
    bool exists = lnm_translation(v->block, *index, &s, &attributes);

    switch (item->code) {
    case LNM$_INDEX:
        return read_index(item, index);
    case LNM$_STRING:
        return answer(item, s.s, s.length);
    case LNM$_ATTRIBUTES:
        word = v->attributes | (exists ? attributes : 0);
        return answer(item, &word, sizeof(word));
    case LNM$_TABLE:
        return answer(item, v->table.s, v->table.length);
    case LNM$_LENGTH:
        return answer(item, &s.length, sizeof(s.length));
    case LNM$_ACMODE:
        return answer(item, &v->mode, sizeof(v->mode));
    default: /* LNM$_MAX_INDEX; translate_check() refuses all others */
        word = (uint32_t)v->max_index;
        return answer(item, &word, sizeof(word));
    }
}

static cond_t translate_check(const struct vms_item *item)
{
    unsigned index;

    switch (item->code) {
    case LNM$_INDEX:
        return read_index(item, &index);
    case LNM$_STRING:
    case LNM$_ATTRIBUTES:
    case LNM$_TABLE:
    case LNM$_LENGTH:
    case LNM$_ACMODE:
    case LNM$_MAX_INDEX:
        return vms_item_probe(item);
    default:
        return SS$_BADPARAM;
    }
}

static cond_t translate_check_item(const struct vms_item *item, const void *arg)
{
    (void)arg;
    return translate_check(item);
}

/* Answer the items of *arg, a list that has been checked; arg NULL: there is none. The LNM mutex is
   that of all users, and a page fault can take as long as the server of a shared folder likes: so
   an answer that would need one fails, with SS$_ACCVIO. */
static cond_t translate_found(const struct lnm_view *v, void *arg)
{
    const struct vms_item_list *list = arg;
    cond_t status = SS$_NORMAL, result = SS$_NORMAL;
    unsigned index = 0;

    thread_self()->no_faults = true;
    for (unsigned i = 0; list && i < list->count && cond_ok(status); i++) {
        status = translate_item(v, &list->item[i], &index);
        if (status == SS$_BUFFEROVF)
            result = status;
    }
    thread_self()->no_faults = false;
    return cond_ok(status) ? result : status;
}

/* Translate; again, if memory for the answers was not present, when it is. */
static cond_t translate(const struct named *n, bool case_blind, struct vms_item_list *list)
{
    cond_t status;

    do {
        status = lnm_translate(&n->who, n->table, n->name, n->mode, case_blind, translate_found,
                               list);
        if (status != SS$_ACCVIO)
            return status;
        status = SS$_NORMAL;
        for (unsigned i = 0; i < list->count && status == SS$_NORMAL; i++)
            status = translate_check(&list->item[i]);
    } while (status == SS$_NORMAL && !thread_killed());
    return status == SS$_NORMAL ? SS$_ABORT : status;
}

cond_t vms_trnlnm(uint64_t attr, uint64_t tabnam, uint64_t lognam, uint64_t acmode, uint64_t itmlst)
{
    struct vms_item_list list;
    struct named n;
    uint32_t attributes;
    cond_t status = decode_attributes(attr, LNM$M_CASE_BLIND | LNM$M_INTERLOCKED, &attributes);

    if (status == SS$_NORMAL)
        status = decode_named(tabnam, lognam, acmode, false, &n);
    if (status != SS$_NORMAL)
        return status;
    if (itmlst)
        status = vms_items_check(itmlst, next_item, translate_check_item, &list);
    if (status == SS$_NORMAL)
        status = translate(&n, (attributes & LNM$M_CASE_BLIND) != 0, itmlst ? &list : NULL);
    if (itmlst)
        vms_items_end(&list);
    return status;
}

/* ---- $DELLNM ---- */

cond_t vms_dellnm(uint64_t tabnam, uint64_t lognam, uint64_t acmode)
{
    struct named n;
    cond_t status = decode_named(tabnam, lognam, acmode, true, &n);

    return status == SS$_NORMAL ? lnm_delete(&n.who, n.table, n.name, n.mode) : status;
}

/* ---- $CRELNT ---- */

struct result_name { /* where to write the new table's name */
    vaddr_t buffer, length_out;
    uint64_t room;
};

static cond_t decode_result(vaddr_t resnam, vaddr_t reslen, struct result_name *r)
{
    cond_t status = SS$_NORMAL;

    *r = (struct result_name){.length_out = reslen, .room = LNM$C_TABNAMLEN};
    if (resnam) {
        status = vms_buffer(resnam, &r->buffer, &r->room);
        if (status == SS$_NORMAL && r->room && probe_write(r->buffer, r->room) != 0)
            status = SS$_ACCVIO;
    }
    if (status == SS$_NORMAL && reslen && probe_write(reslen, sizeof(uint16_t)) != 0)
        status = SS$_ACCVIO;
    return status;
}

/* Read a longword or word (size bytes) by reference; 0 if ua is 0. */
static cond_t decode_number(vaddr_t ua, uint64_t size, uint32_t *v)
{
    *v = 0;
    return ua && copyin(v, ua, size) != 0 ? SS$_ACCVIO : SS$_NORMAL;
}

/* Decode the quota and protection of a new table. */
static cond_t decode_table(const uint64_t *quota, const uint64_t *promsk,
                           struct lnm_table_request *r)
{
    uint32_t bytes;
    cond_t status = decode_number(*quota, sizeof(bytes), &bytes);

    if (status == SS$_NORMAL)
        status = decode_number(*promsk, sizeof(uint16_t), &r->prot);
    r->quota = bytes;
    r->has_prot = *promsk != 0;
    return status;
}

cond_t vms_crelnt(uint64_t block)
{
    enum { ATTR, RESNAM, RESLEN, QUOTA, PROMSK, TABNAM, PARTAB, ACMODE, UIC, COUNT };
    struct lnm_who who = vms_lnm_who();
    char name_buffer[NAME_MAX + 1], parent_buffer[NAME_MAX + 1], made[LNM$C_TABNAMLEN];
    struct lnm_table_request r = {.name = {"", 0}};
    struct result_name result;
    uint64_t a[VMS_ARGS_MAX];
    uint32_t length = 0;
    uint16_t word;
    cond_t status = vms_args(block, ACMODE, COUNT, a);

    if (status == SS$_NORMAL)
        status = decode_attributes(a[ATTR], LNM$M_NO_ALIAS | LNM$M_CONFINE | LNM$M_CREATE_IF,
                                   &r.attributes);
    if (status == SS$_NORMAL && a[UIC]) /* no manual says what it would do */
        status = SS$_BADPARAM;
    if (status == SS$_NORMAL && a[TABNAM])
        status = decode_name(a[TABNAM], name_buffer, &r.name, SS$_IVLOGNAM);
    if (status == SS$_NORMAL)
        status = decode_name(a[PARTAB], parent_buffer, &r.parent, SS$_IVLOGTAB);
    if (status == SS$_NORMAL)
        status = decode_mode(&who, a[ACMODE], PSL$C_USER, &r.mode);
    if (status == SS$_NORMAL)
        status = decode_table(&a[QUOTA], &a[PROMSK], &r);
    if (status == SS$_NORMAL)
        status = decode_result(a[RESNAM], a[RESLEN], &result);
    if (status == SS$_NORMAL && a[RESNAM] && result.room < (r.name.length ? r.name.length : 20u))
        status = SS$_RESULTOVF;
    if (status != SS$_NORMAL)
        return status;
    status = lnm_table_create(&who, &r, made, &length);
    if (!cond_ok(status))
        return status;
    word = (uint16_t)length;
    if (a[RESNAM])
        (void)copyout(result.buffer, made, length); /* probed in decode_result() */
    if (a[RESLEN])
        (void)copyout(result.length_out, &word, sizeof(word));
    return status;
}

/* ---- MEGA_SYS_LOGICAL, for `show logical` ---- */

struct display {
    struct mega_logical *out;
    uint64_t translation;
};

static void put(char *to, uint32_t size, struct lnm_string s)
{
    uint32_t n = MIN(s.length, size - 1);

    memcpy(to, s.s, n);
    to[n] = '\0';
}

static cond_t display_one(const struct lnm_entry *e, void *arg)
{
    struct display *d = arg;
    struct mega_logical *m = d->out;
    struct lnm_string text = {"", 0};
    uint64_t number = 0;

    m->translation = -1;
    m->text_attributes = 0;
    for (int i = 0; i <= e->view.max_index; i++)
        if (lnm_translation(e->view.block, (unsigned)i, &text, &m->text_attributes) &&
            number++ == d->translation) {
            m->translation = i;
            break;
        }
    if (m->translation < 0) {
        if (number || d->translation)
            return SS$_NONEXPR;
        text.length = 0;
    }
    put(m->name, sizeof(m->name), e->view.name);
    put(m->table, sizeof(m->table), e->view.table);
    put(m->text, sizeof(m->text), text);
    m->name_length = e->view.name.length;
    m->text_length = text.length;
    m->attributes = e->view.attributes;
    m->mode = e->view.mode;
    m->shareable = e->shareable;
    m->table_number = e->table_number;
    m->is_table = e->is_table;
    m->names = e->names;
    m->quota = e->quota;
    m->left = e->left;
    return SS$_NORMAL;
}

/* Continue at the name that the structure at buffer describes, or (next) after it. */
static cond_t display_from(const struct lnm_who *who, struct lnm_string table, bool next,
                           vaddr_t buffer, struct display *d)
{
    struct mega_logical *m = d->out;
    struct lnm_place place;
    char name[NAME_MAX];

    if (copyin(m, buffer, sizeof(*m)) != 0)
        return SS$_ACCVIO;
    if (m->name_length > NAME_MAX || m->mode > PSL$C_USER)
        return SS$_BADPARAM;
    memcpy(name, m->name, m->name_length); /* copied, because *m also gets the answer */
    place = (struct lnm_place){{name, m->name_length}, (uint8_t)m->mode, m->table_number};
    return lnm_at(who, table, &place, next, display_one, d);
}

cond_t mega_sys_logical(uint64_t tabnam, uint64_t index, uint64_t translation, uint64_t buffer)
{
    struct lnm_who who = vms_lnm_who();
    char table_buffer[NAME_MAX + 1];
    struct lnm_string table = {"", 0};
    struct display d = {.translation = translation};
    cond_t status = tabnam ? decode_name(tabnam, table_buffer, &table, SS$_IVLOGTAB) : SS$_NORMAL;

    if (status != SS$_NORMAL)
        return status;
    d.out = npp_alloc_zeroed(sizeof(*d.out));
    if (!d.out)
        return SS$_INSFMEM;
    if ((int64_t)index >= 0)
        status = lnm_nth(&who, table, index, display_one, &d);
    else if ((int64_t)index < MEGA_LOGICAL_SAME)
        status = SS$_NOLOGNAM;
    else
        status = display_from(&who, table, (int64_t)index == MEGA_LOGICAL_NEXT, buffer, &d);
    if (status == SS$_NORMAL && copyout(buffer, d.out, sizeof(*d.out)) != 0)
        status = SS$_ACCVIO;
    npp_free(d.out, sizeof(*d.out));
    return status;
}

/* ---- names of sections ---- */

struct section_translation {
    char *name;
    uint32_t *length;
    bool terminal; /* the translation must not be translated again */
};

static cond_t take_section_name(const struct lnm_view *v, void *arg)
{
    struct section_translation *t = arg;
    struct lnm_string s;
    uint32_t attributes;

    if (!lnm_translation(v->block, 0, &s, &attributes))
        return SS$_NOLOGNAM;
    if (s.length == 0 || s.length > SECTION_NAME_MAX || memchr(s.s, ':', s.length) ||
        memchr(s.s, '\0', s.length))
        return SS$_IVLOGNAM;
    memcpy(t->name, s.s, s.length);
    t->name[s.length] = '\0';
    *t->length = s.length;
    t->terminal = (attributes & LNM$M_TERMINAL) != 0;
    return SS$_NORMAL;
}

cond_t vms_lnm_section_name(char *name, uint32_t *length)
{
    static const struct lnm_string file_dev = {"LNM$FILE_DEV", 12};
    struct lnm_who who = vms_lnm_who();
    char logical[4 + SECTION_NAME_MAX];
    struct section_translation t = {name, length, false};

    for (unsigned depth = 0; depth <= LNM$C_MAXDEPTH; depth++) {
        cond_t status;

        if (t.terminal)
            return SS$_NORMAL;
        memcpy(logical, LNM_PREFIX, 4);
        memcpy(logical + 4, name, *length);
        status = lnm_translate(&who, file_dev, (struct lnm_string){logical, 4 + *length},
                               PSL$C_USER, false, take_section_name, &t);
        if (status != SS$_NORMAL)
            return status == SS$_IVLOGNAM || status == SS$_TOOMANYLNAM ? status : SS$_NORMAL;
    }
    return SS$_TOOMANYLNAM;
}
