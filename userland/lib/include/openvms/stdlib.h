/* <stdlib.h> for sources of OpenVMS: EXIT_FAILURE is the condition value that it is there, an error
 * of no facility whose message is not printed. */
#include_next <stdlib.h>

#ifndef OPENVMS_STDLIB_H
#define OPENVMS_STDLIB_H

#undef EXIT_FAILURE
#define EXIT_FAILURE 0x10000002

#endif
