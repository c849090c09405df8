#include "images.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
    const char *label;
    const char *data; /* the ELF file */
    struct function *functions;
    size_t n;
    const Elf64_Phdr *segments;
    unsigned nsegments;
};

#define IMAGES_MAX 128

static struct image images[IMAGES_MAX]; /* [0] the kernel's */
static unsigned nimages;
static const struct image none = {.label = "unknown program"};
const struct function function_unknown = {.name = "[unknown]", .image = &none};
const struct function function_pal = {.name = "[PALcode]", .image = &images[0]};

void *need(void *memory)
{
    if (!memory) {
        fprintf(stderr, "profile: no memory\n");
        exit(1);
    }
    return memory;
}

static int by_address(const void *a, const void *b)
{
    const struct function *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

static bool is_code(const char *name, const Elf64_Sym *symbol, const Elf64_Shdr *sections,
                    unsigned nsections)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    return (type == STT_FUNC || type == STT_NOTYPE) && *name && *name != '.' && *name != '$' &&
           !strstr(name, "_text_") && symbol->st_shndx < nsections &&
           sections[symbol->st_shndx].sh_flags & SHF_EXECINSTR;
}

static void read_symbols(struct image *image, const Elf64_Shdr *sections, unsigned nsections,
                         const Elf64_Shdr *table)
{
    const Elf64_Sym *symbols = (const void *)(image->data + table->sh_offset);
    const char *names = image->data + sections[table->sh_link].sh_offset;
    size_t n = table->sh_size / sizeof(*symbols);

    image->functions = need(calloc(n, sizeof(*image->functions)));
    for (size_t i = 0; i < n; i++) {
        const char *name = names + symbols[i].st_name;

        if (is_code(name, &symbols[i], sections, nsections))
            image->functions[image->n++] = (struct function){symbols[i].st_value, name, image};
    }
    qsort(image->functions, image->n, sizeof(*image->functions), by_address);
}

static void read_image(struct image *image, const char *label, const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;

    if (fd < 0 || fstat(fd, &st) < 0 ||
        (header = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(fd);
    image->label = label;
    image->data = (const char *)header;
    image->segments = (const void *)(image->data + header->e_phoff);
    image->nsegments = header->e_phnum;
    sections = (const void *)(image->data + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB)
            read_symbols(image, sections, header->e_shnum, &sections[i]);
}

/* The image's bytes at an address where all of n bytes are in an executable segment, or NULL. */
static const char *code_at(const struct image *image, uint64_t address, size_t n)
{
    for (unsigned i = 0; i < image->nsegments; i++) {
        const Elf64_Phdr *p = &image->segments[i];

        if (p->p_type == PT_LOAD && p->p_flags & PF_X && address >= p->p_vaddr &&
            address + n <= p->p_vaddr + p->p_filesz)
            return image->data + p->p_offset + (address - p->p_vaddr);
    }
    return NULL;
}

/* The function before or at the address, NULL: there is none. */
static struct function *function_in(const struct image *image, uint64_t address)
{
    size_t low = 0, high = image->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (image->functions[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &image->functions[low - 1] : NULL;
}

const struct function *function_find(uint64_t address, const uint32_t *code, size_t n,
                                     const struct function *before)
{
    const struct function *found = NULL;

    if (is_kernel(address)) {
        found = code_at(&images[0], address, 4) ? function_in(&images[0], address) : NULL;
        return found ? found : &function_pal;
    }
    for (unsigned i = 1; i < nimages; i++) {
        const char *have = code_at(&images[i], address, 4 * n);

        if (!have || memcmp(have, code, 4 * n) != 0)
            continue;
        if (!found || (before && before->image == &images[i]))
            found = function_in(&images[i], address);
    }
    return found ? found : &function_unknown;
}

bool image_add(const char *label, const char *path)
{
    if (nimages == IMAGES_MAX)
        return false;
    read_image(&images[nimages++], label, path);
    return true;
}

bool image_added(void) { return nimages; }
const char *function_label(const struct function *f) { return f->image->label; }
bool function_of_kernel(const struct function *f) { return f->image == &images[0]; }
