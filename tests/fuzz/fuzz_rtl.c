// SOURCES: userland/lib/vm.c userland/lib/queue.c userland/lib/bits.c userland/lib/arithmetic.c
// SOURCES: userland/lib/descriptor.c userland/lib/strings.c userland/lib/lib_strings.c
// SOURCES: userland/lib/extract.c userland/lib/characters.c userland/lib/fao.c
// SOURCES: userland/lib/fao_services.c userland/lib/time.c userland/lib/lib_time.c
// TARGETS: userland/lib/vm.c userland/lib/queue.c userland/lib/bits.c userland/lib/arithmetic.c
// TARGETS: userland/lib/lib_strings.c userland/lib/characters.c
// RUNS: 2500
/*
 * The run-time library beside fuzz_library.c, with a model of each part: zones of memory, queues
 * with interlock, bit fields, numbers of several longwords, searches in strings, $FAOL with
 * longwords. Memory that is passed is a block of exactly its length.
 */
#include "tests/fuzz/fuzz.h"

#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <libvmdef.h>
#include <rtl/bits.h>
#include <rtl/characters.h>
#include <rtl/fao.h>
#include <rtl/misc.h>
#include <rtl/vm.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdlib.h>
#include <str$routines.h>
#include <strdef.h>
#include <string.h>
#include <sys/mman.h>

#include "userland/lib/clock.h"
#include "userland/lib/descriptor.h"

/* ---- what the library calls elsewhere ---- */

static unsigned signals;
static int64_t now;

int64_t mega$clock(void) { return now; }

int mega$signal(int stop, void *frame, int count, ...)
{
    (void)frame;
    (void)count;
    fuzz_check(!stop, "a routine ends the program");
    signals++;
    return SS$_NORMAL;
}

/* ---- zones ---- */

#define ZONES  5
#define BLOCKS 24

static struct zone { /* the first is zone 0 */
    bool there;
    unsigned id;
    int64_t fixed, unit, alignment, limit, bytes; /* limit 0: none */
    unsigned flags;
} zone[ZONES];

static struct block {
    struct zone *zone; /* NULL: there is none */
    char *at;
    int64_t asked, size;
    char contents;
} block[BLOCKS];

static void check_block(const struct block *b)
{
    for (int64_t i = 0; i < b->size; i++)
        fuzz_check(b->at[i] == b->contents, "byte %ld of a block has changed", (long)i);
}

static void zone_create(struct fuzz_in *in, struct zone *z)
{
    static const int64_t algorithms[] = {LIB$K_VM_FIRST_FIT, LIB$K_VM_QUICK_FIT,
                                         LIB$K_VM_FREQ_SIZES, LIB$K_VM_FIXED};
    int64_t algorithm = algorithms[in_below(in, 4)], argument = 1 + in_below(in, 16);
    int64_t unit = 8 << in_below(in, 7), alignment = 4 << in_below(in, 8), id = 77, zero = 0;
    int64_t pages = in_u8(in) & 1 ? 0 : 1 + in_below(in, 8), flags = in_u8(in) & 31;
    bool wide = in_u8(in) & 1, small = wide && (unit < 16 || alignment < 8);
    /* Quadwords and longwords by reference: the low half of one is the other. */
    void *p_algorithm = &algorithm, *p_argument = &argument, *p_flags = &flags, *p_unit = &unit,
         *p_alignment = &alignment, *p_pages = &pages, *p_zero = &zero;
    unsigned narrow_id = 77;
    int status;

    if (algorithm == LIB$K_VM_FIXED)
        argument *= 24;
    status = wide ? lib$create_vm_zone_64((void *)&id, p_algorithm, p_argument, p_flags, p_zero,
                                          p_zero, p_unit, p_alignment, p_pages, p_zero, 0, 0, 0)
                  : lib$create_vm_zone(&narrow_id, p_algorithm, p_argument, p_flags, p_zero, p_zero,
                                       p_unit, p_alignment, p_pages, p_zero, 0, 0, 0);
    fuzz_check(status == (small ? LIB$_INVARG : SS$_NORMAL), "a zone is created: %x",
               (unsigned)status);
    if (small)
        return;
    *z = (struct zone){.there = true,
                       .id = wide ? (unsigned)id : narrow_id,
                       .fixed = algorithm == LIB$K_VM_FIXED ? argument : 0,
                       .unit = unit,
                       .alignment = alignment,
                       .limit = pages * 512,
                       .flags = (unsigned)flags};
    for (struct zone *other = zone; other < zone + ZONES; other++)
        fuzz_check(other == z || !other->there || other->id != z->id, "zone %u twice", z->id);
}

