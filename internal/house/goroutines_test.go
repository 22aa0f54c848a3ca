package house

func goroutineExamples() []example {
	inside := func(body string) files {
		return files{"lock/a.go": "package lock\n\nfunc f() {\n" + body + "\n}\n"}
	}
	return []example{
		{"said", inside("\t// Waited for by Close; ends with the session.\n\tgo f()"), nil},
		{"said in two lines", inside("\tx()\n\t// Close waits for it; closing the listener\n\t// ends it.\n\tgo f()"), nil},
		{"groups", inside("\t// Waited for below; returns when ctx ends.\n\tg.Go(func() error { return nil })"), nil},
		{"other things called Go", inside("\tx := g.Go(1)\n\t_ = x\n\tg.Go(1, 2)\n\tGo(f)"), nil},
		{"silent", inside("\tgo f()"), []string{"lock/a.go:4: goroutine without a comment"}},
		{"silent in a test", files{"lock/a_test.go": "package lock\n\nfunc f() { go f() }\n"}, []string{"goroutine without"}},
		{"a blank line between", inside("\t// Waited for by Close; ends with it.\n\n\tgo f()"), []string{"goroutine without"}},
		{"one comment for two", inside("\t// Close waits for both; both end with the session.\n\tgo f()\n\tgo f()"), []string{":6: goroutine without"}},
		{"comment beside", inside("\tgo f() // Close waits for it until it ends"), []string{"goroutine without"}},
		{"no wait", inside("\t// Ends with the session.\n\tgo f()"), []string{"what waits"}},
		{"nothing ends it", inside("\t// The loop waits for it.\n\tgo f()"), []string{"what ends"}},
		{"a silent group", inside("\tg.Go(f)"), []string{"goroutine without"}},
		{"nested", inside("\t// Waited for below; ends with ctx.\n\tgo func() {\n\t\tgo f()\n\t}()"), []string{":6: goroutine without"}},
	}
}
