#!/bin/bash
# Lists the folders of the repository's modules, the root's as ".".
#
#   scripts/modules.sh            all
#   scripts/modules.sh nested     all but the root's
#   scripts/modules.sh released   those nested ones that users can get
#   scripts/modules.sh alone      those outside of the workspace, whose tests take long to compile
#   scripts/modules.sh checked    all but those that the gate does not compile, as that takes too long
set -euo pipefail
cd "$(dirname "$0")/.."

nested() { git ls-files '*/go.mod' | xargs -n 1 dirname; }

case ${1:-all} in
all) echo . && nested ;;
nested) nested ;;
released) nested | grep -vxE 'bench|election/kubelock/kubetest|fence/s3test|fence/sqltest' ;; # these are run in a checkout only
alone) echo fence/sqltest ;;
checked) echo . && nested | grep -vxE 'election/kubelock/kubetest|fence/s3test' ;; # make kubernetes, make s3
*)
	sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
