/* The topics of help, in lines of at most 79 columns. Commands that occur here are run by
 * tests/test_help.py. */
#include "help.h"

#include <stddef.h>

const struct topic topics[] = {
    {"try", "what to look at first",
     "  show memory                   physical memory, pools, reservations\n"
     "  show process /all             every process with its pages and page tables\n"
     "  /tests/share_section --fluid --size 512M --processes 20 --keep\n"
     "                                20 processes map a section, with shared tables\n"
     "  show section /full            what it costs, and its granularity hints\n"
     "  dgblsc SHARE_SECTION_FLUID    deletes it\n"
     "  show memory /validate         counts every page of the machine\n"
     "  monitor                       CPUs, memory, processes, each second; q quits\n"
     "  ls /bin                       programs; vi edits, less shows, ^R searches\n"},
    {"commands", "the commands of this system",
     "  show DISPLAY                  show help lists the displays\n"
     "  monitor [CLASS]               where the time goes, processes, other figures\n"
     "  sysman COMMAND                parameters, reserved memory of the system\n"
     "  sda COMMAND                   traces: locks, PC samples, unaligned accesses\n"
     "  dgblsc NAME                   deletes a permanent global section\n"
     "  define /JOB NAME VALUE        a logical name for this shell and its children;\n"
     "                                /GROUP, /SYSTEM for others; deassign /JOB NAME\n"
     "  runas --uic '[g,m]' COMMAND   runs a command as another user\n"
     "  rad DOMAIN -- COMMAND         runs a command in a memory domain\n"
     "  ls /bin                       these, and the usual: ls, vi, awk, less, top\n"
     "help logical_names says more of define and deassign.\n"},
    {"logical_names", "names that stand for others",
     "  define /JOB DATA /tmp/data    for this shell and its children, until it ends\n"
     "  define /SYSTEM LIBRARY a,b    all users; several values; /GROUP: of the group\n"
     "  show logical DATA             what it stands for, followed to the end\n"
     "  show logical 'D*' /FULL       a pattern; modes and attributes\n"
     "  deassign /JOB DATA            deletes it; /ALL for a name: all of the table\n"
     "  deassign /SYSTEM LIBRARY\n"
     "Without a table /JOB is meant. The simple shell has both commands built in, and\n"
     "means its own process, /PROCESS, which no program can mean, because its names\n"
     "end with it. A program finds a name by $TRNLNM; names are defined in supervisor\n"
     "mode (/USER_MODE, /EXECUTIVE_MODE).\n"},
    {"monitor", "CPUs, memory and processes while they change",
     "  monitor                           drawn anew each second; h shows its keys\n"
     "  monitor page                      a class: system, processes, page, io, disk,\n"
     "                                    pool, lock (after show spinlock /start)\n"
     "  monitor /INTERVAL=0.5 /COUNT=10   so often, so many readings\n"
     "  monitor /RECORD FILE              a JSON object for each reading\n"
     "Where the output is no terminal each reading of the system is a line.\n"},
    {"keys", "keys at this terminal",
     "  ^D   end of input; in the first shell it powers the machine off\n"
     "  ^Z   stops the program (fg, bg and jobs go on with it);\n"
     "       end of input at SYSMAN>, SDA>\n"
     "  ^C   interrupts the program\n"
     "  ^\\   ends it, though it may ignore ^C\n"
     "  Tab  completes a command, its words or a file\n"
     "  ^R   finds one of the lines before\n"
     "  ^]   ends the machine at once, whatever it is doing\n"},
    {"vms", "words of OpenVMS",
     "  global section    memory with a name that processes map; memory-resident ones\n"
     "                    are never paged and can share their page tables\n"
     "  region            a reserved part of an address space; one with shared page\n"
     "                    tables has room for whole tables only\n"
     "  granularity hint  says in a PTE that 8, 64 or 512 aligned pages are\n"
     "                    contiguous: the processor needs one translation for all\n"
     "  fluid pages       free pages, and those that can become free, less what was\n"
     "                    promised\n"
     "  reserved memory   pages set aside at boot: sysman RESERVED_MEMORY SHOW\n"
     "  lookaside list    free blocks of one size, taken without a search\n"
     "  logical name      a name that stands for another: help logical_names\n"
     "  condition value   result of a service; odd: success. help INSFLPGS has one\n"},
    {"programs", "how to run a program of your own",
     "On the host:\n"
     "  scripts/cc hello.c -o hello && scripts/run --add hello -- /hello\n"
     "  scripts/run --share FOLDER        the folder is /share in the guest\n"
     "Programs for Linux/Alpha run as they are, and OpenVMS sources compile against\n"
     "<starlet.h>.\n"},
    {NULL, NULL, NULL},
};
