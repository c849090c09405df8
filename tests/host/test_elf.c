// SOURCES: kernel/proc/elf.c
/* The checks of ELF headers: a good image, one with each byte of its headers changed, random
   headers, and each rule by itself. */
#include "kernel/proc/elf.h"

#include <stdlib.h>
#include <string.h>

#include "userland/lib/include/tap.h"

#define LOW       0x2000ul
#define HIGH      0x40000000000ul
#define NBYTES    0x20000ul
#define PT_LOAD   1
#define PT_INTERP 3

static struct elf_header good_header(void)
{
    struct elf_header h = {.ident = {0x7F, 'E', 'L', 'F', 2, 1, 1},
                           .type = 2,
                           .machine = 0x9026,
                           .version = 1,
                           .entry = 0x120000100,
                           .phoff = sizeof(h),
                           .ehsize = sizeof(h),
                           .phentsize = sizeof(struct elf_phdr),
                           .phnum = 2};
    return h;
}

static void good_phdrs(struct elf_phdr ph[2])
{
    ph[0] = (struct elf_phdr){.type = PT_LOAD,
                              .flags = PF_R | PF_X,
                              .offset = 0,
                              .vaddr = 0x120000000,
                              .filesz = 0xC123,
                              .memsz = 0xC123,
                              .align = 0x10000};
    ph[1] = (struct elf_phdr){.type = PT_LOAD,
                              .flags = PF_R | PF_W,
                              .offset = 0xC500,
                              .vaddr = 0x12001C500,
                              .filesz = 0x1000,
                              .memsz = 0x9000,
                              .align = 0x10000};
}

static int check(const struct elf_header *h, const struct elf_phdr *ph, uint64_t nbytes,
                 struct elf_image *image)
{
    int err = elf_check_header(h, nbytes);

    return err ? err : elf_check_segments(h, ph, nbytes, LOW, HIGH, image);
}

/* Does an accepted image have the properties that elf.h promises? */
static bool sound(const struct elf_image *image, uint64_t nbytes)
{
    vaddr_t end = image->relocatable ? 0 : LOW;

    if (image->start != image->segment[0].start || (image->align & (image->align - 1)) ||
        image->align < PAGE_SIZE || image->interp_offset + image->interp_nbytes > nbytes)
        return false;
    for (unsigned k = 0; k < image->nsegments; k++) {
        const struct elf_segment *s = &image->segment[k];

        if (((s->start | s->file_end | s->end | s->offset) & PAGE_MASK) || s->start < end ||
            s->end > HIGH || s->file_end > s->end || s->file_end < s->start || s->end <= s->start)
            return false;
        if (s->file_end > s->start &&
            (s->zero_from < s->start || s->zero_from > s->file_end || s->offset > nbytes ||
             s->zero_from - s->start > nbytes - s->offset))
            return false;
        end = s->end;
    }
    return image->nsegments > 0 && image->end == end && !(image->entry & 3);
}

static void test_good(void)
{
    struct elf_header h = good_header();
    struct elf_phdr ph[2];
    struct elf_image image;

    good_phdrs(ph);
    is(check(&h, ph, NBYTES, &image), 0, "a good image");
    is(image.nsegments, 2, "two segments");
    ok(sound(&image, NBYTES), "as promised");
    is(image.phdr, 0x120000040, "program headers in memory");
    is(image.segment[1].start, 0x12001C000, "the data segment begins at a page");
    is(image.segment[1].offset, 0xC000, "of the file too");
    is(image.segment[1].zero_from, 0x12001D500, "zeroes from here");
    is(image.segment[1].file_end, 0x12001E000, "last page of the file");
    is(image.end, 0x120026000, "the heap's place");
}

static void refused(const char *what, void (*change)(struct elf_header *h, struct elf_phdr *ph))
{
    struct elf_header h = good_header();
    struct elf_phdr ph[2];
    struct elf_image image;

    good_phdrs(ph);
    change(&h, ph);
    ok(check(&h, ph, NBYTES, &image) < 0, "refused: %s", what);
}

