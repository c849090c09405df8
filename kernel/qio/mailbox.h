/*
 * Mailboxes: messages from one process to another (README.md). Rules: docs/openvms.md.
 *
 * Unless a function says otherwise, its caller is at IPL 0 without locks. Results are condition
 * values.
 */
#ifndef KERNEL_QIO_MAILBOX_H
#define KERNEL_QIO_MAILBOX_H

#include "kernel/qio/qio.h"

struct mailbox;
struct poll_entry;

#define MAILBOX_UNITS     4096u  /* units 1 to 4096, MBA1: to MBA4096: */
#define MAILBOX_MSG_MAX   65535u /* bytes of a message, at most */
#define MAILBOX_QUOTA_MAX (1u << 24)

/* Protection: four bits for each of system, owner, group and world, of which a set one denies. */
#define MAILBOX_DENY_READ  1u
#define MAILBOX_DENY_WRITE 2u

struct mailbox_who { /* the caller */
    struct qio_channels *channels;
    uint32_t pid;
    uint32_t uic_group, uic_member;
    bool system; /* belongs to the system category */
    bool bypass;
};

struct mailbox_request { /* $CREMBX; 0 stands for the default of a size */
    bool permanent;
    uint32_t maxmsg, bufquo, protection;
};

/* Boot: permanent mailboxes are explained to the check for leaks. After the pools. */
void mailbox_boot(void);

/* ---- mailboxes and their channels (mailbox.c) ---- */

/* Make a mailbox and a channel to it, which is not entered in a table. SS$_NORMAL; SS$_BADPARAM: a
 * size that is too large; SS$_EXBYTLM: the process's quota of bytes for buffers; SS$_EXQUOTA: the
 * user has as many objects as it may have; SS$_INSFMEM. */
cond_t mailbox_create(const struct mailbox_who *who, const struct mailbox_request *r, bool readable,
                      bool writable, struct qio_channel **out);
/* A channel to a mailbox that exists. SS$_NORMAL, SS$_NOSUCHDEV, SS$_NOPRIV, SS$_INSFMEM. */
cond_t mailbox_assign(const struct mailbox_who *who, uint32_t unit, bool readable, bool writable,
                      struct qio_channel **out);
/* Is c a channel to a mailbox? NULL: it is not. */
struct mailbox *mailbox_of(const struct qio_channel *c);
uint32_t mailbox_unit(const struct mailbox *b);
/* The mailbox with a reference, or NULL. */
struct mailbox *mailbox_find(uint32_t unit);
/* Note the mailbox of that unit, for mailbox_post. SS$_NORMAL, also if there is none (n->unit is
 * then 0); SS$_NOPRIV: the caller may not write to it. */
cond_t mailbox_note(const struct mailbox_who *who, uint32_t unit, struct mailbox_number *n);
void mailbox_unref(struct mailbox *b); /* any IPL up to IPL_CLOCK, locks below RANK_POOL */
/* $DELMBX: it is deleted with its last channel. SS$_NORMAL; SS$_NOPRIV: it is permanent, and the
 * caller may not delete such. */
cond_t mailbox_mark(struct mailbox *b, bool prmmbx);
/* The logical name that a mailbox was made with: set once, by its maker, before anybody else can
 * find it by that name. Length 0: none. */
#define MAILBOX_NAME_MAX 255u
void mailbox_set_name(struct mailbox *b, const char *name, uint32_t length);
struct mailbox_name {
    char text[MAILBOX_NAME_MAX];
    uint32_t length; /* 0: none */
    uint32_t unit;
    bool system; /* it is that of a permanent mailbox */
};
/* If the mailbox has gone and had a name, which is to be deleted now: true, with *n set. */
bool mailbox_gone_name(struct mailbox *b, struct mailbox_name *n);
/* One more reference. */
void mailbox_ref(struct mailbox *b);

struct mailbox_facts { /* for display */
    uint32_t unit, maxmsg, bufquo, messages, channels, protection;
    uint32_t uic_group, uic_member;
    bool permanent;
};
void mailbox_facts(struct mailbox *b, struct mailbox_facts *f);

/* ---- requests (mailbox_read.c, mailbox_write.c, mailbox_mode.c) ---- */

