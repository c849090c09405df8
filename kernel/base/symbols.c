/* Look-up in the symbol table: the last symbol that does not lie behind the address. */
#include "kernel/base/symbols.h"

extern const char _text_start[], _text_end[];

const char *symbol_find(uint64_t address, uint64_t *offset)
{
    uint64_t low = 0, high = ksym_count;

    if (address < (uint64_t)_text_start || address >= (uint64_t)_text_end)
        return NULL;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (ksym_table[middle].addr <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;

    const struct ksym *s = &ksym_table[low - 1];

    *offset = address - s->addr;
    return ksym_names + s->name_offset;
}
