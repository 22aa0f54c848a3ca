#!/bin/bash
# Builds deploy/compose.yaml without a registry, starts it, and checks that it
# serves: four nodes of which one leads, none of them as root, orders refused
# without the token, and a killed leader that is replaced, and comes back last.
#
# It needs root, docker, curl, and docker's compose plugin or docker-compose.
# It ends everything that it starts, except a docker daemon.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly project=zkr-check go_image=zkrecipes/go:local
export ZOOKEEPER_IMAGE=zkrecipes/zookeeper:local BUILD_IMAGE=$go_image RUNTIME_IMAGE=scratch
ZKR_DEMO_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export ZKR_DEMO_TOKEN PAGE_PORT=${PAGE_PORT:-18080} COMPOSE_PROJECT_NAME=$project
readonly page=http://127.0.0.1:$PAGE_PORT

say() { echo "check-compose: $*"; }
die() { say "$*" >&2; exit 1; }

compose() {
	if docker compose version >/dev/null 2>&1; then
		docker compose -f deploy/compose.yaml "$@"
	else
		docker-compose -f deploy/compose.yaml "$@"
	fi
}

# Its builder needs no plugin.
docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0 COMPOSE_DOCKER_CLI_BUILD=0

# go_image imports this machine's Go: its programs need nothing else.
go_image() {
	local version
	version=$(go version | tr ' /' '__')
	[ "$(docker image inspect -f '{{index .Config.Labels "zkrecipes.version"}}' $go_image 2>/dev/null)" != "$version" ] || return 0
	local root
	root=$(go env GOROOT)
	say "importing $go_image ($version)"
	tar -C "$root" --transform 's,^\.,usr/local/go,' -cf - ./bin ./pkg ./src ./lib ./go.env ./VERSION |
		docker import --change "LABEL zkrecipes.version=$version" - $go_image >/dev/null
}

# context copies what git knows, with the modules: a build has no network.
context() {
	git ls-files -z --cached | tar --null --ignore-failed-read -T - -cf - | tar -C "$1" -xf -
	(cd "$1" && rm -f deploy/Dockerfile.dockerignore && go work vendor)
}

# until repeats a check until it is true.
until_true() {
	local what=$1 end=$((SECONDS + 60))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || { compose logs --tail 20 || true; die "not within a minute: $what"; }
		sleep 0.2
	done
	say "$what"
}

code() { curl -s -o /dev/null -w '%{http_code}' "$@" || true; }
summary() { curl -s "$page/cluster/summary" || true; }
leader() { summary | sed -n 's/^{"leader":"\([^"]*\)".*/\1/p'; }
names() { summary | grep -o '"name":"[^"]*"' | cut -d'"' -f4 | tr '\n' ' '; }
four() { [ "$(names | wc -w)" = 4 ] && ! summary | grep -q '"error"'; }
led_by_another() { [ -n "$(leader)" ] && [ "$(leader)" != "$1" ]; }
# form is the token of the page's forms, for a browser that was given the secret.
form() { curl -sL -b "$1" -c "$1" "$page/?token=$ZKR_DEMO_TOKEN" | sed -n 's/.*name="token" value="\([^"]*\)".*/\1/p' | head -1; }
# users are those as which the page and the nodes run.
users() { compose ps -q page node1 node2 node3 node4 | xargs -I{} docker top {} -o uid,pid | grep -v UID | awk '{print $1}' | sort -u; }
last_is() { four && [ "$(names | awk '{print $4}')" = "$1" ]; }

main() {
	[ "$(id -u)" = 0 ] || die "needs root"
	scripts/build-image.sh
	go_image
	BUILD_CONTEXT=$(mktemp -d)
	export BUILD_CONTEXT
	# shellcheck disable=SC2064
	trap "compose down -v -t 1 >/dev/null 2>&1 || true; rm -rf '$BUILD_CONTEXT' '$BUILD_CONTEXT.jar'" EXIT
	context "$BUILD_CONTEXT"
	say "building"
	compose build page >"$BUILD_CONTEXT.log" 2>&1 || { tail -30 "$BUILD_CONTEXT.log"; die "cannot build"; }
	rm -f "$BUILD_CONTEXT.log"
	compose up -d --no-build
	until_true "four nodes, one leads" four
	[ "$(code "$page/index")" = 200 ] || die "the page does not answer"
	[ "$(users)" = 65532 ] || die "not all processes run as 65532: $(users)"
	local first jar=$BUILD_CONTEXT.jar token
	first=$(leader)
	token=$(form "$jar")
	[ ${#token} = 64 ] || die "the secret does not open the page"
	[ "$(code -X POST "$page/nodes/$first/kill")" = 403 ] || die "a request without the secret may kill"
	[ "$(code "$page/nodes/$first/kill?token=$token" -b "$jar")" = 405 ] || die "a GET may kill"
	[ "$(code -X POST -H 'Origin: http://elsewhere.example' -b "$jar" -d "token=$token" "$page/nodes/$first/kill")" = 403 ] || die "other pages may kill"
	[ "$(code -X POST -d "token=$token" "$page/nodes/$first/kill")" = 403 ] || die "the cookie is not asked for"
	[ "$(code -X POST -b "$jar" -d "token=$ZKR_DEMO_TOKEN" "$page/nodes/$first/kill")" = 403 ] || die "forms take the secret"
	say "orders are refused without the token"
	[ "$(code -X POST -b "$jar" -d "token=$token" "$page/nodes/$first/kill")" = 202 ] || die "$first cannot be killed"
	until_true "another one leads" led_by_another "$first"
	until_true "$first is back, and last" last_is "$first"
	say "all is well; failover: $(curl -s "$page/cluster/state" | grep -o '"took_ms":[0-9.]*' | head -1)"
}

main "$@"