/* Deleted or reset: its blocks have gone. */
static void zone_empty(struct fuzz_in *in, struct zone *z, bool keep)
{
    int64_t id = z->id;
    int status = keep && in_u8(in) & 1 ? lib$reset_vm_zone_64((void *)&id)
                 : keep                ? lib$reset_vm_zone(&z->id)
                 : in_u8(in)           ? lib$delete_vm_zone(&z->id)
                                       : lib$delete_vm_zone_64((void *)&id);

    if (z == zone) {
        fuzz_check(status == LIB$_INVOPEZON, "zone 0: %x", (unsigned)status);
        return;
    }
    fuzz_check(status == (z->there ? SS$_NORMAL : LIB$_BADBLOADR), "a zone ends: %x",
               (unsigned)status);
    for (struct block *b = block; b < block + BLOCKS; b++)
        if (b->zone == z)
            b->zone = NULL;
    z->bytes = 0;
    z->there = z->there && keep;
}

static void block_get(struct fuzz_in *in, struct zone *z, struct block *b)
{
    int64_t asked = in_u8(in) < 240 ? 1 + in_below(in, 700) : (int64_t)in_u64(in), id = z->id;
    bool wide = in_u8(in) & 1;
    int narrow = (int)asked, status;
    int64_t n = wide ? asked : narrow, size;
    char *at = NULL;

    if (n > 1 << 20)
        n = asked = narrow = 1 << 20;
    size = z->fixed ? z->fixed : (n + z->unit - 1) / z->unit * z->unit;
    status = wide ? lib$get_vm_64((void *)&asked, &at, (void *)&id)
                  : lib$get_vm(&narrow, &at, &z->id);
    if (!z->there || n <= 0 || (z->fixed && n > z->fixed)) {
        fuzz_check(status == (z->there ? LIB$_BADBLOSIZ : LIB$_BADBLOADR), "%ld bytes: %x", (long)n,
                   (unsigned)status);
        return;
    }
    if (z->limit && z->bytes + size > z->limit) {
        fuzz_check(status == LIB$_PAGLIMEXC, "beyond the limit: %x", (unsigned)status);
        return;
    }
    fuzz_check(status == SS$_NORMAL, "%ld bytes: %x", (long)n, (unsigned)status);
    fuzz_check((uintptr_t)at % (uintptr_t)z->alignment == 0, "%p is not aligned", (void *)at);
    for (int64_t i = 0; i < size && z->flags & (LIB$M_VM_GET_FILL0 | LIB$M_VM_GET_FILL1); i++)
        fuzz_check(at[i] == (z->flags & LIB$M_VM_GET_FILL0 ? 0 : -1), "not filled");
    z->bytes += size;
    *b = (struct block){z, at, n, size, (char)in_u8(in)};
    memset(at, b->contents, (size_t)size);
}

static void block_free(struct fuzz_in *in, struct block *b)
{
    struct zone *z = b->zone, *wrong = &zone[in_below(in, ZONES)];
    int64_t n = b->asked, id = z->id, more = z->fixed ? z->fixed + 1 : n + z->unit;
    bool wide = in_u8(in) & 1;
    int narrow = (int)n, status;
    char *inside = b->at + 1;

    check_block(b);
    if (wrong != z) {
        status = lib$free_vm(&narrow, &b->at, &wrong->id);
        fuzz_check(status == LIB$_BADBLOADR, "another zone: %x", (unsigned)status);
    }
    fuzz_check(lib$free_vm(&narrow, &inside, &z->id) == LIB$_BADBLOADR, "inside of a block");
    fuzz_check(lib$free_vm_64((void *)&more, &b->at, (void *)&id) == LIB$_BADBLOSIZ,
               "another size");
    if (in_u8(in) & 1) {
        status = lib$free_vm(0, &b->at, &z->id);
        if (!(z->flags & LIB$M_VM_BOUNDARY_TAGS)) {
            fuzz_check(status == LIB$_BADBLOSIZ, "without a size: %x", (unsigned)status);
            return;
        }
    } else {
        status = wide ? lib$free_vm_64((void *)&n, &b->at, (void *)&id)
                      : lib$free_vm(&narrow, &b->at, &z->id);
    }
    fuzz_check(status == SS$_NORMAL, "a block is freed: %x", (unsigned)status);
    z->bytes -= b->size;
    b->zone = NULL;
}

