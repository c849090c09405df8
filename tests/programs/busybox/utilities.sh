# A day's work in a shell: pipes, here-documents, functions, job control, the usual utilities.
here=$PWD
$here/busybox mkdir -p /tmp/bb/bin && cd /tmp/bb || exit 1
$here/busybox --install -s bin
PATH=/tmp/bb/bin
export LC_ALL=C
seq 1 5000 >numbers
wc -l <numbers; md5sum <numbers; sha256sum <numbers; cksum <numbers
sort -rn numbers | head -n 3; sort -R numbers | sort -n | cmp - numbers && echo same
awk '{s += $1 % 7} END {print s, NR}' numbers
sed -n '10,12s/\([0-9]\)\([0-9]\)/\2\1/p' numbers
grep -c '7.*7' numbers; cut -c1-2 numbers | uniq -c | tail -n 2
tr '0-9' 'a-j' <numbers | fold -w 20 | tail -n 1
tar cf all.tar numbers && gzip -c all.tar >all.tar.gz && bzip2 -c all.tar | bunzip2 | cmp - all.tar && echo whole
mkdir out && tar xzf all.tar.gz -C out && diff numbers out/numbers && echo unpacked
find . -name 'num*' | sort; find . -type d | sort | xargs echo
cat <<END | while read -r a b; do echo "$b-$a"; done
one two
three four
END
f() { local x=$1; [ "$x" -le 1 ] && echo 1 && return; echo $((x * $(f $((x - 1))))); }
f 10
case "$(uname -s)" in Linux|Megalith) echo known ;; *) uname -s ;; esac
(exit 7); echo $?; false || echo or; { echo a; echo b; } | tac 2>/dev/null || true
sleep 0 & wait $!; echo waited $?
trap 'echo trapped' USR1; kill -USR1 $$; trap - USR1
(kill -TERM $(sh -c 'echo $PPID')) 2>/dev/null; echo $?
for i in 1 2 3; do [ $i = 2 ] && continue; printf '%s %04d\n' "$i" "$i"; done
ln -s numbers link && readlink link && stat -c '%s %F' numbers && test -L link && echo link
chmod 640 numbers && stat -c %a numbers; touch -d '2001-02-03 04:05:06' numbers; stat -c %y numbers
dd if=/dev/zero bs=1k count=100 2>/dev/null | od -An -tx1 | head -n 2
printf 'a\tb\n' | expand | hexdump -C; echo 'x=3;x^5' | bc; expr 3 \* 4; date -u -d @1000000000
echo hello | xxd; echo 'aGVsbG8K' | base64 -d; basename /a/b.c .c; dirname /a/b.c
diff -u /dev/null numbers | head -n 4 | tail -n 1; comm -12 numbers numbers | wc -l
yes | head -n 2; nl -b a numbers | tail -n 1; paste -s -d+ numbers | head -c 20; echo
timeout 1 sleep 5; echo $?
cd / && rm -r /tmp/bb && ls -d /tmp/bb 2>/dev/null; echo removed
