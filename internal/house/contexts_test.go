package house

func contextDocExamples() []example {
	with := func(doc, method string) files {
		return files{"lock/doc.go": "// Package lock locks.\n" + doc + "package lock\n", "lock/held.go": "package lock\n\n" + method + "\n"}
	}
	const gives = "func (h *Held) Context() context.Context { return h.ctx }"
	return []example{
		{"named", with("//\n// Call session.ContextErr.\n", gives), nil},
		{"no context", with("", "func (h *Held) Err() error { return nil }"), nil},
		{"of a type of the package's own", with("", "func (h *hold) Context() context.Context { return h.ctx }"), nil},
		{"something else", with("", "func (h *Held) Context(n int) context.Context { return h.ctx }\n\nfunc (h *Held) Other() context.Context { return nil }\n\nfunc Context() context.Context { return nil }"), nil},
		{"not a recipe", files{"internal/holding/a.go": "// Package holding holds.\npackage holding\n\n" + gives + "\n"}, nil},
		{"not named", with("", gives), []string{"lock/held.go: it gives users a context"}},
		{"named elsewhere", with("", "// Context: see session.ContextErr.\n"+gives), []string{"session.ContextErr"}},
		{"of a value", files{"dispatch/a.go": "// Package dispatch has tasks.\npackage dispatch\n\nfunc (a Attempt) Context() context.Context { return a.ctx }\n"}, []string{"dispatch/a.go"}},
	}
}
