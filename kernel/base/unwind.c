/*
 * The unwinder finds a frame description entry (FDE) by a binary search in the index, and its
 * common information entry (CIE) by the pointer in the FDE. It executes the instructions of both up
 * to the PC, which gives for each register the place of the caller's value. It understands the
 * instructions that compilers emit, but no expressions; an unknown instruction ends the backtrace
 * early and does no other harm.
 */
#include "kernel/base/unwind.h"

/* Pointer encodings. */
#define PE_OMIT   0xFF
#define PE_FORMAT 0x0F
#define PE_APPLY  0x70
enum { PE_ABSPTR = 0x00, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04 };
enum { PE_SDATA2 = 0x0A, PE_SDATA4 = 0x0B, PE_SDATA8 = 0x0C };
enum { PE_PCREL = 0x10, PE_DATAREL = 0x30 };

enum cfa_op {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXT = 0x05,
    CFA_RESTORE_EXT = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER = 0x0A,
    CFA_RESTORE_STATE = 0x0B,
    CFA_DEF_CFA = 0x0C,
    CFA_DEF_REGISTER = 0x0D,
    CFA_DEF_OFFSET = 0x0E,
    CFA_OFFSET_EXT_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_OFFSET_SF = 0x13,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_GNU_ARGS_SIZE = 0x2E,
    /* in the top two bits */
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xC0,
};

enum rule_kind { RULE_SAME, RULE_OFFSET, RULE_REGISTER, RULE_UNDEFINED };

struct cursor {
    const uint8_t *p, *end;
    bool bad; /* the end was passed, or something is unknown */
};

struct entry { /* a CIE with one of its FDEs */
    uint64_t start, length;
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_column;
    uint8_t pointer_encoding;
    bool signal_frame, augmented;
    struct cursor initial, program;
};

struct machine {
    const struct entry *e;
    struct unwind_work *w;
    bool remembered;
    uint64_t location;
};

static uint64_t take(struct cursor *c, unsigned nbytes)
{
    uint64_t v = 0;
    if ((size_t)(c->end - c->p) < nbytes) {
        c->bad = true;
        c->p = c->end;
        return 0;
    }
    for (unsigned i = 0; i < nbytes; i++)
        v |= (uint64_t)c->p[i] << (8 * i);
    c->p += nbytes;
    return v;
}

static uint64_t take_uleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take(c, 1);
        v |= (byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return v;
    }
    c->bad = true;
    return 0;
}

static int64_t take_sleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take(c, 1);
        v |= (byte & 0x7F) << shift;
        if (!(byte & 0x80)) {
            if (byte & 0x40 && shift + 7 < 64)
                v |= ~0UL << (shift + 7);
            return (int64_t)v;
        }
    }
    c->bad = true;
    return 0;
}

static uint64_t take_pointer(struct cursor *c, unsigned encoding, uint64_t data_base)
{
    uint64_t at = (uint64_t)c->p, v;
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8:
        v = take(c, 8);
        break;
    case PE_UDATA4:
        v = take(c, 4);
        break;
    case PE_SDATA4:
        v = (uint64_t)(int64_t)(int32_t)take(c, 4);
        break;
    case PE_UDATA2:
        v = take(c, 2);
        break;
    case PE_SDATA2:
        v = (uint64_t)(int64_t)(int16_t)take(c, 2);
        break;
    default:
        c->bad = true;
        return 0;
    }
    switch (encoding & PE_APPLY) {
    case 0:
        return v;
    case PE_PCREL:
        return v + at;
    case PE_DATAREL:
        return v + data_base;
    default:
        c->bad = true;
        return 0;
    }
}

/* Read a record's length and return a cursor over its body; *c moves past the record. */
static struct cursor take_record(struct cursor *c)
{
    uint64_t length = take(c, 4);
    if (length == 0 || length > (uint64_t)(c->end - c->p)) /* terminator, or 64-bit DWARF */
        return (struct cursor){.bad = true};
    struct cursor body = {.p = c->p, .end = c->p + length};
    c->p += length;
    return body;
}

static bool parse_cie(struct cursor c, struct entry *e)
{
    if (take(&c, 4) != 0 || take(&c, 1) != 1)
        return false;
    const uint8_t *augmentation = c.p;
    while (take(&c, 1) != 0)
        ;
    if (c.bad || (augmentation[0] && augmentation[0] != 'z'))
        return false;
    e->code_align = take_uleb(&c);
    e->data_align = take_sleb(&c);
    e->return_column = take(&c, 1); /* version 1: a byte */
    e->pointer_encoding = PE_ABSPTR;
    if (augmentation[0] == 'z') {
        uint64_t nbytes = take_uleb(&c);
        if (c.bad || nbytes > (uint64_t)(c.end - c.p))
            return false;
        const uint8_t *after = c.p + nbytes;
        e->augmented = true;
        for (const uint8_t *a = augmentation + 1; *a && !c.bad; a++) {
            if (*a == 'R')
                e->pointer_encoding = (uint8_t)take(&c, 1);
            else if (*a == 'S')
                e->signal_frame = true;
            else if (*a == 'L')
                take(&c, 1);
            else if (*a == 'P')
                take_pointer(&c, (unsigned)take(&c, 1), 0);
            else
                return false;
        }
        c.p = after;
    }
    e->initial = c;
    return !c.bad && e->return_column < UNWIND_REGS;
}

