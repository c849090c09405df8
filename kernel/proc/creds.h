/*
 * Identity of a process toward system services: UIC, privileges, rights identifiers.
 *
 * There are three masks of privileges, as on OpenVMS: the current one decides; the permanent one is
 * what exec starts the next program with; the authorised one bounds both, unless it has SETPRV. The
 * UIC is [POSIX gid, POSIX uid]: POSIX calls and system services see one identity. User 0 starts
 * with everything; nothing that changes a user id ever adds a privilege or a right, and becoming
 * another user than 0 takes them all away.
 *
 * The fields stand in struct process and belong to all its threads. Its own threads change them,
 * under the process table lock, and each field is one word. A call of the process reads a field
 * without the lock: when another thread changes it at the same moment, the call was made before or
 * after, and what it may do is what the process might at one of these times. Others, and whoever
 * needs several fields of one moment, hold the lock.
 */
#ifndef KERNEL_PROC_CREDS_H
#define KERNEL_PROC_CREDS_H

#include "kernel/base/abi/megalith/creds.h"
#include "kernel/base/types.h"

struct process;

/* A UIC group up to this is a system group (the usual MAXSYSGROUP). */
#define CREDS_MAXSYSGROUP 010u

/* Everything that there is, for the first process. Before it runs. */
void creds_grant_all(struct process *p);
/* Set user and group id, everywhere they count. Own thread, or before it runs; IPL 0. */
void process_set_ids(struct process *p, uint32_t uid, uint32_t gid);
/* Take on what *c says, which is within its limits. Own thread, IPL 0. */
void creds_set(struct process *p, const struct mega_creds *c);
/* $SETPRV: set or clear the privileges of `mask` in the current mask and, if permanent, in that one
 * too. False, and nothing has changed: not all of them are authorised. Own thread, IPL 0. */
bool creds_set_privileges(struct process *p, bool enable, uint64_t mask, bool permanent);
/* exec: the new program starts with the permanent mask. Own thread, IPL 0. */
void creds_exec(struct process *p);
/* Has it the system category of a protection mask: by its UIC group or by SYSPRV? Own thread, or
 * under the process table lock. */
bool creds_is_system(const struct process *p);

#endif
