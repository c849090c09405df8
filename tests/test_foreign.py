"""Programs that were not written for Megalith: plain C, the stock cross compiler, none of our
headers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lib.guest import run_guest

PROGRAM = r"""
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(int argc, char **argv)
{
    int n = 100000, *v, status, fd[2];
    char line[100];
    FILE *f;
    pid_t pid;

    if (argc > 1) {
        printf("child %s of %d\n", argv[1], getppid());
        return 7;
    }
    v = malloc(n * sizeof(*v));
    srand(1);
    for (int k = 0; k < n; k++)
        v[k] = rand();
    qsort(v, n, sizeof(*v), compare);
    for (int k = 1; k < n; k++)
        if (v[k] < v[k - 1])
            return 1;
    printf("sqrt(2) = %.15f\n", sqrt(argc + 1.0));
    f = fopen("/tmp/text", "w+");
    fprintf(f, "line one\nline two\n");
    rewind(f);
    while (fgets(line, sizeof(line), f))
        fputs(line, stdout);
    fclose(f);
    fflush(stdout);
    printf("system %d\n", WEXITSTATUS(system("/bin/echo from the shell; exit 3")));
    fflush(stdout);
    if (posix_spawn(&pid, argv[0], NULL, NULL, (char *[]){argv[0], "spawned", NULL}, environ))
        return 2;
    waitpid(pid, &status, 0);
    printf("spawn %d\n", WEXITSTATUS(status));
    f = popen("/bin/echo through a pipe", "r");
    if (fgets(line, sizeof(line), f))
        fputs(line, stdout);
    pclose(f);
    if (pipe(fd))
        return 3;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        dup2(fd[1], 1);
        printf("written by a child");
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    status = read(fd[0], line, sizeof(line));
    printf("%.*s; time %s\n", status, line, time(NULL) > 1000000000 ? "good" : "bad");
    return 5;
}
"""

EXPECTED = b"""sqrt(2) = 1.414213562373095
line one
line two
from the shell
system 3
child spawned of 1
spawn 7
through a pipe
written by a child; time good
"""


def test_foreign_program(tmp_path: Path) -> None:
    source, program = tmp_path / "main.c", tmp_path / "prog"
    source.write_text(PROGRAM)
    subprocess.run(
        f"alpha-linux-gnu-gcc -O2 -static -Wl,--no-relax {source} -o {program} -lm",
        shell=True,
        check=True,
    )
    done = run_guest("/prog", options=["--add", str(program)], smp=2)
    done.expect(5)
    assert done.output == EXPECTED


def compile_program(source: Path, program: Path, *options: str) -> None:
    """With the stock cross compiler, dynamically linked."""
    subprocess.run(
        ["alpha-linux-gnu-gcc", "-O2", "-Wl,--no-relax", *options, source, "-o", program, "-lm"],
        check=True,
    )


@pytest.mark.parametrize("options", [("-no-pie",), ("-pie", "-fPIE")])
def test_dynamically_linked(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The same program with shared libraries, which scripts/run adds, at its own address and
    relocatable."""
    source, program = tmp_path / "main.c", tmp_path / "prog"
    source.write_text(PROGRAM)
    compile_program(source, program, *options)
    done = run_guest("/prog", options=["--add", str(program)], smp=2)
    done.expect(5)
    assert done.output == EXPECTED


LOADED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static _Thread_local int own = 7;

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        exit(9);
    close(fd);
}

static void run(const char *what, const char *path, char *const argv[])
{
    int status;

    fflush(stdout);
    if (fork() == 0) {
        execve(path, argv, environ);
        printf("%s: %s\n", what, strerror(errno));
        fflush(stdout);
        _exit(1);
    }
    wait(&status);
}

static int show(int argc, char **argv)
{
    char exe[100] = "";

    readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    printf("run as");
    for (int k = 0; k < argc; k++)
        printf(" '%s'", argv[k]);
    printf("; exe %s, execfn %s\n", exe, (char *)getauxval(AT_EXECFN));
    return 0;
}

