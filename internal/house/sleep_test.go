package house

func sleepExamples() []example {
	test := func(body string) files {
		return files{"lock/a_test.go": "package lock\n\nimport (\n\t\"testing\"\n\t\"testing/synctest\"\n\t\"time\"\n\n\t\"example.org/m/zktest/matrix\"\n)\n\n" + body + "\n",
			"zktest/matrix/matrix.go": "package matrix\n\n// Run runs each case in a bubble of its own.\nfunc Run(t any, c any) {}\n\n// Plain does not.\nfunc Plain(f func()) {}\n"}
	}
	return []example{
		{"in synctest.Test", test("func TestA(t *testing.T) {\n\tsynctest.Test(t, func(t *testing.T) { f := func() { time.Sleep(1) }; f() })\n}"), nil},
		{"in what says so", test("// wait runs in a\n// bubble.\nfunc wait() { time.Sleep(1) }"), nil},
		{"given to what calls synctest.Test", test("func world(t *testing.T, f func()) { synctest.Test(t, func(*testing.T) { f() }) }\n\n" +
			"func TestA(t *testing.T) { world(t, func() { time.Sleep(1) }) }"), nil},
		{"given to what says so", test("// world runs f in its own bubble.\nfunc world(f func()) {}\n\nfunc TestA(t *testing.T) { world(func() { time.Sleep(1) }) }"), nil},
		{"in a case for another package", test("func TestA(t *testing.T) { matrix.Run(t, matrix.Case{Op: func() { time.Sleep(1) }}) }"), nil},
		{"a method that says so", test("type w int\n\n// run runs f in a bubble.\nfunc (w) run(f func()) {}\n\nfunc TestA(t *testing.T) { w(1).run(func() { time.Sleep(1) }) }"), nil},
		{"other clocks", files{"lock/a.go": "package lock\n\nfunc f(time clock) { time.Sleep(1) }\n"}, nil},
		{"in the code", files{"lock/a.go": "package lock\n\nimport \"time\"\n\n// f runs in a bubble.\nfunc f() { time.Sleep(1) }\n"}, []string{
			"lock/a.go:6: time.Sleep: wait for what is awaited",
		}},
		{"in a test", test("func TestA(t *testing.T) { time.Sleep(1) }"), []string{"time.Sleep outside a bubble"}},
		{"before the bubble", test("func TestA(t *testing.T) {\n\ttime.Sleep(1)\n\tsynctest.Test(t, func(*testing.T) {})\n}"), []string{"a_test.go:12: time.Sleep outside"}},
		{"in a literal for another", test("func TestA(t *testing.T) { matrix.Plain(func() { time.Sleep(1) }) }"), []string{"outside a bubble"}},
		{"in a helper that is silent", test("func wait() { time.Sleep(1) }\n\nfunc TestA(t *testing.T) { synctest.Test(t, func(*testing.T) { wait() }) }"), []string{"outside a bubble"}},
		{"under another name", files{"lock/a_test.go": "package lock\n\nimport t2 \"time\"\n\nfunc f() { t2.Sleep(1) }\n"}, []string{"outside a bubble"}},
		{"in a variable", files{"lock/a_test.go": "package lock\n\nimport \"time\"\n\nvar f = func() { time.Sleep(1) }\n"}, []string{"outside a bubble"}},
	}
}
