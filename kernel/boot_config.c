/*
 * The configuration blob at boot. One static copy is parsed into, so nothing is allocated; a blob
 * that is missing or invalid leaves the registry empty and the parameters at their defaults.
 */
#include "kernel/boot_config.h"

#include "kernel/base/cpio.h"
#include "kernel/base/printk.h"
#include "sysman/params.h"

static struct config config; /* constant after boot */

static void complain(const struct config_param *p, enum sysparam_status why)
{
    if (why == SYSPARAM_UNKNOWN)
        printk("sysman: system parameter %s is unknown and ignored\n", p->name);
    else
        printk("sysman: system parameter %s: %ld is out of range, the default is used\n", p->name,
               (long)p->value);
}

const struct registry *boot_config(const void *initrd, size_t nbytes)
{
    struct cpio_entry blob;
    struct config_result result;

    if (nbytes == 0 || !cpio_find(initrd, nbytes, "boot/config", &blob))
        return &config.registry;
    result = config_parse(blob.data, blob.nbytes, &config);
    if (result.error) {
        printk("sysman: the configuration blob %s at offset %u: it is ignored\n",
               config_error_text(result.error), result.offset);
        return &config.registry;
    }
    sysparam_boot_apply(&config, complain);
    return &config.registry;
}
