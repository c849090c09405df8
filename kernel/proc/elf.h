/* Checks of ELF headers, made before anything in the file is used. The code trusts nothing in the
 * file and depends on nothing of the machine, so host tests and a fuzzer link it. */
#ifndef KERNEL_PROC_ELF_H
#define KERNEL_PROC_ELF_H

#include "kernel/base/types.h"

#define ELF_PHDRS_MAX    64 /* Linux stops at 64 KiB of them; the linker makes about ten */
#define ELF_SEGMENTS_MAX 8
#define ELF_INTERP_MAX   4096 /* bytes of the interpreter's path, with its NUL */

struct elf_header {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, phoff, shoff;
    uint32_t flags;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
struct elf_phdr {
    uint32_t type, flags;
    uint64_t offset, vaddr, paddr, filesz, memsz, align;
};

#define PF_X 1u
#define PF_W 2u
#define PF_R 4u

/* One mapped segment. start, file_end and end are multiples of PAGE_SIZE. */
struct elf_segment {
    vaddr_t start;     /* first page */
    uint64_t offset;   /* offset of start in the file; a multiple of PAGE_SIZE */
    vaddr_t file_end;  /* end of the pages that are read from the file */
    vaddr_t zero_from; /* first byte after the file's, in the last of these pages */
    vaddr_t end;       /* end of all pages */
    unsigned prot;     /* PF_* */
};

struct elf_image {
    vaddr_t entry;
    vaddr_t phdr; /* address of the program headers in memory; 0: in no segment */
    unsigned phnum, nsegments;
    bool exec_stack;
    bool relocatable;       /* ET_DYN: addresses count from 0 until elf_place() */
    unsigned interp_nbytes; /* of the interpreter's path, with its NUL; 0: there is none */
    uint64_t interp_offset; /* where the path is in the file */
    uint64_t align;         /* of a relocatable image: a power of two, PAGE_SIZE at least */
    uint64_t bias;          /* what elf_place() has added to its addresses */
    vaddr_t start;          /* of the lowest segment */
    vaddr_t end;            /* end of the highest segment, where the heap begins */
    struct elf_segment segment[ELF_SEGMENTS_MAX]; /* ascending, disjoint, within [low, high) */
};

/* Can the kernel run the program whose header is h, in a file of nbytes bytes? 0 or -ENOEXEC. */
int elf_check_header(const struct elf_header *h, uint64_t nbytes);
/* Check the h->phnum program headers at ph, of a file of nbytes bytes, and describe in *image what
 * to map within [low, high), or within [0, high) if it is relocatable. 0, -ENOEXEC, or -ENOMEM
 * (more than ELF_SEGMENTS_MAX segments). */
int elf_check_segments(const struct elf_header *h, const struct elf_phdr *ph, uint64_t nbytes,
                       vaddr_t low, vaddr_t high, struct elf_image *image);
/* Move a relocatable image: its lowest segment is to begin at `start`, a multiple of image->align,
 * from which on there is room for it. */
void elf_place(struct elf_image *image, vaddr_t start);

#endif