static bool parse_fde(const struct unwind_tables *t, const uint8_t *at, struct entry *e)
{
    if (at < t->frame || at >= t->frame + t->frame_bytes)
        return false;
    struct cursor all = {.p = at, .end = t->frame + t->frame_bytes};
    struct cursor c = take_record(&all);
    const uint8_t *back_from = c.p;
    uint64_t back = c.bad ? 0 : take(&c, 4);
    if (c.bad || back == 0 || back > (uint64_t)(back_from - t->frame))
        return false;
    struct cursor cie_at = {.p = back_from - back, .end = t->frame + t->frame_bytes};
    struct cursor cie = take_record(&cie_at);
    if (cie.bad || !parse_cie(cie, e))
        return false;
    e->start = take_pointer(&c, e->pointer_encoding, 0);
    e->length = take_pointer(&c, e->pointer_encoding & PE_FORMAT, 0);
    if (e->augmented) {
        uint64_t nbytes = take_uleb(&c);
        if (c.bad || nbytes > (uint64_t)(c.end - c.p))
            return false;
        c.p += nbytes;
    }
    e->program = c;
    return !c.bad;
}

static bool find_fde(const struct unwind_tables *t, uint64_t pc, struct entry *e)
{
    struct cursor c = {.p = t->hdr, .end = t->hdr + t->hdr_bytes};
    if (t->hdr_bytes < 4 || take(&c, 1) != 1)
        return false;
    unsigned frame_encoding = (unsigned)take(&c, 1), count_encoding = (unsigned)take(&c, 1);
    unsigned table_encoding = (unsigned)take(&c, 1);
    if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | PE_SDATA4))
        return false;
    uint64_t base = (uint64_t)t->hdr;
    take_pointer(&c, frame_encoding, base);
    uint64_t count = take_pointer(&c, count_encoding, base);
    if (c.bad || count == 0 || count > (uint64_t)(c.end - c.p) / 8)
        return false;

    const uint8_t *table = c.p;
    uint64_t low = 0, high = count; /* the last entry at or below pc is in [low, high) */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        struct cursor at = {.p = table + 8 * middle, .end = c.end};
        if (take_pointer(&at, PE_DATAREL | PE_SDATA4, base) <= pc)
            low = middle;
        else
            high = middle;
    }
    struct cursor at = {.p = table + 8 * low, .end = c.end};
    take_pointer(&at, PE_DATAREL | PE_SDATA4, base);
    uint64_t fde = take_pointer(&at, PE_DATAREL | PE_SDATA4, base);
    return parse_fde(t, (const uint8_t *)fde, e) && pc >= e->start && pc - e->start < e->length;
}

static void set_rule(struct machine *m, struct cursor *c, uint64_t column, enum rule_kind kind,
                     int64_t value)
{
    if (column < UNWIND_REGS)
        m->w->now.reg[column] = (struct unwind_rule){.value = (int32_t)value, .kind = kind};
    else if (column > 127) /* columns up to 127 exist, but are not needed; others do not exist */
        c->bad = true;
}

static void restore_rule(struct machine *m, uint64_t column)
{
    if (column < UNWIND_REGS)
        m->w->now.reg[column] = m->w->initial.reg[column];
}

