# Four processes write one database at the same time: each row must be there once.
sqlite=$PWD/sqlite3
cd /tmp || exit 1
"$sqlite" writers.db "create table t(p, i)"
write() {
    i=0
    while [ $i -lt 50 ]; do
        "$sqlite" -cmd ".timeout 60000" writers.db "insert into t values($1, $i)" || echo "failed $1 $i"
        i=$((i + 1))
    done
}
for p in 1 2 3 4; do write $p & done
wait
"$sqlite" writers.db "select p, count(*), sum(i) from t group by p; pragma integrity_check"
