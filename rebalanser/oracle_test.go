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
func (o *oracle) gain(who string, r *rebalanser.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead[who] {
		return
	}
	o.gains++
	for other, held := range o.owners[r.Name()] {
		if other == who {
			o.say("%s is told twice that it owns %s", who, r.Name())
		} else if held.Context().Err() == nil && !time.Now().Before(o.excused[other]) {
			o.say("%s and %s own %s", other, who, r.Name())
		}
	}
	if r.Context().Err() == nil && !time.Now().Before(o.excused[who]) {
		if r.Token() <= o.tokens[r.Name()] {
			o.say("%s owns %s with token %d, after %d", who, r.Name(), r.Token(), o.tokens[r.Name()])
		}
		o.tokens[r.Name()] = max(o.tokens[r.Name()], r.Token())
	}
	if o.owners[r.Name()] == nil {
		o.owners[r.Name()] = map[string]*rebalanser.Resource{}
	}
	o.owners[r.Name()][who] = r
}

// yield records that a member has stopped with r while owning r.
func (o *oracle) yield(who string, r *rebalanser.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead[who] {
		return
	}
	if o.owners[r.Name()][who] != r {
		o.say("%s gives up %s, which it does not own", who, r.Name())
	}
	delete(o.owners[r.Name()], who)
}

// lose records that a member was told of the loss of r.
func (o *oracle) lose(who string, r *rebalanser.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead[who] {
		return
	}
	if r.Context().Err() == nil {
		o.say("%s has lost %s, whose context goes on", who, r.Name())
	}
	if o.owners[r.Name()][who] != r {
		o.say("%s has lost %s, which it did not own", who, r.Name())
	}
	delete(o.owners[r.Name()], who)
}

// excuse records that a member cannot know of its losses for this duration.
func (o *oracle) excuse(who string, d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.excused[who] = time.Now().Add(d)
}

// markDead records that a member is dead: its later reports do not count.
func (o *oracle) markDead(who string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dead[who] = true
	for _, owners := range o.owners {
		delete(owners, who)
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
	for who, r := range o.owners[name] {
		if r.Context().Err() == nil {
			return who
		}
	}
	return ""
}

// of lists the resources of a member, in order.
func (o *oracle) of(who string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := []string{}
	for name, owners := range o.owners {
		if r := owners[who]; r != nil && r.Context().Err() == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