static void run_extended(struct machine *m, struct cursor *c, unsigned op)
{
    int64_t scale = m->e->data_align;
    uint64_t column;
    switch (op) {
    case CFA_NOP:
        break;
    case CFA_SET_LOC:
        m->location = take_pointer(c, m->e->pointer_encoding, 0);
        break;
    case CFA_ADVANCE1:
    case CFA_ADVANCE2:
    case CFA_ADVANCE4:
        m->location += take(c, 1u << (op - CFA_ADVANCE1)) * m->e->code_align;
        break;
    case CFA_OFFSET_EXT:
        column = take_uleb(c);
        set_rule(m, c, column, RULE_OFFSET, (int64_t)take_uleb(c) * scale);
        break;
    case CFA_OFFSET_EXT_SF:
        column = take_uleb(c);
        set_rule(m, c, column, RULE_OFFSET, take_sleb(c) * scale);
        break;
    case CFA_RESTORE_EXT:
        restore_rule(m, take_uleb(c));
        break;
    case CFA_UNDEFINED:
        set_rule(m, c, take_uleb(c), RULE_UNDEFINED, 0);
        break;
    case CFA_SAME:
        set_rule(m, c, take_uleb(c), RULE_SAME, 0);
        break;
    case CFA_REGISTER:
        column = take_uleb(c);
        set_rule(m, c, column, RULE_REGISTER, (int64_t)take_uleb(c));
        break;
    case CFA_REMEMBER:
        if (m->remembered)
            c->bad = true;
        m->w->remembered = m->w->now;
        m->remembered = true;
        break;
    case CFA_RESTORE_STATE:
        if (!m->remembered)
            c->bad = true;
        else
            m->w->now = m->w->remembered;
        m->remembered = false;
        break;
    case CFA_DEF_CFA:
        m->w->now.cfa_reg = (uint32_t)take_uleb(c);
        m->w->now.cfa_offset = (int32_t)take_uleb(c);
        break;
    case CFA_DEF_CFA_SF:
        m->w->now.cfa_reg = (uint32_t)take_uleb(c);
        m->w->now.cfa_offset = (int32_t)(take_sleb(c) * scale);
        break;
    case CFA_DEF_REGISTER:
        m->w->now.cfa_reg = (uint32_t)take_uleb(c);
        break;
    case CFA_DEF_OFFSET:
        m->w->now.cfa_offset = (int32_t)take_uleb(c);
        break;
    case CFA_DEF_OFFSET_SF:
        m->w->now.cfa_offset = (int32_t)(take_sleb(c) * scale);
        break;
    case CFA_GNU_ARGS_SIZE:
        take_uleb(c);
        break;
    case CFA_VAL_EXPRESSION: /* entry.S describes the user's SP by one; not needed here: skip it */
        take_uleb(c);
        for (uint64_t n = take_uleb(c); n > 0 && !c->bad; n--)
            take(c, 1);
        break;
    default:
        c->bad = true;
        break;
    }
}

/* Execute instructions until the location passes pc. */
static bool run(struct machine *m, struct cursor c, uint64_t pc)
{
    while (c.p < c.end && !c.bad && m->location <= pc) {
        unsigned byte = (unsigned)take(&c, 1), operand = byte & 0x3F;
        switch (byte & 0xC0) {
        case CFA_ADVANCE:
            m->location += operand * m->e->code_align;
            break;
        case CFA_OFFSET:
            set_rule(m, &c, operand, RULE_OFFSET, (int64_t)take_uleb(&c) * m->e->data_align);
            break;
        case CFA_RESTORE:
            restore_rule(m, operand);
            break;
        default:
            run_extended(m, &c, byte);
            break;
        }
    }
    return !c.bad;
}

static bool apply(const struct unwind_rules *r, uint64_t cfa, const struct unwind_frame *from,
                  struct unwind_frame *to, unwind_read_fn read, void *arg)
{
    for (unsigned i = 0; i < UNWIND_REGS; i++) {
        switch (r->reg[i].kind) {
        case RULE_OFFSET:
            if (!read(arg, cfa + (uint64_t)(int64_t)r->reg[i].value, &to->reg[i]))
                return false;
            break;
        case RULE_REGISTER:
            if ((uint32_t)r->reg[i].value >= UNWIND_REGS)
                return false;
            to->reg[i] = from->reg[r->reg[i].value];
            break;
        default:
            break;
        }
    }
    return true;
}

bool unwind_step(const struct unwind_tables *t, struct unwind_work *w, struct unwind_frame *f,
                 unwind_read_fn read, void *arg)
{
    /* A return address may lie after the end of the function, whose last instruction may be a call
       that does not return. */
    uint64_t pc = f->exact_pc ? f->pc : f->pc - 1;
    struct entry e = {0};
    if (!find_fde(t, pc, &e))
        return false;
    w->now = (struct unwind_rules){0};
    struct machine m = {.e = &e, .w = w, .location = 0};
    if (!run(&m, e.initial, pc))
        return false;
    w->initial = w->now;
    m.location = e.start;
    if (!run(&m, e.program, pc) || w->now.cfa_reg >= UNWIND_REGS)
        return false;
    if (w->now.reg[e.return_column].kind == RULE_UNDEFINED)
        return false;

    uint64_t cfa = f->reg[w->now.cfa_reg] + (uint64_t)(int64_t)w->now.cfa_offset;
    struct unwind_frame *caller = &w->caller;
    *caller = *f;
    caller->reg[f->sp_column] = cfa;
    if (!apply(&w->now, cfa, f, caller, read, arg))
        return false;
    caller->pc = caller->reg[e.return_column];
    caller->exact_pc = e.signal_frame;
    /* The PC in a trap frame may be 0, after a call through a null pointer. */
    if ((caller->pc == 0 && !e.signal_frame) ||
        (cfa <= f->reg[f->sp_column] && caller->pc == f->pc))
        return false;
    *f = *caller;
    return true;
}
