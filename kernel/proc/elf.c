/*
 * Checks of ELF headers, which may come from a hostile file. Sums are formed only after both
 * operands were compared with a bound that keeps the sum from wrapping: addresses with high,
 * offsets and sizes with nbytes.
 */
#include "kernel/proc/elf.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"

#define PT_LOAD      1u
#define PT_INTERP    3u
#define PT_GNU_STACK 0x6474E551u
#define ET_EXEC      2
#define ET_DYN       3
#define ALIGN_MAX    (UINT64_C(1) << 30) /* a larger alignment is ignored */
#define EM_ALPHA     0x9026

int elf_check_header(const struct elf_header *h, uint64_t nbytes)
{
    /* \177ELF, 64 bits, little-endian, version 1 */
    const uint64_t ident = UINT64_C(0x010102464C457F), seven = ~UINT64_C(0) >> 8;
    uint64_t first;

    _Static_assert(sizeof(h->ident) >= sizeof(first), "a quadword, of which seven bytes count");
    memcpy(&first, h->ident, sizeof(first));
    if (nbytes < sizeof(*h) || (first & seven) != ident)
        return -ENOEXEC;
    if ((h->type != ET_EXEC && h->type != ET_DYN) || h->machine != EM_ALPHA || h->version != 1)
        return -ENOEXEC;
    if (h->phentsize != sizeof(struct elf_phdr) || h->phnum == 0 || h->phnum > ELF_PHDRS_MAX)
        return -ENOEXEC;
    if (h->phoff > nbytes || h->phnum * sizeof(struct elf_phdr) > nbytes - h->phoff ||
        (h->phoff & 7))
        return -ENOEXEC;
    return 0;
}

static uint64_t page_down(uint64_t n) { return n & ~PAGE_MASK; }
static uint64_t page_up(uint64_t n) { return (n + PAGE_MASK) & ~PAGE_MASK; }

/* Describe one PT_LOAD header, whose memsz is not 0, in *s. False: it is not valid. */
static bool segment_of(const struct elf_phdr *ph, uint64_t nbytes, vaddr_t low, vaddr_t high,
                       struct elf_segment *s)
{
    uint64_t before = ph->vaddr & PAGE_MASK; /* bytes of the first page before the segment */

    if (ph->vaddr < low || ph->vaddr >= high || ph->memsz > high - ph->vaddr)
        return false;
    if (ph->filesz > ph->memsz || ph->offset > nbytes || ph->filesz > nbytes - ph->offset)
        return false;
    if ((ph->offset & PAGE_MASK) != before)
        return false;
    *s = (struct elf_segment){
        .start = page_down(ph->vaddr),
        .offset = ph->offset - before,
        .zero_from = ph->vaddr + ph->filesz,
        .end = page_up(ph->vaddr + ph->memsz),
        .prot = ph->flags & (PF_R | PF_W | PF_X),
    };
    s->file_end = ph->filesz ? page_up(s->zero_from) : s->start;
    return s->end <= high && s->start >= low;
}

/* Note the interpreter that a PT_INTERP header names; the first one counts. False: it is not
 * valid. */
static bool interpreter_of(const struct elf_phdr *ph, uint64_t nbytes, struct elf_image *image)
{
    if (image->interp_nbytes)
        return true;
    if (ph->filesz < 2 || ph->filesz > ELF_INTERP_MAX || ph->offset > nbytes ||
        nbytes - ph->offset < ph->filesz)
        return false;
    image->interp_nbytes = (unsigned)ph->filesz;
    image->interp_offset = ph->offset;
    return true;
}

static bool is_alignment(uint64_t n) { return n && !(n & (n - 1)) && n <= ALIGN_MAX; }

/* Add a PT_LOAD header to the image. 0 or a negative errno. */
static int add_segment(const struct elf_header *h, const struct elf_phdr *ph, uint64_t nbytes,
                       vaddr_t low, vaddr_t high, struct elf_image *image)
{
    struct elf_segment *s = &image->segment[image->nsegments];

    if (image->nsegments == ELF_SEGMENTS_MAX)
        return -ENOMEM;
    if (!segment_of(ph, nbytes, low, high, s) || s->start < image->end)
        return -ENOEXEC;
    if (!image->nsegments++)
        image->start = s->start;
    image->end = s->end;
    if (is_alignment(ph->align))
        image->align = MAX(image->align, ph->align);
    if (h->phoff >= ph->offset && h->phoff - ph->offset < ph->filesz)
        image->phdr = ph->vaddr + (h->phoff - ph->offset);
    return 0;
}

static bool holds_entry(const struct elf_phdr *ph, vaddr_t entry)
{
    return (ph->flags & PF_X) && entry - ph->vaddr < ph->memsz && !(entry & 3);
}

int elf_check_segments(const struct elf_header *h, const struct elf_phdr *ph, uint64_t nbytes,
                       vaddr_t low, vaddr_t high, struct elf_image *image)
{
    bool entered = false;
    int err = 0;

    memset(image, 0, offsetof(struct elf_image, segment));
    image->entry = h->entry;
    image->phnum = h->phnum;
    image->relocatable = h->type == ET_DYN;
    image->exec_stack = true; /* what programs without PT_GNU_STACK expect */
    image->align = PAGE_SIZE;
    if (image->relocatable)
        low = 0;
    image->end = low;
    for (unsigned k = 0; k < h->phnum && !err; k++) {
        if (ph[k].type == PT_INTERP && !interpreter_of(&ph[k], nbytes, image))
            return -ENOEXEC;
        if (ph[k].type == PT_GNU_STACK)
            image->exec_stack = (ph[k].flags & PF_X) != 0;
        if (ph[k].type != PT_LOAD || ph[k].memsz == 0)
            continue;
        err = add_segment(h, &ph[k], nbytes, low, high, image);
        entered |= holds_entry(&ph[k], h->entry);
    }
    return err ? err : image->nsegments && entered ? 0 : -ENOEXEC;
}

void elf_place(struct elf_image *image, vaddr_t start)
{
    uint64_t by = start - image->start;

    image->bias += by;
    image->entry += by;
    image->start += by;
    image->end += by;
    if (image->phdr)
        image->phdr += by;
    for (unsigned k = 0; k < image->nsegments; k++) {
        struct elf_segment *s = &image->segment[k];

        s->start += by;
        s->file_end += by;
        s->zero_from += by;
        s->end += by;
    }
}
