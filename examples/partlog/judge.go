package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
)

// verdict is what the judge says.
type verdict struct {
	partitions, keys, records int
	batches, owners           int // that were committed, and whose
	unread                    int // batches that were written and not committed
	wrong                     []string
}

func (v *verdict) charge(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

func (v *verdict) err() error {
	if len(v.wrong) == 0 {
		return nil
	}
	return errors.New("the output is wrong")
}

func (v *verdict) String() string {
	text := fmt.Sprintf("%d records of %d keys in %d partitions; %d batches by %d owners committed, %d were not",
		v.records, v.keys, v.partitions, v.batches, v.owners, v.unread)
	if len(v.wrong) == 0 {
		return text + "\nRIGHT: for each key, every record was processed once, in order"
	}
	shown := v.wrong[:min(len(v.wrong), 20)]
	return fmt.Sprintf("%s\nWRONG, %d times:\n  %s", text, len(v.wrong), strings.Join(shown, "\n  "))
}

// judge compares what came out with what went in.
func judge(ctx context.Context, c settings, client *session.Client) (*verdict, error) {
	v := &verdict{partitions: c.partitions}
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
			v.charge("%s: %d of %d bytes are processed", name, h.Offset, size)
		}
		chain, err := st.chain(h)
		if err != nil {
			return nil, err
		}
		files, err := os.ReadDir(st.dir)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		v.unread += len(files) - len(chain)
		v.compare(name, records, chain)
	}
	return v, nil
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
func (v *verdict) compare(name string, records []record, chain []batch) {
	want := map[string][]progress{}
	for _, r := range records {
		all := want[r.key]
		last := progress{}
		if len(all) > 0 {
			last = all[len(all)-1]
		}
		want[r.key] = append(all, last.after(r))
	}
	v.records += len(records)
	v.keys += len(want)
	got, token := map[string]int{}, int64(0)
	for _, b := range chain {
		v.batches++
		switch {
		case b.Token < token:
			v.charge("%s: a batch with token %d comes behind one with %d", name, b.Token, token)
		case b.Token > token:
			v.owners++
		}
		token = b.Token
		for _, l := range b.Lines {
			n := got[l.Key]
			got[l.Key]++
			switch {
			case n >= len(want[l.Key]):
				v.charge("%s: %s has one record too many, with number %d", name, l.Key, l.Seq)
			case l.Seq != want[l.Key][n].Seq:
				v.charge("%s: %s has number %d where %d belongs", name, l.Key, l.Seq, want[l.Key][n].Seq)
			case l.Sum != want[l.Key][n].Sum:
				v.charge("%s: %s has a wrong sum at number %d", name, l.Key, l.Seq)
			}
		}
	}
	for key, all := range want {
		if got[key] < len(all) {
			v.charge("%s: %s lacks the records from number %d on", name, key, got[key]+1)
		}
	}
}
