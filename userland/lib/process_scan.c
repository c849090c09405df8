/*
 * $PROCESS_SCAN: contexts, which belong to the program as they do on OpenVMS. $GETJPI with a
 * context goes through all processes in the order of their numbers, asks for what the criteria
 * compare, at one moment for each process, and answers for the first one that fits. Processes that
 * the caller may not ask about fit nothing.
 */
#include "process_scan.h"

#include "hold.h"

#include <ctype.h>
#include <efndef.h>
#include <iledef.h>
#include <jpidef.h>
#include <pscandef.h>
#include <ssdef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "service.h"

#undef sys$process_scan

#define CONTEXT  0xC0000000u /* and a serial number; the kernel's searches have bit 30 clear */
#define SEARCH   0x80000000u
#define TEXT_MAX 64
#define CRITERIA 256 /* most of one context */
#define RELATIONS \
    (PSCAN$M_GEQ | PSCAN$M_GTR | PSCAN$M_LEQ | PSCAN$M_LSS | PSCAN$M_EQL | PSCAN$M_NEQ)
#define SAME_OR_NOT (PSCAN$M_EQL | PSCAN$M_NEQ)

/* HALF: a number of 16 bits, the low ones of the value. */
enum kind { NUMBER, HALF, MASK, TEXT, CONTROL };

static const struct subject {
    unsigned short code, item;
    enum kind kind;
} subjects[] = {
    {PSCAN$_CURPRIV, JPI$_CURPRIV, MASK},
    {PSCAN$_GRP, JPI$_GRP, HALF},
    {PSCAN$_JOBPRCCNT, JPI$_JOBPRCCNT, NUMBER},
    {PSCAN$_JOBTYPE, JPI$_JOBTYPE, NUMBER},
    {PSCAN$_MASTER_PID, JPI$_MASTER_PID, NUMBER},
    {PSCAN$_MEM, JPI$_MEM, HALF},
    {PSCAN$_MODE, JPI$_MODE, NUMBER},
    {PSCAN$_NODENAME, JPI$_NODENAME, TEXT},
    {PSCAN$_OWNER, JPI$_OWNER, NUMBER},
    {PSCAN$_PRCCNT, JPI$_PRCCNT, NUMBER},
    {PSCAN$_PRCNAM, JPI$_PRCNAM, TEXT},
    {PSCAN$_PRI, JPI$_PRI, NUMBER},
    {PSCAN$_PRIB, JPI$_PRIB, NUMBER},
    {PSCAN$_STATE, JPI$_STATE, NUMBER},
    {PSCAN$_TERMINAL, JPI$_TERMINAL, TEXT},
    {PSCAN$_UIC, JPI$_UIC, NUMBER},
    {PSCAN$_USERNAME, JPI$_USERNAME, TEXT},
    {PSCAN$_GETJPI_BUFFER_SIZE, 0, CONTROL},
};

struct criterion {
    const struct subject *subject;
    unsigned int flags;
    uint64_t number;
    size_t length;
    char text[TEXT_MAX];
};

