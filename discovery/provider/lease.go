package provider

import (
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
)

// Lease is the use of an instance.
type Lease struct {
	provider *Provider
	instance *discovery.Instance
	usage    *usage
}

// Instance that is used.
func (l *Lease) Instance() discovery.Instance { return *l.instance }

// Done ends the use. An error says that the instance failed: after
// [Options.DownThreshold] of them in a row it is set aside. nil says that it did
// not. What is not the instance's fault, such as a canceled context, is nil. A
// second call does nothing.
func (l *Lease) Done(err error) {
	l.provider.uses.end(l, err, time.Now())
}
