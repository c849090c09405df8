# The tests of sed, but for those in Perl. bsd-wrapper.sh runs bsd.sh.
. ./ground.sh sed
export srcdir=. top_srcdir=. abs_top_srcdir="$place" abs_srcdir="$place" abs_top_builddir="$place"
export VERSION=4.9 PACKAGE_VERSION=4.9 LOCALE_FR=none LOCALE_FR_UTF8=none LOCALE_JA=none AWK=awk
export built_programs=sed fail=0 CONFIG_HEADER="$place/config.h" PERL=false
mkdir sed && ln -s "$here/sed" sed/sed
for test in testsuite/*.sh; do
    case $test in */init.sh | */bsd.sh) ;; *) echo "$test" ;; esac
done | run_tests 'PATH=$abs_top_builddir/sed:$PATH; . "$1"'
rm -r "$place"
