// SOURCES: kernel/proc/elf.c
// TARGETS: kernel/proc/elf.c
// RUNS: 60000
/*
 * Headers of executables. An accepted image has the properties that elf.h promises: its segments
 * are in ascending order, do not overlap and are within bounds and, if read from the file, within
 * it; the entry point is in an executable segment. An image that is well formed by construction
 * must be accepted.
 *
 * The first byte of an input:
 *   bit 0  raw headers follow; otherwise bytes choose the fields of a nearly correct header
 *   bit 1  without bit 0: no further bytes of it are changed
 *   bit 3  without bit 0: the file is relocatable
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/proc/elf.h"
#include "tests/fuzz/fuzz.h"

#define LOW     0x2000ul
#define HIGH    0x40000000000ul
#define PT_LOAD 1u

static const uint32_t types[] = {PT_LOAD, PT_LOAD, PT_LOAD, 0, 2, 3, 4, 0x6474E551};

static void check_image(const struct elf_header *h, const struct elf_phdr *ph, uint64_t nbytes,
                        const struct elf_image *image)
{
    vaddr_t end = image->relocatable ? 0 : LOW;
    bool entered = false;

    fuzz_check(image->start == image->segment[0].start, "the lowest segment");
    fuzz_check(image->align >= PAGE_SIZE && !(image->align & (image->align - 1)), "alignment");
    fuzz_check(image->interp_nbytes <= ELF_INTERP_MAX && image->interp_offset <= nbytes &&
                   image->interp_nbytes <= nbytes - image->interp_offset,
               "an interpreter's name that the file has not");

    fuzz_check(image->nsegments >= 1 && image->nsegments <= ELF_SEGMENTS_MAX, "%u segments",
               image->nsegments);
    for (unsigned k = 0; k < image->nsegments; k++) {
        const struct elf_segment *s = &image->segment[k];

        fuzz_check(!((s->start | s->file_end | s->end | s->offset) & PAGE_MASK), "no page border");
        fuzz_check(s->start >= end && s->end > s->start && s->end <= HIGH, "segment %u: where", k);
        fuzz_check(s->file_end >= s->start && s->file_end <= s->end, "segment %u: file", k);
        if (s->file_end > s->start)
            fuzz_check(s->zero_from >= s->start && s->zero_from <= s->file_end &&
                           s->offset <= nbytes && s->zero_from - s->start <= nbytes - s->offset,
                       "segment %u: bytes that the file has not", k);
        entered |= (s->prot & PF_X) && image->entry >= s->start && image->entry < s->end;
        end = s->end;
    }
    fuzz_check(image->end == end, "the heap's place");
    fuzz_check(entered && !(image->entry & 3), "an entry that cannot be executed");
    /* Each byte that a PT_LOAD header reads from the file is at its address. */
    for (unsigned k = 0, s = 0; k < h->phnum; k++) {
        if (ph[k].type != PT_LOAD || ph[k].memsz == 0)
            continue;
        fuzz_check(image->segment[s].start <= ph[k].vaddr &&
                       ph[k].vaddr + ph[k].memsz <= image->segment[s].end,
                   "header %u is not within its segment", k);
        if (ph[k].filesz)
            fuzz_check(image->segment[s].offset + (ph[k].vaddr - image->segment[s].start) ==
                           ph[k].offset,
                       "header %u: other bytes of the file", k);
        fuzz_check(image->segment[s].prot == (ph[k].flags & (PF_R | PF_W | PF_X)),
                   "header %u: another protection", k);
        s++;
    }
    if (image->phdr) /* they are in the part of a segment that is read from the file */
        fuzz_check(h->phoff < nbytes, "program headers outside");
}

