/*
 * Which numbers are in use: a count of uses for each number, a bitmap of the numbers with a count
 * above 0, and one bit for each word of the bitmap that is full.
 *
 * A search by counts or by processes would grow with what users start: a user can keep thousands of
 * numbers in use by groups and sessions whose first processes have ended, all of them one after the
 * other. Here a search looks at the rest of one word of the bitmap, then at no more than
 * FULL_WORDS + 1 words of the summary, and at one word of the bitmap: some 200 instructions.
 *
 * Protected by the process table lock. Nothing is allocated, so nothing can fail.
 */
#include "kernel/proc/numbers.h"

#include "kernel/base/bitops.h"
#include "kernel/base/panic.h"

#define WORD_BITS    64u
#define WORDS        (NUMBERS_MOST / WORD_BITS)
#define FULL_WORDS   (WORDS / WORD_BITS)
#define NUMBERS_STEP 32u /* words that number_next looks at */

uint32_t numbers_end;
static uint32_t *uses; /* numbers_end of them */
static uint64_t used[WORDS] = {
    3};                           /* bit n % 64 of word n / 64; 0 and 1 are never allocated again */
static uint64_t full[FULL_WORDS]; /* bit n % 64 of word n / 64: used[n] has no clear bit */
static uint32_t last;             /* allocated last */

void numbers_boot(uint32_t *counts, uint32_t n)
{
    uses = counts;
    numbers_end = n;
}

/* The first word of `used` with a clear bit, from word `from` on, around the end. */
static uint32_t word_with_room(uint32_t from)
{
    uint64_t room = ~full[from / WORD_BITS] & (~0UL << from % WORD_BITS);

    uint32_t words = numbers_end / WORD_BITS / WORD_BITS; /* of `full` that are in use */

    for (uint32_t i = from / WORD_BITS, n = 0; n <= words; n++) {
        if (room)
            return i * WORD_BITS + bit_lowest(room);
        i = (i + 1) % words;
        room = ~full[i];
    }
    panic("each of %u process numbers is in use", numbers_end);
}

uint32_t number_allocate(void)
{
    uint32_t word = last / WORD_BITS, n;
    uint64_t room = ~used[word] & (~1UL << last % WORD_BITS); /* above the last one */

    if (last == 0) {
        n = 1; /* the first process */
    } else {
        if (!room) {
            word = word_with_room((word + 1) % (numbers_end / WORD_BITS));
            room = ~used[word];
        }
        n = word * WORD_BITS + bit_lowest(room);
    }
    used[word] |= 1UL << n % WORD_BITS;
    if (used[word] == ~0UL)
        full[word / WORD_BITS] |= 1UL << word % WORD_BITS;
    uses[n] = 1;
    last = n;
    return n;
}

uint32_t number_next(uint32_t n)
{
    uint32_t word = n / WORD_BITS, end = MIN(word + NUMBERS_STEP, numbers_end / WORD_BITS);
    uint64_t rest;

    if (n >= numbers_end)
        return numbers_end;
    for (rest = used[word] & (~0UL << n % WORD_BITS); !rest; rest = used[word])
        if (++word == end)
            return word * WORD_BITS;
    return word * WORD_BITS + bit_lowest(rest);
}

void number_use(uint32_t n)
{
    KASSERT(n < numbers_end && uses[n], "a number that gets another use is in use");
    uses[n]++;
}

void number_release(uint32_t n)
{
    KASSERT(n < numbers_end && uses[n], "a number that is released is in use");
    if (--uses[n] || n <= 1)
        return;
    used[n / WORD_BITS] &= ~(1UL << n % WORD_BITS);
    full[n / WORD_BITS / WORD_BITS] &= ~(1UL << n / WORD_BITS % WORD_BITS);
}
