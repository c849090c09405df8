/* Access to the HWRPB. The structures follow the Alpha architecture handbook, III 26. */
#include "arch/alpha/hw/hwrpb.h"

#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/thread_hw.h"

#define HWRPB_BOOT_VA     0x10000000UL         /* mapped only by the console's page tables */
#define HWRPB_ID          0x4857525042000000UL /* "HWRPB", most significant byte first: QEMU 7.2 */
#define BOOT_PARAMS_BELOW 0x6000               /* QEMU: distance below the start of the image */
#define BOOT_COMMAND_LINE 256
#define CONSOLE_WAIT_NS   1000000000UL
#define CSERVE_GET_TIME   7

struct hwrpb {
    uint64_t pa, id, revision, size, primary, page_size, pa_bits, max_asn;
    uint64_t serial[2], system_type, variation, system_revision, clock_freq, cycle_freq, vptb;
    uint64_t reserved1, tbhint_offset, slots, slot_size, slot_offset;
    uint64_t ctb_count, ctb_size, ctb_offset, crb_offset, mddt_offset, cdb_offset, frut_offset;
    uint64_t save_terminal, save_terminal_data, restore_terminal, restore_terminal_data;
    uint64_t cpu_restart, cpu_restart_data, reserved2, reserved3, checksum;
    uint64_t rxrdy, txrdy, dsr_offset;
};
_Static_assert(offsetof(struct hwrpb, slots) == 0x90, "HWRPB layout");
_Static_assert(offsetof(struct hwrpb, cpu_restart) == 0x100, "HWRPB layout");
_Static_assert(offsetof(struct hwrpb, rxrdy) == 0x128, "HWRPB layout");

#define SLOT_BIP 0x1UL  /* bootstrap in progress */
#define SLOT_RC  0x2UL  /* restart capable */
#define SLOT_PA  0x4UL  /* processor available */
#define SLOT_PP  0x8UL  /* processor present */
#define SLOT_CV  0x20UL /* context valid */

struct slot {
    uint64_t pcb[16]; /* struct hwpcb, then reserved */
    uint64_t flags;
    uint64_t pal_memory, pal_scratch, pal_memory_pa, pal_scratch_pa, pal_revision;
    uint64_t type, variation, revision, serial[2], logout_pa, logout_size;
    uint64_t halt_pcbb, halt_pc, halt_ps, halt_args, halt_ra, halt_pv, halt_code, software;
    uint32_t ipc_rx_length, ipc_tx_length;
    char ipc_rx[80], ipc_tx[80];
};
_Static_assert(offsetof(struct slot, flags) == 0x80, "per-CPU slot layout");
_Static_assert(offsetof(struct slot, ipc_rx_length) == 0x128, "per-CPU slot layout");

struct cluster {
    uint64_t first, npages, ntested, bitmap_va, bitmap_pa, bitmap_checksum, usage;
};

struct memory_descriptor {
    uint64_t checksum, info_pa, nclusters;
    struct cluster clusters[];
};

static struct hwrpb *hwrpb; /* constant after boot */
extern char _kernel_start[];

bool hwrpb_boot(void)
{
    /* The block's first quadword is its own physical address. */
    paddr_t pa = paddr_of(*(const volatile uint64_t *)HWRPB_BOOT_VA);

    hwrpb = kseg_ptr(pa);
    return hwrpb->id == HWRPB_ID && hwrpb->pa == pa.a;
}

static const struct memory_descriptor *memory_descriptor(void)
{
    return (const void *)((const char *)hwrpb + hwrpb->mddt_offset);
}

static struct slot *slot_of(unsigned whami)
{
    return (struct slot *)((char *)hwrpb + hwrpb->slot_offset + whami * hwrpb->slot_size);
}

unsigned hwrpb_cluster_count(void) { return (unsigned)memory_descriptor()->nclusters; }

struct hwrpb_cluster hwrpb_cluster(unsigned i)
{
    const struct cluster *c = &memory_descriptor()->clusters[i];

    return (struct hwrpb_cluster){pfn_of(c->first), c->npages, (c->usage & 1) != 0};
}

uint64_t hwrpb_cpus_present(void)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < hwrpb->slots && i < 64; i++)
        if ((slot_of(i)->flags & (SLOT_PA | SLOT_PP)) == (SLOT_PA | SLOT_PP))
            mask |= 1UL << i;
    return mask;
}

unsigned hwrpb_primary(void) { return (unsigned)hwrpb->primary; }
unsigned hwrpb_system_type(void) { return (unsigned)hwrpb->system_type; }
unsigned hwrpb_cpu_type(void) { return (unsigned)slot_of(hwrpb_primary())->type; }

/* The boot parameters lie outside every object that the compiler knows; the empty asm statement
   hides the origin of the address from its bounds checks. */
static char *boot_params(void)
{
    uint64_t address = (uint64_t)_kernel_start - BOOT_PARAMS_BELOW;

    __asm__("" : "+r"(address));
    return (char *)address;
}

const char *boot_command_line(void)
{
    char *line = boot_params();

    line[BOOT_COMMAND_LINE - 1] = 0;
    return line;
}

const void *boot_initrd(uint64_t *nbytes)
{
    const uint64_t *params = (const uint64_t *)(boot_params() + BOOT_COMMAND_LINE);

    *nbytes = params[0] ? params[1] : 0;
    return (const void *)params[0];
}

static void update_checksum(void)
{
    const uint64_t *q = (const uint64_t *)hwrpb;
    uint64_t sum = 0;

    while (q != &hwrpb->checksum)
        sum += *q++;
    hwrpb->checksum = sum;
}

bool hwrpb_start_cpu(unsigned whami, void (*entry)(void), uint64_t arg, uint64_t sp, uint64_t ptbr)
{
    static const char order[] = "START\r\n";
    struct slot *s = slot_of(whami);
    struct hwpcb *pcb = (struct hwpcb *)s->pcb;

    *pcb = (struct hwpcb){.ksp = sp, .ptbr = ptbr};
    hwrpb->cpu_restart = (uint64_t)entry;
    hwrpb->cpu_restart_data = arg;
    update_checksum();
    s->flags = (s->flags | SLOT_RC | SLOT_CV) & ~SLOT_BIP;
    s->ipc_rx_length = sizeof(order) - 1;
    for (unsigned i = 0; i < sizeof(order) - 1; i++)
        s->ipc_rx[i] = order[i];

    /* Release order: the console on the other CPU reads these fields once it sees the bit. */
    __atomic_fetch_or(&hwrpb->rxrdy, 1UL << whami, __ATOMIC_RELEASE);

    uint64_t end = pal_cserve(CSERVE_GET_TIME, 0) + CONSOLE_WAIT_NS;

    while (__atomic_load_n(&hwrpb->rxrdy, __ATOMIC_ACQUIRE) & 1UL << whami)
        if (pal_cserve(CSERVE_GET_TIME, 0) > end)
            return false;
    return true;
}
