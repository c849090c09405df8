/*
 * A large array from the lowest index to the highest, as a control for the model of a hashed page
 * table (docs/translation-buffer.md): a miss for each page, whatever the table's size.
 *
 *     array MIB PASSES
 */
#include "work.h"

#include <sys/mman.h>

int main(int argc, char **argv)
{
    uint64_t mib = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    uint64_t passes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    uint64_t n = (mib << 20) / sizeof(uint32_t), sum = 0, begin;
    uint32_t *array;

    bench_need(mib > 0 && mib <= 4096 && passes > 0);
    array = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bench_need(array != MAP_FAILED);
    for (uint64_t i = 0; i < n; i++)
        array[i] = (uint32_t)i;
    begin = work_clock();
    for (uint64_t pass = 0; pass < passes; pass++)
        for (uint64_t i = 0; i < n; i++)
            sum += array[i];
    bench_need(sum == passes * (n * (n - 1) / 2));
    work_report(begin, passes * n, sum);
    return 0;
}
