/*
 * Arguments of system services: argument blocks, descriptors, output quadwords. Everything from
 * user mode is copied in under fault fix-ups before it is looked at; outputs are probed before
 * anything is changed. Results are condition values.
 */
#ifndef KERNEL_SYS_VMS_ARGS_H
#define KERNEL_SYS_VMS_ARGS_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"
#include "mm/section/section.h"

#define VMS_ARGS_MAX 16

/* Copy in an argument block: a count, then that many quadwords; args[] beyond the count reads 0.
   SS$_NORMAL; SS$_ACCVIO; SS$_INSFARG below `required`, SS$_TOO_MANY_ARGS above `most`. */
cond_t vms_args(vaddr_t block, unsigned required, unsigned most, uint64_t args[VMS_ARGS_MAX]);

/* Where a descriptor of either form points, and its length in bytes. SS$_NORMAL, SS$_ACCVIO,
   SS$_IVGSDNAM for another class or type than a string's. */
cond_t vms_buffer(vaddr_t descriptor, vaddr_t *pointer, uint64_t *length);
/* A string by descriptor, either form; at most SECTION_NAME_MAX + 1 bytes are copied, so that a
   longer one is seen to be too long. SS$_NORMAL, SS$_ACCVIO, SS$_IVGSDNAM for another class or
   type. */
cond_t vms_string(vaddr_t descriptor, char *buffer, uint32_t size, uint32_t *length);

/* A section's name: 1 to 43 characters after a leading underscore is taken off, no colon.
 * SS$_NORMAL, SS$_ACCVIO, SS$_IVGSDNAM. */
cond_t vms_section_name(vaddr_t descriptor, char name[SECTION_NAME_MAX + 1], uint32_t *length);

/* Section identification at ua (0: all fields 0). SS$_NORMAL, SS$_ACCVIO, SS$_IVSECIDCTL. */
cond_t vms_ident(vaddr_t ua, uint32_t *match, uint32_t *version);

/* A quadword to read, naturally aligned. SS$_NORMAL or SS$_ACCVIO. */
cond_t vms_quad_in(vaddr_t ua, uint64_t *v);
/* Can the quadword be written? Naturally aligned; optional: 0 will do. SS$_NORMAL or SS$_ACCVIO. */
cond_t vms_probe_quad(vaddr_t ua, bool optional);
/* Write an output that was probed (0: left out). It may have gone meanwhile by another thread's
 * doing: then it is lost. */
void vms_quad_out(vaddr_t ua, uint64_t v);
/* The two outputs of services on a range of addresses, return_va_64 and return_length_64: probed,
   and written. */
cond_t vms_probe_range(vaddr_t va_out, vaddr_t length_out);
void vms_range_out(vaddr_t va_out, vaddr_t length_out, vaddr_t va, uint64_t length);

/* An access mode argument: SS$_NORMAL or SS$_IVACMODE. Modes fold onto user. */
cond_t vms_access_mode(uint64_t acmode);

/* What services on a part of a region have in common: the region's number is read to *id, the
   access mode checked, the two outputs probed, in this order. SS$_NORMAL, SS$_ACCVIO,
   SS$_IVACMODE. */
cond_t vms_region_args(vaddr_t region, uint64_t acmode, vaddr_t va_out, vaddr_t length_out,
                       uint64_t *id);

#endif
