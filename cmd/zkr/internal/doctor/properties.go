package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// checkAdmin checks what only the admin server tells.
func checkAdmin(s *Server) (out []Finding) {
	if s.Admin == nil {
		return nil
	}
	add := func(name string, level recognize.Level, evidence string) {
		out = append(out, newFinding(name, level, s.Address, evidence))
	}
	add("server.admin", recognize.Hint, s.AdminURL+" answers zkr")
	const forceSync, skipACL = "zookeeper.forceSync", "zookeeper.skipACL"
	if value := s.Admin.Properties[forceSync]; value == "no" {
		add("server.force-sync", recognize.Warn, "system property "+forceSync+"="+value)
	}
	if value := s.Admin.Properties[skipACL]; value == "yes" {
		add("acl.skipped", recognize.Warn, "system property "+skipACL+"="+value)
	}
	if a := s.Admin; !a.Date.IsZero() {
		// The date has no fractions of a second, and Jetty makes it once a second.
		if skew := skewOf(a.Date, a.Date.Add(2*time.Second), a.From, a.To); skew.Abs() > mostSkew {
			add("clock.differs", recognize.Warn, fmt.Sprintf("the server's clock differs from this machine's by %v or more (admin server)", skew.Round(time.Second)))
		}
	}
	return out
}

// notTold is what no admin server has told.
func notTold(all []*Server) []Unseen {
	silent := slices.DeleteFunc(slices.Clone(all), func(s *Server) bool {
		return s.Err != nil || s.AdminURL == "" || s.Admin != nil
	})
	if len(silent) == 0 {
		return nil
	}
	return []Unseen{{ensemble, fmt.Sprintf("clocks, forceSync and skipACL of %d servers: there is no answer from %s", len(silent), silent[0].AdminURL),
		"look at the settings of the servers; if their admin servers have another port, name it by --admin-port"}}
}
