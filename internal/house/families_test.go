package house

func familyExamples() []example {
	tool := func(name, text string) files { return files{toolFolder + "/" + name: "package main\n\n" + text + "\n"} }
	with := func(in ...files) files {
		out := files{}
		for _, f := range in {
			for name, text := range f {
				out[name] = text
			}
		}
		return out
	}
	count := tool("tree_show.go", "func countNodes() int { return 0 }\n\ntype leaf struct{ countTasks int }")
	return []example{
		{"within the family", with(count, tool("tree.go", "var n = countNodes()"), tool("tree_unix.go", "var m = countNodes()")), nil},
		{"shared files", with(tool("listen_unix.go", "func isBusy() bool { return false }"), tool("ui.go", "var b = isBusy()")), nil},
		{"the list of commands", with(count, tool("commands.go", "var n = countNodes()")), nil},
		{"tests and other packages", with(count, tool("job_test.go", "var n = countNodes()"), files{toolFolder + "/internal/a/a.go": "package a\n\nvar n = countNodes()\n"}), nil},
		{"a method or a field of the same name", with(count, tool("job.go", "func (j job) show() int { return j.countNodes() + j.x().leaf }")), nil},
		{"another family", with(count, tool("job.go", "func f() { countNodes(); countNodes() }")), []string{"cmd/zkr/job.go:3: countNodes is declared in tree_show.go"}},
		{"a type of another family", with(count, tool("job_list.go", "func f(l *leaf) {}")), []string{"leaf is declared in tree_show.go"}},
		{"a receiver of another family's function", with(count, tool("job_list.go", "func f() { leaf{}.show().all() }")), []string{"leaf is declared in tree_show.go"}},
		{"a shared file that uses a family", with(count, tool("foreign.go", "var n = countNodes()")), []string{"cmd/zkr/foreign.go:3: countNodes"}},
	}
}
