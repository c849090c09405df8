/* scripts/cc links this into programs of OpenVMS (-u mega$catch_from_start): their faults are
 * conditions before any of their procedures has established a handler. */
#include "handlers.h"

extern const int mega$catch_from_start;
const int mega$catch_from_start = 1;

__attribute__((constructor)) static void start(void) { mega$catch_faults(); }
