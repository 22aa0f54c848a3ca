package recognize

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOthersAreThoseThatAKindDoesNotHeed.
func TestOthersAreThoseThatAKindDoesNotHeed(t *testing.T) {
	protected := func(rest string) string { return "_c_01234567-89ab-cdef-0123-456789abcdef-" + rest + "0000000001" }
	kazoo := func(mark string) string { return "0123456789abcdef0123456789abcdef" + mark + "0000000002" }
	mutex, permit, read, latch := protected("lock-"), protected("3-permit-"), protected("__READ__"), protected("latch-")
	all := []string{mutex, permit, read, latch}
	for kind, want := range map[Kind][]Kind{
		Mutex: {Semaphore, RWLock, Election}, Semaphore: {Mutex, RWLock, Election},
		RWLock: {Mutex, Semaphore, Election}, Election: {Semaphore, RWLock}, "": {Mutex, Semaphore, RWLock, Election},
	} {
		assert.Equal(t, want, Others(kind, all), kind)
	}
	assert.Empty(t, Others(Mutex, []string{mutex, kazoo("__lock__"), "config", "deadlock-0000000001", "x-permit-0000000001"}))
	assert.Empty(t, Others(RWLock, []string{read, protected("__WRIT__"), kazoo("__rlock__"), kazoo("__lock__")}), "Kazoo's writers are called as its locks")
	assert.Equal(t, []Kind{RWLock}, Others(Mutex, []string{kazoo("__lock__"), kazoo("__rlock__")}))
}
