/*
 * The user and group ids of a process by the rules of POSIX and Linux: real, effective, saved, and
 * those that files are accessed with (fs), which follow the effective ones; supplementary groups.
 *
 * Effective user 0 may change to any id. Others may exchange the ids that they have, so a program
 * that keeps 0 as its real or saved id can take it up again. The privileges of OpenVMS follow:
 * while the effective user is not 0 the current mask is empty; it is the permanent one again when
 * the effective user returns to 0; and when none of the three ids is 0, all masks and rights are
 * gone for good. The UIC is [effective group, effective user]. The account that is charged is that
 * of the real user.
 */
#ifndef KERNEL_PROC_IDS_H
#define KERNEL_PROC_IDS_H

#include "kernel/fs/stat.h"

struct process;

#define ID_KEEP UINT32_MAX /* as an argument: this id is not to change */

enum id_kind { ID_USER, ID_GROUP };

/* The calls of these names on the current process. 0; -EINVAL: no id was given; -EPERM; -EAGAIN:
 * there is no account for the new real user (ACCOUNTS_MAX). After an error nothing has changed. IPL
 * 0; take the table lock. */
int ids_set(enum id_kind kind, uint32_t id);                     /* setuid, setgid */
int ids_set_two(enum id_kind kind, uint32_t real, uint32_t eff); /* setreuid, setregid */
int ids_set_three(enum id_kind kind, const uint32_t want[3]);    /* setresuid, setresgid */
uint32_t ids_set_fs(enum id_kind kind, uint32_t id);             /* the previous fs id */
/* setgroups: n ids, in any order. 0; -EPERM; -EINVAL: more than IO_GROUPS_MAX. */
int ids_set_groups(const uint32_t *gid, unsigned n);
/* fork: copy what ids.c alone knows, from the current process. */
void ids_fork(struct process *to, const struct process *from);

#endif