static void zones(struct fuzz_in *in)
{
    struct zone *z = &zone[in_below(in, ZONES)];
    struct block *b = &block[in_below(in, BLOCKS)];
    unsigned what = in_below(in, 16);

    if (what == 0 || (what < 4 && !z->there)) {
        if (z->there || z == zone)
            zone_empty(in, z, what & 1);
        else
            zone_create(in, z);
    } else if (what == 1) {
        zone_empty(in, z, true);
    } else if (b->zone) {
        block_free(in, b);
    } else {
        block_get(in, z, b);
    }
    for (struct block *other = block; other < block + BLOCKS; other++)
        if (other->zone)
            check_block(other);
}

static void zones_begin(void)
{
    zone[0] = (struct zone){.there = true, .unit = 8, .alignment = 16};
    for (struct zone *z = zone + 1; z < zone + ZONES; z++)
        *z = (struct zone){.id = 900, .unit = 8, .alignment = 8}; /* there is none */
}

static void zones_end(void)
{
    unsigned zero = 0;

    for (struct block *b = block; b < block + BLOCKS; b++) {
        int n = (int)b->asked;

        if (b->zone == zone)
            fuzz_check(lib$free_vm(&n, &b->at, &zero) == SS$_NORMAL, "a block of zone 0");
    }
    for (struct zone *z = zone + 1; z < zone + ZONES; z++)
        if (z->there)
            lib$delete_vm_zone(&z->id);
}

/* ---- queues ---- */

#define ENTRIES 8

static int64_t memory[2 * (ENTRIES + 1)] __attribute__((aligned(16)));
static unsigned order[ENTRIES], queued; /* numbers of entries, counted from 1 */

static char *place(bool wide, unsigned i) { return (char *)memory + i * (wide ? 16u : 8u); }

static int64_t link_of(bool wide, const char *at, unsigned which)
{
    return wide ? ((const int64_t *)at)[which] : ((const int32_t *)at)[which];
}

static void queue_check(bool wide)
{
    const char *at = place(wide, 0);

    for (unsigned i = 0; i <= queued; i++) {
        const char *next = at + link_of(wide, at, 0);

        fuzz_check(next == place(wide, i < queued ? order[i] : 0), "entry %u of the queue", i);
        fuzz_check(next + link_of(wide, next, 1) == at, "the way back from entry %u", i);
        at = next;
    }
}

static int queue_insert(bool wide, bool head, void *entry, void *header, const unsigned *retries)
{
    return wide   ? head ? lib$insqhiq(entry, header, retries) : lib$insqtiq(entry, header, retries)
             : head ? lib$insqhi(entry, header, retries)
                  : lib$insqti(entry, header, retries);
}

static int queue_remove(bool wide, bool head, void *header, char **entry, const unsigned *retries)
{
    return wide   ? head ? lib$remqhiq(header, entry, retries) : lib$remqtiq(header, entry, retries)
             : head ? lib$remqhi(header, entry, retries)
                  : lib$remqti(header, entry, retries);
}

