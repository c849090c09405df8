/* FUTEX_WAKE_OP: change one word, and wake waiters of it and of another one. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/sched/thread.h"
#include "kernel/sys/posix/futex_private.h"

/* The new value of a word; -ENOSYS: there is no such operation. */
static long operate(uint32_t op, uint32_t arg, uint32_t old, uint32_t *new)
{
    switch (op) {
    case 0:
        *new = arg;
        return 0;
    case 1:
        *new = old + arg;
        return 0;
    case 2:
        *new = old | arg;
        return 0;
    case 3:
        *new = old & ~arg;
        return 0;
    case 4:
        *new = old ^ arg;
        return 0;
    default:
        return -ENOSYS;
    }
}

/* Does the old value compare? 0, 1, or -ENOSYS. */
static long compare(uint32_t how, int32_t old, int32_t arg)
{
    switch (how) {
    case 0:
        return old == arg;
    case 1:
        return old != arg;
    case 2:
        return old < arg;
    case 3:
        return old <= arg;
    case 4:
        return old > arg;
    case 5:
        return old >= arg;
    default:
        return -ENOSYS;
    }
}

/* Carry out the operation that `code` describes on the word, atomically, and compare its old value:
 * 0, 1, -ENOSYS or -EFAULT. */
static long change(vaddr_t word, uint32_t code)
{
    uint32_t op = code >> 28 & 7, old, new, seen;
    int32_t arg = (int32_t)(code << 8) >> 20, with = (int32_t)(code << 20) >> 20;
    long err;

    if (code >> 31)
        arg = (int32_t)(1u << (arg & 31));
    if (copyin_u32(&old, word) != 0)
        return -EFAULT;
    for (;;) {
        err = operate(op, (uint32_t)arg, old, &new);
        if (err)
            return err;
        if (user_compare_swap(word, old, new, &seen) != 0)
            return -EFAULT;
        if (seen == old)
            break;
        if (thread_killed())
            return -EINTR;
        old = seen;
    }
    return compare(code >> 24 & 15, (int32_t)old, with);
}

long futex_wake_op(vaddr_t a, vaddr_t b, bool shared, int32_t wake_a, int32_t wake_b, uint32_t code)
{
    struct word_name name_a, name_b;
    long r = futex_names_get(a, b, shared, &name_a, &name_b), also;

    if (r)
        return r;
    also = change(b, code);
    r = also < 0 ? also : futex_wake_named(&name_a, wake_a, FUTEX_ANY_BIT);
    if (also > 0 && r >= 0) {
        also = futex_wake_named(&name_b, wake_b, FUTEX_ANY_BIT);
        r = also < 0 ? also : r + also;
    }
    word_name_drop(&name_b);
    word_name_drop(&name_a);
    return r;
}
