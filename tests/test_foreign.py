"""Programs that were not written for Megalith: plain C, the stock cross compiler, none of our
headers."""

from __future__ import annotations

import subprocess
from pathlib import Path

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
    source, program = tmp_path / "prog.c", tmp_path / "prog"
    source.write_text(PROGRAM)
    subprocess.run(
        f"alpha-linux-gnu-gcc -O2 -static -Wl,--no-relax {source} -o {program} -lm",
        shell=True,
        check=True,
    )
    done = run_guest("/prog", options=["--add", str(program)], smp=2)
    done.expect(5)
    assert done.output == EXPECTED
