// Package interop has tests only: recipes of this module, Curator and Kazoo,
// each the real one, on shared paths of a real server.
//
// Every side is a peer that reads commands as lines of JSON: this module (the test
// binary itself), Curator (testdata/java, compiled when the tests start), Kazoo
// (testdata/peer.py). So a test is written once for all pairs. A peer is a process,
// which can be killed and frozen; Curator's peers that are not to be killed share a
// process. Peers that contend write what they see to one file, the witness, which is
// judged at the end.
//
// On Debian the packages libcurator-recipes-java, libcurator-discovery-java,
// default-jre-headless and python3-kazoo bring what is needed. Tests of a missing
// peer are skipped; go test shows that only with -v, and "go run ./internal/gotest
// ./interop" lists them by reason. With ZKTEST_REQUIRE_REAL=1 they fail.
//
// Tests also show known bugs of Curator and Kazoo, and that our side stays right.
package interop
