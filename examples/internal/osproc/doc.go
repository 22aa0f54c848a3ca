// Package osproc is what the examples that start processes need of an operating system.
package osproc
