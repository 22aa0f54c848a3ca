package ui

import (
	"context"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// drawServers draws the servers and the findings about them.
func (d *drawing) drawServers() []web.Block {
	r := doctor.Report{At: d.Audit.At}
	for _, s := range d.Audit.Servers {
		if hasWords(d.Filter, []string{s.Address, s.Mode(), s.Version()}) {
			r.Servers = append(r.Servers, s)
		}
	}
	for _, f := range d.Audit.Findings {
		if hasWords(d.Filter, []string{f.Name, f.Where, f.Evidence, string(f.Level)}) {
			r.Findings = append(r.Findings, f)
		}
	}
	for _, u := range d.Audit.NotSeen {
		if hasWords(d.Filter, []string{u.Where, u.What}) {
			r.NotSeen = append(r.NotSeen, u)
		}
	}
	title := d.renderBlock("title", "", d.drawHeading(len(d.Audit.Servers), len(r.Servers)))
	switch {
	case d.Filter != "" && len(r.Servers)+len(r.Findings)+len(r.NotSeen) == 0:
		return []web.Block{title, d.renderBlock("empty", "", d.pageEmpty())}
	case d.Audit.At.IsZero():
		return []web.Block{title, d.renderBlock("unaudited", "", nil)}
	}
	return []web.Block{title, d.renderBlock("servers", "", r), d.renderBlock("findings", "", r)}
}

// Inspector makes the function that a doctor.Auditor calls to find what needs attention in the
// znodes: nothing while they are not known as they are now.
func (m *Model) Inspector() func(context.Context, []*doctor.Server) []doctor.Finding {
	i := doctor.Inspector{Client: m.client, Root: m.root}
	return func(ctx context.Context, all []*doctor.Server) []doctor.Finding {
		reading, cancel := context.WithTimeout(ctx, doctor.AuditPeriod/2)
		defer cancel()
		v, err := m.Await(reading)
		if err != nil || v.Health.Stale || !v.Exists {
			return nil
		}
		return i.Inspect(ctx, v.World, all)
	}
}

// withConnection is a session with what the servers have told of its connection.
func (v *View) withConnection(s *recognize.Session) *recognize.Session {
	connection, known := v.Audit.Clients[s.ID]
	if !known {
		return s
	}
	out := *s
	out.Connection = &connection
	return &out
}

// worstFinding is the level of the worst finding that is more than a hint.
func worstFinding(all []doctor.Finding) (worst recognize.Level) {
	for _, f := range all {
		worst = worseLevel(worst, f.Level)
	}
	return worst
}

// seriousFindings are the findings that are more than hints.
func (v *View) seriousFindings() (out []doctor.Finding) {
	for _, f := range v.Audit.Findings {
		if f.Level.IsSerious() {
			out = append(out, f)
		}
	}
	return out
}
