#!/bin/bash
# Runs GoReleaser, in the version that .goreleaser.yaml is written for. It is compiled
# if it is not there, without optimization, which would take longer than all that
# GoReleaser does here: some 2 minutes on two processors.
#
#   scripts/goreleaser.sh ARGS...
set -euo pipefail
cd "$(dirname "$0")/.."

readonly version=v2.15.1
bin=$(go env GOPATH)/bin/goreleaser
has() { [ -x "$bin" ] && go version -m "$bin" | grep -qF "github.com/goreleaser/goreleaser/v2	$version"; }
has || go install -gcflags="all=-N -l" -ldflags="-s -w" "github.com/goreleaser/goreleaser/v2@$version"
exec "$bin" "$@"