static void queue_step(struct fuzz_in *in, bool wide)
{
    unsigned what = in_u8(in), entry = 1 + in_below(in, ENTRIES), retries = in_below(in, 3), i = 0;
    bool head = what & 1, locked = (what & 0x38) == 0x38;
    char *header = place(wide, 0), *taken = NULL;
    int status;

    while (i < queued && order[i] != entry)
        i++;
    if (what >= 0xF0) { /* addresses that none has */
        fuzz_check(queue_insert(wide, head, place(wide, entry) + 4, header, 0) == SS$_ROPRAND &&
                       queue_insert(wide, head, header, header, 0) == SS$_ROPRAND &&
                       queue_remove(wide, head, header + 4, &taken, 0) == SS$_ROPRAND,
                   "a wrong address");
        return;
    }
    *header |= locked;
    if (i == queued) {
        status = queue_insert(wide, head, place(wide, entry), header, locked ? &retries : 0);
        if (!locked) {
            fuzz_check(status == (queued ? SS$_NORMAL : LIB$_ONEENTQUE), "insertion: %x",
                       (unsigned)status);
            memmove(order + head, order, queued * sizeof(*order));
            order[head ? 0 : queued] = entry;
            queued++;
        }
    } else {
        status = queue_remove(wide, head, header, &taken, locked ? &retries : 0);
        if (!locked) {
            fuzz_check(taken == place(wide, head ? order[0] : order[queued - 1]), "another entry");
            queued--;
            memmove(order, order + head, queued * sizeof(*order));
            fuzz_check(status == (queued ? SS$_NORMAL : LIB$_ONEENTQUE), "removal: %x",
                       (unsigned)status);
        }
    }
    if (locked)
        fuzz_check(status == LIB$_SECINTFAI && *header & 1, "the interlock: %x", (unsigned)status);
    *header &= ~1;
    if (!queued)
        fuzz_check(queue_remove(wide, head, header, &taken, 0) == LIB$_QUEWASEMP, "empty");
    queue_check(wide);
}

static void queues(struct fuzz_in *in)
{
    bool wide = in_u8(in) & 1;

    memset(memory, 0, sizeof(memory));
    queued = 0;
    for (unsigned n = in_below(in, 40); n && in_more(in); n--)
        queue_step(in, wide);
}

/* ---- bits ---- */

#define BYTES 24

static bool bit_of(const unsigned char *base, int64_t n) { return base[n >> 3] >> (n & 7) & 1; }

/* A field in a block, of which no byte outside the field's may be touched. */
static void bits(struct fuzz_in *in)
{
    unsigned char *bytes = malloc(BYTES), before[BYTES], size = (unsigned char)in_below(in, 33);
    int first = (int)in_below(in, BYTES * 8 - size + 1), value = (int)in_u32(in), found = 77, want;
    int origin = (int)in_below(in, BYTES), position = first - 8 * origin, status;
    uint64_t model = 0;

    for (unsigned i = 0; i < BYTES; i++)
        before[i] = bytes[i] = (unsigned char)(in_u8(in) & 1 ? in_u8(in) : in_u8(in) & 1 ? 0 : 255);
    for (int i = 0; i < size; i++)
        model |= (uint64_t)bit_of(bytes, first + i) << i;
    fuzz_check(lib$extzv(&position, &size, bytes + origin) == model, "lib$extzv");
    if (size && model >> (size - 1))
        model |= ~UINT64_C(0) << (size - 1);
    fuzz_check(lib$extv(&position, &size, bytes + origin) == (int)model, "lib$extv");
    for (int set = 0; set < 2; set++) {
        for (want = 0; want < size && bit_of(bytes, first + want) != set; want++)
            ;
        status = (set ? lib$ffs : lib$ffc)(&position, &size, bytes + origin, &found);
        fuzz_check(status == (want < size ? SS$_NORMAL : LIB$_NOTFOU) && found == position + want,
                   "the first bit that is %d: %d, not %d", set, found, position + want);
    }
    lib$insv(&value, &position, &size, bytes + origin);
    for (int i = 0; i < BYTES * 8; i++)
        fuzz_check(bit_of(bytes, i) == (i >= first && i < first + size
                                            ? (unsigned)value >> (i - first) & 1
                                            : bit_of(before, i)),
                   "lib$insv: bit %d", i);
    if (first < BYTES * 8) {
        bool was = bit_of(bytes, first);

        fuzz_check(lib$bbssi(&position, bytes + origin) == was && bit_of(bytes, first), "bbssi");
        fuzz_check(lib$bbcci(&position, bytes + origin) == 1 && !bit_of(bytes, first), "bbcci");
        fuzz_check(lib$bbcci(&position, bytes + origin) == 0, "bbcci of a clear bit");
    }
    size = (unsigned char)(33 + in_below(in, 223));
    signals = 0;
    (void)lib$extv(&position, &size, bytes);
    (void)lib$ffs(&position, &size, bytes, &found);
    lib$insv(&value, &position, &size, bytes);
    fuzz_check(signals == 3, "fields of %u bits", size);
    free(bytes);
}

