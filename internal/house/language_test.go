package house

func languageExamples() []example {
	file := func(text string) files { return files{"lock/a.go": "package lock\n\n" + text + "\n"} }
	return []example{
		{"plain", file("// f retries until the context ends.\nfunc f() {}"), nil},
		{"a question", file("// Who holds the lock? The first in the queue.\nfunc f() {}"), nil},
		{"a word inside of another", file("// f is called Canewdon.\nfunc f() {}"), nil},
		{"a text of a test", files{"lock/a_test.go": "package lock\n\nvar s = \"for ever\"\n"}, nil},
		{"there is", file("// f says whether there is a lock. Is there one?\nfunc f() {}"), nil},
		{"is there", file("// f waits until the lock is there.\nfunc f() {}"), []string{`"is there": write exists`}},
		{"is there, at the end of a line", file("// f waits until the locks are there\n// or ctx ends.\nfunc f() {}"), []string{`"are there": write exists`}},
		{"a number", file("// f is a semaphore of so many permits.\nfunc f() {}"), []string{`"so many": write the number`}},
		{"a clause as an object", file("// f tells of who holds the lock.\nfunc f() {}"), []string{`"of who": write the noun`}},
		{"gracefully", file("// f ended in order.\nfunc f() {}"), []string{`"ended in order": write gracefully`}},
		{"in a comment", file("// f tries anew.\nfunc f() {}"), []string{`lock/a.go:3: "anew": write again`}},
		{"in a text", file("var s = \"waits for ever\""), []string{`"for ever": write indefinitely`}},
		{"in a document", files{"docs/a.md": "# A\n\nIts colo" + "ur is red.\n"}, []string{`docs/a.md:3: "colo` + `ur": write the American`}},
		{"a clause as the subject", file("// f waits. Who waits\n// longer is first.\nfunc f() {}"), []string{"a clause as the subject: . Who waits longer"}},
		{"whoever", file("// f tells whoever asks.\nfunc f() {}"), []string{`"whoever"`}},
		{"nobody in a comment", file("// f returns when nobody waits.\nfunc f() {}"), []string{`lock/a.go:3: "nobody": write the noun: no client`}},
		{"somebody in a text", file("var s = \"somebody's lock\""), []string{`"somebody": write the noun`}},
		{"someone in a document", files{"docs/a.md": "# A\n\nSomeone waits.\n"}, []string{`docs/a.md:3: "Someone": write the noun`}},
		{"everybody in a page", files{"ui/a.html": "<p>\n{{.N}} of everybody</p>\n"}, []string{`ui/a.html:2: "everybody": write the noun`}},
		{"another turn in a page", files{"ui/a.html": "<p>waits for ever</p>\n"}, []string{`ui/a.html:1: "for ever": write indefinitely`}},
		{"nobody in a text of a test", files{"lock/a_test.go": "package lock\n\nvar s = \"nobody\"\n"}, nil},
		{"nobody inside of a name", file("// f uses http.NoBody and /locks/nobody.\nfunc f() {}"), nil},
	}
}
