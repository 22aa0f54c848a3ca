package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// goPackage has the needed fields of the output of go list -json.
type goPackage struct {
	ImportPath, Dir string
	GoFiles         []string
}

// mutant is a mutation of a package's file.
type mutant struct {
	pkg  goPackage
	path string // of the file
	src  []byte
	mutation
}

func (m mutant) String() string {
	path := m.path
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, path); err == nil {
			path = rel
		}
	}
	return fmt.Sprintf("%s:%d: %s", path, m.line, oneLine(m.change))
}

// findPackages returns the packages that patterns name.
func findPackages(ctx context.Context, patterns []string) ([]goPackage, error) {
	if len(patterns) == 0 {
		return nil, errors.New("no package is named; name one, as in ./lock")
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Dir,GoFiles", "--"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// sample returns the mutants of packages whose line matches only, in an order that
// depends on the seed.
func sample(packages []goPackage, seed uint64, only *regexp.Regexp) ([]mutant, error) {
	var all []mutant
	for _, p := range packages {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			found, err := mutations(path, src)
			if err != nil {
				return nil, err
			}
			for _, m := range found {
				if mu := (mutant{p, path, src, m}); only.MatchString(mu.String()) {
					all = append(all, mu)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no code to change was found")
	}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, nil
}
