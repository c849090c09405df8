/*
 * exec: replacing the program of a process.
 *
 * execve builds everything that the new program needs before it changes the process: it copies the
 * arguments into kernel pages (exec_args.c), checks the files, and creates and maps the new address
 * space (exec_image.c).
 * Then the thread switches to the new address space and writes the stack, and the zeroes after the
 * file's bytes in each segment, with ordinary user accesses; on an error it switches back. From
 * there on nothing can fail: descriptors and signals are reset, the old address space is released,
 * and the trap frame is set to the program's entry.
 *
 * When all is ready, the other threads of the process are ended (threads.c); should anything fail
 * after that, the process is killed. The caller then is the only thread, so the process table lock
 * is taken only to change what other processes read (address space, name), and no lock is held
 * while memory is allocated or copied.
 */
#include "kernel/proc/exec.h"
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/random.h"
#include "kernel/proc/aio.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/channels.h"
#include "kernel/proc/fast.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/posix_timer.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/program_path.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/group.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool.h"
#include "mm/pt/pt_system.h"

#define STACK_TOP LAYOUT_P1_TOP
#define AUX_MAX   22
#define PS_USER   8
#define PLATFORM  "ev67" /* the directory of libraries for this processor */

enum {
    AT_NULL,
    AT_PHDR = 3,
    AT_PHENT,
    AT_PHNUM,
    AT_PAGESZ,
    AT_BASE,
    AT_FLAGS,
    AT_ENTRY,
    AT_UID = 11,
    AT_EUID,
    AT_GID,
    AT_EGID,
    AT_PLATFORM,
    AT_HWCAP,
    AT_CLKTCK,
    AT_SECURE = 23,
    AT_RANDOM = 25,
    AT_EXECFN = 31
};

/* What AMASK clears on an EV67: BWX, FIX, CIX, MVI, precise traps, prefetch. */
#define HWCAP  0x1307
#define CLKTCK 1024 /* ticks per second of times(), as on Linux/Alpha */

/* ---- user accesses in the new address space ---- */

struct stack_writer {
    vaddr_t at;
    uint64_t word[32]; /* buffered, so that one copyout moves many */
    unsigned n;
    int err;
};

static void stack_flush(struct stack_writer *w)
{
    if (!w->err && w->n)
        w->err = copyout(w->at, w->word, w->n * sizeof(w->word[0]));
    w->at += w->n * sizeof(w->word[0]);
    w->n = 0;
}

static void stack_word(struct stack_writer *w, uint64_t v)
{
    w->word[w->n++] = v;
    if (w->n == ARRAY_SIZE(w->word))
        stack_flush(w);
}

/* Write pointers to `count` strings, the first of them at offset *at of the arguments, and a null
 * pointer. */
static void stack_pointers(struct stack_writer *w, const struct exec_args *a, unsigned count,
                           size_t *at, vaddr_t strings)
{
    for (; count && !w->err; count--) {
        if (thread_killed())
            w->err = -EINTR;
        stack_word(w, strings + *at);
        *at += exec_args_length(a, *at);
    }
    stack_word(w, 0);
}

/*
 * Write the initial stack, from the highest address down:
 *
 *   strings    those of argv, of envp, and the path; contiguous
 *   platform   8 bytes for AT_PLATFORM
 *   random     16 random bytes for AT_RANDOM, and 8 unused
 *   vectors    16-byte aligned: argc, argv, envp, the auxiliary vector
 *
 * Returns 0 with the stack pointer in *sp, -E2BIG, or -EFAULT.
 */
