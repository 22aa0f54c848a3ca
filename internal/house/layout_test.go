package house

func layoutExamples() []example {
	return []example{
		{"in its place", files{
			"lock/layout.go":   "package lock\n\n// marker: Curator's InterProcessMutex.\nconst marker = \"-lock-\"\n\nconst (\n\ta = \"locks\" // Curator's\n\t// b: Kazoo's.\n\tb = \"__lock__\"\n)\n\n// Children in Curator's layout.\nconst (\n\tc = \"c\"\n\td = \"d\"\n)\n",
			"lock/mutex.go":    "package lock\n\nfunc f() string { return marker + \"-locked\" + string('-') }\n",
			"lock/a_test.go":   "package lock\n\nconst name = \"_c_1-lock-0000000000\"\n",
			"internal/x/x.go":  "package x\n\nconst marker = \"-lock-\"\n",
			"lock/testdata/go": "\"-lock-\"",
		}, nil},
		{"spelled elsewhere", files{"lock/mutex.go": "package lock\n\nconst marker = `x-lock-`\n\nfunc f() string { return \"__READ__\" }\n"}, []string{
			`lock/mutex.go:3: "-lock-" belongs into layout.go`, `"__READ__" belongs`,
		}},
		{"no comment", files{"rwlock/layout.go": "package rwlock\n\nconst marker = \"-lock-\"\n\nconst (\n\ta = 1\n\tb = 2 // Kazoo's\n)\n"}, []string{
			"rwlock/layout.go:3: marker has no comment", "a has no comment",
		}},
	}
}
