//go:build unix

package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/fence"
)

func TestEpochIsShownAndAdvanced(t *testing.T) {
	b := newBed(t)
	const path = "/fence/epoch"
	z := b.run("fence", "epoch", path).ends(0)
	assert.Empty(t, z.out.String())
	assert.Contains(t, z.err.String(), "/fence/epoch has no epoch")
	assert.Equal(t, `{"path":"/fence/epoch","exists":false,"epoch":"0"}`+"\n", b.run("fence", "epoch", path, "-o", "json").ends(0).out.String())
	_, err := b.srv.Get(path)
	require.Error(t, err, "showing creates nothing")
	client := b.client()

	held := b.takeLock("/l")
	former, err := fence.NewIssuer(client, path, nil).Token(b.ctx, held)
	require.NoError(t, err)
	epoch := strconv.FormatInt(former.Epoch, 10)
	assert.Equal(t, epoch+"\n", b.run("fence", "epoch", path).ends(0).out.String())

	z = b.run("fence", "advance", path, "--above", "9000000000000000000").ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), "--yes is missing")
	assert.Equal(t, epoch+"\n", b.run("fence", "epoch", path).ends(0).out.String())

	z = b.run("fence", "advance", path, "--above", "9000000000000000000", "--yes").ends(0)
	assert.Equal(t, "advanced the epoch /fence/epoch to 9000000000000000001; until now it was "+epoch+"\n", z.out.String())
	z = b.run("fence", "advance", path, "--yes", "-o", "json").ends(0)
	assert.Equal(t, `{"path":"/fence/epoch","former":"9000000000000000001","epoch":"9000000000000000002"}`+"\n", z.out.String())
	assert.Equal(t, `{"path":"/fence/epoch","exists":true,"epoch":"9000000000000000002"}`+"\n", b.run("fence", "epoch", path, "-o", "json").ends(0).out.String())

	// A receiver that knows the new epoch refuses the former token.
	now, err := fence.NewIssuer(client, path, nil).Token(b.ctx, held)
	require.NoError(t, err)
	require.Equal(t, former.Number, now.Number)
	require.ErrorIs(t, fence.Check("/r", former, now), fence.ErrStale)
}

func TestEpochIsAdvancedWhereThereIsNone(t *testing.T) {
	b := newBed(t)
	out := b.run("fence", "advance", "/new/epoch", "--yes").ends(0).out.String()
	assert.Regexp(t, `^advanced the epoch /new/epoch to \d{19}; until now it did not exist\n$`, out)
	assert.Contains(t, out, " "+strings.TrimSpace(b.run("fence", "epoch", "/new/epoch").ends(0).out.String())+";")
}

func TestDataThatIsNotAnEpochIsReplacedByAdvance(t *testing.T) {
	b := newBed(t)
	require.NoError(t, b.srv.Create("/e", []byte("garbage")))
	z := b.run("fence", "epoch", "/e").ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "invalid epoch")
	assert.Contains(t, z.err.String(), `"zkr fence advance /e --above EPOCH" replaces the data`)
	out := b.run("fence", "advance", "/e", "--above", "8999999999999999999", "--yes").ends(0).out.String()
	assert.Equal(t, "advanced the epoch /e to 9000000000000000000; until now it had invalid data\n", out)

	// The highest possible epoch cannot be advanced, and the error says what to do.
	require.NoError(t, b.srv.Set("/e", []byte("9223372036854775807")))
	z = b.run("fence", "advance", "/e", "--yes").ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "the epoch is the highest possible")
}
