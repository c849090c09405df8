/* The system disk at boot (system_disk.h). */
#include "kernel/system_disk.h"

#include "kernel/base/errno.h"
#include "kernel/base/error_text.h"
#include "kernel/base/printk.h"
#include "kernel/block/block.h"
#include "kernel/boot_disk.h"
#include "kernel/drivers/virtio/polled.h"
#include "kernel/fs/ext4/ext4.h"
#include "kernel/io/tree.h"
#include "kernel/proc/page_file.h"
#include "kernel/proc/run_hook.h"
#include "kernel/sched/timer.h"
#include "sysman/params.h"

_Static_assert(COPY_BYTES <= POLLED_MOST, "a copy is read at once");
_Static_assert(BLOCK_DISKS <= 32, "one bit for each");

#define END_NS UINT64_C(5000000000) /* that the end waits for what is being read */

/* A set of disks, by number: which of them may be the system disk. The one that the boot has read,
 * or any one if it was not asked to. Constant after boot, as is the next. */
static uint32_t may_be_system = UINT32_MAX;
static uint32_t mounted; /* number of the file system */

uint32_t system_disk_choice(void) { return may_be_system; }

bool system_disk_config(struct config *out)
{
    static unsigned char buf[COPY_BYTES] __attribute__((aligned(PAGE_SIZE)));
    struct gpt_disk disk = {.read = polled_read, .buf = buf};
    char name[] = "vda";

    may_be_system = 0;
    for (unsigned n = 0; n < BLOCK_DISKS; n++, name[2]++) {
        enum boot_disk found = BOOT_DISK_OTHER;
        int err = polled_begin(n, &disk.sectors, &disk.sector_bytes);

        if (err == -ENODEV || err == -EBUSY)
            return false;
        if (err)
            continue; /* its driver will say so */
        found = boot_disk_config(&disk, name, out);
        polled_end();
        if (found == BOOT_DISK_OTHER)
            continue;
        may_be_system = 1u << n; /* also one that was not read: no other stands in for it */
        return found == BOOT_DISK_CONFIG;
    }
    return false;
}

static bool is_minimal(void) { return sysparam(SYSPARAM_STARTUP_P1) == 1; }

static void complain(const struct block_volume *v, const char *what, int err)
{
    const char *text = error_text(-err);

    printk("%s: %s: %s\n", v->name, what, text ? text : "unknown error");
}

void system_disk_page_file(void)
{
    const struct block_volume *v = block_system(GPT_PAGING);
    int err;

    if (!v || is_minimal() || v->disk->read_only)
        return;
    err = page_file_on(v);
    if (err)
        complain(v, "the page file cannot be used", err);
}

/* The first process has ended, and others still run: they may read on. So nothing is unmounted,
 * which would let them write into the directory below, and lose that. */
static void finish(void) { tree_finish(mounted, clock_ns() + END_NS); }

static struct run_hook at_the_end = {.ends = finish};

void system_disk_mount(void)
{
    const struct block_volume *v = block_system(GPT_FILES);
    const struct io_cred root = {0};
    struct fs *fs;
    int err;

    if (!v || is_minimal())
        return;
    err = tree_create(&root, NULL, SYSTEM_DISK_PATH, S_IFDIR | 0755, true, NULL);
    if (!err || err == -EEXIST)
        err = ext4_create(v, v->disk->read_only ? 0 : EXT4_WRITE, &fs);
    if (!err && (err = tree_mount(&root, NULL, SYSTEM_DISK_PATH, fs)) != 0)
        fs->end(fs);
    if (err) {
        complain(v, "the file system cannot be mounted", err);
        return;
    }
    mounted = fs->dev;
    run_hook_register(&at_the_end);
}