static __attribute__((noinline)) int write_stack(struct exec_args *a, const struct exec_image *x,
                                                 vaddr_t *sp)
{
    const struct process *p = process_self();
    const struct elf_image *image = &x->program.image;
    vaddr_t strings = (STACK_TOP - 16 - a->bytes) & ~UINT64_C(15);
    vaddr_t platform = strings - 8, random = platform - 24;
    uint64_t words = 1 + a->argc + 1 + a->envc + 1 + 2 * AUX_MAX;
    struct stack_writer w;
    struct {
        uint64_t random[3];
        char platform[8];
    } below = {{0, 0, 0}, PLATFORM};
    const uint64_t aux[][2] = {
        {AT_PHDR, image->phdr},
        {AT_PHENT, sizeof(struct elf_phdr)},
        {AT_PHNUM, image->phnum},
        {AT_PAGESZ, PAGE_SIZE},
        {AT_BASE, x->interp.image.bias},
        {AT_FLAGS, 0},
        {AT_ENTRY, image->entry},
        {AT_UID, process_uid(p)},
        {AT_EUID, process_euid(p)},
        {AT_GID, process_gid(p)},
        {AT_EGID, process_egid(p)},
        {AT_PLATFORM, platform},
        {AT_HWCAP, HWCAP},
        {AT_CLKTCK, CLKTCK},
        {AT_SECURE, 0},
        {AT_RANDOM, random},
        {AT_EXECFN, strings + a->path_at},
        {AT_NULL, 0},
    };
    size_t at = 0;

    random_words(below.random, 2);
    _Static_assert(ARRAY_SIZE(aux) <= AUX_MAX, "room for the auxiliary vector");
    _Static_assert(sizeof(below) == 32, "as the comment above says");
    if (a->bytes + 8 * words + PAGE_SIZE > x->stack_bytes * 3 / 4)
        return -E2BIG;
    *sp = w.at = (random - 8 * words) & ~UINT64_C(15);
    w.n = 0;
    w.err = 0;
    for (size_t done = 0; done < a->bytes && !w.err; done += PAGE_SIZE)
        w.err = copyout(strings + done, a->page[done >> PAGE_SHIFT],
                        MIN(a->bytes - done, PAGE_SIZE));
    if (!w.err)
        w.err = copyout(random, &below, sizeof(below));
    stack_word(&w, a->argc);
    stack_pointers(&w, a, a->argc, &at, strings);
    a->strings = strings;
    a->env_at = at;
    stack_pointers(&w, a, a->envc, &at, strings);
    stack_flush(&w);
    return w.err ? w.err : copyout(w.at, aux, sizeof(aux));
}

/* Switch the thread to the root of the new address space as well: the caller is the only thread. */
struct aspace *process_change_space(struct process *p, struct aspace *as)
{
    struct aspace *old = p->aspace;
    ipl_t ipl = spin_lock(&process_lock);

    p->aspace = as;
    spin_unlock(&process_lock, ipl);
    thread_set_root(thread_self(), as ? as->pt.root.n : system_root_pfn,
                    as ? &as->pt.loaded : NULL);
    return old;
}

static void start_frame(const struct exec_image *x, vaddr_t sp)
{
    struct trapframe *f = user_frame_of(current_hw);

    memset(f, 0, sizeof(*f));
    f->orig_v0 = ~UINT64_C(0);
    f->ps = PS_USER;
    f->pc = x->interp.inode ? x->interp.image.entry : x->program.image.entry;
    f->t12 = f->pc;
    f->usp = sp;
}

/* Set what other processes see of the program, and forget what belonged to the previous one.
 * Returns its path. */
static struct program_path *set_program(struct process *p, const char *path, struct exec_image *x,
                                        const struct exec_args *a)
{
    const char *base = strrchr(path, '/');
    struct program_path *old;
    ipl_t ipl = spin_lock(&process_lock);

    _Static_assert(sizeof(p->name) == sizeof(thread_self()->name), "one is copied to the other");
    if (likely(!p->kin.named))
        str_copy(p->name, base ? base + 1 : path, sizeof(p->name));
    __atomic_store_n(&p->kin.final_status, 0, __ATOMIC_RELAXED);
    old = p->program;
    p->program = x->path;
    x->path = NULL;
    p->arg_start = a->strings;
    p->arg_end = a->strings + a->env_at;
    p->env_end = a->strings + a->path_at;
    p->exit_routine = 0;
    creds_exec_locked(p);
    spin_unlock(&process_lock, ipl);
    memcpy(thread_self()->name, p->name, sizeof(p->name));
    return old;
}

