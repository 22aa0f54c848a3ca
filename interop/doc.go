// Package interop has tests only: recipes of this module, Curator and Kazoo,
// each the real one, on shared paths of a real server.
//
// Every side is a peer that does what lines of JSON on its input say: this module
// (the test binary itself), Curator (testdata/java, compiled when the tests start),
// Kazoo (testdata/peer.py). So a test is written once for all pairs. A peer is a
// process, which can be killed and frozen; those of Curator that are to live share
// one. Peers that contend write what they see to one file, the witness, which is
// judged at the end.
//
// On Debian the packages libcurator-recipes-java, libcurator-discovery-java,
// default-jre-headless and python3-kazoo bring what is needed. Tests of a missing
// peer are skipped; go test shows that only with -v, and "go run ./internal/gotest
// ./interop" lists them by reason. With ZKTEST_REQUIRE_REAL=1 they fail.
//
// Where Curator or Kazoo do what they should not, a test shows it, and that our
// side stays right.
package interop
