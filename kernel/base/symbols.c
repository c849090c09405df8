/* Look-up in the symbol tables: the last entry whose address is not above the given one. */
#include "kernel/base/symbols.h"

extern const char _text_start[], _text_end[];

static const struct ksym *find(const struct ksym *table, uint64_t count, uint64_t address)
{
    uint64_t low = 0, high = count;

    if (address < (uint64_t)_text_start || address >= (uint64_t)_text_end)
        return NULL;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (table[middle].addr <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &table[low - 1] : NULL;
}

const char *symbol_find(uint64_t address, uint64_t *offset)
{
    const struct ksym *s = find(ksym_table, ksym_count, address);

    if (!s)
        return NULL;
    *offset = address - s->addr;
    return ksym_names + s->name_offset;
}

const char *symbol_module(uint64_t address)
{
    const struct ksym *s = find(kmodule_table, kmodule_count, address);

    return s ? ksym_names + s->name_offset : NULL;
}
