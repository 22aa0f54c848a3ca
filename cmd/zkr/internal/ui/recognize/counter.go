package recognize

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// manyVersions is the number of changes that alone make a number look like a
// counter: settings change rarely.
const manyVersions = 100

// recognizeCounter recognizes counters: by a writer's mark, or by a number in one of
// their formats together with another hint. Numbers alone are settings, ports,
// passwords.
func recognizeCounter(l *looker, s *spot) *Thing {
	if !s.persistent() || s.Path == "/" {
		return nil
	}
	writers, guess := s.writerMarks(), ""
	value, format, ok := parseNumber(s.Node, len(writers) > 0)
	if len(writers) == 0 {
		if !ok || s.children.size() > 0 {
			return nil
		}
		if guess = l.countsBecause(s, format); guess == "" {
			return nil
		}
		guess = looksLike(Counter, guess)
	}
	t := &Thing{Kind: Counter, Path: s.Path, How: "a leaf whose data is " + format, Guess: guess, Strangers: s.children.size() - len(writers)}
	if len(writers) > 0 {
		t.How = "the mark of a writer below it: ours (a sequence looks the same: its number is the highest that is reserved)"
		ok = ok || s.Size == 0 // empty data means 0, if the node is known to be a counter
	}
	for _, c := range writers {
		c.claimTree(t)
		t.Members = append(t.Members, Member{Path: c.Path, Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created()})
	}
	t.Number = &Number{
		Value: &value, Format: format, Writers: len(writers), Version: s.Stat.Version, Modified: s.Modified(), Czxid: s.Stat.Czxid,
	}
	if isLatch(writers) {
		return t.describeLatch(s, value, ok)
	}
	if t.State = strconv.FormatInt(value, 10); !ok {
		t.State, t.Number.Value = "not readable", nil
		t.addProblem(Bad, codeUnreadable, s.Path, "its %s are not a number in any format of a counter", formatCount(s.Size, "byte"))
	}
	return t
}

// isLatch reports whether one of the marks is that of a latch's writer.
func isLatch(marks []*spot) bool {
	return slices.ContainsFunc(marks, func(c *spot) bool { return counterformat.IsLatch(c.name) })
}

// describeLatch makes the counter t, whose number is value if ok, a count-down latch.
func (t *Thing) describeLatch(s *spot, value int64, ok bool) *Thing {
	t.How = "the mark of a latch's writer below it: ours"
	t.Number.Format = "8 bytes, the round and the count of our count-down latch"
	round, count, valid := counterformat.SplitLatch(value)
	if !ok || !valid || s.Size > 0 && s.Size != counterformat.LongSize {
		t.State, t.Number.Value = "not readable", nil
		t.addProblem(Bad, codeUnreadable, s.Path, "its %s are not the round and the count of a latch", formatCount(s.Size, "byte"))
		return t
	}
	left := int64(count)
	t.Number.Value = &left
	switch {
	case round == 0:
		t.State = "0: its count was never set"
	case count == 0:
		t.State = "0: round " + strconv.Itoa(int(round)) + " is over"
	default:
		t.State = strconv.FormatInt(left, 10) + " left in round " + strconv.Itoa(int(round))
	}
	return t
}

// writerMarks are the marks of our counters' writers, which live as long as the
// writers' sessions.
func (s *spot) writerMarks() (out []*spot) {
	for c := range s.children.all() {
		if counterformat.IsMark(c.name) && c.Size == 0 && !c.persistent() {
			out = append(out, c)
		}
	}
	return out
}

// countsBecause is the hint at a counter; "" for a mere number.
func (l *looker) countsBecause(s *spot, format string) string {
	up := l.find(znode.Parent(s.Path))
	switch {
	case endsInNoun(s.name, counterWords):
		return "of its name, and because its data is a number"
	case up != nil && endsInNoun(up.name, counterWords):
		return "of its parent's name, and because its data is a number"
	case up != nil && slices.Contains(l.countedFormats(up), format):
		return "its data is a number of the same format as a counter's beside it"
	case s.Stat.Version >= manyVersions:
		return "its data is a number that was set " + strconv.Itoa(int(s.Stat.Version)) + " times"
	}
	return ""
}

