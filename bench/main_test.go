package main

import (
	"errors"
	"flag"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheCommandLineHasDefaults(t *testing.T) {
	s, err := parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, s.time)
	require.Equal(t, 2*time.Second, s.warm)
	require.Equal(t, 3, s.rounds)
	require.Equal(t, allPeers(), s.peers)
	require.Equal(t, []profile{loopback, lan}, s.profiles)
	require.True(t, s.only.MatchString("anything"))
}

func TestTheCommandLineIsObeyed(t *testing.T) {
	s, err := parse([]string{"--servers", "a:1,b:2", "-only", "^lock", "-time", "1s", "-warm", "3s", "-rounds", "5",
		"-peers", "kazoo,ours", "-out", "f.json", "-timeout", "20s", "-profile", "lan"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "^lock", s.only.String())
	s.only = nil
	require.Equal(t, settings{servers: "a:1,b:2", time: time.Second, warm: 3 * time.Second, rounds: 5,
		peers: []string{kazoo, ourName}, profiles: []profile{lan}, file: "f.json", timeout: 20 * time.Second}, s)
}

func TestAWrongCommandLineIsRefusedByName(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-only", "("}, "-only"},
		{[]string{"-time", "0s"}, "-time"},
		{[]string{"-warm", "-1s"}, "-warm"},
		{[]string{"-rounds", "0"}, "-rounds"},
		{[]string{"-timeout", "0s"}, "-timeout"},
		{[]string{"-peers", "ours,theirs"}, `"theirs"`},
		{[]string{"-profile", "lan,wan"}, `"wan"`},
		{[]string{"locks"}, `"locks"`},
	} {
		_, err := parse(c.args, io.Discard)
		require.ErrorContains(t, err, c.want)
	}
	_, err := parse([]string{"-h"}, io.Discard)
	require.True(t, errors.Is(err, flag.ErrHelp))
}
