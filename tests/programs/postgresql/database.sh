# A database from its making to its end: queries of one client and of several, an orderly end, a
# sudden one and the recovery from it.
. ./server.sh database.sh
"$box" sed -e "s,$place,PLACE,g" -e 's,[^ ]*pg_ctl,pg_ctl,g' -e 's,20[-0-9]* [0-9:.]* UTC.[[0-9]*],TIME,' "$place/made"
start
sql -f queries.sql
echo psql $?

pgbench -i -s 1 >/dev/null 2>&1
echo pgbench made $?
pgbench -c 4 -j 2 -t 50 2>"$place/errors" | "$box" grep -E "processed|failed|threads|clients"
"$box" grep -v "starting vacuum\|^end\.$" "$place/errors"
pgbench -n -S -c 8 -t 100 2>/dev/null | "$box" grep -E "processed|failed"
sql -c "select sum(delta) = (select sum(abalance) from pgbench_accounts), count(*) from pgbench_history"

stop fast
start
sql -c "insert into kept select n from generate_series(1, 5000) n; select sum(i) from kept"
stop immediate
start
sql -c "select count(*), sum(i) from kept" -c "select count(*) from t"
stop fast
"$box" sed -n -e 's/^.* UTC \[[0-9]*\] //' -e '/PANIC\|FATAL\|WARNING\|was not properly\|shut down$/p' "$place/log"
"$box" rm -r "$place"
