# The tests of the coreutils, but for those in Perl.
. ./ground.sh coreutils
mkdir -p src lib
for name in $(coreutils --help | sed -n '/Built-in programs:/,/^$/{s/.*://;p}'); do
    ln -sf "$here/coreutils" "src/$name"
    programs="$programs $name"
done
export srcdir="$place" top_srcdir="$place" abs_top_srcdir="$place" abs_srcdir="$place" EGREP="grep -E"
export abs_top_builddir="$place" VERSION=9.1 PACKAGE_VERSION=9.1 LOCALE_FR=none LOCALE_FR_UTF8=none AWK=awk
export built_programs="$programs" fail=0 CONFIG_HEADER="$place/lib/config.h" PERL=false CC=false MAKE=false
export host_os=linux-gnu host_triplet=alpha-linux-gnu EXEEXT=""
for test in tests/*/*.sh; do echo "$test"; done | run_tests '
PATH=$abs_top_builddir/src:$PATH
. tests/lang-default
. tests/envvar-check
export CU_TEST_NAME=$(echo "$1" | tr / -)
. "./$1"'
chmod -R u+rwx "$place"
rm -r "$place"
