# BusyBox's own tests, each with its applet's name: blanks become underscores, and a second test of
# the same name has a number. Left out: bc and the SHA sums, some 20 minutes of mere calculation.
. ./ground.sh
mkdir "$place/tree"
tar xf "$here/testsuite.tar" -C "$place/tree"
ln -s "$box" "$place/tree/busybox"
cd "$place/tree/testsuite" || exit 1
sed -i "1s,^#!.*,#!$PATH/sh," ./*.tests
rm bc.tests sha*sum.tests
# shellcheck disable=SC2010 # no odd names here
for applet in $(ls | sed 's/\.tests$//' | sort -u); do
    [ -d "$applet" ] || [ -e "$applet.tests" ] || continue
    timeout -s KILL 300 sh ./runtest -v "$applet" </dev/null >"$TMPDIR/log" 2>&1
    sed -n -e "s,^PASS: \(.*\),$applet/\1=passed,p" -e "s,^FAIL: \(.*\),$applet/\1=failed,p" \
        -e "s,^SKIPPED: \(.*\),$applet/\1=skipped,p" -e "s,^UNTESTED: \(.*\),$applet/\1=skipped,p" "$TMPDIR/log"
    grep -q ^FAIL "$TMPDIR/log" && sed "s,^,$applet: ," "$TMPDIR/log" >&2
done | tr ' ' _ | awk -F= '{
    result = $NF
    name = substr($0, 1, length($0) - length(result) - 1)
    if (seen[name]++)
        name = name "_" seen[name]
    print name ": " result
}'
chmod -R u+rwx "$place"
rm -r "$place"
