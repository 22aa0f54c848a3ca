package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// counts is how often each word occurs.
type counts map[string]int

// mapFiles counts the words of every file whose turn it is to be the worker's, and
// writes, for each worker, those that it will add up.
func mapFiles(ctx context.Context, c settings, id int, log io.Writer) error {
	files, err := filepath.Glob(filepath.Join(c.in, "*.txt"))
	if err != nil {
		return err
	}
	parts := make([]counts, c.workers)
	for i := range parts {
		parts[i] = counts{}
	}
	for i, file := range files { // in order of their names, for all workers
		if i%c.workers != id {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, word := range words(string(text)) {
			parts[workerOf(word, c.workers)][word]++
		}
		fmt.Fprintln(log, "counted", filepath.Base(file))
		if err := sleepContext(ctx, c.pace); err != nil {
			return err
		}
	}
	for to, part := range parts {
		if err := save(c.out, fmt.Sprintf("part-%d-%d.json", id, to), part); err != nil {
			return err
		}
	}
	return nil
}

// reduceWords adds up the worker's words.
func reduceWords(ctx context.Context, c settings, id int) error {
	sum := counts{}
	for from := range c.workers {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		part, err := load(c.out, fmt.Sprintf("part-%d-%d.json", from, id))
		if err != nil {
			return err
		}
		for word, n := range part {
			sum[word] += n
		}
	}
	return save(c.out, fmt.Sprintf("sum-%d.json", id), sum)
}

// writeWords writes all words into one file.
func writeWords(c settings) error {
	all := counts{}
	for id := range c.workers {
		sum, err := load(c.out, fmt.Sprintf("sum-%d.json", id))
		if err != nil {
			return err
		}
		maps.Copy(all, sum)
	}
	var b strings.Builder
	for _, word := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s %d\n", word, all[word])
	}
	return replace(c.out, "words.txt", []byte(b.String()))
}

// words are the words of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
}

// workerOf returns the worker that counts a word.
func workerOf(word string, workers int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(word)) // never fails
	return int(h.Sum32() % uint32(workers))
}

func sleepContext(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func save(dir, name string, c counts) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return replace(dir, name, data)
}

// replace writes a file so that it exists as a whole or not at all: a worker may read
// the file while another worker, which was restarted, writes it once more.
func replace(dir, name string, data []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}

func load(dir, name string) (c counts, err error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	return c, err
}
