package rebalanser_test

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// oracle checks the ownership of resources, as reported by handlers: a resource
// is owned from the call of Assigned to the end of Revoked, or to the end of
// its context. Any number of goroutines may report to the oracle.
type oracle struct {
	// mu guards all: owners by resource and owner, the highest token of each
	// resource, the times until which owners cannot know of a loss, the dead
	// members, and the violations.
	mu      sync.Mutex
	owners  map[string]map[string]*rebalanser.Resource
	tokens  map[string]int64
	excused map[string]time.Time
	dead    map[string]bool
	wrong   []string
	gains   int
}

func newOracle() *oracle {
	return &oracle{
		owners: map[string]map[string]*rebalanser.Resource{}, tokens: map[string]int64{},
		excused: map[string]time.Time{}, dead: map[string]bool{},
	}
}

// gain records that a member owns r from now on.
func (o *oracle) gain(memberID string, r *rebalanser.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead[memberID] {
		return
	}
	o.gains++
	for other, held := range o.owners[r.Name()] {
		if other == memberID {
			o.say("%s is told twice that it owns %s", memberID, r.Name())
		} else if held.Context().Err() == nil && !time.Now().Before(o.excused[other]) {
			o.say("%s and %s own %s", other, memberID, r.Name())
		}
	}
	if r.Context().Err() == nil && !time.Now().Before(o.excused[memberID]) {
		if r.Token() <= o.tokens[r.Name()] {
			o.say("%s owns %s with token %d, after %d", memberID, r.Name(), r.Token(), o.tokens[r.Name()])
		}
		o.tokens[r.Name()] = max(o.tokens[r.Name()], r.Token())
	}
	if o.owners[r.Name()] == nil {
		o.owners[r.Name()] = map[string]*rebalanser.Resource{}
	}
	o.owners[r.Name()][memberID] = r
}

// yield records that a member has stopped with r while owning r.
func (o *oracle) yield(memberID string, r *rebalanser.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead[memberID] {
		return
	}
	if o.owners[r.Name()][memberID] != r {
		o.say("%s gives up %s, which it does not own", memberID, r.Name())
	}
	delete(o.owners[r.Name()], memberID)
}

// lose records that a member was told of the loss of r.
func (o *oracle) lose(memberID string, r *rebalanser.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead[memberID] {
		return
	}
	if r.Context().Err() == nil {
		o.say("%s has lost %s, whose context goes on", memberID, r.Name())
	}
	if o.owners[r.Name()][memberID] != r {
		o.say("%s has lost %s, which it did not own", memberID, r.Name())
	}
	delete(o.owners[r.Name()], memberID)
}

// excuse records that a member cannot know of its losses for this duration.
func (o *oracle) excuse(memberID string, d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.excused[memberID] = time.Now().Add(d)
}

// markDead records that a member is dead: its later reports do not count.
func (o *oracle) markDead(memberID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dead[memberID] = true
	for _, owners := range o.owners {
		delete(owners, memberID)
	}
}

func (o *oracle) say(format string, args ...any) {
	o.wrong = append(o.wrong, fmt.Sprintf(format, args...))
}

// err is the violations found.
func (o *oracle) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%d violations, first: %s", len(o.wrong), o.wrong[0])
}

// owner is the owner of a resource; "" without an owner.
func (o *oracle) owner(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for memberID, r := range o.owners[name] {
		if r.Context().Err() == nil {
			return memberID
		}
	}
	return ""
}

// of lists the resources of a member, in order.
func (o *oracle) of(memberID string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := []string{}
	for name, owners := range o.owners {
		if r := owners[memberID]; r != nil && r.Context().Err() == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
