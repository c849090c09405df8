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
#define EM_ALPHA     0x9026

int elf_check_header(const struct elf_header *h, uint64_t nbytes)
{
    static const uint8_t ident[7] = {0x7F, 'E', 'L', 'F', 2 /* 64 bits */, 1 /* little-endian */,
                                     1};

    if (nbytes < sizeof(*h) || memcmp(h->ident, ident, sizeof(ident)))
        return -ENOEXEC;
    if (h->type != ET_EXEC || h->machine != EM_ALPHA || h->version != 1)
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

int elf_check_segments(const struct elf_header *h, const struct elf_phdr *ph, uint64_t nbytes,
                       vaddr_t low, vaddr_t high, struct elf_image *image)
{
    vaddr_t end = low;
    bool entered = false;

    image->entry = h->entry;
    image->phnum = h->phnum;
    image->phdr = 0;
    image->nsegments = 0;
    image->exec_stack = true; /* what programs without PT_GNU_STACK expect */
    for (unsigned k = 0; k < h->phnum; k++) {
        struct elf_segment *s = &image->segment[image->nsegments];

        if (ph[k].type == PT_INTERP)
            return -ENOEXEC; /* the program needs a dynamic linker, and there is none */
        if (ph[k].type == PT_GNU_STACK)
            image->exec_stack = (ph[k].flags & PF_X) != 0;
        if (ph[k].type != PT_LOAD || ph[k].memsz == 0)
            continue;
        if (image->nsegments == ELF_SEGMENTS_MAX)
            return -ENOMEM;
        if (!segment_of(&ph[k], nbytes, low, high, s) || s->start < end)
            return -ENOEXEC;
        end = s->end;
        image->nsegments++;
        if (h->phoff >= ph[k].offset && h->phoff - ph[k].offset < ph[k].filesz)
            image->phdr = ph[k].vaddr + (h->phoff - ph[k].offset);
        if ((ph[k].flags & PF_X) && h->entry - ph[k].vaddr < ph[k].memsz && !(h->entry & 3))
            entered = true;
    }
    image->end = end;
    return image->nsegments && entered ? 0 : -ENOEXEC;
}
