/* What the attackers of `siege` do. Each function is run by a process of its own, as an
 * unprivileged user, until it is killed. None of them returns unless there is nothing left to try.
 */
#ifndef SIEGE_H
#define SIEGE_H

#include <stdint.h>

#define SIEGE_PAGE 8192ul

struct role {
    const char *name;
    void (*run)(void);
};

extern const struct role siege_roles[];
extern const unsigned siege_role_count;

/* A number below `below`, from a sequence of the calling process. */
uint64_t siege_draw(uint64_t below);
/* Begin the sequence of the calling process. */
void siege_seed(uint64_t seed);
/* Sleep, so that thousands of attackers on few CPUs all get their turn. */
void siege_nap_ms(unsigned ms);

/* attack_memory.c */
void attack_touch(void);
void attack_map(void);
void attack_truncate(void);
void attack_sections(void);
void attack_regions(void);
/* attack_files.c */
void attack_grow_file(void);
void attack_many_files(void);
void attack_pipes(void);
void attack_terminal(void);
void attack_names(void);
/* attack_processes.c */
void attack_fork(void);
void attack_exec(void);
void attack_kill(void);
void attack_compute(void);
void attack_timer(void);
void attack_sleep(void);
void attack_calls(void);
/* attack_services.c */
void attack_events(void);
void attack_mailboxes(void);
void attack_subprocesses(void);

#endif