struct context {
    struct context *next;
    unsigned int id;
    unsigned int last; /* the kernel's search: the process found last */
    size_t count;
    struct criterion criterion[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context *contexts; /* with the lock */
static unsigned int serial;      /* likewise */

static struct context **find(unsigned int id)
{
    struct context **at = &contexts;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static void drop(unsigned int id)
{
    struct context **at = find(id), *c = *at;

    if (c) {
        *at = c->next;
        free(c);
    }
}

/* ---- the item list ---- */

struct entry {
    unsigned int code, flags;
    size_t length;
    uint64_t value; /* or an address */
};

/* Reads entry number n of a list of either form. */
static struct entry read_entry(const void *list, size_t n)
{
    const ILEB_64 *wide = list;
    const ILE3 *e = (const ILE3 *)list + n;

    if (wide->ileb_64$w_mbo == 1 && wide->ileb_64$l_mbmo == -1) {
        wide += n;
        return (struct entry){wide->ileb_64$w_code,
                              (unsigned)(uintptr_t)wide->ileb_64$pq_retlen_addr,
                              wide->ileb_64$q_length, (uintptr_t)wide->ileb_64$pq_bufaddr};
    }
    return (struct entry){e->ile3$w_code, (unsigned)(uintptr_t)e->ile3$ps_retlen_addr,
                          e->ile3$w_length, (uintptr_t)e->ile3$ps_bufaddr};
}

static unsigned int flags_of(enum kind kind)
{
    static const unsigned int allowed[] = {
        [NUMBER] = RELATIONS,
        [HALF] = RELATIONS,
        [MASK] = SAME_OR_NOT | PSCAN$M_BIT_ALL | PSCAN$M_BIT_ANY,
        [TEXT] = SAME_OR_NOT | PSCAN$M_PREFIX_MATCH | PSCAN$M_WILDCARD | PSCAN$M_CASE_BLIND,
        [CONTROL] = 0,
    };

    return allowed[kind] | PSCAN$M_OR;
}

static bool is_several(unsigned int flags) { return (flags & (flags - 1)) != 0; }

static int read_criterion(const struct entry *e, struct criterion *c)
{
    const struct subject *s = subjects;
    size_t n = sizeof(subjects) / sizeof(subjects[0]);
    unsigned int how = e->flags & ~(PSCAN$M_OR | PSCAN$M_CASE_BLIND);

    while (n && s->code != e->code) {
        s++;
        n--;
    }
    if (!n)
        return SS$_BADPARAM;
    if ((e->flags & ~flags_of(s->kind)) || is_several(how))
        return SS$_BADPARAM;
    *c = (struct criterion){.subject = s, .flags = e->flags, .number = e->value};
    if (s->kind == TEXT) {
        if (e->length == 0 || e->length > TEXT_MAX)
            return SS$_IVBUFLEN;
        c->length = e->length;
        memcpy(c->text, (const void *)(uintptr_t)e->value, e->length);
    } else if (s->kind == MASK) {
        if (e->length != sizeof(c->number))
            return SS$_IVBUFLEN;
        memcpy(&c->number, (const void *)(uintptr_t)e->value, sizeof(c->number));
    } else if (e->length != 0) {
        return SS$_IVBUFLEN;
    } else {
        c->number &= s->kind == HALF ? 0xFFFF : 0xFFFFFFFF;
    }
    return SS$_NORMAL;
}

/* Entries that PSCAN$M_OR joins are of one item, the last one is not joined to anything, and no
 * others lie between entries of one item. */
static bool is_in_order(const struct context *c)
{
    const struct subject *s, *next;
    uint64_t seen = 0;

    for (size_t i = 0; i < c->count; i++) {
        s = c->criterion[i].subject;
        next = i + 1 < c->count ? c->criterion[i + 1].subject : NULL;
        if (s == next)
            continue;
        if ((c->criterion[i].flags & PSCAN$M_OR) || seen >> (s - subjects) & 1)
            return false;
        seen |= 1ul << (s - subjects);
    }
    return true;
}

static int read_list(const void *list, struct context **out)
{
    struct context *c;
    size_t n = 0;
    int status = SS$_NORMAL;

    while (list && read_entry(list, n).code)
        if (++n > CRITERIA)
            return SS$_IVBUFLEN;
    c = malloc(sizeof(*c) + n * sizeof(c->criterion[0]));
    if (!c)
        return SS$_INSFMEM;
    *c = (struct context){.last = -1u, .count = n};
    for (size_t i = 0; i < n && status == SS$_NORMAL; i++) {
        struct entry e = read_entry(list, i);

        status = read_criterion(&e, &c->criterion[i]);
    }
    if (status == SS$_NORMAL && !is_in_order(c))
        status = SS$_IVSSRQ;
    if (status == SS$_NORMAL)
        *out = c;
    else
        free(c);
    return status;
}

int sys$process_scan(unsigned int *pidctx, void *itmlst)
{
    struct context *c;
    unsigned int old, id;
    int status;

    if (!pidctx)
        return SS$_IVSSRQ;
    status = read_list(itmlst, &c);
    if (status != SS$_NORMAL)
        return status;
    old = *pidctx;
    mega$lock(&lock);
    drop(old);
    do {
        serial = (serial + 1) & ~CONTEXT;
        c->id = CONTEXT | serial;
    } while (*find(c->id) || c->id == -1u);
    c->next = contexts;
    contexts = c;
    id = c->id; /* another thread may delete it */
    mega$unlock(&lock);
    *pidctx = id;
    return SS$_NORMAL;
}

/* ---- comparison ---- */

/* What a process has of one subject. */
struct fact {
    uint64_t number;
    char text[2 * TEXT_MAX];
    unsigned short length;
};

static bool number_fits(const struct criterion *c, uint64_t has)
{
    switch (c->flags & RELATIONS) {
    case PSCAN$M_NEQ:
        return has != c->number;
    case PSCAN$M_GEQ:
        return has >= c->number;
    case PSCAN$M_GTR:
        return has > c->number;
    case PSCAN$M_LEQ:
        return has <= c->number;
    case PSCAN$M_LSS:
        return has < c->number;
    default:
        return has == c->number;
    }
}

static bool mask_fits(const struct criterion *c, uint64_t has)
{
    if (c->flags & PSCAN$M_BIT_ALL)
        return (has & c->number) == c->number;
    if (c->flags & PSCAN$M_BIT_ANY)
        return (has & c->number) != 0;
    return (has == c->number) != ((c->flags & PSCAN$M_NEQ) != 0);
}

static bool same_character(char a, char b, bool blind)
{
    return a == b || (blind && toupper((unsigned char)a) == toupper((unsigned char)b));
}

/* Character number i of a text that blanks follow. */
static char at(const char *text, size_t length, size_t i) { return i < length ? text[i] : ' '; }

static bool begins(const struct criterion *c, const char *has, size_t length, size_t n, bool blind)
{
    for (size_t i = 0; i < n; i++)
        if (!same_character(at(c->text, c->length, i), at(has, length, i), blind))
            return false;
    return true;
}

/* An asterisk stands for any characters, a percent sign for one. Goes back to the last asterisk. */
static bool matches(const char *pattern, size_t np, const char *has, size_t nh, bool blind)
{
    size_t p = 0, h = 0, star = np, again = 0;

    while (h < nh) {
        if (p < np && pattern[p] == '*') {
            star = p++;
            again = h;
        } else if (p < np && (pattern[p] == '%' || same_character(pattern[p], has[h], blind))) {
            p++;
            h++;
        } else if (star < np) {
            p = star + 1;
            h = ++again;
        } else {
            return false;
        }
    }
    while (p < np && pattern[p] == '*')
        p++;
    return p == np;
}

static size_t without_blanks(const char *text, size_t length)
{
    while (length && text[length - 1] == ' ')
        length--;
    return length;
}

static bool text_fits(const struct criterion *c, const struct fact *f)
{
    bool blind = (c->flags & PSCAN$M_CASE_BLIND) != 0, same;
    size_t longer = c->length > f->length ? c->length : f->length;

    if (c->flags & PSCAN$M_WILDCARD)
        return matches(c->text, without_blanks(c->text, c->length), f->text,
                       without_blanks(f->text, f->length), blind);
    if (c->flags & PSCAN$M_PREFIX_MATCH)
        return begins(c, f->text, f->length, c->length, blind);
    same = begins(c, f->text, f->length, longer, blind);
    return same != ((c->flags & PSCAN$M_NEQ) != 0);
}

static bool fits(const struct criterion *c, const struct fact *f)
{
    switch (c->subject->kind) {
    case NUMBER:
    case HALF:
        return number_fits(c, f->number);
    case MASK:
        return mask_fits(c, f->number);
    case TEXT:
        return text_fits(c, f);
    default:
        return true;
    }
}

static bool all_fit(const struct context *c, const struct fact *facts)
{
    bool any = false;

    for (size_t i = 0; i < c->count; i++) {
        any |= fits(&c->criterion[i], &facts[c->criterion[i].subject - subjects]);
        if (c->criterion[i].flags & PSCAN$M_OR)
            continue;
        if (!any)
            return false;
        any = false;
    }
    return true;
}

/* ---- the scan ---- */

#define SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

static int getjpi(unsigned int efn, unsigned int *pid, void *list, void *iosb, quad astadr,
                  quad astprm)
{
    quad block[] = {7, efn, (quad)pid, 0, (quad)list, (quad)iosb, astadr, astprm};

    return call(VMS_GETJPI, (quad)block, 0, 0, 0, 0, 0);
}

/* Finds the next process that fits; the kernel's search goes on behind it. SS$_NOMOREPROC: there is
 * none. After another error the search stays where it was. */
static int next(struct context *c, unsigned int *found)
{
    struct fact facts[SUBJECTS];
    ILE3 list[SUBJECTS + 2] = {{0}};
    unsigned int pid = 0;
    size_t n = 0;
    int status;

    list[n++] = (ILE3){sizeof(pid), JPI$_PID, &pid, 0};
    for (size_t i = 0; i < SUBJECTS; i++) {
        struct fact *f = &facts[i];

        f->number = 0;
        if (subjects[i].kind == TEXT)
            list[n++] = (ILE3){sizeof(f->text), subjects[i].item, f->text, &f->length};
        else if (subjects[i].kind != CONTROL)
            list[n++] = (ILE3){sizeof(f->number), subjects[i].item, &f->number, 0};
    }
    do {
        status = getjpi(EFN$C_ENF, &c->last, list, 0, 0, 0);
    } while (status == SS$_NOPRIV || (status == SS$_NORMAL && !all_fit(c, facts)));
    *found = pid;
    return status;
}

bool mega$is_scan(const unsigned int *pidadr)
{
    return __atomic_load_n(&contexts, __ATOMIC_RELAXED) && *pidadr != -1u &&
           (*pidadr & CONTEXT) == CONTEXT;
}

int mega$scan(unsigned int efn, const unsigned int *pidadr, void *itmlst, struct _iosb *iosb,
              mega_ast_routine astadr, __int64 astprm)
{
    unsigned int pid, id = *pidadr;
    int status;

    do {
        struct context *c;

        mega$lock(&lock);
        c = *find(id);
        status = c ? next(c, &pid) : SS$_NOMOREPROC;
        if (status == SS$_NOMOREPROC) {
            drop(id);
            pid = SEARCH | ~CONTEXT; /* a search that has reached the end */
        }
        mega$unlock(&lock);
        if (status != SS$_NORMAL && status != SS$_NOMOREPROC)
            break; /* the next call tries again */
        status = getjpi(efn, &pid, itmlst, iosb, ast_routine(astadr), (quad)astprm);
    } while (status == SS$_NONEXPR); /* it has ended meanwhile */
    return tell("sys$getjpi", status);
}
