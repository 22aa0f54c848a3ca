package provider

import (
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
)

// Lease is the use of an instance; get one from [Provider.Get].
type Lease struct {
	provider *Provider
	instance *discovery.Instance
	usage    *usage
}

// Instance returns the picked instance.
func (l *Lease) Instance() discovery.Instance {
	l.mustBeMade()
	return *l.instance
}

// Done ends the use. An error reports a failure of the instance: after
// [Options.DownThreshold] failures in a row the instance is set aside. nil
// reports a success; pass nil for errors that the instance has not caused, such
// as a canceled context. A second call does nothing.
func (l *Lease) Done(err error) {
	l.mustBeMade()
	l.provider.uses.removeLease(l, err, time.Now())
}

func (l *Lease) mustBeMade() {
	if l == nil || l.provider == nil {
		panic("provider: a nil or zero Lease has no instance: get one from Provider.Get")
	}
}
