package house

func sessionExamples() []example {
	list := func(rows string) string {
		return "# Architecture\n\n| `dispatch/z.go` | 9 | another table |\n\n" + sessionHeading + "\n\n| file | calls | reason |\n|---|---|---|\n" + rows + "\n## More\n\n| `dispatch/y.go` | 9 | another table |\n"
	}
	upper := func(body string) string {
		return "package dispatch\n\nimport \"example.org/m/session\"\n\ntype T struct{ live *session.Session }\n\n" + body + "\n"
	}
	two := upper("func f(s *session.Session, t T) {\n\ts.Txn()\n\tt.live.StartGet(\"/a\", false)\n}")
	return []example{
		{"none", files{"dispatch/a.go": upper("func f(s *session.Session, r reading) { s.Err(); s.Retry(); s.Context(); session.CheckOp(); r.Get() }")}, nil},
		{"listed", files{"dispatch/a.go": two, sessionDocument: list("| `dispatch/a.go` | 2 | because |\n")}, nil},
		{"in recipes and tests", files{"lock/a.go": two, "dispatch/a_test.go": two}, nil},
		{"not listed", files{"dispatch/a.go": two}, []string{"dispatch/a.go: direct calls of a session: 2, in the list of docs/project/architecture.md: 0"}},
		{"more than listed", files{"rebalanser/a.go": two, sessionDocument: list("| `rebalanser/a.go` | 1 | because |\n")}, []string{"session: 2, in the list of docs/project/architecture.md: 1"}},
		{"fewer than listed", files{"workerctl/a.go": two, sessionDocument: list("| `workerctl/a.go` | 3 | because |\n")}, []string{"session: 2, in the list of docs/project/architecture.md: 3"}},
		{"listed without a call", files{"dispatch/a.go": two, sessionDocument: list("| `dispatch/a.go` | 2 | because |\n| `dispatch/b.go` | 1 | because |\n")}, []string{"docs/project/architecture.md:10: dispatch/b.go calls no"}},
		{"without a reason, and twice", files{"dispatch/a.go": two, sessionDocument: list("| `dispatch/a.go` | 2 |  |\n| `dispatch/a.go` | 2 | because |\n")}, []string{":9: dispatch/a.go needs one row", ":10: dispatch/a.go needs one row"}},
		{"in a file without the import", files{"dispatch/a.go": upper(""), "dispatch/b.go": "package dispatch\n\nfunc (t T) f(s other) { t.live.Get(); s.Get() }\n"}, []string{"dispatch/b.go: direct calls of a session: 1"}},
		{"by other ways", files{"dispatch/b/a.go": upper("func f(c client, x held) {\n\tmine, err := c.Session(nil)\n\tmine.Delete()\n\tx.Session().Get()\n\tvar other *session.Session\n\tdo(other.Create)\n}")}, []string{"session: 3"}},
	}
}
