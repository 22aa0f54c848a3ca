package doctor

import (
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// checkProperties checks what only the admin server tells.
func checkProperties(s *Server) (out []Finding) {
	if s.Properties == nil {
		return nil
	}
	add := func(name string, level recognize.Level, evidence string) {
		out = append(out, newFinding(name, level, s.Address, evidence))
	}
	add("server.admin", recognize.Hint, s.AdminURL+" answers zkr")
	const forceSync, skipACL = "zookeeper.forceSync", "zookeeper.skipACL"
	if value := s.Properties[forceSync]; value == "no" {
		add("server.force-sync", recognize.Warn, "system property "+forceSync+"="+value)
	}
	if value := s.Properties[skipACL]; value == "yes" {
		add("acl.skipped", recognize.Warn, "system property "+skipACL+"="+value)
	}
	return out
}

// notTold is what no admin server has told.
func notTold(all []*Server) []Unseen {
	silent := slices.DeleteFunc(slices.Clone(all), func(s *Server) bool {
		return s.Err != nil || s.AdminURL == "" || s.Properties != nil
	})
	if len(silent) == 0 {
		return nil
	}
	return []Unseen{{ensemble, fmt.Sprintf("forceSync and skipACL of %d servers: there is no answer from %s", len(silent), silent[0].AdminURL),
		"look at the settings of the servers; if their admin servers have another port, name it by --admin-port"}}
}
