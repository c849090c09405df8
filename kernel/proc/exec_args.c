/* The arguments of a new program, in kernel pages: exec.h. */
#include "kernel/proc/exec.h"

#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/sched/thread.h"
#include "mm/phys/page.h"

void exec_args_init(struct exec_args *a)
{
    a->argc = a->envc = a->npages = 0;
    a->bytes = a->path_at = a->env_at = 0;
    a->strings = 0;
}

void exec_args_free(struct exec_args *a)
{
    for (unsigned k = 0; k < a->npages; k++)
        page_free(paddr_to_pfn(kseg_paddr(a->page[k])));
}

/* The address of the next byte to write, with the bytes that are free from there on in its page in
 * *room. NULL with the error in *err. */
static char *args_room(struct exec_args *a, size_t *room, int *err)
{
    size_t index = a->bytes >> PAGE_SHIFT;

    if (index >= EXEC_ARG_PAGES) {
        *err = -E2BIG;
        return NULL;
    }
    if (index == a->npages) {
        pfn_t pfn;

        *err = page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &pfn);
        if (*err)
            return NULL;
        a->page[a->npages++] = kseg_page(pfn);
    }
    *room = PAGE_SIZE - (a->bytes & PAGE_MASK);
    return (char *)a->page[index] + (a->bytes & PAGE_MASK);
}

int exec_args_add(struct exec_args *a, const char *text)
{
    size_t left = strlen(text) + 1, room;
    int err = 0;

    while (left) {
        char *to = args_room(a, &room, &err);
        size_t n = MIN(left, room);

        if (!to)
            return err;
        memcpy(to, text, n);
        text += n;
        left -= n;
        a->bytes += n;
    }
    return 0;
}

/* Append the string at ustr in user memory. What does not fit in one page is continued in the
 * next. */
static int args_copyin(struct exec_args *a, vaddr_t ustr)
{
    for (;;) {
        int err = 0;
        size_t room;
        char *to = args_room(a, &room, &err);
        long n;

        if (!to)
            return err;
        n = copyin_str(to, ustr, room);
        if (n >= 0) {
            a->bytes += (size_t)n + 1;
            return 0;
        }
        if (n == -ENAMETOOLONG)
            n = copyin(to, ustr, room);
        if (n != 0)
            return (int)n;
        if (memchr(to, '\0', room)) { /* others have made the string shorter meanwhile */
            a->bytes += strlen(to) + 1;
            return 0;
        }
        a->bytes += room;
        ustr += room;
    }
}

int exec_args_vector(struct exec_args *a, vaddr_t vector, unsigned *count)
{
    for (*count = 0; vector; vector += 8, ++*count) {
        uint64_t ustr;
        int err = thread_killed() ? -EINTR : copyin_u64(&ustr, vector);

        if (err || !ustr)
            return err;
        err = args_copyin(a, ustr);
        if (err)
            return err;
    }
    return 0;
}

size_t exec_args_length(const struct exec_args *a, size_t at)
{
    size_t start = at;

    for (;;) {
        const char *page = (const char *)a->page[at >> PAGE_SHIFT];
        size_t within = at & PAGE_MASK;
        const char *end = memchr(page + within, '\0', MIN(PAGE_SIZE - within, a->bytes - at));

        if (end)
            return at + (size_t)(end - page - within) + 1 - start;
        at += PAGE_SIZE - within;
    }
}

/* Append the bytes of `from`, from offset `at` on. */
static int args_append(struct exec_args *a, const struct exec_args *from, size_t at)
{
    while (at < from->bytes) {
        int err = 0;
        size_t room;
        char *to = args_room(a, &room, &err);
        size_t n = MIN(MIN(room, from->bytes - at), PAGE_SIZE - (at & PAGE_MASK));

        if (!to)
            return err;
        memcpy(to, from->page[at >> PAGE_SHIFT] + (at & PAGE_MASK), n);
        a->bytes += n;
        at += n;
    }
    return 0;
}

int exec_args_script(struct exec_args *a, const char *interp, const char *argument,
                     const char *path)
{
    struct exec_args b;
    int err;

    exec_args_init(&b);
    err = exec_args_add(&b, interp);
    if (!err && argument)
        err = exec_args_add(&b, argument);
    if (!err)
        err = exec_args_add(&b, path);
    if (!err)
        err = args_append(&b, a, exec_args_length(a, 0));
    if (err) {
        exec_args_free(&b);
        return err;
    }
    b.argc = a->argc + (argument ? 2 : 1);
    b.envc = a->envc;
    exec_args_free(a);
    *a = b;
    return 0;
}
