package kubelock_test

import (
	"bytes"
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/election/kubelock"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// record has the fields of client-go's LeaderElectionRecord that decide.
type record struct {
	HolderIdentity       string    `json:"holderIdentity"`
	LeaseDurationSeconds int       `json:"leaseDurationSeconds"`
	RenewTime            time.Time `json:"renewTime"`
	LeaderTransitions    int       `json:"leaderTransitions"`
}

// resourceLock is client-go's resourcelock.Interface, for record.
type resourceLock interface {
	Get(ctx context.Context) (*record, []byte, error)
	Create(ctx context.Context, ler record) error
	Update(ctx context.Context, ler record) error
	RecordEvent(string)
	Identity() string
	Describe() string
}

type lock = kubelock.Lock[record]

var _ resourceLock = (*lock)(nil)

// The times of client-go by default.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// twin does with a lock what client-go's LeaderElector does, without its jitter and logs.
type twin struct {
	lock     resourceLock
	observed record
	raw      []byte
	seen     time.Time
}

func (e *twin) leads() bool { return e.observed.HolderIdentity == e.lock.Identity() }

func (e *twin) isValid(now time.Time) bool {
	return e.seen.Add(time.Duration(e.observed.LeaseDurationSeconds) * time.Second).After(now)
}

func (e *twin) observe(r record) { e.observed, e.seen = r, time.Now() }

// tryOnce takes the lock, or renews it.
func (e *twin) tryOnce(ctx context.Context) bool {
	now := time.Now()
	mine := record{HolderIdentity: e.lock.Identity(), LeaseDurationSeconds: int(leaseDuration / time.Second), RenewTime: now}
	if e.leads() && e.isValid(now) {
		mine.LeaderTransitions = e.observed.LeaderTransitions
		if e.lock.Update(ctx, mine) == nil {
			e.observe(mine)
			return true
		}
	}
	old, raw, err := e.lock.Get(ctx)
	if err != nil {
		return false
	}
	if !bytes.Equal(raw, e.raw) {
		e.observe(*old)
		e.raw = raw
	}
	if old.HolderIdentity != "" && e.isValid(now) && !e.leads() {
		return false
	}
	mine.LeaderTransitions = old.LeaderTransitions
	if !e.leads() {
		mine.LeaderTransitions++
	}
	if e.lock.Update(ctx, mine) != nil {
		return false
	}
	e.observe(mine)
	return true
}

// run runs work while it leads, once, and waits for it; then it releases the lock. It ends
// with ctx, or when the lock cannot be renewed.
func (e *twin) run(ctx context.Context, work func(ctx context.Context)) {
	for !e.tryOnce(ctx) {
		if world.SleepContext(ctx, retryPeriod); ctx.Err() != nil {
			return
		}
	}
	e.lock.RecordEvent("became leader")
	working, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	// Waited for below; ends with working.
	go func() {
		defer close(done)
		work(working)
	}()
	for renewed := time.Now(); ctx.Err() == nil && time.Since(renewed) < renewDeadline; world.SleepContext(ctx, retryPeriod) {
		if e.tryOnce(ctx) {
			renewed = time.Now()
		}
	}
	released := record{LeaderTransitions: e.observed.LeaderTransitions, LeaseDurationSeconds: 1}
	_ = e.lock.Update(context.WithoutCancel(ctx), released)
	e.lock.RecordEvent("stopped leading")
	cancel()
	<-done
}
