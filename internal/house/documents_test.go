package house

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func documentExamples() []example {
	const fn = "// f works.\nfunc f() error {\n\tif x {\n\t\treturn nil\n\t}\n\treturn err\n}\n"
	doc := func(code string) string { return "# Title\n\n```go\n" + code + "```\n" }
	return []example{
		{"compiled elsewhere", files{
			"README.md":      doc(fn) + "\n    go run ./cmd\n\n```\nno Go\n```\n",
			"lock/a_test.go": "package lock\n\n" + fn + "\nvar ErrA = 1\n",
			"docs/a.md":      doc("mu := lock.New(client, \"/a\", nil)\ndefer mu.f()\n") + doc("type T struct{}\n") + doc("package p\n\nimport \"fmt\"\n\n"+fn),
		}, nil},
		{"links", files{
			"README.md":         "[a](docs/a.md) [b](docs/a.md#part) [c](https://example.org/x) [d](#here) [e](LICENSE), f(x)[0](y z)\n",
			"docs/a.md":         "[back](../README.md) [folder](../docs) ![picture](images/b.png)\n",
			"docs/images/b.png": "\x89PNG\x00",
			"LICENSE":           "free\n",
		}, nil},
		{"never compiled", files{"README.md": doc(fn), "lock/a.go": "package lock\n\nfunc f() error { return nil }\n"}, []string{
			"README.md:4: func f is in no Go file",
		}},
		{"compiled once, changed since", files{"README.md": doc(fn), "lock/a.go": "package lock\n\nfunc f() error {\n\tif y {\n\t\treturn nil\n\t}\n\treturn err\n}\n"}, []string{
			"func f is in no Go file",
		}},
		{"a test that cannot be pasted", files{
			"docs/a.md": doc("import \"testing\"\n\nfunc TestF(t *testing.T) {\n\tx := lock.New()\n\tx.f(lock.A)\n\tt.Log(time.Now())\n}\n"),
			"a/b.go":    "package a\n\nfunc TestF(t *testing.T) {\n\tx := lock.New()\n\tx.f(lock.A)\n\tt.Log(time.Now())\n}\n",
		}, []string{"docs/a.md:4: func TestF uses lock, which the text does not import", "func TestF uses time, which"}},
		{"no Go", files{"docs/a.md": "text\n" + doc("func f( {\n")}, []string{"docs/a.md:5: this is not Go"}},
		{"dead links", files{"docs/a.md": "[a](b.md)\n[c](../x.md) and [d](/abs.md)\n"}, []string{
			"docs/a.md:1: the link to b.md", "docs/a.md:2: the link to ../x.md", "docs/a.md:2: the link to /abs.md",
		}},
	}
}

func TestGoBlocksFindsFencedGoAndNothingElse(t *testing.T) {
	text := "```go\na\nb\n```\n```sh\nc\n```\n\n    d\n\n- list\n  ```go\n  e\n  ```\n```go\nnever closed\n"
	require.Equal(t, []block{{line: 2, text: "a\nb\n"}, {line: 13, text: "  e\n"}}, goBlocks(text))
}