/* ---- numbers ---- */

static int64_t number(struct fuzz_in *in)
{
    static const int64_t edges[] = {0, 1, -1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    unsigned kind = in_u8(in);

    return kind < 7 ? edges[kind] : (int64_t)in_u64(in) >> kind % 64;
}

static __int128 exact(const int *longwords, unsigned n)
{
    unsigned __int128 v = 0;

    for (unsigned i = 0; i < n; i++)
        v |= (unsigned __int128)(uint32_t)longwords[i] << 32 * i;
    return (__int128)(v << (128 - 32 * n)) >> (128 - 32 * n);
}

static void sums(struct fuzz_in *in)
{
    unsigned n = 1 + in_below(in, 3); /* the exact sum fits into 128 bits */
    int length = (int)n, a[3], b[3], status;
    bool minus = in_u8(in) & 1;
    int *result = malloc(n * sizeof(*result));
    __int128 sum;

    for (unsigned i = 0; i < 3; i++) {
        a[i] = (int)number(in);
        b[i] = (int)number(in);
    }
    sum = minus ? exact(a, n) - exact(b, n) : exact(a, n) + exact(b, n);
    status = minus ? lib$subx(a, b, result, &length) : lib$addx(a, b, result, &length);
    for (unsigned i = 0; i < n; i++)
        fuzz_check(result[i] == (int)(uint32_t)(sum >> 32 * i), "longword %u of a sum", i);
    fuzz_check(status == (exact(result, n) == sum ? SS$_NORMAL : SS$_INTOVF), "a sum: %x",
               (unsigned)status);
    free(result);
}

static void arithmetic(struct fuzz_in *in)
{
    int64_t dividend = number(in), product = 77;
    int divisor = (int)number(in), factor = (int)number(in), addend = (int)number(in);
    int quotient = 77, remainder = 77, status;
    short add = (short)number(in), before = (short)number(in), sign = 77, sum = before;
    __int128 q;

    fuzz_check(lib$emul(&divisor, &factor, &addend, (void *)&product) == SS$_NORMAL &&
                   product == (__int128)divisor * factor + addend,
               "lib$emul");
    status = lib$ediv(&divisor, (void *)&dividend, &quotient, &remainder);
    q = divisor ? (__int128)dividend / divisor : 0;
    if (!divisor || q != (int)q) {
        fuzz_check(status == (divisor ? SS$_INTOVF : SS$_INTDIV) && quotient == (int)dividend &&
                       remainder == 0,
                   "no quotient: %x", (unsigned)status);
    } else {
        fuzz_check(status == SS$_NORMAL && quotient == q && remainder == dividend % divisor,
                   "lib$ediv: %x", (unsigned)status);
    }
    status = lib$adawi(&add, &sum, &sign);
    fuzz_check(sum == (short)(before + add) && sign == (sum > 0) - (sum < 0) &&
                   status == (sum == before + add ? LIB$_NORMAL : LIB$_INTOVF),
               "lib$adawi: %x", (unsigned)status);
    sums(in);
}

/* ---- strings ---- */

static struct dsc$descriptor_s text(struct fuzz_in *in, unsigned most, unsigned letters)
{
    struct dsc$descriptor_s d = {(unsigned short)in_below(in, most + 1), DSC$K_DTYPE_T,
                                 DSC$K_CLASS_S, NULL};

    d.dsc$a_pointer = malloc(d.dsc$w_length);
    for (unsigned i = 0; i < d.dsc$w_length; i++)
        d.dsc$a_pointer[i] = (char)('A' + in_u8(in) % letters);
    return d;
}

/* Where a string is in another one, counted from 1; 0: nowhere. */
static unsigned found_at(const struct dsc$descriptor_s *s, const struct dsc$descriptor_s *part)
{
    for (unsigned i = 0; i + part->dsc$w_length <= s->dsc$w_length; i++)
        if (!part->dsc$w_length ||
            memcmp(s->dsc$a_pointer + i, part->dsc$a_pointer, part->dsc$w_length) == 0)
            return i + 1;
    return 0;
}

static void searches(struct fuzz_in *in)
{
    struct dsc$descriptor_s s = text(in, 30, 3),
                            part[3] = {text(in, 4, 3), text(in, 4, 3), text(in, 4, 3)};
    unsigned at, least = 0, which = 0, n;
    unsigned char table[256] = {0}, mask = in_u8(in);
    unsigned short length = 77;
    int index = 77, sub = 77, status;
    char *address = NULL;

    for (unsigned i = 0; i < 3; i++)
        if ((at = found_at(&s, &part[i])) && (!least || at < least)) {
            least = at;
            which = i + 1;
        }
    status = str$find_first_substring(&s, &index, &sub, &part[0], &part[1], &part[2]);
    fuzz_check(status == (least != 0) && index == (int)least && sub == (int)which,
               "the first substring: %d at %d, not %u at %u", sub, index, which, least);
    fuzz_check(lib$matchc(&part[0], &s) == found_at(&s, &part[0]), "lib$matchc");
    for (unsigned i = 0; i < 3; i++)
        table['A' + i] = in_u8(in);
    for (unsigned spans = 0; spans < 2; spans++) {
        for (n = 0; n < s.dsc$w_length &&
                    ((table[(unsigned char)s.dsc$a_pointer[n]] & mask) != 0) == spans;
             n++)
            ;
        at = (spans ? lib$spanc : lib$scanc)(&s, table, &mask);
        fuzz_check(at == (n < s.dsc$w_length ? n + 1 : 0), "a scan, %u: %u", spans, at);
    }
    fuzz_check(lib$ichar(&s) == (s.dsc$w_length ? (unsigned)*s.dsc$a_pointer : 0), "lib$ichar");
    fuzz_check(str$analyze_sdesc(&s, &length, &address) == s.dsc$w_length &&
                   length == s.dsc$w_length && address == s.dsc$a_pointer,
               "str$analyze_sdesc");
    fuzz_check(lib$analyze_sdesc(&s, &length, &address) == SS$_NORMAL && length == s.dsc$w_length &&
                   address == s.dsc$a_pointer,
               "lib$analyze_sdesc");
    s.dsc$b_class = (unsigned char)(in_u8(in) | 0x80); /* none of a string */
    signals = 0;
    fuzz_check(lib$analyze_sdesc(&s, &length, &address) == LIB$_INVSTRDES, "another class");
    free(s.dsc$a_pointer);
    for (unsigned i = 0; i < 3; i++)
        free(part[i].dsc$a_pointer);
}

static void moves(struct fuzz_in *in)
{
    enum { ROOM = 64 };
    unsigned char bytes[ROOM], model[ROOM];
    unsigned from = in_below(in, ROOM), to = in_below(in, ROOM);
    unsigned short n = (unsigned short)in_below(in, ROOM - from + 1);
    unsigned short room = (unsigned short)in_below(in, ROOM - to + 1);
    char fill = (char)in_u8(in);

    for (unsigned i = 0; i < ROOM; i++)
        bytes[i] = model[i] = (unsigned char)(17 * i);
    for (unsigned i = 0; i < room; i++)
        model[to + i] = i < n ? bytes[from + i] : (unsigned char)fill;
    lib$movc5(&n, bytes + from, &fill, &room, bytes + to);
    fuzz_check(memcmp(bytes, model, ROOM) == 0, "lib$movc5");
    n = n < room ? n : room;
    for (unsigned i = 0; i < n; i++)
        model[to + i] = bytes[from + i];
    lib$movc3(&n, bytes + from, bytes + to);
    fuzz_check(memcmp(bytes, model, ROOM) == 0, "lib$movc3");
}

/* Stores into a dynamic string. */
static void stores(struct fuzz_in *in)
{
    struct dsc$descriptor_d to = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, NULL};
    struct dsc$descriptor_s s = text(in, 100, 26);
    unsigned char code = in_u8(in);
    unsigned short n = (unsigned short)in_below(in, 300);

    for (unsigned steps = in_below(in, 6); steps; steps--) {
        switch (in_below(in, 5)) {
        case 0:
            fuzz_check(lib$char(&to, &code) == SS$_NORMAL && to.dsc$w_length == 1 &&
                           (unsigned char)*to.dsc$a_pointer == code,
                       "lib$char");
            break;
        case 1:
            fuzz_check(lib$scopy_r_dx(&s.dsc$w_length, s.dsc$a_pointer, &to) == SS$_NORMAL &&
                           to.dsc$w_length == s.dsc$w_length &&
                           (!s.dsc$w_length ||
                            memcmp(to.dsc$a_pointer, s.dsc$a_pointer, s.dsc$w_length) == 0),
                       "lib$scopy_r_dx");
            break;
        case 2:
            fuzz_check(lib$sget1_dd(&n, &to) == SS$_NORMAL && to.dsc$w_length == n, "lib$sget1_dd");
            if (n)
                memset(to.dsc$a_pointer, 'g', n);
            break;
        case 3:
            now = (int64_t)(in_u64(in) >> 1);
            (void)lib$date_time(&to);
            break;
        default: {
            int64_t time = number(in);
            unsigned flags = in_u8(in);

            (void)lib$sys_asctim(&n, &to, in_u8(in) & 1 ? &time : NULL, &flags);
        }
        }
    }
    fuzz_check(lib$sfree1_dd(&to) == SS$_NORMAL && !to.dsc$w_length, "lib$sfree1_dd");
    free(s.dsc$a_pointer);
}