// countedFormats are the formats of the children known to be counters.
func (l *looker) countedFormats(s *spot) []string {
	if s.formats != nil {
		return s.formats
	}
	formats := []string{}
	for c := range s.children.all() {
		if format := c.counterFormat(); format != "" && !slices.Contains(formats, format) {
			formats = append(formats, format)
		}
	}
	if s.gen == l.gen {
		s.formats = formats
	}
	return formats
}

// counterFormat is the format of a node known to be a counter; "" for other nodes.
func (s *spot) counterFormat() string {
	if s == nil || len(s.writerMarks()) == 0 || isLatch(s.writerMarks()) {
		return ""
	}
	_, format, ok := parseNumber(s.Node, true)
	if !ok {
		return ""
	}
	return format
}

// parseNumber reads a counter's data. Binary numbers are distinguished from text by
// bytes that text does not have: a zero, or an invisible byte. If the node is
// known to be a counter, all data except decimal digits is binary.
func parseNumber(n *Node, certain bool) (value int64, format string, ok bool) {
	switch {
	case n.Size == 0:
		return 0, "empty, which means 0", false
	case n.Size > counterformat.MaxSize || !n.Whole():
		return 0, "", false
	}
	form := counterformat.Text
	if !looksLikeText(n.Data) || certain && !decimal.Match(n.Data) {
		form = counterformat.BinaryForm(n.Size)
	}
	value, err := form.Decode(n.Data)
	if err != nil {
		return 0, "", false
	}
	return value, describeForm(form), true
}

// describeForm describes a form to people.
func describeForm(form counterformat.Form) string {
	switch form {
	case counterformat.Long:
		return "8 bytes, as ours and Curator's DistributedAtomicLong"
	case counterformat.Int:
		return "4 bytes, as SharedCount's and DistributedAtomicInteger's"
	}
	return "a decimal number, as Kazoo's Counter"
}

func looksLikeText(data []byte) bool {
	if !utf8.Valid(data) {
		return false
	}
	for _, r := range string(data) {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return false
		}
	}
	return true
}

// applyDelay applies the lock delay's node beside the mutex to the head of the
// queue. A holder writes a note there when it has the mutex. If the note names
// another contender, this contender was lost, and the head may be waiting for
// the end of the delay.
func (l *looker) applyDelay(t *Thing, s *spot) {
	note := l.find(s.Path + lockformat.DelaySuffix)
	if note == nil || len(t.Queue) == 0 || t.Queue[0].Denied {
		return
	}
	head := t.Queue[0]
	held, token, _ := lockformat.ParseDelay(note.Data)
	switch {
	case !held:
	case token == head.Token:
		head.Since = note.Modified()
	default:
		head.Holds, head.Since = false, time.Time{}
		t.State = head.Name() + " is next, perhaps waiting for the lock delay"
		if n := t.Waiting() - 1; n > 0 {
			t.State += ", " + formatSeveral(n, "waits", "wait") + " behind"
		}
	}
}

// recognizeDelay recognizes the node beside a mutex with a lock delay, which outlives
// the mutex' path. The two nodes may have been read at different moments, and a
// new holder writes its note only after the grant: a difference alone does not
// mean a lost holder.
func recognizeDelay(l *looker, s *spot) *Thing {
	path, ok := strings.CutSuffix(s.Path, lockformat.DelaySuffix)
	said, token, noted := lockformat.ParseDelay(s.Data)
	at := l.find(path)
	if !ok || !noted || path == "" || path == "/" || at != nil && at.Denied {
		return nil
	}
	lost := func(t *Thing) {
		t.addProblem(Hint, codeLostHolder, s.Path, "the last holder (token %d) was lost, and did not release the lock: clients with a lock delay wait for the delay", token)
	}
	if at != nil && at.claimed != nil && at.claimed.Path == path && at.claimed.Kind == Mutex {
		t := at.claimed
		s.claimTree(t)
		if q := t.Queue; said && len(q) > 0 && !q[0].Denied && token != q[0].Token && !l.isRecent(q[0].Entered, settling) && !l.isRecent(s.Modified(), settling) {
			lost(t)
		}
		return nil
	}
	t := &Thing{Kind: Mutex, Path: path, How: "the node beside it for a lock delay: ours", State: "free"}
	switch {
	case said && l.isRecent(s.Modified(), settling):
		t.State = "held a moment ago"
	case said:
		t.State = "free, but the last holder did not release it"
		lost(t)
	}
	return t
}
