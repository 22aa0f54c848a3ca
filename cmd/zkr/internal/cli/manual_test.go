//go:build unix

package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRoffIsTextAgain(t *testing.T) {
	assert.Equal(t, `\-\-try a\eb`, roff(`--try a\b`))
	assert.Equal(t, "\\&.TH\n\\&'x\nx.y", roff(".TH\n'x\nx.y"))
	assert.Equal(t, "one\ntwo\n.nf\n  zkr \\-x\n.fi\n.PP\nthree\n", roffProse("one\ntwo\n  zkr -x\n\nthree\n"))
}
