#!/usr/bin/env bash
# The R package of tools/r, built and tested with tinytest against the program. Writes TAP.
set -u
. tests/scripts/support.sh

reason=
for package in tinytest jsonlite; do
    [ -n "$reason" ] || Rscript -e "library($package)" >/dev/null 2>&1 || reason="there is no R with tinytest and jsonlite"
done
[[ ${TREFOIL_OUT:-build/gcc} != *-* ]] || reason="a sanitizer or gcov cannot be loaded into R"
if [ -n "$reason" ]; then
    skip "the R package" "$reason"
    end_test
fi
tests/scripts/support_results.sh "$folder" || { result 1 "two results are made"; end_test; }
library=$PWD/${TREFOIL_OUT:-build/gcc}
mkdir "$folder/r" "$folder/pc" "$folder/include"
cp library/trefoil.h "$folder/include/"
cat >"$folder/pc/trefoil.pc" <<END
Name: trefoil
Description: the tree's own
Version: 0
Cflags: "-I$folder/include"
Libs: "-L$library" -ltrefoil
END
cp -r tools/r/trefoil "$folder/package"
LD_LIBRARY_PATH=$library PKG_CONFIG_PATH=$folder/pc R CMD INSTALL --no-docs --library="$folder/r" "$folder/package" >"$folder/log" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/log"
! grep -q warning: "$folder/log" && [ $status -eq 0 ]
result $? "the R package builds without a warning"
R CMD Rdconv --type=txt tools/r/trefoil/man/trefoil.Rd 2>&1 >/dev/null | grep . | sed 's/^/# /'
LD_LIBRARY_PATH=$library TREFOIL=$trefoil TREFOIL_RESULTS=$folder R_LIBS=$folder/r Rscript -e \
    'library(trefoil); r <- tinytest::run_test_dir(system.file("tinytest", package = "trefoil"), verbose = 0)
     print(r); if (any(sapply(r, isFALSE)) || length(r) < 50) quit(status = 1)' >"$folder/log" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/log"
result $status "its answers, rows, marginals and refusals are the program's"
sed -n '/^```r$/,/^```$/{/^```/d;p}' docs/r.md >"$folder/page.R"
ln -s "$folder/tree" "$folder/result"
(cd "$folder" && LD_LIBRARY_PATH=$library R_LIBS=$folder/r Rscript page.R) >"$folder/log" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/log"
result $status "docs/r.md runs as it stands"
[ "$(sed -n 's/^Version: //p' tools/r/trefoil/DESCRIPTION)" = "$(sed -n 's/^VERSION := //p' Makefile)" ]
result $? "it has this version"
end_test