#define CHANGE(name, ...)                                       \
    static void name(struct elf_header *h, struct elf_phdr *ph) \
    {                                                           \
        (void)h, (void)ph;                                      \
        __VA_ARGS__;                                            \
    }
CHANGE(interp_empty, ph[0].type = PT_INTERP, ph[0].filesz = 1)
CHANGE(interp_long, ph[0].type = PT_INTERP, ph[0].filesz = ELF_INTERP_MAX + 1)
CHANGE(interp_outside, ph[0].type = PT_INTERP, ph[0].filesz = 20, ph[0].offset = NBYTES - 19)
CHANGE(interp_wraps, ph[0].type = PT_INTERP, ph[0].filesz = 20, ph[0].offset = -10ul)
CHANGE(no_segment, ph[0].type = PT_INTERP, ph[0].filesz = 20, ph[1].type = 4)
CHANGE(other_machine, h->machine = 62)
CHANGE(object_file, h->type = 1)
CHANGE(core_file, h->type = 4)
CHANGE(no_phdrs, h->phnum = 0)
CHANGE(many_phdrs, h->phnum = 65535)
CHANGE(phdrs_outside, h->phoff = NBYTES - 8)
CHANGE(phdrs_wrap, h->phoff = -64ul)
CHANGE(small_phdrs, h->phentsize = 8)
CHANGE(file_larger, ph[1].filesz = 0x9001)
CHANGE(behind_file, ph[1].offset = NBYTES - PAGE_SIZE + 0x500, ph[1].filesz = 0x2000)
CHANGE(offset_wraps, ph[1].offset = -0x1B00ul)
CHANGE(crooked, ph[1].offset += 8)
CHANGE(page_zero, ph[0].vaddr = 0)
CHANGE(kernel, ph[1].vaddr = 0xFFFFFC0000000500)
CHANGE(over_end, ph[1].memsz = HIGH)
CHANGE(size_wraps, ph[1].memsz = -0x1000ul)
CHANGE(overlap, ph[1].vaddr = 0x12000A500)
CHANGE(falling, ph[1].vaddr = 0x110000500)
CHANGE(entry_outside, h->entry = 0x130000000)
CHANGE(entry_odd, h->entry += 2)
CHANGE(entry_in_data, h->entry = 0x12001C600)

static void test_rules(void)
{
    refused("an interpreter without a name", interp_empty);
    refused("a long name of an interpreter", interp_long);
    refused("an interpreter's name outside the file", interp_outside);
    refused("an interpreter's name whose end wraps", interp_wraps);
    refused("an interpreter and nothing else", no_segment);
    refused("another machine", other_machine);
    refused("an object file", object_file);
    refused("a core file", core_file);
    refused("no program headers", no_phdrs);
    refused("too many", many_phdrs);
    refused("outside the file", phdrs_outside);
    refused("program headers so far away that the sum wraps", phdrs_wrap);
    refused("of another size", small_phdrs);
    refused("more in the file than in memory", file_larger);
    refused("bytes beyond the end of the file", behind_file);
    refused("an offset that wraps", offset_wraps);
    refused("offset and address that differ within the page", crooked);
    refused("page 0", page_zero);
    refused("the kernel's addresses", kernel);
    refused("over the end of user space", over_end);
    refused("a size that wraps", size_wraps);
    refused("segments that overlap", overlap);
    refused("segments in falling order", falling);
    refused("an entry outside", entry_outside);
    refused("an odd entry", entry_odd);
    refused("an entry that is not executable", entry_in_data);
}