int main(int argc, char **argv)
{
    void *library;
    char path[20], text[300];
    int fd;

    if (argc != 1 || !argv[0][0])
        return show(argc, argv);
    printf("linker %d, entry %d, platform %s, secure %lu, ticks %lu, TLS %d\n",
           getauxval(AT_BASE) == 0x80000000, getauxval(AT_ENTRY) != getauxval(AT_BASE),
           (char *)getauxval(AT_PLATFORM), getauxval(AT_SECURE), getauxval(AT_CLKTCK), own);
    library = dlopen("libutil.so.1.1", RTLD_NOW);
    printf("dlopen %d\n", library != NULL);
    run("no arguments", "/prog", (char *[]){NULL});
    run("the linker itself", "/lib/ld-linux.so.2", (char *[]){"ld", "/prog", "a", NULL});
    write_file("/tmp/1", "#! /prog  an argument \n", 0755);
    run("script", "/tmp/1", (char *[]){"zero", "one", NULL});
    for (int k = 2; k <= 6; k++) {
        snprintf(path, sizeof(path), "/tmp/%d", k);
        snprintf(text, sizeof(text), "#!/tmp/%d\n", k - 1);
        write_file(path, text, 0755);
    }
    run("script of scripts", "/tmp/3", (char *[]){"zero", NULL});
    run("five scripts", "/tmp/5", (char *[]){"zero", NULL});
    run("six scripts", "/tmp/6", (char *[]){"zero", NULL});
    write_file("/tmp/file", "#!/prog\n", 0644);
    run("not executable", "/tmp/file", (char *[]){"zero", NULL});
    write_file("/tmp/missing", "#!/nowhere\n", 0755);
    run("no such interpreter", "/tmp/missing", (char *[]){"zero", NULL});
    write_file("/tmp/empty", "#!  \n", 0755);
    run("no interpreter", "/tmp/empty", (char *[]){"zero", NULL});
    write_file("/tmp/text", "echo\n", 0755);
    run("no program", "/tmp/text", (char *[]){"zero", NULL});
    memset(text, 'x', sizeof(text));
    memcpy(text, "#!/", 3);
    text[299] = '\0';
    write_file("/tmp/long", text, 0755);
    run("a long line", "/tmp/long", (char *[]){"zero", NULL});
    fd = open("/tmp/self", O_RDONLY | O_CREAT | O_CLOEXEC, 0755);
    run("an empty file", "/tmp/self", (char *[]){"zero", NULL});
    close(fd);
    return 0;
}
"""

LOADED_EXPECTED = """linker 1, entry 1, platform ev67, secure 0, ticks 1024, TLS 7
dlopen 1
run as ''; exe /prog, execfn /prog
run as '/prog' 'a'; exe /lib/ld-linux.so.2, execfn /prog
run as '/prog' 'an argument' '/tmp/1' 'one'; exe /prog, execfn /tmp/1
run as '/prog' 'an argument' '/tmp/1' '/tmp/2' '/tmp/3'; exe /prog, execfn /tmp/3
run as '/prog' 'an argument' '/tmp/1' '/tmp/2' '/tmp/3' '/tmp/4' '/tmp/5'; exe /prog, execfn /tmp/5
six scripts: Too many levels of symbolic links
not executable: Permission denied
no such interpreter: No such file or directory
no interpreter: Exec format error
no program: Exec format error
a long line: Exec format error
an empty file: Exec format error
"""


def test_program_start(tmp_path: Path) -> None:
    """The auxiliary vector, dlopen, scripts, and the dynamic linker as a program."""
    source, program = tmp_path / "main.c", tmp_path / "prog"
    source.write_text(LOADED)
    compile_program(source, program)
    library = "/usr/alpha-linux-gnu/lib/libutil.so.1.1:/lib/libutil.so.1.1"
    done = run_guest("/prog", options=["--add", str(program), "--add", library], smp=2)
    done.expect(0)
    assert done.text == LOADED_EXPECTED


def test_text_is_shared(tmp_path: Path) -> None:
    """Two hundred processes run the text of one C library, which has 247 pages of it: beside tables
    and data of their own they take none."""
    source, program = tmp_path / "main.c", tmp_path / "prog"
    source.write_text(SHARED)
    compile_program(source, program)
    done = run_guest("/prog", options=["--add", str(program)], smp=2)
    done.expect(0)
    assert int(done.text) < 80, f"{done.text} pages for each process"


SHARED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 200

static long pages_free(void)
{
    struct sysinfo s;

    sysinfo(&s);
    return (long)(s.freeram / (unsigned long)getpagesize());
}

int main(int argc, char **argv)
{
    int ready[2], hold[2];
    char byte;
    long before;

    if (argc > 1) { /* a child with a space of its own: touch the library's text */
        char text[100];

        for (int k = 0; k < 100; k++)
            snprintf(text, sizeof(text), "%d %g %s", k, k / 3.0, strerror(k));
        byte = write(atoi(argv[1]), "x", 1) != 1;
        return (int)read(atoi(argv[2]), &byte, 1);
    }
    if (pipe(ready) || pipe(hold))
        return 1;
    before = pages_free();
    for (int k = 0; k < PROCESSES; k++)
        if (fork() == 0) {
            char a[12], b[12];

            close(hold[1]);
            snprintf(a, sizeof(a), "%d", ready[1]);
            snprintf(b, sizeof(b), "%d", hold[0]);
            execl(argv[0], argv[0], a, b, NULL);
            _exit(1);
        }
    for (int k = 0; k < PROCESSES; k++)
        if (read(ready[0], &byte, 1) != 1)
            return 1;
    printf("%ld\n", (before - pages_free()) / PROCESSES);
    close(hold[1]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
"""
