# Runs the shell's own tests that the arguments name (run-ARGUMENT), with the utilities of BusyBox,
# and shows what each says: nothing, or how the shell's output differs from what it should be.
if [ "$(./busybox id -u)" = 0 ]; then
    if [ ! -e /usr ]; then # a root without the usual folders: what the tests expect in every one
        ./busybox mkdir -p /usr/bin /etc
        ./busybox --install -s /usr/bin
        ./busybox cp bash /bin/sh
    fi
    ./busybox setuidgid nobody ./busybox sh suite.sh "$@"
    exit # not exec: process 1 is to be the superuser's
fi
here=${PWD%/}
place=$("$here/busybox" mktemp -d /tmp/shell.XXXXXX)
"$here/busybox" mkdir "$place/bin" "$place/tmp"
"$here/busybox" --install -s "$place/bin"
"$here/busybox" rm "$place/bin/sh" "$place/bin/printenv"
"$here/busybox" cp -r "$here/bash-tests" "$place/tests"
"$here/busybox" cp "$here/bash" "$place/bin/bash"
"$here/busybox" ln -s bash "$place/bin/sh"
cd "$place/tests" || exit 1
"$here/busybox" chmod 755 recho zecho printenv xcase
export PATH="$place/tests:$place/bin" THIS_SH="$place/bin/bash" TMPDIR="$place/tmp" HOME="$place"
export BUILD_DIR="$place" BASH_TSTOUT="$place/tmp/out" LC_ALL=C TZ=UTC
unset BASH_ENV ENV SHELLOPTS
for word in "$@"; do
    for test in run-$word; do
        case $test in run-all | run-minimal | run-gprof | *'*'*) continue ;; esac
        echo "$test"
        timeout -s KILL 300 sh "$test" 2>&1 </dev/null | sed -e "s,$place,PLACE,g" -e '/^warning: /d'
        rm -f "$BASH_TSTOUT"
    done
done
cd /
rm -r "$place"
