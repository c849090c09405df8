/* Page protection codes; mm/space/prot_code.h describes them. */
#include "mm/space/prot_code.h"

#include "kernel/base/abi/prtdef.h"
#include "mm/space/aspace.h"

#define READ  (MAP_R | MAP_X)
#define WRITE (MAP_R | MAP_W | MAP_X)
#define NO    0x80u /* not a valid code */

static const uint8_t user_access[] = {
    [PRT$C_NA] = 0,      [PRT$C_RESERVED] = NO, [PRT$C_KW] = 0,      [PRT$C_KR] = 0,
    [PRT$C_UW] = WRITE,  [PRT$C_EW] = 0,        [PRT$C_ERKW] = 0,    [PRT$C_ER] = 0,
    [PRT$C_SW] = 0,      [PRT$C_SREW] = 0,      [PRT$C_SRKW] = 0,    [PRT$C_SR] = 0,
    [PRT$C_URSW] = READ, [PRT$C_UREW] = READ,   [PRT$C_URKW] = READ, [PRT$C_UR] = READ,
};

bool prot_of_code(uint32_t code, unsigned *prot)
{
    if (code >= ARRAY_SIZE(user_access) || user_access[code] == NO)
        return false;
    *prot = user_access[code];
    return true;
}

uint32_t prot_to_code(unsigned prot)
{
    return prot & MAP_W ? PRT$C_UW : prot ? PRT$C_UR : PRT$C_NA;
}
