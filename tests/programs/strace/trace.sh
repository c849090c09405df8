# Trace a shell that runs programs, and show what does not depend on numbers of processes.
calls() { ./busybox sed -n "s/^[0-9]* *//; $1" trace; }

./strace -f -o trace ./busybox sh -c './busybox echo hello | ./busybox cat; kill -USR1 $$'
echo "status $?"
calls '/^execve.*echo/p; /^write(1, "hello/p; /^---.*USR1/p' | # calls may be in two parts
    ./busybox sed 's/, 0x.*//; s/ <unf.*//; s/) *= 6$//; s/_pid=[0-9]*/_pid=PID/' | ./busybox sort
./busybox grep -c 'exited with 0' trace
./busybox grep -c 'killed by SIGUSR1' trace

./busybox sleep 100 &
./strace -o trace -p $! 2>/dev/null &
./busybox sleep 1
kill %1
wait %1
echo "status $?"
wait %2
calls '/SIGTERM/p' | ./busybox sed 's/_pid=[0-9]*/_pid=PID/'
