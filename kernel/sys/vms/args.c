/*
 * Arguments of system services.
 *
 * Layout of the two forms of descriptors, by byte offset:
 *
 *     offset   32-bit form            64-bit form
 *     0        length (16 bits)       MBO = 1 (16 bits)
 *     2, 3     type, class            type, class
 *     4        padding                MBMO = -1 (32 bits)
 *     8        pointer (64 bits)      length (64 bits)
 *     16                              pointer (64 bits)
 *
 * The padding has whatever value the stack had there, possibly -1, so that a 32-bit descriptor of
 * one character can look like a 64-bit one. Then the quadword at 8 decides: a length is below
 * LAYOUT_P0_FIRST, and a pointer is not, since the first page of an address space is never mapped.
 */
#include "kernel/sys/vms/args.h"

#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/descrip.h"
#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/seciddef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"

_Static_assert(sizeof(struct dsc$descriptor_s) == 16, "a 32-bit descriptor is 16 bytes long");
_Static_assert(sizeof(struct dsc64$descriptor_s) == 24, "a 64-bit descriptor is 24 bytes long");

cond_t vms_args(vaddr_t block, unsigned required, unsigned most, uint64_t args[VMS_ARGS_MAX])
{
    uint64_t n;

    if (block % sizeof(uint64_t) != 0 || copyin_u64(&n, block) != 0)
        return SS$_ACCVIO;
    if (n < required)
        return SS$_INSFARG;
    if (n > most)
        return SS$_TOO_MANY_ARGS;
    if (copyin(args, block + sizeof(uint64_t), n * sizeof(uint64_t)) != 0)
        return SS$_ACCVIO;
    for (; n < most; n++)
        args[n] = 0;
    return SS$_NORMAL;
}

static bool string_type(unsigned dtype, unsigned class)
{
    /* Class 0 and type 0 mean "unspecified"; the services accept these as a plain string. */
    return (class == DSC$K_CLASS_S || class == 0) && (dtype == DSC$K_DTYPE_T || dtype == 0);
}

cond_t vms_buffer(vaddr_t descriptor, vaddr_t *pointer, uint64_t *length)
{
    struct dsc64$descriptor_s d;
    const struct dsc$descriptor_s *d32 = (const void *)&d;

    if (copyin(&d, descriptor, sizeof(*d32)) != 0)
        return SS$_ACCVIO;
    if (d.dsc64$w_mbo == 1 && d.dsc64$l_mbmo == -1 && d.dsc64$q_length < LAYOUT_P0_FIRST) {
        if (copyin_u64((uint64_t *)&d.dsc64$pq_pointer, descriptor + sizeof(*d32)) != 0)
            return SS$_ACCVIO;
        *length = d.dsc64$q_length;
        *pointer = (vaddr_t)d.dsc64$pq_pointer;
    } else {
        *length = d32->dsc$w_length;
        *pointer = (vaddr_t)d32->dsc$a_pointer;
    }
    return string_type(d.dsc64$b_dtype, d.dsc64$b_class) ? SS$_NORMAL : SS$_IVGSDNAM;
}

cond_t vms_string(vaddr_t descriptor, char *buffer, uint32_t size, uint32_t *length)
{
    vaddr_t pointer;
    uint64_t n;
    cond_t status = vms_buffer(descriptor, &pointer, &n);

    if (status != SS$_NORMAL)
        return status;
    n = MIN(n, (uint64_t)size);
    if (copyin(buffer, pointer, n) != 0)
        return SS$_ACCVIO;
    *length = (uint32_t)n;
    return SS$_NORMAL;
}

cond_t vms_section_name(vaddr_t descriptor, char name[SECTION_NAME_MAX + 1], uint32_t *length)
{
    char raw[SECTION_NAME_MAX + 2]; /* with an underscore, and one more to detect longer names */
    uint32_t n, first = 0;
    cond_t status = vms_string(descriptor, raw, sizeof(raw), &n);

    if (status != SS$_NORMAL)
        return status;
    if (n && raw[0] == '_')
        first = 1;
    n -= first;
    if (n == 0 || n > SECTION_NAME_MAX)
        return SS$_IVGSDNAM;
    for (const char *from = raw + first, *end = from + n; from < end; from++) {
        if (*from == ':' || *from == '\0')
            return SS$_IVGSDNAM;
        *name++ = *from;
    }
    *name = '\0';
    *length = n;
    return SS$_NORMAL;
}

cond_t vms_ident(vaddr_t ua, uint32_t *match, uint32_t *version)
{
    struct _secid id = {.secid$l_match = SEC$K_MATALL};

    if (ua && copyin(&id, ua, sizeof(id)) != 0)
        return SS$_ACCVIO;
    if (id.secid$l_match > SEC$K_MATLEQ)
        return SS$_IVSECIDCTL;
    *match = id.secid$l_match;
    *version = id.secid$l_version;
    return SS$_NORMAL;
}

cond_t vms_probe_range(vaddr_t va_out, vaddr_t length_out)
{
    cond_t status = vms_probe_quad(va_out, false);

    return status == SS$_NORMAL ? vms_probe_quad(length_out, false) : status;
}

void vms_range_out(vaddr_t va_out, vaddr_t length_out, vaddr_t va, uint64_t length)
{
    vms_quad_out(va_out, va);
    vms_quad_out(length_out, length);
}

cond_t vms_access_mode(uint64_t acmode)
{
    return (uint32_t)acmode <= PSL$C_USER ? SS$_NORMAL : SS$_IVACMODE;
}

cond_t vms_region_args(vaddr_t region, uint64_t acmode, vaddr_t va_out, vaddr_t length_out,
                       uint64_t *id)
{
    cond_t status = vms_quad_in(region, id);

    if (status == SS$_NORMAL)
        status = vms_access_mode(acmode);
    return status == SS$_NORMAL ? vms_probe_range(va_out, length_out) : status;
}
