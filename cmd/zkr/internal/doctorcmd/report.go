package doctorcmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// report is the output in JSON. Lists are never null.
type report struct {
	Root string    `json:"root"`
	At   time.Time `json:"at"`
	// Servers are those that were asked.
	Servers []doctor.Row `json:"servers"`
	// Findings: the worst first.
	Findings []doctor.Finding `json:"findings"`
	// NotSeen is what could not be examined.
	NotSeen []doctor.Unseen `json:"not_seen"`
	// RoundTrip and Failover are null if there was none.
	RoundTrip *roundTrip `json:"round_trip"`
	Failover  *failover  `json:"failover"`

	// things are what was recognized below Root.
	things []*recognize.Thing
}

// roundTrip is how long it takes to acquire and release a lock.
type roundTrip struct {
	Rounds  int     `json:"rounds"`
	Median  float64 `json:"median_ms"`
	Longest float64 `json:"longest_ms"`
}

// failover is what a cut connection has cost.
type failover struct {
	From string  `json:"from"`
	To   string  `json:"to"`
	Took float64 `json:"took_ms"`
	// Kept: neither the session nor the lock was lost.
	Kept bool `json:"kept"`
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (r *report) addFindings(all ...doctor.Finding) { r.Findings = append(r.Findings, all...) }

// addFailure notes what could not be examined because of err, if err is not nil.
func (r *report) addFailure(what string, err error) {
	switch {
	case err == nil:
		return
	case errors.Is(err, session.ErrNoAuth):
		r.NotSeen = append(r.NotSeen, doctor.Unseen{Where: r.Root, What: what + ": " + err.Error(), Remedy: "run zkr doctor with credentials (ZKR_AUTH) that may read ROOT"})
		return
	}
	r.addFindings(doctor.SessionFailed(fmt.Errorf("%s: %w", what, err)))
	r.NotSeen = append(r.NotSeen, doctor.Unseen{Where: r.Root, What: what + ", at least in part", Remedy: "run zkr doctor again"})
}

func (r *report) addServers(all []*doctor.Server, tls bool) {
	if tls {
		r.NotSeen = append(r.NotSeen, doctor.Unseen{Where: "ensemble", What: "the servers: words do not work over TLS", Remedy: "run zkr doctor where a port without TLS can be reached"})
		return
	}
	r.Servers = doctor.Rows(all)
	r.NotSeen = append(r.NotSeen, doctor.NotSeen(all)...)
	r.addFindings(doctor.Servers(all)...)
	r.addFindings(doctor.Holders(r.things, all)...)
}

// show prints the report. Serious findings are an error.
func (a *app) show(r *report) error {
	doctor.Sort(r.Findings)
	serious := 0
	for _, f := range r.Findings {
		if f.Level.IsSerious() {
			serious++
		}
	}
	var err error
	if a.JSON() {
		err = a.PrintJSON(r)
	} else {
		err = a.Print(r.text())
	}
	if err == nil && serious > 0 {
		return &exit.Failure{Code: exit.CodeFailed, Err: errors.New(cli.Count(serious, "serious finding"))}
	}
	return err
}
