/*
 * The functions that the compiler calls under -fsanitize=thread: one before each plain or volatile
 * access, and one in place of each __atomic_* builtin, which informs the detector and performs the
 * operation. Every atomic operation is performed with the strongest order, whatever the source
 * says.
 *
 * The functions of string.c are compiled without this option: they read whole quadwords, whose
 * other bytes may belong to unrelated data. Instead the linker directs their callers to the
 * wrappers at the end of this file (--wrap), which report exactly the range of a copy or fill as an
 * access by the caller.
 */
#include "kernel/races/races.h"

/* The place of an access is the return address of the hook. */
#define HERE __builtin_return_address(0)

void __tsan_init(void);
void __tsan_init(void) {}

#define ACCESS(name, nbytes, kind) \
    void name(void *p);            \
    void name(void *p) { races_access((uint64_t)p, nbytes, kind, HERE); }

#define ACCESSES(n)                                                 \
    ACCESS(__tsan_read##n, n, 0)                                    \
    ACCESS(__tsan_write##n, n, RACES_WRITE)                         \
    ACCESS(__tsan_volatile_read##n, n, RACES_ATOMIC)                \
    ACCESS(__tsan_volatile_write##n, n, RACES_ATOMIC | RACES_WRITE) \
    ACCESS(__tsan_unaligned_read##n, n, 0)                          \
    ACCESS(__tsan_unaligned_write##n, n, RACES_WRITE)               \
    ACCESS(__tsan_unaligned_volatile_read##n, n, RACES_ATOMIC)      \
    ACCESS(__tsan_unaligned_volatile_write##n, n, RACES_ATOMIC | RACES_WRITE)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *p, size_t n);
void __tsan_write_range(void *p, size_t n);

void __tsan_read_range(void *p, size_t n) { races_access((uint64_t)p, n, 0, HERE); }
void __tsan_write_range(void *p, size_t n) { races_access((uint64_t)p, n, RACES_WRITE, HERE); }

#define MARK(p, kind) races_access((uint64_t)(p), sizeof(*(p)), RACES_ATOMIC | (kind), HERE)

#define MODIFY(type, bits, what)                                   \
    type __tsan_atomic##bits##_##what(type *p, type v, int order); \
    type __tsan_atomic##bits##_##what(type *p, type v, int order)  \
    {                                                              \
        (void)order;                                               \
        MARK(p, RACES_WRITE);                                      \
        return __atomic_##what(p, v, __ATOMIC_SEQ_CST);            \
    }

#define COMPARE(type, bits, how)                                                                  \
    bool __tsan_atomic##bits##_compare_exchange_##how(type *p, type *old, type v, int success,    \
                                                      int failure);                               \
    bool __tsan_atomic##bits##_compare_exchange_##how(type *p, type *old, type v, int success,    \
                                                      int failure)                                \
    {                                                                                             \
        (void)success;                                                                            \
        (void)failure;                                                                            \
        MARK(p, RACES_WRITE);                                                                     \
        return __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }

#define ATOMICS(type, bits)                                          \
    type __tsan_atomic##bits##_load(const type *p, int order);       \
    type __tsan_atomic##bits##_load(const type *p, int order)        \
    {                                                                \
        (void)order;                                                 \
        MARK(p, 0);                                                  \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                 \
    }                                                                \
    void __tsan_atomic##bits##_store(type *p, type v, int order);    \
    void __tsan_atomic##bits##_store(type *p, type v, int order)     \
    {                                                                \
        (void)order;                                                 \
        MARK(p, RACES_WRITE);                                        \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                    \
    }                                                                \
    type __tsan_atomic##bits##_exchange(type *p, type v, int order); \
    type __tsan_atomic##bits##_exchange(type *p, type v, int order)  \
    {                                                                \
        (void)order;                                                 \
        MARK(p, RACES_WRITE);                                        \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);          \
    }                                                                \
    MODIFY(type, bits, fetch_add)                                    \
    MODIFY(type, bits, fetch_sub)                                    \
    MODIFY(type, bits, fetch_and)                                    \
    MODIFY(type, bits, fetch_or)                                     \
    MODIFY(type, bits, fetch_xor)                                    \
    COMPARE(type, bits, strong)                                      \
    COMPARE(type, bits, weak)

ATOMICS(uint8_t, 8)
ATOMICS(uint16_t, 16)
ATOMICS(uint32_t, 32)
ATOMICS(uint64_t, 64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* ---- copies and fills ---- */

static void copies(void *to, const void *from, size_t n, const void *pc)
{
    if (n == 0)
        return;
    races_access((uint64_t)from, n, 0, pc);
    races_access((uint64_t)to, n, RACES_WRITE, pc);
}

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int c, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
int __real_memcmp(const void *a, const void *b, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
void __real_mem_zero_page(void *page);
void __wrap_mem_zero_page(void *page);
void __real_mem_copy_page(void *to, const void *from);
void __wrap_mem_copy_page(void *to, const void *from);

void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    copies(to, from, n, HERE);
    return __real_memcpy(to, from, n);
}

void *__wrap_memmove(void *to, const void *from, size_t n)
{
    copies(to, from, n, HERE);
    return __real_memmove(to, from, n);
}

void *__wrap_memset(void *to, int c, size_t n)
{
    if (n)
        races_access((uint64_t)to, n, RACES_WRITE, HERE);
    return __real_memset(to, c, n);
}

int __wrap_memcmp(const void *a, const void *b, size_t n)
{
    if (n) {
        races_access((uint64_t)a, n, 0, HERE);
        races_access((uint64_t)b, n, 0, HERE);
    }
    return __real_memcmp(a, b, n);
}

void __wrap_mem_zero_page(void *page)
{
    races_access((uint64_t)page, PAGE_SIZE, RACES_WRITE, HERE);
    __real_mem_zero_page(page);
}

void __wrap_mem_copy_page(void *to, const void *from)
{
    copies(to, from, PAGE_SIZE, HERE);
    __real_mem_copy_page(to, from);
}
