/*
 * Emulation of unaligned user accesses. PALcode passes the address, the opcode and the register.
 * The access is performed by copyin or copyout, whose faults are handled as for any user copy.
 * Integer registers are in the frame, floating-point registers in the thread's hw.fp.
 */
#include "arch/alpha/entry/unaligned.h"

#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/ieee.h"
#include "kernel/sched/thread.h"

enum opcode {
    OP_LDWU = 0x0C,
    OP_STW = 0x0D,
    OP_LDS = 0x22,
    OP_LDT = 0x23,
    OP_STS = 0x26,
    OP_STT = 0x27,
    OP_LDL = 0x28,
    OP_LDQ = 0x29,
    OP_STL = 0x2C,
    OP_STQ = 0x2D,
};

static uint64_t read_register(const struct trapframe *f, unsigned reg)
{
    if (reg <= 15)
        return (&f->v0)[reg];
    if (reg <= 18)
        return (&f->a0)[reg - 16];
    if (reg <= 21)
        return (&f->a3)[reg - 19];
    if (reg <= 28)
        return (&f->t8)[reg - 22];
    if (reg == 29)
        return f->gp;
    return reg == 30 ? pal_rdusp() : 0;
}

static void write_register(struct trapframe *f, unsigned reg, uint64_t v)
{
    if (reg <= 15)
        (&f->v0)[reg] = v;
    else if (reg <= 18)
        (&f->a0)[reg - 16] = v;
    else if (reg <= 21)
        (&f->a3)[reg - 19] = v;
    else if (reg <= 28)
        (&f->t8)[reg - 22] = v;
    else if (reg == 29)
        f->gp = v;
    else if (reg == 30)
        pal_wrusp(v);
}

static int load(struct trapframe *f, vaddr_t va, unsigned opcode, unsigned reg)
{
    uint64_t v = 0;
    size_t nbytes = opcode == OP_LDWU ? 2 : opcode == OP_LDL || opcode == OP_LDS ? 4 : 8;
    int err = copyin(&v, va, nbytes);
    if (err)
        return err;
    switch (opcode) {
    case OP_LDS:
        fp_set(reg, ieee_s_to_register((uint32_t)v), 0);
        break;
    case OP_LDT:
        fp_set(reg, v, 0);
        break;
    case OP_LDL:
        write_register(f, reg, (uint64_t)(int64_t)(int32_t)v);
        break;
    default:
        write_register(f, reg, v);
        break;
    }
    return 0;
}

static int store(const struct trapframe *f, vaddr_t va, unsigned opcode, unsigned reg)
{
    uint64_t v;
    size_t nbytes = opcode == OP_STW ? 2 : opcode == OP_STL || opcode == OP_STS ? 4 : 8;
    if (opcode == OP_STS)
        v = ieee_s_to_memory(fp_get(reg));
    else if (opcode == OP_STT)
        v = fp_get(reg);
    else
        v = read_register(f, reg);
    return copyout(va, &v, nbytes);
}

int unaligned_fixup_user(struct trapframe *f, vaddr_t va, unsigned opcode, unsigned reg)
{
    int err;
    switch (opcode) {
    case OP_LDWU:
    case OP_LDL:
    case OP_LDQ:
    case OP_LDS:
    case OP_LDT:
        err = load(f, va, opcode, reg);
        break;
    case OP_STW:
    case OP_STL:
    case OP_STQ:
    case OP_STS:
    case OP_STT:
        err = store(f, va, opcode, reg);
        break;
    default:
        err = -EINVAL;
        break;
    }
    if (err) {
        f->pc -= 4;
        return err;
    }
    thread_self()->unaligned++;
    __atomic_fetch_add(&cpu_self()->unaligned, 1, __ATOMIC_RELAXED);
    return 0;
}
