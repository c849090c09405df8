/* Registration of the requests, and a data race for the race detector (kernel/races) to find. */
#include "kernel/test/test.h"

#include "kernel/base/abi/ssdef.h"
#include "kernel/sys/info/info.h"
#include "kernel/test/test_private.h"

#define RACE_ROUNDS_MAX 10000000UL /* some seconds under the detector */

/* a[0] rounds of plain additions to a word that other CPUs may be adding to. Always SS$_NORMAL. */
static cond_t race(const uint64_t a[CONTROL_ARGS])
{
    static uint64_t planted;

    for (uint64_t i = 0; i < MIN(a[0], RACE_ROUNDS_MAX); i++) {
        planted++;
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* keep the additions apart */
    }
    return SS$_NORMAL;
}

void test_boot(void)
{
    info_register(MEGA_INFO_SELFTEST, test_selftest, sizeof(struct mega_selftest));
    info_register(MEGA_INFO_TEST_CRASH, test_crash, 0);
    info_register(MEGA_INFO_TEST_BREACH, test_breach, sizeof(struct mega_breach));
    info_register(MEGA_INFO_TEST_LEAK, test_leak, sizeof(struct mega_breach));
    info_register(MEGA_INFO_TEST_PLANT, test_plant, sizeof(struct mega_validate));
    control_register(MEGA_CTL_POOL_COST, test_pool_cost);
    control_register(MEGA_CTL_RACE, race);
    control_register(MEGA_CTL_STAIN, test_stain);
    control_register(MEGA_CTL_DISCLOSE, test_disclose);
    control_register(MEGA_CTL_HOLD, test_hold);
}