/* A relocatable image with an interpreter: addresses count from 0, and elf_place moves them all. */
static void test_relocatable(void)
{
    struct elf_header h = good_header();
    struct elf_phdr ph[4];
    struct elf_image image;

    good_phdrs(ph);
    h.type = 3;
    h.entry = 0x100;
    h.phnum = 4;
    ph[0].vaddr = 0;
    ph[1].vaddr = 0x1C500;
    ph[2] = (struct elf_phdr){.type = PT_INTERP, .offset = 0x200, .filesz = 19, .memsz = 19};
    ph[3] = (struct elf_phdr){.type = PT_INTERP, .offset = 0x300, .filesz = 5, .memsz = 5};
    is(check(&h, ph, NBYTES, &image), 0, "a relocatable image");
    ok(image.relocatable && sound(&image, NBYTES), "as promised");
    is(image.interp_nbytes, 19, "the first interpreter counts");
    is(image.interp_offset, 0x200, "its name's place");
    is(image.align, 0x10000, "the alignment of its segments");
    is(image.start, 0, "addresses from 0 on");
    elf_place(&image, 0x80000000);
    ok(sound(&image, NBYTES), "as promised, after it was placed");
    is(image.bias, 0x80000000, "what was added");
    is(image.entry, 0x80000100, "the entry has moved");
    is(image.phdr, 0x80000040, "so have the program headers");
    is(image.segment[1].zero_from, 0x8001D500, "and the zeroes");
    is(image.end, 0x80026000, "and the end");
    good_phdrs(ph);
    ph[0].vaddr = 0;
    ph[1].vaddr = HIGH - 0x500;
    ok(check(&h, ph, NBYTES, &image) < 0, "refused: relocatable, larger than user space");
    good_phdrs(ph);
    ph[0].align = 0x30000;
    ph[1].align = 1ul << 40;
    h.entry = 0x120000100;
    h.phnum = 2;
    is(check(&h, ph, NBYTES, &image), 0, "an alignment that is no power of two, and a huge one");
    is(image.align, PAGE_SIZE, "are ignored");
}

static void test_noise(void)
{
    struct elf_header h;
    struct elf_phdr ph[ELF_PHDRS_MAX];
    struct elf_image image;
    int accepted = 0, bad = 0;

    for (size_t k = 0; k < sizeof(h) + 2 * sizeof(ph[0]); k++) {
        for (int bit = 0; bit < 8; bit++) {
            h = good_header();
            good_phdrs(ph);
            *(k < sizeof(h) ? (uint8_t *)&h + k
                            : (uint8_t *)ph + k - sizeof(h)) ^= (uint8_t)(1 << bit);
            if (h.phnum <= 2 && check(&h, ph, NBYTES, &image) == 0) {
                accepted++;
                bad += !sound(&image, NBYTES);
            }
        }
    }
    ok(accepted > 100, "%d images with a changed bit are accepted", accepted);
    is(bad, 0, "and all of them are as promised");
    srandom(7);
    diag("seed 7");
    accepted = bad = 0;
    for (int round = 0; round < 300000; round++) {
        h = good_header();
        h.phnum = (uint16_t)(1 + random() % 3);
        for (int k = 0; k < h.phnum; k++) {
            ph[k] = (struct elf_phdr){.type = (uint32_t)(random() % 4 ? PT_LOAD : random() % 7),
                                      .flags = (uint32_t)random() & 7,
                                      .offset = (uint64_t)random() % (NBYTES + 4096),
                                      .vaddr = 0x120000000 + (uint64_t)k * 0x10000 +
                                               (uint64_t)random() % 0x12000,
                                      .filesz = (uint64_t)random() % 0x10000,
                                      .memsz = (uint64_t)random() % 0x18000};
            if (random() % 2)
                ph[k].offset = (ph[k].offset & ~PAGE_MASK) | (ph[k].vaddr & PAGE_MASK);
            h.entry = (ph[0].vaddr + 8) & ~3ul;
        }
        if (check(&h, ph, NBYTES, &image) == 0) {
            accepted++;
            bad += !sound(&image, NBYTES);
        }
    }
    ok(accepted > 1000, "%d random images are accepted", accepted);
    is(bad, 0, "and all of them are as promised");
}

int main(void)
{
    test_good();
    test_rules();
    test_relocatable();
    test_noise();
    return tap_done();
}
