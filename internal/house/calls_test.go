package house

func callExamples() []example {
	lib := func(imports, body string) files {
		return files{"lock/a.go": "package lock\n\nimport (\n" + imports + "\n)\n\nfunc f(err error) {\n" + body + "\n}\n"}
	}
	return []example{
		{"programs and tests own their context", files{
			"cmd/zkr/main.go":    "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() { fmt.Println(context.Background()); os.Exit(1) }\n",
			"cmd/zkr/page/a.go":  "package page\n\nimport \"context\"\n\nfunc f() { context.Background() }\n",
			"examples/a/main.go": "package main\n\nimport \"context\"\n\nfunc main() { context.TO" + "DO() }\n",
			"lock/a_test.go":     "package lock\n\nimport \"context\"\n\nfunc f() { context.Background() }\n",
			"zktest/matrix/a.go": "package matrix\n\nimport (\n\t\"context\"\n\t\"testing\"\n)\n\nfunc F(t *testing.T) { context.Background() }\n",
			"bench/a.go":         "package bench\n\nimport \"context\"\n\nfunc f() { context.Background() }\n",
		}, nil},
		{"harmless", lib("\t\"fmt\"\n\t\"strings\"\n\t\"os\"", "\tfmt.Sprintf(\"\")\n\tfmt.Fprintln(os.Stderr)\n\tstrings.Contains(\"a\", \"b\")\n\ts.init()\n\tx.Background()"), nil},
		{"a method init", files{"lock/a.go": "package lock\n\ntype T int\n\nfunc (T) init() {}\n"}, nil},
		{"init", files{"lock/a_test.go": "package lock\n\nfunc init() {}\n"}, []string{"init runs unasked"}},
		{"background", lib("\t\"context\"", "\tcontext.Background()\n\tcontext.TO"+"DO()"), []string{"take the context", "take the context"}},
		{"background under another name", lib("\tc \"context\"", "\tc.Background()"), []string{"take the context"}},
		{"prints", lib("\t\"fmt\"\n\t\"log\"", "\tfmt.Println()\n\tlog.Fatal()"), []string{"returns errors", "returns errors"}},
		{"exits", lib("\t\"os\"", "\tos.Exit(1)"), []string{"does not end the program"}},
		{"reads the error", lib("\t\"strings\"", "\tstrings.Contains(err.Error(), \"closed\")"), []string{"errors.Is"}},
		{"reads the error in the tool", files{"cmd/zkr/main.go": "package main\n\nimport \"strings\"\n\nfunc f(err error) { strings.HasPrefix(err.Error(), \"a\") }\n"}, []string{
			"errors.Is",
		}},
	}
}

func contextExamples() []example {
	lib := func(body string) files {
		return files{"lock/a.go": "package lock\n\nimport \"context\"\n\n" + body + "\n"}
	}
	return []example{
		{"first", lib("func f(ctx context.Context, a int) {}\n\ntype T struct{ g func(context.Context) }\n\nfunc (t *T) h(ctx context.Context) {}"), nil},
		{"after the test", files{"zktest/matrix/a.go": "package matrix\n\nimport (\n\t\"context\"\n\t\"testing\"\n)\n\nfunc F(t *testing.T, ctx context.Context) {}\n\nfunc G(t testing.TB, ctx context.Context) {}\n"}, nil},
		{"second", lib("func f(a int, ctx context.Context) {}"), []string{"lock/a.go:5: the context is not the first parameter"}},
		{"second in a type", lib("type F func(a, b int, ctx context.Context)"), []string{"not the first"}},
		{"second in a literal", lib("func f() { _ = func(a int, ctx context.Context) {} }"), []string{"not the first"}},
		{"second in an interface", lib("type F interface{ M(a int, ctx context.Context) }"), []string{"not the first"}},
	}
}

func skipExamples() []example {
	body := "\n\nimport \"testing\"\n\nfunc F(t testing.TB) { t.Skipf(\"no server\") }\n"
	return []example{
		{"the one that may", files{"zktest/apache/require.go": "package apache" + body, browserDriver + "/a.go": "package browser" + body, "interop/a_test.go": "package interop" + body}, nil},
		{"other things called Skip", files{"session/a_test.go": "package session\n\nfunc f(r reader) { r.Skip(4) }\n"}, nil},
		{"a test of a recipe", files{"lock/a_test.go": "package lock" + body}, []string{"must not be skipped"}},
		{"a test of the one that may", files{"zktest/apache/a_test.go": "package apache" + body}, []string{"must not be skipped"}},
		{"a test of what drives browsers", files{browserDriver + "/a_test.go": "package browser" + body}, []string{"must not be skipped"}},
		{"in all forms", files{"lock/a_test.go": "package lock\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.SkipNow() }\n\nfunc BenchmarkA(b *testing.B) { b.Skip() }\n"}, []string{
			":5: a test must not be skipped", ":7: a test must not be skipped",
		}},
	}
}
