package records

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// Pause is the pause of a queue of tasks in JSON.
type Pause struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since,omitzero"`
}

// Text is the pause for people; "" for none.
func (p *Pause) Text() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("paused by %s since %s: %s", cli.OrElse(cli.Readable([]byte(p.By)), "an unknown client"), cli.LocalTime(p.Since),
		cli.OrElse(cli.Readable([]byte(p.Reason)), "no reason was given"))
}

// ReadPause reads the pause of the queue at path with one request; nil if the queue is not
// paused. The Stats of package dispatch take some more, and may read all tasks.
func ReadPause(ctx context.Context, client *session.Client, path string) (*Pause, error) {
	var data []byte
	err := client.Retry(ctx, func(s *session.Session) (err error) {
		data, _, err = s.Get(ctx, path+"/"+taskformat.DirAdmission)
		return err
	})
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l, err := taskformat.Decode[taskformat.Limits](data)
	if err != nil || l.Paused == nil {
		return nil, nil //nolint:nilerr // masters replace such a record, or do not run
	}
	return &Pause{By: l.Paused.By, Reason: l.Paused.Reason, Since: l.Paused.Since}, nil
}