/* Read. now: complete at once, SS$_ENDOFFILE if the mailbox is empty. stream: bytes of any number
 * of messages. check: SS$_NOWRITER if it is empty and no channel writes. SS$_NORMAL: it completes
 * later, or has; errors: SS$_ACCVIO, SS$_EXQUOTA, SS$_INSFMEM, SS$_NOPRIV, SS$_ILLEFC,
 * SS$_UNASEFC, SS$_EXASTLM. */
struct mailbox_read {
    vaddr_t buffer;
    uint64_t length;
    bool now, stream, check;
};
cond_t mailbox_read(struct qio_channel *c, const struct mailbox_who *who,
                    const struct qio_completion *done, const struct mailbox_read *r);
/* Write. now: complete without a reader. norswait: SS$_MBFULL rather than wait for room. check:
 * SS$_NOREADER if no channel reads. eof: a mark instead of a message. *interrupted: repeat the
 * service later. As mailbox_read, and SS$_MBTOOSML, SS$_MBFULL. */
struct mailbox_write {
    vaddr_t buffer;
    uint64_t length;
    bool now, norswait, check, eof;
};
cond_t mailbox_write(struct qio_channel *c, const struct mailbox_who *who,
                     const struct qio_completion *done, const struct mailbox_write *w,
                     bool *interrupted);
/* The same without requests, for files (kernel/sys/vms/mailbox_file.c).
 *
 * Take one message and write it with a line feed behind it to r->buffer; of a message for which
 * r->length (not 0) is too short the next call takes the rest. *got: bytes, 0 for a mark of the end
 * of the file. now: SS$_ENDOFFILE if there is no message. *interrupted: by a signal or an AST.
 * SS$_NORMAL; SS$_ACCVIO: the message is lost. */
cond_t mailbox_receive(struct qio_channel *c, uint32_t pid, const struct mailbox_read *r,
                       uint32_t *got, bool *interrupted);
/* The POLL* bits that hold of a channel's mailbox now: a message for which no request waits, room
 * for the shortest message. Unless e is NULL, it is put on the mailbox's source first
 * (kernel/io/poll.h), and has left it before the channel ends. IPL 0. */
unsigned mailbox_poll(struct qio_channel *c, struct poll_entry *e);
/* Write a message or a mark, without waiting for its reader. SS$_NORMAL; SS$_MBTOOSML; SS$_MBFULL
 * (norswait); SS$_ACCVIO, SS$_INSFMEM, SS$_NOPRIV; *interrupted while it waits for room. */
cond_t mailbox_send(struct qio_channel *c, uint32_t pid, const struct mailbox_write *w,
                    bool *interrupted);
/* Ask for one AST when a message comes for which no read waits (WRITES), or a read for which there
 * is no message (READS), at once if there is one already; or (ROOM) when a message has been taken,
 * at once if there is none. astadr 0: no more of them by this channel. SS$_NORMAL, SS$_NOPRIV,
 * SS$_EXQUOTA, SS$_EXASTLM, SS$_ILLEFC, SS$_UNASEFC, SS$_INSFMEM. */
enum mailbox_news { MAILBOX_READS, MAILBOX_WRITES, MAILBOX_ROOM };
cond_t mailbox_attention(struct qio_channel *c, const struct mailbox_who *who,
                         const struct qio_completion *done, enum mailbox_news of, vaddr_t astadr,
                         uint64_t astprm);
/* Complete when there is a channel that reads, or writes. */
cond_t mailbox_wait(struct qio_channel *c, const struct mailbox_who *who,
                    const struct qio_completion *done, bool writer);
/* Set the protection: SS$_NOPRIV. Complete with the numbers of messages and bytes. */
cond_t mailbox_protect(struct qio_channel *c, const struct mailbox_who *who,
                       const struct qio_completion *done, uint32_t protection);
cond_t mailbox_sense(struct qio_channel *c, const struct mailbox_who *who,
                     const struct qio_completion *done, bool reader_check, bool writer_check);

/* Post a message of the kernel, such as that of a process's end, from the process pid. SS$_NORMAL,
 * SS$_NOSUCHDEV (also if another mailbox has the unit by now), SS$_MBTOOSML, SS$_MBFULL,
 * SS$_INSFMEM; nothing waits. */
cond_t mailbox_post(const struct mailbox_number *to, const void *message, uint32_t length,
                    uint32_t pid);

#endif
