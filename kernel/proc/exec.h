/* The arguments of a new program, collected in kernel pages (exec_args.c), the program's image
 * (exec_image.c), and exec itself. Used inside kernel/proc only. IPL 0, no locks. */
#ifndef KERNEL_PROC_EXEC_H
#define KERNEL_PROC_EXEC_H

#include "kernel/proc/elf.h"
#include "kernel/proc/script.h"

struct aspace;
struct inode;
struct program_path;

/* 256 KiB: twice the 128 KiB that programs may rely on from old versions of Linux. */
#define EXEC_ARG_PAGES 32

struct exec_args {
    unsigned argc, envc;
    size_t bytes;    /* of all strings, argv's and then envp's, with their NULs */
    size_t path_at;  /* offset of the path among the strings; set by exec_program */
    size_t env_at;   /* offset of the first string of envp; set by exec_program */
    vaddr_t strings; /* their address on the new stack; set by exec_program */
    unsigned npages;
    uint8_t *page[EXEC_ARG_PAGES]; /* KSEG addresses of the first npages; allocated as needed */
};

/* What exec holds while it waits (uthread.exec_wait). */
struct exec_wait {
    const struct exec_args *args;
    /* With a reference: of the new program, or later of the old one, or NULL. */
    struct aspace *space;
};

void exec_args_init(struct exec_args *a);
void exec_args_free(struct exec_args *a);
/* Append a copy of a kernel string; the caller increments argc or envc. 0, -E2BIG, -ENOMEM. On
 * error the caller still calls exec_args_free. */
int exec_args_add(struct exec_args *a, const char *text);
/* Append the strings of a user vector of pointers that ends with a null pointer, and count them.
 * Vector 0 counts as an empty vector, as on Linux. 0, -E2BIG, -ENOMEM, -EFAULT, -EINTR. */
int exec_args_vector(struct exec_args *a, vaddr_t vector, unsigned *count);
/* Length, with its NUL, of the string that begins at offset `at` of the arguments. */
size_t exec_args_length(const struct exec_args *a, size_t at);
/* Replace argv[0], which exists, by interp, argument (unless it is NULL) and path. On an error,
 * -E2BIG or -ENOMEM, nothing has changed. */
int exec_args_script(struct exec_args *a, const char *interp, const char *argument,
                     const char *path);

/* Bytes of a file that are read at once: an ELF header with the eleven program headers that a
 * program linked with all protections has behind it, or the first line of a script. */
#define EXEC_HEAD (sizeof(struct elf_header) + 11 * sizeof(struct elf_phdr))
_Static_assert(EXEC_HEAD >= SCRIPT_LINE_MAX, "the first line of a script is read with them");

/* An executable file. */
struct exec_file {
    struct inode *inode; /* holds a reference, or NULL */
    union {
        struct elf_header header;
        char head[EXEC_HEAD]; /* what it begins with */
    };
    struct elf_image image; /* where it is mapped, once there is an address space */
};

/* What is learned from the files before the process is changed. In nonpaged pool: too large for the
 * stack. */
struct exec_image {
    struct exec_file program;
    struct exec_file interp;       /* the dynamic linker, if the program names one */
    struct program_path *path;     /* of the program; passes to the process */
    vaddr_t brk;                   /* where the heap begins */
    uint64_t stack_bytes;          /* set by the caller of exec_image_map */
    bool unreadable;               /* the caller may execute the file, but not read it */
    char line[2][SCRIPT_LINE_MAX]; /* first lines of the last two scripts */
};

/* Make *x, whose contents are undefined, an image without files. */
void exec_image_init(struct exec_image *x);
/* Find the program at path, through scripts that name an interpreter and change the arguments, and
 * its dynamic linker, and check both. 0; -ENOEXEC, -EACCES, -ELOOP, -ELIBBAD, -E2BIG, -ENOMEM or an
 * error of a look-up. In any case the caller calls exec_image_close. */
int exec_image_open(struct exec_image *x, const char *path, struct exec_args *a);
/* Drop what *x refers to. */
void exec_image_close(struct exec_image *x);
/* Create the address space of the program, with its files mapped and a stack of stack_bytes bytes
 * below stack_top. NULL with the error in *err. */
struct aspace *exec_image_map(struct exec_image *x, vaddr_t stack_top, int *err);
/* Clear, in the current address space, the bytes after the file's in the last page of each writable
 * segment; in the others they do not matter. 0 or -EFAULT. */
int exec_image_clear_tails(const struct exec_image *x);

/* Replace the program of the current process, whose other threads end, by the one at path. The
 * caller frees a in any case. 0, or a negative errno with the process unchanged. IPL 0, no
 * locks; waits. */
int exec_program(const char *path, struct exec_args *a);

#endif
