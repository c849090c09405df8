# PostgreSQL's own regression tests, on a server that runs already.
. ./server.sh regress.sh
start
"$box" mkdir "$place/out"
pg_regress=$here/regress/pg_regress
"$pg_regress" --bindir="$here/pgsql/bin" --inputdir="$here/regress" --dlpath="$here/regress" \
    --outputdir="$place/out" --schedule="$here/regress/parallel_schedule" --max-connections=10 \
    2>&1 | "$box" sed -e 's/ *[0-9]* ms$//' -e "s,$place,PLACE,g"
"$box" sed -e "s,$place,PLACE,g" -e "s,$here/,/,g" "$place/out/regression.diffs" 2>/dev/null
stop fast
"$box" grep -c "PANIC" "$place/log"
"$box" rm -r "$place"
