# What people run by hand; CI runs .ci/run.
GO ?= go
# soak: how many random histories, and which tests make them.
SEEDS ?= 1000
SOAK ?= Soak|Seeds|Random|Stress|UnderEveryFault|ManyTasks|ThousandsOf|IsShared
SOAK_TIMEOUT ?= 24h

.PHONY: test race lint vet ci soak image newer

test: ## all tests; those with a real ZooKeeper skip loudly where there is none
	$(GO) test ./...

race: ## the race detector over all tests
	$(GO) test -race -p 1 ./...

vet:
	$(GO) vet ./...

lint: ## golangci-lint v2, see .golangci.yml
	golangci-lint run ./...

ci: ## everything, from a clean Debian 12, as root
	.ci/run

soak: ## random histories: make soak SEEDS=1000000
	ZKTEST_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout $(SOAK_TIMEOUT) -run '$(SOAK)' ./...

image: ## the local Docker image, without a registry
	scripts/build-image.sh

NEWER = zkrecipes/zookeeper:trixie
newer: ## the tests with a real server on ZooKeeper 3.9, of Debian's next release, in Docker
	ZKR_SUITE=trixie ZKR_IMAGE=$(NEWER) ZKR_CACHE=/var/cache/zkrecipes/trixie scripts/build-image.sh
	ZKTEST_REQUIRE_REAL=1 ZKTEST_MODE=docker ZKTEST_IMAGE=$(NEWER) $(GO) test -count=1 ./zktest/conformance
	ZKTEST_REQUIRE_REAL=1 ZKTEST_MODE=docker ZKTEST_IMAGE=$(NEWER) $(GO) test -count=1 -p 1 -run Apache ./...
