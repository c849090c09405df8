# A server whose shared memory is huge pages (HUGE=on) or not (off), asked by four clients that
# only read, TRANSACTIONS times each. Its status is 0 only if all went well.
. ./server.sh reads.sh
options="-c huge_pages=$HUGE -c shared_buffers=64MB -c max_connections=20 -c fsync=off"
pg_ctl start -w -t 600 -l "$place/log" -o "-k $place -c listen_addresses= $options" || exit 1
pgbench -i -s 2 || exit 1
if [ "$TRANSACTIONS" != 0 ]; then
    pgbench -n -S -c 4 -t "$TRANSACTIONS" >"$place/said" || exit 1
    "$box" cat "$place/said"
    "$box" grep -q "actually processed: $((4 * TRANSACTIONS))/" "$place/said" || exit 1
fi
pg_ctl stop -t 600 -m fast || exit 1
"$box" rm -r "$place"
