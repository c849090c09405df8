/*
 * The image of a new program: files that name an interpreter, ELF files, the dynamic linker.
 *
 * A program that names no dynamic linker (PT_INTERP) and has addresses of its own is mapped there.
 * One with a dynamic linker may be relocatable: it goes to the place of all programs, IMAGE_BASE,
 * and the linker to the first free addresses of P2, where mmap also looks. A relocatable file
 * without one is a dynamic linker that was started as a program; it goes to where it would be as an
 * interpreter, so that the program which it is to load finds its place free.
 */
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/notify.h"
#include "kernel/io/tree.h"
#include "kernel/proc/exec.h"
#include "kernel/proc/process.h"
#include "kernel/proc/program_path.h"
#include "kernel/proc/script.h"
#include "mm/pool/pool.h"

#define IMAGE_BASE   0x120000000UL              /* as the linker places a program */
#define LOADER_BREAK (IMAGE_BASE + (1UL << 30)) /* heap of a dynamic linker started as a program */
#define SCRIPTS_MAX  5                          /* interpreters that are scripts, as on Linux */

void exec_image_init(struct exec_image *x)
{
    x->program.inode = x->interp.inode = NULL;
    x->path = NULL;
    x->interp.image.bias = 0;
}

/* Look up an executable file. to: as of program_lookup. 0, -EACCES, or another negative errno. */
static int file_open_exec(struct exec_file *f, const char *path, struct program_path **to)
{
    struct process *p = process_self();
    struct io_cred cred = process_cred(p);
    struct cwd_use cwd = fs_cwd_get(p->fs), root = fs_root_get(p->fs);
    int err;

    cred.root = root.dir;
    err = program_lookup(&cred, cwd.dir, path, &f->inode, to);
    fs_cwd_put(root);
    fs_cwd_put(cwd);
    if (err) {
        f->inode = NULL;
        return err;
    }
    err = (f->inode->mode & S_IFMT) == S_IFREG ? inode_access(f->inode, &cred, 1) : -EACCES;
    if (!err)
        err = inode_open(f->inode, false);
    if (err) {
        inode_unref(f->inode);
        f->inode = NULL;
        return err;
    }
    notify(f->inode, IN_OPEN);
    return 0;
}

static bool cannot_read(const struct inode *i)
{
    struct io_cred cred = process_cred(process_self());

    return inode_access(i, &cred, 4) != 0;
}

/* Check the program headers of a file, whose header has been checked. 0 or a negative errno. */
static int segments_check(struct exec_file *f, const struct elf_phdr *ph)
{
    return elf_check_segments(&f->header, ph, f->inode->size, LAYOUT_P0_FIRST, LAYOUT_USER_TOP,
                              &f->image);
}

/* Check the headers of a file, of which the first n bytes were read into f->head (or n is an
 * error). */
static int file_check(struct exec_file *f, long n)
{
    const struct elf_header *h = &f->header;
    struct elf_phdr *ph;
    size_t ph_bytes;
    int err;

    if (n < (long)sizeof(*h))
        return n < 0 ? (int)n : -ENOEXEC;
    err = elf_check_header(h, f->inode->size);
    if (err)
        return err;
    ph_bytes = h->phnum * sizeof(*ph);
    if (likely(h->phoff <= (size_t)n && ph_bytes <= (size_t)n - h->phoff))
        return segments_check(f, (const struct elf_phdr *)(f->head + h->phoff));
    ph = npp_alloc(ph_bytes);
    if (!ph)
        return -ENOMEM;
    n = inode_read(f->inode, h->phoff, ph, ph_bytes);
    if (n == (long)ph_bytes)
        err = segments_check(f, ph);
    else
        err = n < 0 ? (int)n : -ENOEXEC; /* the file was truncated since the header was read */
    npp_free(ph, ph_bytes);
    return err;
}

/* Open the dynamic linker that the program names. */
static int interp_open(struct exec_image *x)
{
    const struct elf_image *image = &x->program.image;
    struct program_path *path = NULL;
    char *name = pgd_alloc(ELF_INTERP_MAX);
    long n;
    int err;

    if (!name)
        return -ENOMEM;
    n = inode_read(x->program.inode, image->interp_offset, name, image->interp_nbytes);
    err = n < 0 ? (int)n : n < (long)image->interp_nbytes || name[n - 1] ? -ENOEXEC : 0;
    if (!err)
        err = file_open_exec(&x->interp, name, &path);
    program_path_unref(path);
    pgd_free(name, ELF_INTERP_MAX);
    if (!err)
        err = file_check(&x->interp, inode_read(x->interp.inode, 0, x->interp.head, EXEC_HEAD));
    return err == -ENOEXEC && x->interp.inode ? -ELIBBAD : err;
}

/* Read the head of x->program, *n bytes. If it is a script, change the arguments, and let *path be
 * the interpreter's, in a line of x. 1: it is one; 0: it is not; or a negative errno. */
