package house

func languageExamples() []example {
	file := func(text string) files { return files{"lock/a.go": "package lock\n\n" + text + "\n"} }
	return []example{
		{"plain", file("// f retries until the context ends.\nfunc f() {}"), nil},
		{"a question", file("// Who holds the lock? The first in the queue.\nfunc f() {}"), nil},
		{"a word inside of another", file("// f is called Canewdon.\nfunc f() {}"), nil},
		{"a text of a test", files{"lock/a_test.go": "package lock\n\nvar s = \"for ever\"\n"}, nil},
		{"in a comment", file("// f tries anew.\nfunc f() {}"), []string{`lock/a.go:3: "anew": write again`}},
		{"in a text", file("var s = \"waits for ever\""), []string{`"for ever": write indefinitely`}},
		{"in a document", files{"docs/a.md": "# A\n\nIts colo" + "ur is red.\n"}, []string{`docs/a.md:3: "colo` + `ur": write the American`}},
		{"a clause as the subject", file("// f waits. Who waits\n// longer is first.\nfunc f() {}"), []string{"a clause as the subject: . Who waits longer"}},
		{"whoever", file("// f tells whoever asks.\nfunc f() {}"), []string{`"whoever"`}},
	}
}
