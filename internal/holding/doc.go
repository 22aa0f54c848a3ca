// Package holding has what all recipes do alike with something that is held and
// can be lost: running a function under it, giving it back once, and errors
// that say what went wrong.
package holding