static int script_step(struct exec_image *x, struct exec_args *a, const char **path, unsigned depth,
                       long *n)
{
    char *line = x->line[depth & 1]; /* *path may be in the other one */
    const char *interp, *argument;
    int err;

    *n = inode_read(x->program.inode, 0, x->program.head, EXEC_HEAD);
    if (*n <= 0 || x->program.head[0] != '#')
        return *n < 0 ? (int)*n : 0;
    memcpy(line, x->program.head, SCRIPT_LINE_MAX);
    err = script_parse(line, MIN((size_t)*n, (size_t)SCRIPT_LINE_MAX), &interp, &argument);
    if (err <= 0)
        return err;
    err = exec_args_script(a, interp, argument, *path);
    if (err)
        return err;
    *path = interp;
    return 1;
}

int exec_image_open(struct exec_image *x, const char *path, struct exec_args *a)
{
    long n = 0;
    int err;

    for (unsigned depth = 0;; depth++) {
        err = file_open_exec(&x->program, path, &x->path);
        x->unreadable = !err && cannot_read(x->program.inode);
        if (!err)
            err = script_step(x, a, &path, depth, &n);
        if (err <= 0)
            break;
        exec_image_close(x);
        if (depth == SCRIPTS_MAX)
            return -ELOOP;
    }
    if (!err)
        err = file_check(&x->program, n);
    if (!err && x->program.image.interp_nbytes)
        err = interp_open(x);
    return err;
}

static void file_close_exec(struct exec_file *f)
{
    if (!f->inode)
        return;
    notify(f->inode, IN_CLOSE_NOWRITE);
    inode_unref(f->inode);
}

void exec_image_close(struct exec_image *x)
{
    file_close_exec(&x->program);
    file_close_exec(&x->interp);
    program_path_unref(x->path);
    x->program.inode = x->interp.inode = NULL;
    x->path = NULL;
}

static unsigned map_prot(unsigned pf)
{
    return (pf & PF_R ? MAP_R : 0) | (pf & PF_W ? MAP_W : 0) | (pf & PF_X ? MAP_X | MAP_R : 0);
}

static int map_segment(struct aspace *as, const struct exec_file *f, const struct elf_segment *s)
{
    unsigned prot = map_prot(s->prot);
    int err = 0;

    if (s->file_end > s->start)
        err = aspace_map_new_locked(as, s->start, s->file_end - s->start, prot, 0, f->inode->object,
                                    s->offset);
    if (!err && s->end > s->file_end)
        err = aspace_map_new_locked(as, s->file_end, s->end - s->file_end, prot, 0, NULL, 0);
    return err;
}

/* Place a relocatable file at `at`, or at the first free addresses of P2 if it is 0. The mutex of
 * the space is held. */
static int place(struct aspace *as, struct elf_image *image, vaddr_t at)
{
    uint64_t len = image->end - image->start;

    if (!image->relocatable)
        return 0;
    if (at)
        at = (at + image->align - 1) & ~(image->align - 1);
    else
        at = aspace_find_locked(as, len, image->align, LAYOUT_P2_BASE, LAYOUT_USER_TOP, false);
    if (!at || len > LAYOUT_USER_TOP - at)
        return -ENOMEM;
    elf_place(image, at);
    return 0;
}

/* Place and map a file: at as above. */
static int map_file(struct aspace *as, struct exec_file *f, vaddr_t at)
{
    int err = place(as, &f->image, at);

    for (unsigned k = 0; k < f->image.nsegments && !err; k++)
        err = map_segment(as, f, &f->image.segment[k]);
    return err;
}

/* Map the program, its stack and its dynamic linker, in the order of their addresses, as the map
 * takes what is behind all others in fewer steps; then what the program is about to use. The mutex
 * of the space is held. */
static int map_all_locked(struct exec_image *x, struct aspace *as, vaddr_t stack_top, bool linker)
{
    unsigned prot = MAP_R | MAP_W | (x->program.image.exec_stack ? MAP_X : 0);
    int err = map_file(as, &x->program, linker ? 0 : IMAGE_BASE);

    if (!err)
        err = aspace_map_new_locked(as, stack_top - x->stack_bytes, x->stack_bytes, prot,
                                    MAPF_GROWSDOWN, NULL, 0);
    if (!err && x->interp.inode)
        err = map_file(as, &x->interp, 0);
    return err ? err : aspace_preload_locked(as);
}

struct aspace *exec_image_map(struct exec_image *x, vaddr_t stack_top, int *err)
{
    struct aspace *as = aspace_create(thread_self()->home_rad);
    bool linker = x->program.image.relocatable && !x->interp.inode;

    if (!as) {
        *err = -ENOMEM;
        return NULL;
    }
    mutex_lock(&as->lock);
    *err = map_all_locked(x, as, stack_top, linker);
    mutex_unlock(&as->lock);
    x->brk = linker ? LOADER_BREAK : x->program.image.end;
    if (*err) {
        if (*err == -EEXIST || *err == -EINVAL)
            *err = -ENOEXEC; /* a segment overlaps the stack */
        aspace_unref(as);
        return NULL;
    }
    return as;
}

static int clear_tails(const struct elf_image *image)
{
    int err = 0;

    for (unsigned k = 0; k < image->nsegments && !err; k++) {
        const struct elf_segment *s = &image->segment[k];

        if ((s->prot & PF_W) && s->zero_from < s->file_end)
            err = clear_user(s->zero_from, s->file_end - s->zero_from);
    }
    return err;
}

int exec_image_clear_tails(const struct exec_image *x)
{
    int err = clear_tails(&x->program.image);

    return !err && x->interp.inode ? clear_tails(&x->interp.image) : err;
}
