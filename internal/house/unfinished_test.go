package house

func unfinishedExamples() []example {
	return []example{
		{"finished", files{
			"README.md": "A list of things to do.\n",
			"lock/a.go": "package lock\n\n// f does no todo list: toDo and Todo are names.\nfunc f() {}\n",
		}, nil},
		{"marks in code", files{"lock/a.go": "package lock\n\n// TO" + "DO: more.\n// FIX" + "ME too.\nfunc f() {}\n"}, []string{
			"lock/a.go:3: \"TO" + "DO\": finish it", "lock/a.go:4",
		}},
		{"marks in other files", files{"lock/testdata/a.go": "TO" + "DO\n", "docs/a.md": "\nFIX" + "ME\n"}, []string{
			"docs/a.md:2", "lock/testdata/a.go:1",
		}},
	}
}
