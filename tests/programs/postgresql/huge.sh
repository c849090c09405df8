# A server whose shared memory is huge pages that all its processes map by the same page tables.
. ./server.sh huge.sh
options="-c huge_pages=on -c shared_buffers=${BUFFERS:-512MB} -c max_connections=${CLIENTS:-30}0"
start() {
    pg_ctl start -w -t 200 -l "$place/log" -o "-k $place -c listen_addresses= $options" >/dev/null
    echo start $?
}
free() { "$box" sed -n 's/^HugePages_Free: *//p' /proc/meminfo; }
ulimit -n 1024
before=$(free)
start
sql -c "show huge_pages"
pgbench -i -s ${SCALE:-2} >/dev/null 2>&1
echo pgbench made $?
pgbench -c ${CLIENTS:-30} -j 2 ${WORK:--t 20} 2>"$place/errors" | "$box" grep -E "failed|clients" &
# What kind of section it is, if its tables map all of it and the server and all clients have it mapped
seen() {
    show section >"$place/sections"
    "$box" awk '$1 == "anon_hugepage" && ($6 - 1) * 1024 >= $3 && $7 > '${CLIENTS:-30}' { print $5 }' \
        "$place/sections"
}
tries=0
until found=$(seen); [ "$found" ] || [ $((tries += 1)) = 100 ]; do "$box" sleep 0.2; done
wait $!
echo $found
"$box" grep -v "starting vacuum\|^end\.$" "$place/errors"
sql -c "select sum(delta) = (select sum(abalance) from pgbench_accounts) from pgbench_history"
"$box" [ $(free) -lt $before ] && echo of the pool
stop fast
"$box" [ $(free) = $before ] && echo all back
"$box" sed -n -e 's/^.* UTC \[[0-9]*\] //' -e '/PANIC\|FATAL\|ERROR\|WARNING\|was not properly\|shut down$/p' "$place/log"
"$box" cat "$place/sections" >&2
"$box" rm -r "$place"