/* Build headers from bytes. True: they are correct and must be accepted. */
static bool build(struct fuzz_in *in, struct elf_header *h, struct elf_phdr *ph, uint64_t nbytes,
                  bool straight, bool relocatable)
{
    uint64_t va = relocatable ? 0 : 0x120000000, offset = 0;
    unsigned loads = 0, n = 1 + in_below(in, 12);
    bool good = straight, entry = false;

    *h = (struct elf_header){.ident = {0x7F, 'E', 'L', 'F', 2, 1, 1},
                             .type = relocatable ? 3 : 2,
                             .machine = 0x9026,
                             .version = 1,
                             .phoff = sizeof(*h),
                             .ehsize = sizeof(*h),
                             .phentsize = sizeof(*ph),
                             .phnum = (uint16_t)n};
    for (unsigned k = 0; k < n; k++) {
        uint64_t filesz = in_u16(in), more = in_u32(in) >> (8 + in_u8(in) % 16);
        uint32_t type = types[in_u8(in) % 8];

        if (straight && type == 3)
            type = 4;
        va += in_u16(in);
        offset = (offset & ~PAGE_MASK) | (va & PAGE_MASK);
        if (straight && (offset > nbytes || filesz > nbytes - offset))
            filesz = 0, offset = va & PAGE_MASK;
        ph[k] = (struct elf_phdr){.type = type,
                                  .flags = in_u8(in) & 7u,
                                  .offset = offset,
                                  .vaddr = va,
                                  .filesz = filesz,
                                  .memsz = filesz + more};
        if (type == PT_LOAD && ph[k].memsz) {
            loads++;
            good &= offset <= nbytes;
            if (!entry && (ph[k].flags & PF_X) && ((va + 3) & ~3ul) - va < ph[k].memsz) {
                h->entry = (va + 3) & ~3ul;
                entry = true;
            }
            va = (va + ph[k].memsz + PAGE_MASK) & ~PAGE_MASK;
            offset += filesz;
        }
    }
    good &= loads >= 1 && loads <= ELF_SEGMENTS_MAX && entry && va <= HIGH;
    while (!straight && in_more(in)) { /* change some bytes */
        unsigned at = in_below(in, (unsigned)(sizeof(*h) + n * sizeof(*ph)));
        uint8_t *b = at < sizeof(*h) ? (uint8_t *)h + at : (uint8_t *)ph + at - sizeof(*h);

        *b ^= in_u8(in);
    }
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_in in = fuzz_in(data, n);
    struct elf_header *h = calloc(1, sizeof(*h));
    struct elf_phdr *ph = NULL;
    struct elf_image image;
    unsigned how = in_u8(&in);
    uint64_t nbytes = in_u32(&in) >> (in_u8(&in) % 24);
    bool good = false;
    int err;

    fuzz_begin();
    if (how & 1) {
        for (size_t i = 0; i < sizeof(*h); i++)
            ((uint8_t *)h)[i] = in_u8(&in);
        if (how & 4)
            memcpy(h->ident,
                   "\x7F"
                   "ELF\x02\x01\x01",
                   7);
    } else {
        struct elf_phdr built[16];

        nbytes += sizeof(*h) + 12 * sizeof(*ph);
        good = build(&in, h, built, nbytes, how & 2, how & 8);
        if (h->phnum <= 16) {
            ph = malloc(h->phnum * sizeof(*ph) + 1);
            memcpy(ph, built, h->phnum * sizeof(*ph));
        }
    }
    err = elf_check_header(h, nbytes);
    fuzz_check(!err || err == -ENOEXEC, "header: %d", err);
    if (!err) {
        fuzz_check(h->phnum <= ELF_PHDRS_MAX && h->phoff + h->phnum * sizeof(*ph) <= nbytes &&
                       h->phoff <= nbytes,
                   "program headers outside the file");
        if (!ph) {
            ph = malloc(h->phnum * sizeof(*ph)); /* exactly as many as the header says */
            for (size_t i = 0; i < h->phnum * sizeof(*ph); i++)
                ((uint8_t *)ph)[i] = in_u8(&in);
        }
        err = elf_check_segments(h, ph, nbytes, LOW, HIGH, &image);
        fuzz_check(!err || err == -ENOEXEC || err == -ENOMEM, "segments: %d", err);
        if (!err)
            check_image(h, ph, nbytes, &image);
        if (!err && image.relocatable) {
            vaddr_t was = image.segment[0].zero_from;

            elf_place(&image, 0x80000000);
            fuzz_check(image.segment[0].start == 0x80000000 && image.start == 0x80000000 &&
                           image.segment[0].zero_from - was == image.bias,
                       "placed elsewhere");
        }
    }
    fuzz_check(!good || !err, "a good image is refused: %d", err);
    free(ph);
    free(h);
    return 0;
}
