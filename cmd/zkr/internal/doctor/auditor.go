package doctor

import (
	"context"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
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
	// Clients are the connections of sessions, as far as the servers tell.
	Clients map[recognize.SessionID]recognize.Connection
}

// Auditor asks servers with four-letter words from time to time. A nil Auditor has no report.
type Auditor struct {
	// AdminPort is the port of the admin servers; 0: they are not asked. Set before Run.
	AdminPort int
	// Inspect adds findings about what runs on the servers; nil for none. Set before Run.
	Inspect func(context.Context, []*Server) []Finding

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
	var inspected []Finding // kept until the next ones: an inspection may take seconds
	for {
		all := Asking{Patience: AuditPatience, AdminPort: a.AdminPort}.Ask(ctx, servers())
		if ctx.Err() != nil {
			return
		}
		r := Report{At: time.Now(), Servers: all, NotSeen: NotSeen(all), Clients: Clients(all)}
		publish := func() {
			r.Findings = append(Servers(all), inspected...)
			Sort(r.Findings)
			a.mu.Lock()
			a.last = r
			a.mu.Unlock()
			if changed != nil {
				changed()
			}
		}
		publish()
		if a.Inspect != nil {
			inspected = a.Inspect(ctx, all)
			if ctx.Err() != nil {
				return
			}
			publish()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
