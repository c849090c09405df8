/*
 * Instructions that no AST routine may come between: those that hold a lock which the routine may
 * want, or change something that it may look at.
 *
 * A thread that is between mega$hold_asts and mega$release_asts is interrupted by no AST; one that
 * comes is delivered at the release. These count in the thread's own word, so they nest, cost a few
 * instructions, leave $SETAST to the program, and say nothing of other threads, which take no ASTs.
 * In between no routine of the program is called, and nothing is waited for but a lock that is held
 * in the same way: its holder needs nothing of who waits for it.
 *
 * An AST cannot be forgotten: the kernel sets `pending` when it finds one and `depth` is not 0, in
 * the thread itself, and the release looks at `pending` after it has set `depth` to 0.
 */
#ifndef HOLD_H
#define HOLD_H

#include <pthread.h>

#ifdef __alpha__

/* What the kernel knows by MEGA_SYS_AST_RETURN: two longwords. */
struct mega_ast_hold {
    _Alignas(8) unsigned int depth;
    unsigned int pending;
};
extern _Thread_local struct mega_ast_hold mega$hold;

/* ASTs that were put off are delivered. */
void mega$take_asts(void);
/* An unwind has left sections: so many of those that the thread was in go on. */
void mega$leave_holds(unsigned depth);

static inline void mega$hold_asts(void)
{
    mega$hold.depth++;
    __asm__ volatile("" ::: "memory"); /* for the kernel, which looks from the same thread */
}

static inline void mega$release_asts(void)
{
    __asm__ volatile("" ::: "memory");
    /* 0: a handler of POSIX that interrupted the section has unwound what it had called. */
    if (__builtin_expect(mega$hold.depth != 0, 1))
        mega$hold.depth--;
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(mega$hold.pending, 0) && !mega$hold.depth)
        mega$take_asts();
}

#else /* on the host, for tests: there are no ASTs */

static inline void mega$hold_asts(void) {}
static inline void mega$release_asts(void) {}

#endif

static inline void mega$lock(pthread_mutex_t *lock)
{
    mega$hold_asts();
    pthread_mutex_lock(lock);
}

static inline void mega$unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    mega$release_asts();
}

#endif
