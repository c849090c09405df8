/*
 * A sort with poor locality, for the model of a hashed page table (docs/translation-buffer.md): how
 * often the six numbers of each combination were drawn alone and together in past draws, and all
 * combinations from the best to the worst.
 *
 *     combinations NUMBERS
 *
 * Every combination of six out of NUMBERS is a record, and an array of pointers to them is sorted,
 * which compares records far from each other. Prints how many there are, and the factor of the
 * first and the last:
 *     {"numbers": 32, "records": 906192, "bytes": 65245824, "best": 2603, "worst": 2167, ...}
 * with the clock before and after, the peak virtual size and the page faults, as in work.h.
 */
#include "work.h"

#include <sys/mman.h>

#define PICKED      6
#define NUMBERS_MAX 49
#define DRAWS       1500

struct combination {
    uint8_t number[PICKED];
    uint16_t pad;
    uint32_t factor;
    uint32_t pair[11]; /* the counts of its 15 pairs, the last four added to the first */
    uint64_t order;    /* which one it is, so that equal factors have an order */
};

static unsigned alone[NUMBERS_MAX], together[NUMBERS_MAX][NUMBERS_MAX];

/* Past draws: a fixed sequence, for lack of a lottery. */
static void draw(unsigned numbers)
{
    uint64_t seed = 1;

    for (unsigned d = 0; d < DRAWS; d++) {
        unsigned got[PICKED], n = 0;

        while (n < PICKED) {
            unsigned next, same = 0;

            seed = seed * 6364136223846793005ul + 1442695040888963407ul;
            next = (unsigned)((seed >> 33) % numbers);
            for (unsigned i = 0; i < n; i++)
                same += got[i] == next;
            if (!same)
                got[n++] = next;
        }
        for (unsigned i = 0; i < PICKED; i++) {
            alone[got[i]]++;
            for (unsigned j = 0; j < PICKED; j++)
                together[got[i]][got[j]]++;
        }
    }
}

static void rate(struct combination *c, const unsigned *number, uint64_t order)
{
    unsigned pairs = 0;

    for (unsigned i = 0; i < PICKED; i++) {
        c->number[i] = (uint8_t)number[i];
        c->factor += alone[number[i]];
        for (unsigned j = 0; j < i; j++) {
            c->factor += together[number[i]][number[j]];
            c->pair[pairs++ % 11] += together[number[i]][number[j]];
        }
    }
    c->order = order;
}

static int better(const void *a, const void *b)
{
    const struct combination *x = *(const struct combination *const *)a;
    const struct combination *y = *(const struct combination *const *)b;

    if (x->factor != y->factor)
        return x->factor < y->factor ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* The next combination in order. Returns 0 after the last. */
static int advance(unsigned *number, unsigned numbers)
{
    int i = PICKED - 1;

    while (i >= 0 && number[i] == numbers - PICKED + (unsigned)i)
        i--;
    if (i < 0)
        return 0;
    number[i]++;
    for (i++; i < PICKED; i++)
        number[i] = number[i - 1] + 1;
    return 1;
}

int main(int argc, char **argv)
{
    unsigned numbers = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    unsigned number[PICKED] = {0, 1, 2, 3, 4, 5};
    uint64_t n = 1, bytes, at = 0, begin, end;
    struct combination *all, **order;

    bench_need(numbers >= PICKED && numbers <= NUMBERS_MAX);
    for (unsigned i = 1; i <= PICKED; i++)
        n = n * (numbers - PICKED + i) / i;
    bytes = n * (sizeof(*all) + sizeof(*order));
    all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bench_need(all != MAP_FAILED);
    order = (struct combination **)(all + n);
    begin = work_clock();
    draw(numbers);
    do {
        rate(&all[at], number, at);
        order[at] = &all[at];
        at++;
    } while (advance(number, numbers));
    bench_need(at == n);
    qsort(order, n, sizeof(*order), better);
    for (uint64_t i = 1; i < n; i++)
        bench_need(order[i - 1]->factor >= order[i]->factor);
    end = work_clock();
    printf("{\"numbers\": %u, \"records\": %lu, \"bytes\": %lu, \"best\": %u, \"worst\": %u, "
           "\"begin\": %lu, \"end\": %lu, \"step\": %lu, \"peak\": %lu, \"faults\": %u}\n",
           numbers, (unsigned long)n, (unsigned long)bytes, order[0]->factor, order[n - 1]->factor,
           (unsigned long)begin, (unsigned long)end, (unsigned long)work_step,
           (unsigned long)work_peak(), work_faults());
    return 0;
}
