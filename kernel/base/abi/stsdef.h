/* Fields of a condition value, and tests for success and severity. */
#ifndef STSDEF_H
#define STSDEF_H

#define STS$K_WARNING 0
#define STS$K_SUCCESS 1
#define STS$K_ERROR   2
#define STS$K_INFO    3
#define STS$K_SEVERE  4

#define STS$M_SUCCESS  0x1
#define STS$M_SEVERITY 0x7
#define STS$M_COND_ID  0xFFFFFF8
/* The message was printed, or is not to be. */
#define STS$M_INHIB_MSG 0x10000000

#define $VMS_STATUS_SUCCESS(code)  (((code) & STS$M_SUCCESS) != 0)
#define $VMS_STATUS_SEVERITY(code) ((code) & STS$M_SEVERITY)

#endif
