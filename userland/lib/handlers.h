/*
 * Established handlers and the frames they belong to, for the library's files. A frame is known by
 * its canonical frame address (CFA): the stack pointer that its procedure had when it was called.
 */
#ifndef HANDLERS_H
#define HANDLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNAL_ARGUMENTS_MAX 32

/* A handler that a procedure that is running has established. */
struct established {
    uintptr_t cfa;
    int depth; /* frames above that of the signal */
    int (*handler)();
};

/* A condition that is being signalled in this thread. */
struct signalled {
    uintptr_t cfa;              /* of the frame of the signal */
    uintptr_t dispatcher;       /* CFA of the frame that calls the handlers */
    struct established current; /* whose handler is running */
    size_t count;               /* arguments, with PC and PS */
    int64_t quadwords[SIGNAL_ARGUMENTS_MAX + 2];
    int32_t longwords[SIGNAL_ARGUMENTS_MAX + 3]; /* the count first: the handlers' signal array */
    unsigned held;                               /* sections that it interrupts (hold.h) */
    bool unwind;                                 /* sys$unwind was called */
    int unwind_depth;
    void *unwind_pc;
};

/* The next signal of the thread, to be filled in, or NULL if there are too many in one another. */
struct signalled *mega$new_signal(void);
/* Number n of the signals whose handlers are running, 0 the innermost, or NULL. It may be one whose
 * handler was left by longjmp(). */
const struct signalled *mega$signal_number(int n);
/* Calls the handlers of the newest signal, whose arguments and CFA are filled in. Returns whether
 * one of them continues; does not return if one unwinds, and the signal is over then. */
bool mega$dispatch(struct signalled *s);
/* Ends a signal, and those of its handlers. */
void mega$forget_signal(const struct signalled *s);
/* The sections that the innermost signal interrupts, which go on when its handler has returned. */
unsigned mega$interrupted_holds(void);
/* Prints the message of a signal that no handler wanted. */
void mega$report(const struct signalled *s);
/* Ends the program with a condition value, whose message is printed at last if it is a warning or
 * an error without STS$M_INHIB_MSG. */
void mega$end(unsigned status) __attribute__((noreturn));
/* Is exit() called by that? The next call is by somebody else. */
int mega$is_ending(void);

/* The arguments of the signal whose signal array this is, as quadwords, and their number with PC
 * and PS; NULL if the array is none of the thread's. */
const int64_t *mega$signal_quadwords(const void *longwords, size_t *count);

/* The innermost handler of a running procedure whose CFA is above after, and that is not hidden by
 * a signal whose handler is running; from is the CFA of the frame of the signal. */
bool mega$next_established(uintptr_t from, uintptr_t after, struct established *found);
/* Forgets the handlers of the frames below the one with this CFA. */
void mega$forget_below(uintptr_t cfa);

/* Finds the frame that lies so many above that of the CFA. Returns its CFA, or 0. */
uintptr_t mega$frame_above(uintptr_t from, int depth);
/* Continues in that frame, which there is, as if its call had returned the value; at pc unless that
 * is NULL. */
void mega$unwind_to(uintptr_t from, int depth, int64_t value, void *pc) __attribute__((noreturn));

/* Turns faults of the program into conditions from now on. */
void mega$catch_faults(void);

#endif
