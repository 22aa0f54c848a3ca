package house

func formatExamples() []example {
	const job = "package jobformat\n\ntype Job struct {\n\tID string `json:\"id\"`\n\tParts []Part `json:\"parts\"`\n}\n\ntype Part struct {\n\tName string `json:\"name\"`\n}\n\ntype plain struct{ A int }\n"
	return []example{
		{"read", files{
			"internal/format/jobformat/record.go": job,
			dashboard + "/job.go":                 "package recognize\n\nvar x = decoded[jobformat.Job]\n",
			"workerctl/record.go":                 "package workerctl\n\ntype job = jobformat.Job\n",
			"cmd/zkr/job.go":                      "package main\n\ntype jobInfo struct {\n\tID string `json:\"id\"`\n}\n",
			"lock/a_test.go":                      "package lock\n\ntype row struct {\n\tID string `json:\"id\"`\n}\n",
		}, nil},
		{"read by a function", files{
			"internal/format/jobformat/record.go": job + "\nfunc Decode(data []byte) (Job, error) { return Job{}, nil }\n",
			dashboard + "/job.go":                 "package recognize\n\nvar x = jobformat.Decode\n",
		}, nil},
		{"the dashboard need not read it", files{
			"internal/format/taskformat/record.go": "package taskformat\n\ntype Ending struct {\n\tID string `json:\"id\"`\n}\n",
		}, nil},
		{"the dashboard does not know it", files{
			"internal/format/jobformat/record.go": job, dashboard + "/a_test.go": "package recognize\n\nvar x = decoded[jobformat.Job]\n",
		}, []string{"internal/format/jobformat/record.go:3: " + dashboard + " does not read jobformat.Job"}},
		{"a record in a recipe", files{
			"barrier/record.go": "package barrier\n\ntype recordJSON struct {\n\tKind string `json:\"kind\"`\n}\n",
		}, []string{"barrier/record.go:3: recordJSON is a record"}},
	}
}
