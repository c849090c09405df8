# The ground of a suite, sourced with the names of the programs that it is about: begins the suite
# anew as an ordinary user, in a folder $place of its own, into which tests.tar is unpacked if there
# is one, and with a PATH of those programs and BusyBox's utilities only.
here=${PWD%/}
box=$here/busybox
if [ "$("$box" id -u)" = 0 ]; then
    if [ ! -e /usr ]; then # a root without the usual folders: what tests expect in every one
        "$box" mkdir -p /usr/bin /etc
        "$box" --install -s /usr/bin
        "$box" --install -s /bin 2>/dev/null # but for those of the root itself
        "$box" ln -sf "$box" /bin/sh
        echo "127.0.0.1 localhost $("$box" hostname)" >/etc/hosts
    fi
    "$box" setuidgid nobody "$box" sh "$0"
    exit # not exec: process 1 is to be the superuser's
fi
place=$("$box" mktemp -d /tmp/suite.XXXXXX)
"$box" mkdir "$place/bin" "$place/tmp"
"$box" --install -s "$place/bin"
for program in "$@"; do "$box" ln -sf "$here/$program" "$place/bin/$program"; done
cd "$place" || exit 1
[ ! -e "$here/tests.tar" ] || "$box" tar xf "$here/tests.tar"
export PATH="$place/bin" HOME="$place" TMPDIR="$place/tmp" LC_ALL=C TZ=UTC TERM=dumb SHELL="$place/bin/sh"
unset ENV POSIXLY_CORRECT
umask 022

# Runs the command of the argument, a piece of shell, for each name in standard input, as $1, in
# sessions of their own and four at a time, since many tests sleep; it ends by 0 if the test
# passed, by 77 if something that it needs is missing. Prints how each ended; what those said that
# neither passed nor were skipped goes to standard error. Each gets a minute, or $limit seconds;
# what it leaves in its session is killed, as its timeout kills only the process that it started.
run_tests()
{
    # shellcheck disable=SC2016 # the inner shell's
    one='
        log=$(echo "$2" | tr / -)
        setsid timeout -s KILL ${limit:-60} sh -c "$1" sh "$2" </dev/null >"$0/$log.text" 2>&1 9>&1 &
        session=$!
        wait $session
        status=$?
        for again in 1 2 3 4 5; do pkill -KILL -s $session || break; done # they may fork meanwhile
        case $status in
            0) echo "$2: passed" ;;
            77) echo "$2: skipped" ;;
            *) echo "$2: failed by $status"; sed "s,^,$log: ," "$0/$log.text" | tail -n 60 >&2 ;;
        esac
        rm "$0/$log.text"'
    "$box" xargs -n 1 -P 4 "$box" sh -c "$one" "$place/tmp" "$1"
}
