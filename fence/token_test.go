package fence_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"pgregory.net/rapid"
)

func TestTokensAreOrderedByEpochThenByNumber(t *testing.T) {
	ascending := []fence.Token{
		{}, {Epoch: 1, Number: 1}, {Epoch: 1, Number: 9}, {Epoch: 1, Number: math.MaxInt64},
		{Epoch: 2, Number: 1}, {Epoch: 10, Number: 1}, {Epoch: math.MaxInt64, Number: 1},
	}
	for i, low := range ascending {
		require.Zero(t, low.Compare(low))
		require.Equal(t, i == 0, low.IsZero())
		for _, high := range ascending[i+1:] {
			require.Equal(t, -1, low.Compare(high), "%v, %v", low, high)
			require.Equal(t, 1, high.Compare(low), "%v, %v", high, low)
		}
	}
}

func TestTextOfATokenIsParsedBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token := fence.Token{Epoch: rapid.Int64Min(1).Draw(t, "epoch"), Number: rapid.Int64Min(1).Draw(t, "number")}
		parsed, err := fence.ParseToken(token.String())
		require.NoError(t, err)
		require.Equal(t, token, parsed)
	})
	data, err := json.Marshal(map[string]fence.Token{"token": {Epoch: 3, Number: 17}})
	require.NoError(t, err)
	require.JSONEq(t, `{"token":"3-17"}`, string(data))
	var back map[string]fence.Token
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, fence.Token{Epoch: 3, Number: 17}, back["token"])
}

// Each token has one text, so that texts can be compared for equality.
func TestOnlyTheTextOfATokenIsParsed(t *testing.T) {
	for _, text := range []string{
		"", "-", "1", "1-", "-1", "0-1", "1-0", "-1-1", "1--1", "1-1-1", "+1-1", "1-+1", "01-1", "1-01", " 1-1", "1-1 ", "1-1\n",
		"1_0-1", "0x1-1", "1.0-1", "a-b", "9223372036854775808-1", "1-9223372036854775808", "١-1",
	} {
		token, err := fence.ParseToken(text)
		require.ErrorIs(t, err, fence.ErrInvalidArgument, "%q", text)
		require.Zero(t, token)
		require.ErrorContains(t, err, "<epoch>-<number>")
		kept := fence.Token{Epoch: 1, Number: 2}
		require.Error(t, kept.UnmarshalText([]byte(text)))
		require.Equal(t, fence.Token{Epoch: 1, Number: 2}, kept)
	}
}

func TestAnInvalidTokenHasNoTextForOthers(t *testing.T) {
	for _, token := range []fence.Token{{}, {Epoch: 1}, {Number: 1}, {Epoch: -1, Number: 1}, {Epoch: 1, Number: -1}} {
		require.ErrorIs(t, token.Validate(), fence.ErrInvalidArgument)
		_, err := token.MarshalText()
		require.ErrorIs(t, err, fence.ErrInvalidArgument)
	}
	require.ErrorContains(t, fence.Token{Number: 1}.Validate(), "epoch must be at least 1, got 0")
	require.ErrorContains(t, fence.Token{Epoch: 1, Number: -4}.Validate(), "number must be at least 1, got -4")
}

func FuzzParseToken(f *testing.F) {
	f.Add("1-1")
	f.Add("9223372036854775807-9223372036854775807")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := fence.ParseToken(text)
		if err != nil {
			require.ErrorIs(t, err, fence.ErrInvalidArgument)
			return
		}
		require.NoError(t, token.Validate())
		require.Equal(t, text, token.String())
	})
}
