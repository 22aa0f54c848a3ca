package doctor

import (
	"context"
	"sync"
	"time"
)

const (
	// AuditPeriod is how often an Auditor asks the servers.
	AuditPeriod = 30 * time.Second
	// AuditPatience bounds each word.
	AuditPatience = 5 * time.Second
)

// Report is what servers said of themselves.
type Report struct {
	// At is when they were asked; zero if they have not been asked so far.
	At       time.Time
	Servers  []*Server
	Findings []Finding // the worst first
	NotSeen  []Unseen
}

// Auditor asks servers with four-letter words from time to time. A nil Auditor has no report.
type Auditor struct {
	mu   sync.Mutex // guards last
	last Report
}

// Report is the newest report, which must not be changed.
func (a *Auditor) Report() Report {
	if a == nil {
		return Report{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// Run asks the servers at once and then every AuditPeriod, until ctx ends. servers returns
// their addresses; changed is called after each report, and may be nil.
func (a *Auditor) Run(ctx context.Context, servers func() []string, changed func()) {
	tick := time.NewTicker(AuditPeriod)
	defer tick.Stop()
	for {
		all := Ask(ctx, servers(), AuditPatience)
		if ctx.Err() != nil {
			return
		}
		r := Report{At: time.Now(), Servers: all, Findings: Servers(all), NotSeen: NotSeen(all)}
		Sort(r.Findings)
		a.mu.Lock()
		a.last = r
		a.mu.Unlock()
		if changed != nil {
			changed()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
