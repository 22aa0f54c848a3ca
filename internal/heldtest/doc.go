// Package heldtest tests that everything that can be held behaves as session.Held says,
// whichever package it is of, and that calls begin again when their session is lost. It has
// tests only.
package heldtest
