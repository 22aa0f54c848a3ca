// Package interop has tests only: recipes of this module, Curator and Kazoo,
// each the real one, on shared paths of a real server.
package interop
