// Package osproc starts the processes of an example, and kills, freezes and ends them.
package osproc