/* Replace the program, whose image is open. As exec_program. */
static int replace_program(const char *path, struct exec_args *a, struct exec_image *x)
{
    struct process *p = process_self();
    struct file_table *files = p->files;
    struct exec_wait *wait = uthread_self()->exec_wait;
    struct program_path *path_before;
    struct aspace *as, *old;
    bool ended = false, undumpable;
    vaddr_t sp = 0;
    int err;

    x->stack_bytes = rlimit_stack_bytes();
    as = exec_image_map(x, STACK_TOP, &err);
    wait->space = as;
    if (as && !process_alone(p)) {
        err = threads_end_others();
        ended = !err;
    }
    if (as && !err && fdtable_shared(files)) { /* the others keep what this program closes */
        files = fdtable_fork(files);
        err = files ? 0 : -ENOMEM;
    }
    if (err)
        goto undo;
    process_tell_end(p);
    __atomic_store_n(&p->personal.barriers, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&uthread_self()->pi_owned, NULL, __ATOMIC_RELAXED); /* it goes on */
    thread_lend_nice(thread_self(), NICE_WORST); /* and what waiters lent it is over */
    /* Until its owner and its readability are known, nobody else may look into the new space. */
    undumpable = __atomic_exchange_n(&p->personal.undumpable, true, __ATOMIC_RELAXED);
    old = process_change_space(p, as);
    wait->space = old;
    err = write_stack(a, x, &sp);
    if (!err)
        err = exec_image_clear_tails(x);
    if (err) {
        process_change_space(p, old);
        wait->space = as;
        __atomic_store_n(&p->personal.undumpable, undumpable, __ATOMIC_RELAXED);
        err = err == -EFAULT ? -ENOMEM : err;
        goto undo;
    }
    /* Nothing below can fail. */
    failure_stop();
    if (unlikely(files != p->files))
        fdtable_release(process_change_files(p, files));
    posix_timers_end(p);
    process_channels_end(p);
    process_aio_end(p);
    path_before = set_program(p, path, x, a);
    process_events_exec(p); /* without an exit routine: kernel/sys/vms/process.c */
    process_fast_end(p);
    fdtable_exec(files);
    sighand_exec(p->sig);
    __atomic_store_n(&p->personal.undumpable, x->unreadable, __ATOMIC_RELAXED);
    p->brk_start = p->brk = x->brk; /* settings_mutex is not needed: there is one thread */
    uthread_self()->ieee_control = 0;
    uthread_self()->clear_tid = uthread_self()->robust_list = 0;
    program_path_unref(path_before);
    fp_reset();
    pal_wrunique(0);
    start_frame(x, sp);
    process_vfork_release(p);
    wait->space = NULL;
    if (old) {
        accounting_leave_space(p, old);
        aspace_unref(old);
    }
    return 0;
undo:
    if (ended) /* the process cannot go on without its other threads */
        signal_force(SIGKILL, SI_KERNEL, 0);
    wait->space = NULL;
    if (as)
        aspace_unref(as);
    if (files && files != p->files)
        fdtable_release(files);
    return err;
}

int exec_program(const char *path, struct exec_args *a)
{
    struct exec_image *x = npp_alloc(sizeof(*x));
    int err;

    if (!x)
        return -ENOMEM;
    uthread_self()->exec_wait = &(struct exec_wait){.args = a};
    exec_image_init(x);
    err = exec_image_open(x, path, a);
    a->path_at = a->bytes;
    if (!err)
        err = exec_args_add(a, path);
    if (!err)
        err = replace_program(path, a, x);
    exec_image_close(x);
    uthread_self()->exec_wait = NULL;
    npp_free(x, sizeof(*x));
    return err;
}

int process_exec(const char *path, vaddr_t argv, vaddr_t envp)
{
    uint32_t tid = uthread_self()->tid;
    struct exec_args a;
    int err;

    exec_args_init(&a);
    uthread_self()->exec_wait = &(struct exec_wait){.args = &a};
    err = exec_args_vector(&a, argv, &a.argc);
    if (!err && !a.argc) { /* programs rely on an argv[0]: an empty one, as on Linux */
        err = exec_args_add(&a, "");
        a.argc = 1;
    }
    if (!err)
        err = exec_args_vector(&a, envp, &a.envc);
    if (!err)
        err = exec_program(path, &a);
    uthread_self()->exec_wait = NULL;
    exec_args_free(&a);
    if (unlikely(ptrace_self() != NULL) && !err)
        ptrace_exec(tid);
    return err;
}
