/*
 * Arguments of system services: argument blocks, descriptors, output quadwords (quad.h). All are
 * copied from user memory before they are checked, and outputs are probed before anything is
 * changed. A user address that cannot be accessed is SS$_ACCVIO. Results are condition values.
 * IPL 0, no spinlock held: any of these functions may fault on user memory.
 */
#ifndef KERNEL_SYS_VMS_ARGS_H
#define KERNEL_SYS_VMS_ARGS_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"
#include "kernel/sys/quad.h"
#include "mm/section/section.h"

#define VMS_ARGS_MAX 16

/* Copy in an argument block: a count, then that many quadwords. args[] from the count up to `most`
   is set to 0. SS$_NORMAL; SS$_ACCVIO; SS$_INSFARG: the count is below `required`;
   SS$_TOO_MANY_ARGS: it is above `most`. */
cond_t vms_args(vaddr_t block, unsigned required, unsigned most, uint64_t args[VMS_ARGS_MAX]);

/* Read a descriptor of either form: the address and length, in bytes, of its buffer. SS$_NORMAL,
   SS$_ACCVIO, SS$_IVGSDNAM (its class or type is not that of a string). */
cond_t vms_buffer(vaddr_t descriptor, vaddr_t *pointer, uint64_t *length);
/* Copy in a string by descriptor of either form, at most `size` bytes; *length: bytes copied. With
   a size of one more than it allows, the caller detects a longer string. SS$_NORMAL, SS$_ACCVIO,
   SS$_IVGSDNAM (as vms_buffer). */
cond_t vms_string(vaddr_t descriptor, char *buffer, uint32_t size, uint32_t *length);

/* Copy in a section's name by descriptor: 1 to 43 characters, not counting a leading underscore,
   which is removed; no colon and no NUL. name is terminated by a NUL. SS$_NORMAL, SS$_ACCVIO,
   SS$_IVGSDNAM. */
cond_t vms_section_name(vaddr_t descriptor, char name[SECTION_NAME_MAX + 1], uint32_t *length);

/* Copy in a section identification; all fields are 0 if ua is 0. SS$_NORMAL, SS$_ACCVIO,
   SS$_IVSECIDCTL. */
cond_t vms_ident(vaddr_t ua, uint32_t *match, uint32_t *version);

/* Probe, and later write, the two outputs of services on a range of addresses: return_va_64 and
   return_length_64. */
cond_t vms_probe_range(vaddr_t va_out, vaddr_t length_out);
void vms_range_out(vaddr_t va_out, vaddr_t length_out, vaddr_t va, uint64_t length);

/* Check an access mode argument: SS$_NORMAL or SS$_IVACMODE. All modes are treated as user mode. */
cond_t vms_access_mode(uint64_t acmode);

/* The arguments common to services on a part of a region: read the region's number into *id, check
   the access mode and probe the two outputs, in this order. SS$_NORMAL, SS$_ACCVIO,
   SS$_IVACMODE. */
cond_t vms_region_args(vaddr_t region, uint64_t acmode, vaddr_t va_out, vaddr_t length_out,
                       uint64_t *id);

#endif
