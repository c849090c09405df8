/* Encoding of the configuration blob (sysman/FORMAT.md). Also built for the host. */
#ifndef SYSMAN_ENCODE_H
#define SYSMAN_ENCODE_H

#include "sysman/config.h"

/* Write the blob of a configuration to `blob`, which has CONFIG_MAX_BYTES. Returns its length; 0:
 * it breaks a rule, and *why says which. */
uint32_t config_encode(const struct config *c, void *blob, enum config_error *why);

#endif
