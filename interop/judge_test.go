//go:build unix

package interop_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudgeOfTurnsSees(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		rules rules
		bad   string // part of the error; "" = a good history
	}{
		"turns":                       {[]string{"in a x 1", "out a", "in b x 2", "out b"}, rules{}, ""},
		"two at once":                 {[]string{"in a x 1", "in b x 2", "out a", "out b"}, rules{}, "a is inside"},
		"a lock that is handed on":    {[]string{"in a x 1", "out a", "in b x 1", "out b"}, rules{}, ""},
		"an older token":              {[]string{"in a x 2", "out a", "in b x 1", "out b"}, rules{}, "had come later"},
		"an older token, unordered":   {[]string{"in a x 2", "out a", "in b x 1", "out b"}, rules{unordered: true}, ""},
		"readers together":            {[]string{"in a s 2", "in b s 1", "out a", "out b"}, rules{}, ""},
		"a writer beside a reader":    {[]string{"in a s 1", "in b x 2", "out a", "out b"}, rules{}, "a is inside"},
		"a reader beside a writer":    {[]string{"in a x 1", "in b s 2", "out a", "out b"}, rules{}, "a is inside"},
		"a reader overtakes a writer": {[]string{"in a s 2", "out a", "in b x 1", "out b"}, rules{}, "had come later"},
		"a writer overtakes a reader": {[]string{"in a x 2", "out a", "in b s 1", "out b"}, rules{}, "had come later"},
		"as many as permits":          {[]string{"in a s 1", "in b s 2", "out a", "in c s 3", "out b", "out c"}, rules{together: 2}, ""},
		"one more than permits":       {[]string{"in a s 1", "in b s 2", "in c s 3", "out a", "out b", "out c"}, rules{together: 2}, "all places"},
		"the same twice":              {[]string{"in a s 1", "in a x 2"}, rules{}, "a is inside"},
		"leaves without having come":  {[]string{"out a"}, rules{}, "not inside"},
		"killed inside":               {[]string{"in a x 1", "gone a", "in b x 2", "out b"}, rules{}, ""},
		"inside indefinitely":         {[]string{"in a x 1"}, rules{}, "still inside"},
		"without a token":             {[]string{"in a x 0"}, rules{}, "no token"},
		"a torn line":                 {[]string{"in a x 1", "ou"}, rules{}, "what is that"},
		"two exits, one entry":        {[]string{"in a x 1", "out a", "out a"}, rules{}, "not inside"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := judgeTurns(strings.Join(c.lines, "\n")+"\n", c.rules)
			if c.bad == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.bad)
		})
	}
}

func TestJudgeOfTurnsCounts(t *testing.T) {
	got, err := judgeTurns("in a s 1\nin b s 2\nout a\nin a s 3\nout a\nout b\nin a x 4\nout a\n", rules{})
	require.NoError(t, err)
	require.Equal(t, turns{entered: map[string]int{"a": 3, "b": 1}, changes: 3, most: 2}, got)
}

func TestJudgeOfSumsSees(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		bad   string
	}{
		"one by one":                   {[]string{"begin a", "done a 1", "begin b", "done b 2"}, ""},
		"at the same time":             {[]string{"begin a", "begin b", "done b 2", "done a 1"}, ""},
		"added once, counted twice":    {[]string{"begin a", "begin b", "done a 1", "done b 1"}, "twice"},
		"one addition applied twice":   {[]string{"begin a", "done a 1", "begin b", "done b 3"}, "up to 3"},
		"a sum that existed before":    {[]string{"begin a", "done a 2", "begin b", "done b 1"}, "existed before"},
		"killed, and it was applied":   {[]string{"begin a", "gone a", "begin b", "done b 2"}, ""},
		"killed, and it was not":       {[]string{"begin a", "gone a", "begin b", "done b 1"}, ""},
		"killed, and applied twice":    {[]string{"begin a", "gone a", "begin b", "done b 3"}, "up to 3"},
		"killed between two":           {[]string{"begin a", "done a 1", "gone a", "begin b", "done b 3"}, "up to 3"},
		"ends without having begun":    {[]string{"done a 1"}, "has not begun"},
		"begins twice":                 {[]string{"begin a", "begin a"}, "already"},
		"begins and never ends":        {[]string{"begin a"}, "not ended"},
		"not a number":                 {[]string{"begin a", "done a b"}, "no sum"},
		"neither this nor that":        {[]string{"begun a"}, "what is that"},
		"a sum from before the begin":  {[]string{"begin a", "done a 0"}, "existed before"},
		"two killed, two not answered": {[]string{"begin a", "begin b", "gone a", "gone b", "begin c", "done c 3"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := judgeSums(strings.Join(c.lines, "\n") + "\n")
			if c.bad == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.bad)
		})
	}
}
