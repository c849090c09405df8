/* Functions of a program by address, from the symbol table of its ELF file, if it has one. */
#include "sda.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAMS 32

struct program {
    char path[256];
    char *file; /* contents of the file; NULL: no symbols */
    const Elf64_Sym *symbols;
    size_t count;
    const char *names;
    size_t names_size;
};

static struct program programs[PROGRAMS];
static size_t known;

/* Does [offset, offset + size) lie in the file, with the alignment that its type needs? */
static bool inside(uint64_t offset, uint64_t size, uint64_t total)
{
    return offset <= total && size <= total - offset && offset % 8 == 0;
}

/* Point symbols and names into the contents of the file, if all of the symbol table lies there. */
static bool find_table(struct program *p, uint64_t size)
{
    const Elf64_Ehdr *e = (const Elf64_Ehdr *)p->file;
    const Elf64_Shdr *s;

    if (size < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
        e->e_shentsize != sizeof(*s) || !inside(e->e_shoff, e->e_shnum * sizeof(*s), size))
        return false;
    s = (const Elf64_Shdr *)(p->file + e->e_shoff);
    for (unsigned i = 0; i < e->e_shnum; i++) {
        const Elf64_Shdr *names;

        if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= e->e_shnum)
            continue;
        names = &s[s[i].sh_link];
        if (!inside(s[i].sh_offset, s[i].sh_size, size) || names->sh_offset > size ||
            names->sh_size > size - names->sh_offset || !names->sh_size)
            return false;
        p->symbols = (const Elf64_Sym *)(p->file + s[i].sh_offset);
        p->count = s[i].sh_size / sizeof(Elf64_Sym);
        p->names = p->file + names->sh_offset;
        p->names_size = names->sh_size;
        return p->names[p->names_size - 1] == 0;
    }
    return false;
}

static void read_program(struct program *p)
{
    int fd = open(p->path, O_RDONLY);
    struct stat st;
    ssize_t n = 0;
    size_t got = 0;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        p->file = malloc((size_t)st.st_size);
    while (p->file && got < (size_t)st.st_size &&
           (n = read(fd, p->file + got, (size_t)st.st_size - got)) > 0)
        got += (size_t)n;
    close(fd);
    if (p->file && !find_table(p, got)) {
        free(p->file);
        p->file = NULL;
    }
}

static struct program *program_of(const char *path)
{
    struct program *p;

    for (size_t i = 0; i < known; i++)
        if (strcmp(programs[i].path, path) == 0)
            return &programs[i];
    if (known == PROGRAMS || strlen(path) >= sizeof(p->path))
        return NULL;
    p = &programs[known++];
    strcpy(p->path, path);
    read_program(p);
    return p;
}

const char *program_symbol(const char *path, uint64_t pc, uint64_t *offset)
{
    const struct program *p = *path ? program_of(path) : NULL;
    const Elf64_Sym *best = NULL;

    if (!p || !p->file)
        return NULL;
    for (size_t i = 0; i < p->count; i++) {
        const Elf64_Sym *s = &p->symbols[i];

        if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_value <= pc &&
            s->st_name < p->names_size && (!best || s->st_value > best->st_value))
            best = s;
    }
    if (!best || pc - best->st_value >= best->st_size)
        return NULL;
    *offset = pc - best->st_value;
    return p->names + best->st_name;
}
