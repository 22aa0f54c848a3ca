package webconfig

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// passwordsWith makes passwords of users, and counts the steps of bcrypt instead
// of computing them: right is the only accepted password.
func passwordsWith(costs map[string]int, right string) (p *passwords, hashes map[string]string, steps *int) {
	p, hashes, steps = newPasswords("key"), map[string]string{}, new(int)
	p.compare = func(hash, password []byte) error {
		cost, err := bcrypt.Cost(hash)
		*steps += 1 << cost
		if err == nil && string(password) == right {
			return nil
		}
		return errors.Join(err, bcrypt.ErrMismatchedHashAndPassword)
	}
	for name, cost := range costs {
		hashes[name] = "$2a$" + string([]byte{'0' + byte(cost/10), '0' + byte(cost%10)}) + "$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
	}
	return p, hashes, steps
}

// TestFailedAttemptsCostTheSameForEveryName, so their duration tells nothing about the users.
func TestFailedAttemptsCostTheSameForEveryName(t *testing.T) {
	t.Parallel()
	p, hashes, steps := passwordsWith(map[string]int{"ann": 4, "bob": 9, "eve": 12}, "right")
	for _, name := range []string{"ann", "bob", "eve", "nobody", "", "ann\x00"} {
		for range 2 {
			*steps = 0
			ok, err := p.verify(t.Context(), hashes, name, "wrong")
			require.NoError(t, err)
			assert.False(t, ok)
			assert.Equal(t, 1<<12, *steps, "%q", name)
		}
	}
	ok, err := p.verify(t.Context(), hashes, "nobody", "right")
	require.NoError(t, err)
	assert.False(t, ok, "an unknown user with a known password")
	ok, err = p.verify(t.Context(), nil, "ann", "right")
	require.NoError(t, err)
	assert.False(t, ok, "without users")
}

// TestAcceptedPasswordIsComputedOnce, until its hash is replaced.
func TestAcceptedPasswordIsComputedOnce(t *testing.T) {
	t.Parallel()
	p, hashes, steps := passwordsWith(map[string]int{"ann": 4, "bob": 4}, "right")
	for range 3 {
		ok, err := p.verify(t.Context(), hashes, "ann", "right")
		require.NoError(t, err)
		assert.True(t, ok)
	}
	assert.Equal(t, 1<<4, *steps)
	ok, _ := p.verify(t.Context(), hashes, "ann", "wrong")
	assert.False(t, ok, "a wrong password after the right one")
	*steps = 0
	hashes["ann"] = hashes["ann"][:len(hashes["ann"])-1] + "u"
	ok, _ = p.verify(t.Context(), hashes, "ann", "right")
	assert.True(t, ok)
	assert.Equal(t, 1<<4, *steps, "another hash")
	delete(hashes, "ann")
	ok, _ = p.verify(t.Context(), hashes, "ann", "right")
	assert.False(t, ok, "a removed user")
	assert.Len(t, p.accepted, 1)
}

// TestDigestsTellTheirPartsApart: no two attempts share a digest.
func TestDigestsTellTheirPartsApart(t *testing.T) {
	t.Parallel()
	p := newPasswords("key")
	assert.NotEqual(t, p.digest("a", "bc", "d"), p.digest("ab", "c", "d"))
	assert.NotEqual(t, p.digest("a"), newPasswords("other").digest("a"))
}

// TestAttemptsAreComputedOneAtATime: further attempts wait, and do not wait indefinitely.
func TestAttemptsAreComputedOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, hashes, steps := passwordsWith(map[string]int{"ann": 4, "bob": 4}, "right")
		ok, err := p.verify(t.Context(), hashes, "bob", "right")
		require.NoError(t, err)
		require.True(t, ok)
		*steps = 0
		p.turn <- struct{}{}
		begin := time.Now()
		_, err = p.verify(t.Context(), hashes, "ann", "right")
		require.ErrorIs(t, err, errBusy)
		assert.Equal(t, attemptWait, time.Since(begin))
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = p.verify(gone, hashes, "ann", "right")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Zero(t, *steps)
		ok, err = p.verify(t.Context(), hashes, "bob", "right")
		require.NoError(t, err)
		assert.True(t, ok, "a user who is logged in does not wait")
		<-p.turn
		ok, err = p.verify(t.Context(), hashes, "ann", "right")
		require.NoError(t, err)
		assert.True(t, ok)
	})
}

// TestHashOfNobodyIsValid at every cost, so bcrypt computes all its steps.
func TestHashOfNobodyIsValid(t *testing.T) {
	t.Parallel()
	p := newPasswords("key")
	p.compare = func(hash, password []byte) error {
		err := bcrypt.CompareHashAndPassword(hash, password)
		assert.ErrorIs(t, err, bcrypt.ErrMismatchedHashAndPassword)
		return err
	}
	p.spend(bcrypt.MinCost, "")
	p.spend(bcrypt.MinCost+1, "fakepassword")
}
