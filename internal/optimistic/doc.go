// Package optimistic is for changes without a lock: read, decide, write on condition of
// the reads, and again if another client was faster. It is made of package session
// alone, and has no part of any recipe.
package optimistic
