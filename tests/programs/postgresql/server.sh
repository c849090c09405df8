# Makes a database, and says how to start its server, as a user who is not root. Sourced by the
# scripts of the cases, with their names; the programs' folder is the working directory.
if [ "$(./busybox id -u)" = 0 ]; then
    exec ./busybox setuidgid nobody ./busybox sh "$1"
fi
here=${PWD%/}
box=$here/busybox
place=$("$box" mktemp -d /tmp/database.XXXXXX)
PATH=$here/pgsql/bin:$place/bin:/bin:/usr/bin
export PATH LD_LIBRARY_PATH=$here/pgsql/lib LC_ALL=C TZ=UTC
export PGDATA=$place/data PGHOST=$place PGUSER=postgres PGDATABASE=postgres
"$box" mkdir "$place/bin"
"$box" ln -s "$box" "$place/bin/diff"
# initdb asks it for locales, and warns if there are none
printf '#!/bin/sh\necho C\n' >"$place/bin/locale"
"$box" chmod 755 "$place/bin/locale"

initdb -A trust --locale=C -E UTF8 -U postgres >"$place/made" 2>&1
echo initdb $?

start() { pg_ctl start -w -t 200 -l "$place/log" -o "-k $place -c listen_addresses=" >/dev/null; echo start $?; }
stop() { pg_ctl stop -t 200 -m "$1" >/dev/null; echo stop $?; }
sql() { psql -X -q -A -t "$@" 2>&1; }
