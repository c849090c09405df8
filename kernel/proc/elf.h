/*
 * ELF headers, checked before anything is done. Pure: hostile files are this file's business, and
 * it builds for the host too.
 */
#ifndef KERNEL_PROC_ELF_H
#define KERNEL_PROC_ELF_H

#include "kernel/base/types.h"

#define ELF_PHDRS_MAX    64 /* Linux stops at 64 KiB of them; the linker makes about ten */
#define ELF_SEGMENTS_MAX 8

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

struct elf_segment {   /* what to map; start, file_end and end are page aligned */
    vaddr_t start;     /* first page */
    uint64_t offset;   /* in the file, of start; page aligned */
    vaddr_t file_end;  /* end of the pages that come from the file */
    vaddr_t zero_from; /* first byte behind the file's, in the last of these pages */
    vaddr_t end;       /* end of all pages */
    unsigned prot;     /* PF_* */
};

struct elf_image {
    vaddr_t entry;
    vaddr_t phdr; /* where the program headers will lie in memory; 0: nowhere */
    unsigned phnum, nsegments;
    bool exec_stack;
    vaddr_t end; /* first page behind the highest segment: where the heap begins */
    struct elf_segment segment[ELF_SEGMENTS_MAX]; /* rising, not overlapping, within [low, high) */
};

/* Does h (of a file of nbytes) say what we can run? 0, -ENOEXEC. */
int elf_check_header(const struct elf_header *h, uint64_t nbytes);
/* The h->phnum program headers ph, checked, as an image within [low, high). 0, -ENOEXEC, -ENOMEM
 * (more segments than we take). */
int elf_check_segments(const struct elf_header *h, const struct elf_phdr *ph, uint64_t nbytes,
                       vaddr_t low, vaddr_t high, struct elf_image *image);

#endif
