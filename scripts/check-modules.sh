#!/bin/bash
# Uses the modules of this repository as outsiders will, from tags as a release sets
# them (docs/project/releasing.md):
#
#   1. a program that imports session and lock needs few modules, and no container
#      runtime, browser or logger;
#   2. every released module can be required and built outside of the workspace;
#   3. the commands can be installed with "go install", and know their version;
#   4. so does a binary that is built from the tag's checkout, as GoReleaser builds it.
#
#   scripts/check-modules.sh [VERSION]
set -euo pipefail
cd "$(dirname "$0")/.."

readonly version=${1:-v0.1.0} root=github.com/zkrecipes/zkrecipes most=12
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
fail() { printf 'modules: %s\n' "$*" >&2; exit 1; }

scripts/pretend-release.sh "$version" "$work/release"
. "$work/release/environment"
export GOBIN=$work/bin

# A user's program, in a module of its own.
program() {
	mkdir "$work/$1" && cd "$work/$1"
	go mod init "example.org/$1" 2>/dev/null
	cat >main.go
	go mod tidy 2>log && go vet . && go build -o program . || { cat log >&2; fail "$1: cannot be built"; }
	cd - >/dev/null
}

program locker <<'EOF'
package main

import (
	"context"
	"os"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

func main() {
	client, err := session.Connect(context.Background(), os.Args[1], nil)
	if err != nil {
		panic(err)
	}
	_ = lock.New(client, "/locks/report", nil)
}
EOF
sums=$(wc -l <"$work/locker/go.sum")
modules=$(cd "$work/locker" && go list -m all)
count=$(wc -l <<<"$modules")
echo "session and lock: $sums lines of go.sum, $count modules"
[ "$sums" -le $most ] || { cat "$work/locker/go.sum"; fail "go.sum has $sums lines, at most $most are allowed"; }
[ "$count" -le $most ] || { echo "$modules"; fail "$count modules, at most $most are allowed"; }
if grep -E 'docker|moby|containerd|runc|chromedp|logrus|zap|cobra|grpc|opentelemetry|prometheus|krb5|gocron' <<<"$modules"; then
	fail "a program with a lock must not depend on these"
fi
if (cd "$work/locker" && go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' .) |
	grep -vE "^($root/|github.com/go-zookeeper/zk\$|example.org/)"; then
	fail "only the standard library and go-zookeeper may be linked"
fi

program tester <<'EOF'
package main

import (
	_ "github.com/zkrecipes/zkrecipes/zktest"
	_ "github.com/zkrecipes/zkrecipes/zktest/apache"
	_ "github.com/zkrecipes/zkrecipes/zktest/matrix"
	_ "github.com/zkrecipes/zkrecipes/zktest/sim"
)

func main() {}
EOF
if (cd "$work/tester" && go list -m all) | grep -E 'docker|chromedp|logrus|cobra|grpc'; then
	fail "zktest must not bring these"
fi

program resolver <<'EOF'
package main

import _ "github.com/zkrecipes/zkrecipes/discovery/grpcresolver"

func main() {}
EOF

program fenced <<'EOF'
package main

import _ "github.com/zkrecipes/zkrecipes/fence/grpcfence"

func main() {}
EOF

program server <<'EOF'
package main

import _ "github.com/zkrecipes/zkrecipes/election/grpcserving"

func main() {}
EOF

program scheduler <<'EOF'
package main

import _ "github.com/zkrecipes/zkrecipes/lock/gocronlock"

func main() {}
EOF

program observer <<'EOF'
package main

import (
	_ "github.com/zkrecipes/zkrecipes/observe/otel"
	_ "github.com/zkrecipes/zkrecipes/observe/prom"
)

func main() {}
EOF

program authenticated <<'EOF'
package main

import _ "github.com/zkrecipes/zkrecipes/session/kerberos"

func main() {}
EOF

# As "go install" does it in a folder without a module.
cd "$work"
go install "$root/cmd/zkr@$version" || fail "zkr cannot be installed"
go install "$root/zktest/zktest-docker@$version" || fail "zktest-docker cannot be installed"
"$GOBIN/zkr" version
"$GOBIN/zkr" version | head -1 | grep -qF "zkr $version" || fail "zkr does not know that it is $version"

# As GoReleaser does it: in the workspace of the checkout, whose tag is stamped. Its other
# flags would cost a compilation of everything.
cd "$work/release/repository"
GOWORK='' GOFLAGS='' go build -buildvcs=true -o "$work/released" ./cmd/zkr || fail "zkr cannot be built from its tag"
"$work/released" version | head -1 | grep -qF "zkr $version" || fail "a binary of the tag $version says: $("$work/released" version | head -1)"

# A module that is released without being used here would be released untested.
for module in $(scripts/modules.sh released); do
	case $module in
	cmd/zkr | zktest/zktest-docker | discovery/grpcresolver | election/grpcserving | fence/grpcfence | lock/gocronlock | observe/otel | observe/prom | session/kerberos) ;;
	*) fail "$module: add a use of it to scripts/check-modules.sh" ;;
	esac
	grep -q "$root $version" "$module/go.mod" || fail "$module does not require $root $version"
	! grep -q '^replace' "$module/go.mod" || fail "$module: go install refuses a module with replace"
done
echo "all modules can be used as of $version"
