package house

func sessionExamples() []example {
	list := func(rows string) string {
		return "# Architecture\n\n| `dispatch/z.go` | 9 | another table |\n\n" + sessionHeading + "\n\n| file | calls | reason |\n|---|---|---|\n" + rows + "\n## More\n\n| `dispatch/y.go` | 9 | another table |\n"
	}
	upper := func(body string) string {
		return "package dispatch\n\nimport \"example.org/m/session\"\n\ntype T struct{ live *session.Session }\n\n" + body + "\n"
	}
	two := upper("func f(s *session.Session, t T) {\n\ts.Txn()\n\tt.live.StartGet(\"/a\", false)\n}")
	through := "package dispatch\n\nimport \"example.org/m/internal/optimistic\"\n\ntype reading struct{ optimistic.Reading }\n\n" +
		"func newReading() *reading { return &reading{optimistic.Reading{}} }\n\n" +
		"func (r *reading) f(other thing) {\n\tr.Get()\n\tother.Get()\n\toptimistic.GetWatched()\n\toptimistic.Culprit()\n}\n\n" +
		"func g() {\n\tx, y := newReading(), 1\n\tx.List()\n\tz := optimistic.Reading{}\n\tz.Fresh(a, func() { z.Sync(); y.Get() })\n\toptimistic.DeleteLater()\n}\n"
	return []example{
		{"none", files{"dispatch/a.go": upper("func f(s *session.Session, r reading) { s.Err(); s.Retry(); s.Context(); session.CheckOp(); r.Get() }")}, nil},
		{"listed", files{"dispatch/a.go": two, sessionDocument: list("| `dispatch/a.go` | 2 | because |\n")}, nil},
		{"in recipes and tests", files{"lock/a.go": two, "dispatch/a_test.go": two}, nil},
		{"not listed", files{"dispatch/a.go": two}, []string{"dispatch/a.go: direct calls of a session: 2, in the list of docs/project/architecture.md: 0"}},
		{"more than listed", files{"rebalanser/a.go": two, sessionDocument: list("| `rebalanser/a.go` | 1 | because |\n")}, []string{"session: 2, in the list of docs/project/architecture.md: 1"}},
		{"fewer than listed", files{"workerctl/a.go": two, sessionDocument: list("| `workerctl/a.go` | 3 | because |\n")}, []string{"session: 2, in the list of docs/project/architecture.md: 3"}},
		{"listed without a call", files{"dispatch/a.go": two, sessionDocument: list("| `dispatch/a.go` | 2 | because |\n| `dispatch/b.go` | 1 | because |\n")}, []string{"docs/project/architecture.md:10: dispatch/b.go calls no"}},
		{"without a reason, and twice", files{"dispatch/a.go": two, sessionDocument: list("| `dispatch/a.go` | 2 |  |\n| `dispatch/a.go` | 2 | because |\n")}, []string{":9: dispatch/a.go needs one row", ":10: dispatch/a.go needs one row"}},
		{"through optimistic, listed", files{"dispatch/a.go": through, sessionDocument: list("\n| package | calls |\n|---|---|\n| `dispatch` | 6 |\n")}, nil},
		{"through optimistic, not listed", files{"dispatch/a.go": through}, []string{"calls of dispatch through internal/optimistic: 6, listed: 0"}},
		{"through optimistic, no longer", files{sessionDocument: list("| `rebalanser` | 2 |\n")}, []string{"docs/project/architecture.md:9: calls of rebalanser through internal/optimistic: 0, listed: 2"}},
		{"in a file without the import", files{"dispatch/a.go": upper(""), "dispatch/b.go": "package dispatch\n\nfunc (t T) f(s other) { t.live.Get(); s.Get() }\n"}, []string{"dispatch/b.go: direct calls of a session: 1"}},
		{"by other ways", files{"dispatch/b/a.go": upper("func f(c client, x held) {\n\tmine, err := c.Session(nil)\n\tmine.Delete()\n\tx.Session().Get()\n\tvar other *session.Session\n\tdo(other.Create)\n}")}, []string{"session: 3"}},
	}
}
