package house

// Rule is one rule of the house. Check returns the breaches of the rule.
type Rule struct {
	Name  string
	Check func(t *Tree) []Finding
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		{"arrows between folders", Arrows},
		{"imports from elsewhere", ThirdParty},
		{"length of files and functions", Lengths},
		{"names of files", FileNames},
		{"documentation of exported names", ExportedDocs},
		{"number of exported names", ExportedCount},
		{"package documentation", PackageDocs},
		{"contexts of holds", HoldContexts},
		{"comments of goroutines", Goroutines},
		{"calls", Calls},
		{"sleep", Sleep},
		{"skipped tests", Skips},
		{"package state", PackageState},
		{"mutexes", Mutexes},
		{"context comes first", ContextFirst},
		{"layout constants", Layout},
		{"formats of records", Formats},
		{"unfinished marks", Unfinished},
		{"requirements", Requirements},
		{"comparison with others", Comparison},
		{"documents", Documents},
		{"changes", Changes},
		{"direct calls of a session", SessionCalls},
		{"language", Language},
	}
}

// recipes are the folders of the primitives: they use session and internal
// mechanics, and never each other.
func recipes() []string {
	return []string{"lock", "lock/locktable", "rwlock", "barrier", "election", "counter", "value", "cache", "stm"}
}

// upper are the folders of packages built on the exported API of the recipes.
func upper() []string { return []string{"rebalanser", "dispatch", "workerctl"} }

// published are all folders with recipes for users.
func published() []string {
	return append(append(recipes(), "discovery", "discovery/provider", "fence", "node", "election/serving", "election/kubelock"), upper()...)
}
