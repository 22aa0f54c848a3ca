package house

func stateExamples() []example {
	v := func(body string) files { return files{"lock/a.go": "package lock\n\n" + body + "\n"} }
	return []example{
		{"sentinels and checks", v("var ErrBusy = errors.New(\"busy\")\n\nvar errInner = 1\n\nvar (\n\tErrA = 1\n\tErrB = 2\n)\n\nvar _ error = (*T)(nil)\n\nconst n = 1\n\nfunc f() { var x int; _ = x }"), nil},
		{"tables", v("// names of all.\n// read only\nvar names = map[int]string{}\n\nvar sizes = []int{1} // read only\n\nvar (\n\t// read only\n\ta = 1\n\tb = 2 // read only: a table\n)"), nil},
		{"an embedded file", v("//go:embed guard.sh\nvar script string"), nil},
		{"a counter", v("var calls int"), []string{"lock/a.go:3: variable calls is package state"}},
		{"in a test", files{"lock/a_test.go": "package lock\n\nvar update = flag.Bool(\"update\", false, \"\")\n"}, []string{"variable update"}},
		{"two of three", v("var (\n\tErrA = 1\n\ta, b = 1, 2\n)"), []string{"variable a", "variable b"}},
		{"nearly a sentinel", v("var Errors []error"), []string{"variable Errors"}},
		{"nearly marked", v("// not read only\nvar a = 1"), []string{"variable a"}},
	}
}

func mutexExamples() []example {
	s := func(body string) files {
		return files{"lock/a.go": "package lock\n\nimport \"sync\"\n\ntype T struct {\n" + body + "\n}\n"}
	}
	return []example{
		{"said", s("\t// mu guards n, which only grows.\n\tmu sync.Mutex\n\tn int"), nil},
		{"said beside", s("\tmu sync.RWMutex // guards n\n\tn int"), nil},
		{"said at what it guards", s("\tmu sync.Mutex\n\t// rules are those in force, at most one per link.\n\trules map[int]bool"), nil},
		{"others have none", s("\tonce sync.Once\n\tn int"), nil},
		{"tests may be silent", files{"lock/a_test.go": "package lock\n\nimport \"sync\"\n\ntype T struct{ mu sync.Mutex }\n"}, nil},
		{"silent", s("\tmu sync.Mutex\n\tn int"), []string{"lock/a.go:6: the mutex has no comment"}},
		{"silent in an inner struct", s("\tin struct {\n\t\tmu sync.Mutex\n\t\tn int\n\t}"), []string{"no comment"}},
		{"guards nothing", s("\tn int\n\t// mu guards the fields below.\n\tmu sync.Mutex"), []string{"nothing follows"}},
	}
}
