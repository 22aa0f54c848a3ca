package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/zkrecipes/zkrecipes/examples/internal/verdict"
	"github.com/zkrecipes/zkrecipes/session"
)

// outcome is the judge's finding.
type outcome struct {
	verdict.Verdict
	partitions, keys, records int
	batches, owners           int // that were committed, and whose
	unread                    int // batches that were written and not committed
}

func (o *outcome) String() string {
	summary := fmt.Sprintf("%d records of %d keys in %d partitions; %d batches by %d owners committed, %d were not",
		o.records, o.keys, o.partitions, o.batches, o.owners, o.unread)
	return o.Report(summary, "for each key, every record was processed once, in order")
}

// judge compares the output with the log.
func judge(ctx context.Context, c settings, client *session.Client) (*outcome, error) {
	o := &outcome{partitions: c.partitions}
	for i := range c.partitions {
		name := partitionName(i)
		st := c.store(client, name)
		h, _, err := st.head(ctx)
		if err != nil {
			return nil, err
		}
		records, size, err := read(logFile(c.dir, name), 0, math.MaxInt)
		if err != nil {
			return nil, err
		}
		if h.Offset != size {
			o.Charge("%s: %d of %d bytes are processed", name, h.Offset, size)
		}
		chain, err := st.chain(h)
		if err != nil {
			return nil, err
		}
		files, err := os.ReadDir(st.dir)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		o.unread += len(files) - len(chain)
		o.compare(name, records, chain)
	}
	return o, nil
}

// chain is the batches up to the head, the first one first.
func (st *store) chain(h head) (out []batch, err error) {
	seen := map[string]bool{}
	for name := h.Batch; name != ""; {
		if seen[name] {
			return nil, fmt.Errorf("%s comes twice", name)
		}
		seen[name] = true
		b, err := st.load(name)
		if err != nil {
			return nil, err
		}
		out, name = append(out, b), b.After
	}
	slices.Reverse(out)
	return out, nil
}

// compare compares the records of a partition with the batches that they have become.
func (o *outcome) compare(name string, records []record, chain []batch) {
	want := map[string][]progress{}
	for _, r := range records {
		all := want[r.key]
		last := progress{}
		if len(all) > 0 {
			last = all[len(all)-1]
		}
		want[r.key] = append(all, last.after(r))
	}
	o.records += len(records)
	o.keys += len(want)
	got, token := map[string]int{}, int64(0)
	for _, b := range chain {
		o.batches++
		switch {
		case b.Token < token:
			o.Charge("%s: a batch with token %d comes behind one with %d", name, b.Token, token)
		case b.Token > token:
			o.owners++
		}
		token = b.Token
		for _, l := range b.Lines {
			n := got[l.Key]
			got[l.Key]++
			switch {
			case n >= len(want[l.Key]):
				o.Charge("%s: %s has one record too many, with number %d", name, l.Key, l.Seq)
			case l.Seq != want[l.Key][n].Seq:
				o.Charge("%s: %s has number %d where %d belongs", name, l.Key, l.Seq, want[l.Key][n].Seq)
			case l.Sum != want[l.Key][n].Sum:
				o.Charge("%s: %s has a wrong sum at number %d", name, l.Key, l.Seq)
			}
		}
	}
	for key, all := range want {
		if got[key] < len(all) {
			o.Charge("%s: %s lacks the records from number %d on", name, key, got[key]+1)
		}
	}
}
