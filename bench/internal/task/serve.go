package task

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Peer measures with one library.
type Peer interface {
	// Version is the library and its release.
	Version() string
	// Measure carries out t. Measure calls ready for the
	// kinds that require it.
	Measure(ctx context.Context, t Task, ready func() error) (Measured, error)
}

// Serve does the tasks of in, and answers to out, until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, p Peer) error {
	lines := bufio.NewScanner(in)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var t Task
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return fmt.Errorf("task: %w", err)
		}
		if err := answers.Encode(answer(ctx, t, p, answers)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func answer(ctx context.Context, t Task, p Peer, answers *json.Encoder) Answer {
	if t.Kind == Hello {
		return Answer{Version: p.Version()}
	}
	m, err := p.Measure(ctx, t, func() error { return answers.Encode(Answer{Ready: true}) })
	if err != nil {
		return Answer{Error: fmt.Sprintf("%s: %v", t.Kind, err)}
	}
	return Answer{Value: m.Value, Cost: m.Cost}
}
