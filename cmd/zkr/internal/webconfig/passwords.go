package webconfig

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// attemptWait is how long an attempt waits for its turn.
const attemptWait = 10 * time.Second

// errBusy: many attempts wait already.
var errBusy = errors.New("too many attempts")

// passwords checks passwords. One attempt is computed at a time, so attempts
// cannot take all processors; users who are logged in do not wait.
type passwords struct {
	turn chan struct{} // has a place for the attempt that is being computed
	key  []byte
	// compare is bcrypt's comparison; tests count the calls.
	compare func(hash, password []byte) error
	// mu guards accepted: of each user who was accepted, a digest of the name, the
	// hash and the password. A user has one entry at most.
	mu       sync.Mutex
	accepted map[string][]byte
}

// newPasswords makes passwords whose digests depend on key.
func newPasswords(key string) *passwords {
	return &passwords{turn: make(chan struct{}, 1), key: []byte(key), compare: bcrypt.CompareHashAndPassword, accepted: map[string][]byte{}}
}

// verify reports whether the password is that of the user. hashes has the bcrypt
// hash of each user. verify fails if the attempt did not get its turn.
//
// A failed attempt costs as much as the most expensive hash, for every name, so
// its duration tells nothing about the users.
func (p *passwords) verify(ctx context.Context, hashes map[string]string, name, password string) (bool, error) {
	hash, known := hashes[name]
	digest := p.digest(name, hash, password)
	if known && p.wasAccepted(name, digest) {
		return true, nil
	}
	limited, cancel := context.WithTimeout(ctx, attemptWait)
	defer cancel()
	select {
	case p.turn <- struct{}{}:
	case <-limited.Done():
		if ctx.Err() == nil {
			return false, errBusy
		}
		return false, context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	most := bcrypt.MinCost
	for _, h := range hashes {
		most = max(most, costOf(h))
	}
	if !known {
		p.spend(most, password)
		return false, nil
	}
	if p.compare([]byte(hash), []byte(password)) == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.accepted[name] = digest
		return true, nil
	}
	// A hash of cost n takes 2^n steps: with the costs n, n+1, ... below most, the
	// sum is 2^most.
	for cost := costOf(hash); cost < most; cost++ {
		p.spend(cost, password)
	}
	return false, nil
}

// digest is a digest of an attempt, which other processes cannot compute.
func (p *passwords) digest(parts ...string) []byte {
	sum := hmac.New(sha256.New, p.key)
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return sum.Sum(nil)
}

// wasAccepted reports whether this attempt was accepted before.
func (p *passwords) wasAccepted(name string, digest []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return hmac.Equal(p.accepted[name], digest)
}

// costOf is the cost of a valid hash.
func costOf(hash string) int {
	cost, err := bcrypt.Cost([]byte(hash))
	if err != nil {
		return bcrypt.MinCost // read has refused the file before
	}
	return cost
}

// spend compares a password with a hash that no password has.
func (p *passwords) spend(cost int, password string) {
	const nobody = "QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
	_ = p.compare(fmt.Appendf(nil, "$2a$%02d$%s", cost, nobody), []byte(password))
}
