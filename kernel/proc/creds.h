/*
 * The identity of a process for system services: UIC, privileges, rights identifiers.
 *
 * There are three masks of privileges, as on OpenVMS. The current mask decides what the process may
 * do. exec sets the current mask to the permanent one. The authorised mask limits both, unless it
 * contains SETPRV. The UIC is [POSIX gid, POSIX uid], so POSIX calls and system services see one
 * identity. User 0 starts with all privileges and rights. How they follow changes of the user id is
 * in ids.h; no change adds one that the process has not had before.
 *
 * The fields are in struct process and belong to all its threads. Only its own threads change them,
 * under the process table lock, and each field is one atomic word, read by process_euid() and its
 * relatives (process.h). A system call of the process reads a field without the lock: if another
 * thread changes the field at the same moment, the call counts as made before or after the change.
 * Other processes, and code that needs several fields of one moment, hold the lock.
 */
#ifndef KERNEL_PROC_CREDS_H
#define KERNEL_PROC_CREDS_H

#include "kernel/base/abi/megalith/creds.h"
#include "kernel/base/types.h"

struct account;
struct process;
struct sched_group;

/* UIC groups up to this one are system groups (the usual value of MAXSYSGROUP). */
#define CREDS_MAXSYSGROUP 010u

/* Grant all privileges and rights, to the first process. Before it runs. */
void creds_grant_all(struct process *p);
/* The scheduling group of the user whose account this is. Table lock held. */
struct sched_group *creds_group_locked(const struct account *a);
/* Make p a process of account a, whose reference p takes over. The process counts there although a
 * user may then have more than the limit: a program that gives up its privileges must not fail to.
 * Everything else stays with the account that it was charged to. Returns the former account, for
 * the caller to drop. By p's own thread. Table lock held. */
struct account *creds_change_account_locked(struct process *p, struct account *a);
/* The real, effective and saved user ids of p are about to become `now`: change the masks as ids.h
 * says. By p's own thread. Table lock held. */
void creds_follow_locked(struct process *p, const uint32_t now[3]);
/* Take over identity, privileges and rights from *c, which the caller has checked. By p's own
 * thread. 0, or -EAGAIN: there is no account (ACCOUNTS_MAX). IPL 0; takes the table lock. */
int creds_set(struct process *p, const struct mega_creds *c);
/* $SETPRV: enable or disable the privileges of `mask` in the current mask, and with `permanent` in
 * the permanent mask too. Only authorised ones are enabled. Returns false if there were others. By
 * p's own thread. IPL 0; takes the table lock. */
bool creds_set_privileges(struct process *p, bool enable, uint64_t mask, bool permanent);
/* exec: set the current mask to the permanent one. By p's own thread. Table lock held. */
void creds_exec_locked(struct process *p);
/* Does p belong to the system category of a protection mask, by its UIC group or by SYSPRV? By p's
 * own thread, or under the table lock. */
bool creds_is_system(const struct process *p);

#endif
