// Package heldtest tests that everything that can be held behaves as session.Held says,
// whichever package it is of. It has tests only.
package heldtest
