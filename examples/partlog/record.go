package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// record is a line of the log: "key seq value".
type record struct {
	key   string
	seq   int // 1, 2, ... for each key
	value uint64
}

func (r record) String() string { return fmt.Sprintf("%s %d %d\n", r.key, r.seq, r.value) }

func partitionName(i int) string { return fmt.Sprintf("part-%02d", i) }

func logFile(dir, partition string) string { return filepath.Join(dir, "log", partition) }

// produce appends records to the partitions, one to each at a time, until ctx ends.
func produce(ctx context.Context, c settings) error {
	r := rand.New(rand.NewPCG(c.seed, 1))
	files, seqs := make([]*os.File, c.partitions), make([]map[string]int, c.partitions)
	for i := range files {
		f, err := os.Create(logFile(c.dir, partitionName(i)))
		if err != nil {
			return err
		}
		defer f.Close()
		files[i], seqs[i] = f, map[string]int{}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for i, f := range files {
			key := fmt.Sprintf("key-%d-%d", i, r.IntN(c.keys))
			seqs[i][key]++
			if _, err := io.WriteString(f, record{key, seqs[i][key], r.Uint64()}.String()); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// read reads at most n records of a file, from an offset on, and the offset
// behind them. A line that is not complete yet does not count.
func read(file string, from int64, most int) (out []record, next int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, from, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, from, err
	}
	next = from
	for in := bufio.NewReader(f); len(out) < most; {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return out, next, nil
		}
		if err != nil {
			return nil, from, err
		}
		var r record
		if _, err := fmt.Fscan(bytes.NewReader(line), &r.key, &r.seq, &r.value); err != nil {
			return nil, from, fmt.Errorf("%s at %d: %w", file, next, err)
		}
		out, next = append(out, r), next+int64(len(line))
	}
	return out, next, nil
}

// progress is how far a key is: the number of its last record, and a sum over all of
// them in which their order counts.
type progress struct {
	Seq int    `json:"seq"`
	Sum uint64 `json:"sum"`
}

// after is the progress when a record is done. It takes the number as it comes: whether
// it is the right one is for the judge to say.
func (p progress) after(r record) progress {
	h := fnv.New64a()
	fmt.Fprint(h, p.Sum, r.value)
	return progress{r.seq, h.Sum64()}
}
