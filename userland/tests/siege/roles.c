#include "siege.h"

#include <time.h>

const struct role siege_roles[] = {
    {"touch", attack_touch},         {"map", attack_map},
    {"truncate", attack_truncate},   {"sections", attack_sections},
    {"regions", attack_regions},     {"grow_file", attack_grow_file},
    {"files", attack_many_files},    {"pipes", attack_pipes},
    {"terminal", attack_terminal},   {"names", attack_names},
    {"fork", attack_fork},           {"exec", attack_exec},
    {"kill", attack_kill},           {"compute", attack_compute},
    {"timer", attack_timer},         {"sleep", attack_sleep},
    {"calls", attack_calls},         {"events", attack_events},
    {"mailboxes", attack_mailboxes}, {"subprocesses", attack_subprocesses},
};
const unsigned siege_role_count = sizeof(siege_roles) / sizeof(siege_roles[0]);

static uint64_t state = 1;

void siege_seed(uint64_t seed) { state = seed * 0x9E3779B97F4A7C15ul | 1; }

uint64_t siege_draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

void siege_nap_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}
