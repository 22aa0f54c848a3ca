# Targets to run by hand; CI runs .ci/run.
GO ?= go
# soak: how many random histories, and which tests make them.
SEEDS ?= 1000
SOAK ?= Soak|Seeds|Random|Stress|UnderEveryFault|UnderEveryTwo|RoundsOf|ManyTasks|ThousandsOf|IsShared
SOAK_TIMEOUT ?= 24h

.PHONY: txnlogs watch-demo ztest test race lint vet ci soak image matrix debian newer upgrade keepers sharing versions prove kubernetes s3 newcomer tidy modules snapshot release-check api mutants fuzz

test: ## all tests of all modules of the workspace, and a list of those that were not run
	$(GO) run ./internal/gotest -count=1 work

RUNS ?= 5
prove: ## the tests, RUNS times quiet, beside busy loops, on one processor, with the race detector
	scripts/prove.sh $(RUNS)

newcomer: ## the README's commands on a Debian that has Go and nothing else, as root
	scripts/check-newcomer.sh

KEEPERS ?= -short
keepers: ## the suites of all recipes on imitations of Keepers, some ten minutes in the long form (KEEPERS=-v): not in CI
	scripts/test-keepers.sh $(KEEPERS)

sharing: ## random histories and every fault, with sessions that share their heartbeats
	scripts/test-sharing.sh

versions: ## processes of zkr of an earlier revision (REV) and of this one on the same paths
	scripts/check-versions.sh $(REV)

tidy: ## go.mod and go.sum of all modules
	scripts/tidy.sh

modules: ## use all modules as outsiders get them
	scripts/check-modules.sh

race: ## the race detector over all tests
	$(GO) test -count=1 -race -p 1 work

vet: ## go vet for Linux, macOS and Windows
	scripts/vet.sh

lint: ## golangci-lint v2, see .golangci.yml
	scripts/lint.sh

snapshot: ## the files of a release from this commit, in dist; nothing is published
	scripts/goreleaser.sh release --snapshot --clean --skip=docker

release-check: ## make the files of a release, check them, install and use the Debian package
	scripts/check-release.sh

api: ## what changed in the exported API since the previous release
	scripts/check-api.sh

ci: ## everything, from a clean Debian 12, as root
	.ci/run

soak: ## random histories: make soak SEEDS=1000000
	ZKTEST_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout $(SOAK_TIMEOUT) -run '$(SOAK)' work

N ?= 30
SEED ?= 1
mutants: ## N random mutants of a package, and which of them survive its tests: make mutants PKG=./lock [N=30] [SEED=1] [ONLY=mutex.go:12:] [WITH=./rwlock]
	@test -n "$(PKG)" || { echo "make mutants: name the package, as in PKG=./lock" >&2; exit 2; }
	$(GO) run ./internal/mutate -n $(N) -seed $(SEED) -only '$(ONLY)' -with '$(WITH)' $(PKG)

FUZZTIME ?= 5s
fuzz: ## every fuzz target for FUZZTIME: make fuzz FUZZTIME=1m
	scripts/fuzz.sh $(FUZZTIME)

txnlogs: ## the test data of the reader of transaction logs, written by this machine's ZooKeeper or the one in ZOOKEEPER_HOME
	ZKTEST_REQUIRE_REAL=1 $(GO) test -count=1 -run TestGoldenOnApache ./cmd/zkr/internal/txnlog -update

kubernetes: ## election/kubelock with client-go and controller-runtime, which take minutes to compile: not in CI
	cd election/kubelock/kubetest && GOWORK=off $(GO) mod tidy -diff && GOWORK=off $(GO) vet ./... && GOWORK=off $(GO) test -count=1 ./...

s3: ## fence.Put on a real S3 server, which takes minutes to compile with the AWS SDK: not in CI
	cd fence/s3test && GOWORK=off $(GO) mod tidy -diff && GOWORK=off $(GO) vet ./... && GOWORK=off ZKTEST_REQUIRE_REAL=1 ZKTEST_MODE=jars $(GO) test -count=1 ./...

image: ## the local Docker image, without a registry
	scripts/build-image.sh

watch-demo: ## the cluster demo beside Prometheus, with graphs and alerts
	scripts/watch-demo.sh

PACKAGES ?= work
# The tests with a real server that runs the jars in ZOOKEEPER_HOME, or those of Debian.
test_real = export ZKTEST_REQUIRE_REAL=1 ZKTEST_MODE=jars && \
	$(GO) test -count=1 ./zktest/conformance && $(GO) test -count=1 -run Apache $(PACKAGES)

matrix: debian newer upgrade ## the tests with a real server on each version that can be had, and on ensembles of two

debian: ## the tests with a real server on the ZooKeeper of this machine's Debian: 3.8.0 of Debian 12
	unset ZOOKEEPER_HOME && $(test_real)

newer: ## the tests with a real server on ZooKeeper 3.9.3, of Debian's next release
	ZOOKEEPER_HOME=$$(scripts/fetch-zookeeper.sh) && export ZOOKEEPER_HOME && $(test_real)

upgrade: ## servers are upgraded to ZooKeeper 3.9.3 and back, one by one, while everything is held
	ZKTEST_NEXT_HOME=$$(scripts/fetch-zookeeper.sh) && export ZKTEST_NEXT_HOME ZKTEST_REQUIRE_REAL=1 ZKTEST_MODE=jars && \
	$(GO) test -count=1 -v -run 'Replaced|TwoVersions' ./internal/heldtest ./cmd/zkr

ztest: ## the rows Z1 to Z17 of the requirements at full length
	ZKTEST_SEEDS=2 $(GO) test -count=1 -timeout $(SOAK_TIMEOUT) -v -run TestRandomHistories_Z1_Z17 ./rebalanser
