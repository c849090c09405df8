/*
 * Backtraces. The unwinder finds the frames. Memory is read only within the kernel image, where the
 * boot and emergency stacks lie, and in the current thread's stack, so that a wrong stack pointer
 * ends the list instead of faulting. Successive frames of one function are counted, not printed.
 */
#include "kernel/base/backtrace.h"

#include "arch/alpha/hw/capture.h"
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/format.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/base/symbols.h"
#include "kernel/base/unwind.h"

#define REG_RA          26
#define REG_SP          30
#define REGISTER_SETS   2  /* interrupted contexts whose registers are shown */
#define BACKTRACE_LINES 40 /* a screen */

extern const char _kernel_start[], _end[], _text_start[], _text_end[];
extern const uint8_t _eh_frame_start[], _eh_frame_end[], _eh_frame_hdr_start[], _eh_frame_hdr_end[];

/* Working storage. In a panic one CPU prints at a time. */
static struct backtrace_room unwinding;

static bool read_stack(void *arg, uint64_t address, uint64_t *v)
{
    const struct thread_hw *t = current_hw;
    bool in_image = address >= (uint64_t)_kernel_start && address < (uint64_t)_end;
    bool on_stack = address >= t->kstack_base && address < t->kstack_top;

    (void)arg;
    if ((address & 7) || !(in_image || on_stack))
        return false;
    *v = *(const uint64_t *)address;
    return true;
}

/* Go to the caller of the frame. Returns false at the end of the stack. */
static bool step_in(struct backtrace_room *room)
{
    const struct unwind_tables tables = {
        .hdr = _eh_frame_hdr_start,
        .hdr_bytes = (size_t)(_eh_frame_hdr_end - _eh_frame_hdr_start),
        .frame = _eh_frame_start,
        .frame_bytes = (size_t)(_eh_frame_end - _eh_frame_start),
    };

    return unwind_step(&tables, &room->work, &room->frame, read_stack, NULL);
}

static bool step(void) { return step_in(&unwinding); }

static void print_registers(const uint64_t *reg)
{
    static const char names[32][3] = {"v0", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
                                      "t7", "s0", "s1", "s2", "s3", "s4", "s5", "fp",
                                      "a0", "a1", "a2", "a3", "a4", "a5", "t8", "t9",
                                      "tA", "tB", "ra", "pv", "at", "gp", "sp", ""};

    for (unsigned i = 0; i < 31; i++)
        printk("%s%s %016lx%s", i % 4 == 0 ? "    " : "  ", names[i], reg[i],
               i % 4 == 3 || i == 30 ? "\n" : "");
}

static bool in_text(uint64_t pc) { return pc >= (uint64_t)_text_start && pc < (uint64_t)_text_end; }

static void print_repeats(unsigned repeats)
{
    if (repeats)
        printk("        ... and %u more of the same\n", repeats);
}

/* The PC is no kernel code: if it was reached by a call, continue at the return address in ra. */
static bool back_from_nowhere(struct unwind_frame *f)
{
    bool user = f->pc >= LAYOUT_P0_FIRST && f->pc < LAYOUT_USER_TOP;

    if (user || !in_text(f->reg[REG_RA]))
        return false;
    printk("    %016lx called from\n", f->pc);
    f->pc = f->reg[REG_RA];
    f->exact_pc = false;
    return true;
}

static void print_frames(void)
{
    struct unwind_frame *f = &unwinding.frame;
    uint64_t last = 0, offset;
    unsigned lines = 0, repeats = 0, sets = 0;

    for (;;) {
        /* A call may be the last instruction of its function: look up the call, not its return. */
        uint64_t lookup = f->pc - (f->exact_pc ? 0 : 1);
        uint64_t function = symbol_find(lookup, &offset) ? lookup - offset : lookup;

        if (function == last) {
            repeats++;
        } else {
            print_repeats(repeats);
            repeats = 0;
            last = function;
            if (lines++ == BACKTRACE_LINES) {
                printk("        ...\n");
                return;
            }
            printk("    %016lx %pS\n", f->pc, (void *)f->pc);
        }
        if (!in_text(f->pc) || !step())
            break;
        if (f->exact_pc) {
            print_repeats(repeats);
            repeats = 0;
            printk("    -- interrupted at %016lx --\n", f->pc);
            if (!in_text(f->pc) && !back_from_nowhere(f)) {
                printk("    %016lx user mode\n", f->pc);
                break;
            }
            if (sets++ < REGISTER_SETS)
                print_registers(f->reg);
            last = 0;
        }
    }
    print_repeats(repeats);
}

static uint64_t *begin_in(struct backtrace_room *room)
{
    memset(room, 0, sizeof(*room));
    room->frame.sp_column = REG_SP;
    return room->frame.reg;
}

static uint64_t *begin(void) { return begin_in(&unwinding); }

unsigned backtrace_callers(struct backtrace_room *room, uint64_t *pc, unsigned most)
{
    unsigned n = 0;

    hw_capture(begin_in(room));
    room->frame.pc = room->frame.reg[REG_RA];
    if (!step_in(room)) /* to the caller of this function */
        return 0;
    while (n < most && step_in(room) && !room->frame.exact_pc && in_text(room->frame.pc))
        pc[n++] = room->frame.pc;
    return n;
}

void backtrace_here(void)
{
    hw_capture(begin());
    unwinding.frame.pc = unwinding.frame.reg[REG_RA];
    if (step()) /* to the caller of this function */
        print_frames();
}

void backtrace_frame(const struct trapframe *f, uint64_t sp)
{
    uint64_t *reg = begin();

    memcpy(&reg[0], &f->v0, 16 * 8);
    reg[16] = f->a0;
    reg[17] = f->a1;
    reg[18] = f->a2;
    memcpy(&reg[19], &f->a3, 3 * 8);
    memcpy(&reg[22], &f->t8, 7 * 8);
    reg[29] = f->gp;
    reg[REG_SP] = sp;
    unwinding.frame.pc = f->pc;
    unwinding.frame.exact_pc = true;
    printk("  pc %016lx %pS, ps %lx\n", f->pc, (void *)f->pc, f->ps);
    print_registers(reg);
    if (!frame_from_user(f) && (in_text(f->pc) || back_from_nowhere(&unwinding.frame)))
        print_frames();
}