/* ---- $FAOL ---- */

#define LIST 64

/* Directives of numbers, whose parameters are a list of longwords, of exactly as many as can be
 * taken; both forms of the list give the same text, if the directives take no quadwords. */
static void faol(struct fuzz_in *in)
{
    static const char letters[] = "!!!!!!123ULUWSLXBOZ/_^+-*,ab";
    struct dsc$descriptor_s control = text(in, 30, 26), narrow = {80, 14, 1, malloc(80)},
                            wide = {80, 14, 1, malloc(80)};
    struct dsc$descriptor_d dynamic = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, NULL};
    unsigned short n_narrow = 77, n_wide = 78, n_dynamic = 79;
    int *list = malloc(LIST * sizeof(*list)), a, b, c;
    int64_t *quadwords = malloc(LIST * sizeof(*quadwords));

    for (unsigned i = 0; i < control.dsc$w_length; i++)
        control.dsc$a_pointer[i] = letters[in_below(in, sizeof(letters) - 1)];
    for (unsigned i = 0; i < LIST; i++)
        quadwords[i] = list[i] = (int)number(in);
    a = sys$faol(&control, &n_narrow, &narrow, list);
    b = sys$faol_64(&control, &n_wide, &wide, quadwords);
    fuzz_check(a == b && n_narrow == n_wide &&
                   memcmp(narrow.dsc$a_pointer, wide.dsc$a_pointer, n_wide) == 0,
               "$FAOL: %x, %u characters; $FAOL_64: %x, %u", (unsigned)a, n_narrow, (unsigned)b,
               n_wide);
    c = lib$sys_faol(&control, &n_dynamic, &dynamic, list);
    fuzz_check(b == SS$_BUFFEROVF || (c == b && (c != SS$_NORMAL || n_dynamic == n_wide)),
               "lib$sys_faol: %x, $FAOL: %x", (unsigned)c, (unsigned)b);
    lib$sfree1_dd(&dynamic);
    free(list);
    free(quadwords);
    free(control.dsc$a_pointer);
    free(narrow.dsc$a_pointer);
    free(wide.dsc$a_pointer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const routines[])(struct fuzz_in *) = {
        zones, zones, zones, zones, queues, bits, arithmetic, searches, moves, stores, faol};
    struct fuzz_in in = fuzz_in(data, n);

    fuzz_begin();
    zones_begin();
    for (unsigned i = 0; i < 60 && in_more(&in); i++)
        routines[in_below(&in, sizeof(routines) / sizeof(routines[0]))](&in);
    zones_end();
    return 0;
}
