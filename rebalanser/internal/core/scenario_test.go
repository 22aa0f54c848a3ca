package core

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// A scenario has the inputs of a machine, line by line, and below each line the
// outputs after "->", if any. testdata/README.md describes the lines.

var update = flag.Bool("update", false, "write what the machines answer into testdata/*.scenario") // read only

// scenario is the machine of a scenario, and its state.
type scenario struct {
	follower    *Follower
	coordinator *Coordinator

	mode    Mode
	cfg     Config
	current map[string]Shard
	status  Status
	start   time.Time
	now     time.Time
	slow    bool    // plans are computed by "computed"
	plans   []*Plan // so far
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.scenario")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".scenario"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, string(text))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			require.Equal(t, string(text), got)
		})
	}
}

// play feeds each line to a machine, and returns the text with the machine's
// outputs.
func play(t *testing.T, text string) string {
	var out strings.Builder
	s := &scenario{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 0 && words[0] == "->" {
			continue
		}
		out.WriteString(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		answers, err := s.tell(words[0], words[1:])
		require.NoError(t, err, line)
		for _, a := range answers {
			fmt.Fprintf(&out, "  -> %s\n", a)
		}
	}
	return out.String()
}

func (s *scenario) tell(verb string, rest []string) ([]string, error) {
	switch verb {
	case "follower":
		*s = scenario{follower: NewFollower(mode(rest[0]), rest[1], slices.Contains(rest[2:], "complete"))}
		return nil, nil
	case "coordinator":
		*s = scenario{mode: mode(rest[0]), current: map[string]Shard{}, start: time.Time{}.Add(time.Hour)}
		s.now = s.start
		return nil, s.configure(rest[1:])
	case "current":
		s.current[rest[0]] = shard(rest[1:])
		return nil, nil
	case "was":
		s.status = status(rest)
		return nil, nil
	case "at":
		d, err := time.ParseDuration(rest[0])
		s.now = s.start.Add(d)
		return nil, err
	}
	if s.follower != nil {
		return tellFollower(s.follower, verb, rest)
	}
	if s.coordinator == nil {
		s.coordinator = NewCoordinator(s.cfg, s.start, s.current, s.status)
	}
	step, err := s.tellCoordinator(verb, rest)
	if !s.slow {
		step = s.coordinator.computed(s.now, step)
	} else if step.Plan != nil {
		s.plans = append(s.plans, step.Plan)
	}
	return s.words(step), err
}

func (s *scenario) configure(options []string) error {
	s.cfg = Config{Mode: s.mode, Assignor: assignor.Sticky()}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		d, err := time.ParseDuration(value)
		switch name {
		case "slow":
			s.slow, err = true, nil
		case "initial":
			s.cfg.InitialDelay = d
		case "departure":
			s.cfg.DepartureDelay = d
		case "interval":
			s.cfg.MinInterval = d
		case "moves":
			s.cfg.MaxMoves, err = strconv.Atoi(value)
		case "assignor":
			if value == "wrong" {
				s.cfg.Assignor, err = mistaken{}, nil
				break
			}
			s.cfg.Assignor, err = assignor.ByName(value)
		default:
			err = fmt.Errorf("no option %q", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mistaken is an assignor with invalid results.
type mistaken struct{}

func (mistaken) Name() string { return "mistaken" }
func (mistaken) Assign(ms []assignor.Member, _ []assignor.Resource) [][]string {
	return slices.Repeat([][]string{{"everything"}}, len(ms))
}

func mode(word string) Mode {
	if word == "global" {
		return Global
	}
	return Resource
}

// shard reads "client generation resource...", or "none".
func shard(words []string) Shard {
	if words[0] == "none" {
		return Shard{}
	}
	return Shard{Client: words[0], Generation: integer(words[1]), Resources: words[2:]}
}

// status reads "generation state".
func status(words []string) Status {
	return Status{integer(words[0]), State(slices.Index([]string{"stop", "assigned", "confirmed"}, words[1]))}
}

func integer(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func tellFollower(f *Follower, verb string, rest []string) ([]string, error) {
	switch verb {
	case "shard":
		return words(f.Assignment(shard(rest))), nil
	case "status":
		return words(f.Status(status(rest), shard(rest[2:]))), nil
	case "acquired":
		return words(f.Acquired(rest)), nil
	case "abandoned":
		return words(f.Abandoned(rest)), nil
	case "started":
		return words(f.Started(rest)), nil
	case "revoked":
		return words(f.Revoked(rest)), nil
	case "released":
		return words(f.Released(rest)), nil
	case "acked":
		return words(f.Acked(integer(rest[0]))), nil
	case "unacked":
		return words(f.Unacked(integer(rest[0]))), nil
	case "quit":
		return words(f.Quit()), nil
	case "lost":
		return []string{strings.Join(append([]string{"lost"}, f.Lost()...), " ")}, nil
	case "missing?":
		return []string{strconv.Itoa(f.Missing())}, nil
	case "unwanted?":
		return []string{fmt.Sprint(f.Unwanted())}, nil
	case "phases?":
		out := []string{}
		for r, p := range f.Phases() {
			out = append(out, r+" "+[]string{
				"acquiring", "abandoning", "held", "starting", "running", "revoking", "releasing"}[p])
		}
		slices.Sort(out)
		return out, nil
	}
	return nil, fmt.Errorf("no event %q", verb)
}

// words describes actions.
func words(actions []Action) (out []string) {
	names := []string{"acquire", "abandon", "start", "revoke", "release", "ack", "unack", "leave"}
	for _, a := range actions {
		line := append([]string{names[a.Kind]}, a.Resources...)
		if a.Generation > 0 {
			line = append(line, strconv.FormatInt(a.Generation, 10))
		}
		out = append(out, strings.Join(line, " "))
	}
	return out
}

func (s *scenario) tellCoordinator(verb string, rest []string) (Step, error) {
	c := s.coordinator
	switch verb {
	case "members":
		var ms []Member
		for _, w := range rest {
			ms = append(ms, scenarioMember(w))
		}
		return c.Members(s.now, ms), nil
	case "resources":
		return c.Resources(s.now, rest), nil
	case "pause":
		return c.Paused(s.now, true), nil
	case "resume":
		return c.Paused(s.now, false), nil
	case "tick":
		return c.Tick(s.now), nil
	case "computed":
		p := s.plans[integer(rest[0])-1]
		return c.Planned(s.now, p, p.Compute(context.Background())), nil
	case "wrote":
		return c.Wrote(s.now), nil
	case "status-set":
		return c.StatusSet(s.now), nil
	case "moving":
		return c.Moved(s.now, slices.DeleteFunc(slices.Clone(c.watched), func(m Move) bool {
			return !slices.Contains(rest, m.Resource+">"+m.Client)
		})), nil
	case "acks":
		acks, clients := map[string]int64{}, []string{}
		for _, w := range rest {
			client, generation, acked := strings.Cut(w, "=")
			if clients = append(clients, client); acked {
				acks[client] = integer(generation)
			}
		}
		return c.Acks(s.now, clients, acks), nil
	}
	return Step{}, fmt.Errorf("no event %q", verb)
}

// scenarioMember reads "client", "client@instance", optionally followed by
// "=pattern".
func scenarioMember(word string) Member {
	word, pattern, subscribed := strings.Cut(word, "=")
	client, instance, static := strings.Cut(word, "@")
	m := Member{Client: client, Key: client, Static: static}
	if static {
		m.Key = instance
	}
	if subscribed {
		m.Subscription = []string{pattern}
	}
	return m
}

// words describes a step.
func (s *scenario) words(step Step) (out []string) {
	if step.Plan != nil {
		out = append(out, fmt.Sprintf("plan %d", len(s.plans)))
	}
	if w := step.Write; w != nil {
		out = append(out, fmt.Sprintf("write generation %d", w.Generation))
		for _, key := range slices.Sorted(maps.Keys(w.Set)) {
			sh := w.Set[key]
			line := append([]string{"set", key, "for", sh.Client + ":"}, sh.Resources...)
			out = append(out, strings.Join(line, " "))
		}
		for _, key := range w.Delete {
			out = append(out, "delete "+key)
		}
	}
	if st := step.SetStatus; st != nil {
		out = append(out, fmt.Sprintf("status %d %s", st.Generation, []string{"stop", "assigned", "confirmed"}[st.State]))
	}
	if step.AwaitMoves != nil {
		line := "watch moves"
		for _, m := range step.AwaitMoves {
			line += " " + m.Resource + ">" + m.Client
		}
		out = append(out, line)
	}
	if step.Err != nil {
		out = append(out, "error: "+strings.ReplaceAll(step.Err.Error(), "\n", "; "))
	}
	if !step.Wake.IsZero() {
		out = append(out, "wake at "+step.Wake.Sub(s.start).String())
	}
	return out
}
