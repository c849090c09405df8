/* The message that a process leaves when it ends, to the mailbox of $CREPRC (STARLET;
   docs/openvms.md). */
#ifndef ACCDEF_H
#define ACCDEF_H

#define ACC$K_TERMLEN 84 /* of the message, which ends with the owner */
#define ACC$C_TERMLEN 84

typedef struct _accdef {
    unsigned short acc$w_msgtyp; /* MSG$_DELPROC */
    unsigned short acc$w_msgsiz;
    unsigned int acc$l_finalsts; /* condition value */
    unsigned int acc$l_pid;
    unsigned int acc$l_jobid;
    unsigned int acc$q_termtime[2];
    char acc$t_account[8];
    char acc$t_username[12];
    unsigned int acc$l_cputim; /* units of 10 ms */
    unsigned int acc$l_pageflts;
    unsigned int acc$l_pgflpeak;
    unsigned int acc$l_wspeak;
    unsigned int acc$l_biocnt;
    unsigned int acc$l_diocnt;
    unsigned int acc$l_volumes;
    unsigned int acc$q_login[2];
    unsigned int acc$l_owner;
    char acc$t_job_name[8]; /* of batch jobs: not here */
    char acc$t_job_que[16];
} ACCDEF;

/* The name without __NEW_STARLET. */
#define accdef _accdef

#endif
