// Command sbom writes the software bill of materials of a Go binary, as a CycloneDX
// document: the modules that the binary says it was built from, and the Go release.
// The same binary gives the same document.
//
//	go run ./internal/sbom BINARY FILE
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// document is the part of CycloneDX 1.5 that a Go binary can fill.
type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write writes the document of binary to file.
func write(binary, file string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	d := describe(info)
	sum := sha256.Sum256(content)
	d.Metadata.Component.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// describe lists what a binary was built from.
func describe(info *debug.BuildInfo) document {
	d := document{Format: "CycloneDX", Spec: "1.5", Version: 1}
	d.Metadata.Component = module("application", cmp.Or(info.Main.Path, info.Path), info.Main.Version)
	d.Components = append(d.Components, module("library", "std", strings.TrimPrefix(info.GoVersion, "go")))
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		d.Components = append(d.Components, module("library", dep.Path, dep.Version))
	}
	return d
}

// module is a Go module as a component. A module of the workspace has no version.
func module(kind, path, version string) component {
	purl := "pkg:golang/" + path
	if version != "" && version != "(devel)" {
		return component{Type: kind, Name: path, Version: version, PURL: purl + "@" + strings.ReplaceAll(version, "+", "%2B")}
	}
	return component{Type: kind, Name: path, PURL: purl}
}
