// SOURCES: kernel/base/unwind.c
/*
 * The unwinder walks this program's own stack by the host compiler's frame information and must
 * find the functions that the C library's backtrace() finds. Then it is given damaged tables, which
 * may end a walk but have no other effect (checked by the sanitizers).
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/unwind.h"
#include "userland/lib/include/tap.h"

#define DEPTH      6
#define MAX_FRAMES 64

static struct unwind_tables own;
static struct unwind_work work;
static uint64_t stack_low, stack_high;

static int find_tables(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    uint64_t end = 0, hdr = 0, hdr_bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_GNU_EH_FRAME) {
            hdr = info->dlpi_addr + p->p_vaddr;
            hdr_bytes = p->p_memsz;
        }
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && hdr >= start && hdr < start + p->p_memsz)
            end = start + p->p_memsz;
    }
    own.hdr = (const uint8_t *)hdr;
    own.hdr_bytes = hdr_bytes;
    int32_t relative; /* encoded as sdata4, pc-relative, at byte 4 */
    memcpy(&relative, own.hdr + 4, 4);
    own.frame = own.hdr + 4 + relative;
    own.frame_bytes = end - (uint64_t)own.frame;
    return 1; /* stop: the program itself comes first */
}

static bool read_stack(void *arg, uint64_t address, uint64_t *value)
{
    (void)arg;
    if (address < stack_low || address > stack_high - 8) /* damaged: any address, to the highest */
        return false;
    memcpy(value, (const void *)address, 8);
    return true;
}

static void *libc_frames[MAX_FRAMES];
static uint64_t our_frames[MAX_FRAMES];
static int libc_count, our_count;

static __attribute__((noinline, no_sanitize("address"))) void walk(void)
{
    struct unwind_frame f = {.sp_column = 7};
    __asm__ volatile("lea (%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2\n\tmov %%rbx, %3\n\t"
                     "mov %%r12, %4\n\tmov %%r13, %5\n\tmov %%r14, %6\n\tmov %%r15, %7"
                     : "=&r"(f.pc), "=m"(f.reg[7]), "=m"(f.reg[6]), "=m"(f.reg[3]), "=m"(f.reg[12]),
                       "=m"(f.reg[13]), "=m"(f.reg[14]), "=m"(f.reg[15]));
    f.exact_pc = true;
    while (our_count < MAX_FRAMES && unwind_step(&own, &work, &f, read_stack, NULL))
        our_frames[our_count++] = f.pc;
}

static __attribute__((noinline)) int deep(int n)
{
    volatile char pad[64];
    memset((void *)pad, n, sizeof pad);
    if (n == 0) {
        libc_count = backtrace(libc_frames, MAX_FRAMES);
        walk();
    } else {
        deep(n - 1);
    }
    return pad[n % 64];
}

static void broken_tables(unsigned seed)
{
    size_t hdr_bytes = own.hdr_bytes, frame_bytes = own.frame_bytes;
    uint8_t *copy = malloc(hdr_bytes + 64 + frame_bytes);
    srand(seed);
    for (int round = 0; round < 20000; round++) {
        struct unwind_tables t = {copy, hdr_bytes, copy + hdr_bytes + 64, frame_bytes};
        memcpy(copy, own.hdr, hdr_bytes);
        memcpy(copy + hdr_bytes + 64, own.frame, frame_bytes);
        uint64_t shift = (uint64_t)t.frame - (uint64_t)t.hdr -
                         ((uint64_t)own.frame - (uint64_t)own.hdr);
        for (size_t at = 12; at + 8 <= hdr_bytes; at += 8) { /* relocate the FDE pointers */
            int32_t v;
            memcpy(&v, copy + at + 4, 4);
            v += (int32_t)shift;
            memcpy(copy + at + 4, &v, 4);
        }
        for (int i = rand() % 40; i >= 0; i--)
            copy[(size_t)rand() % (hdr_bytes + 64 + frame_bytes)] = (uint8_t)rand();
        if (rand() % 4 == 0)
            t.frame_bytes = (size_t)rand() % frame_bytes;
        int32_t pc;
        size_t which = (size_t)rand() % ((hdr_bytes - 12) / 8);
        memcpy(&pc, own.hdr + 12 + 8 * which, 4);
        struct unwind_frame f = {.sp_column = 7, .exact_pc = true};
        f.pc = (uint64_t)(t.hdr + pc) + (uint64_t)(rand() % 64);
        f.reg[7] = f.reg[6] = stack_high - 4096;
        for (int i = 0; i < 100 && unwind_step(&t, &work, &f, read_stack, NULL); i++)
            ;
    }
    free(copy);
}

int main(int argc, char **argv)
{
    (void)argc;
    uint64_t here = (uint64_t)argv;
    stack_high = here & ~7UL;
    stack_low = (uint64_t)__builtin_frame_address(0) - 64 * 1024;
    dl_iterate_phdr(find_tables, NULL);
    deep(DEPTH);

    ok(our_count >= DEPTH + 2, "walks %d frames, at least %d", our_count, DEPTH + 2);
    int skip = 0; /* a sanitizer's wrapper of backtrace() adds a frame */
    while (skip < libc_count && (uint64_t)libc_frames[skip] != our_frames[1])
        skip++;
    int equal = 0;
    for (int i = 1; i < DEPTH + 2 && i < our_count && skip + i - 1 < libc_count; i++)
        equal += our_frames[i] == (uint64_t)libc_frames[skip + i - 1];
    ok(equal == DEPTH + 1, "finds the same return addresses as the C library (%d)", equal);

    struct unwind_frame nowhere = {.sp_column = 7, .exact_pc = true, .pc = 0x1234};
    ok(!unwind_step(&own, &work, &nowhere, read_stack, NULL),
       "a PC without description ends the walk");
    struct unwind_tables none = {own.hdr, 3, own.frame, 0};
    ok(!unwind_step(&none, &work, &nowhere, read_stack, NULL), "an empty table ends the walk");
    broken_tables(1);
    ok(1, "20,000 damaged tables end the walk and have no other effect");
    return tap_done();
}
