package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// wrongRules are unsafe rules, each in a group where the rule does harm. The
// same group is safe without the rule: TestEachRuleIsNeeded checks both.
func wrongRules() map[string]model {
	three := mask(0b111)
	some := func(m model) model {
		m.resources = three
		return m
	}
	return map[string]model{
		"the barrier is below the resource's node (X4)": some(model{
			begin: 0b011, late: 0b100, idle: 1, changing: 1, left: faults{changes: 2}, wrong: wrong{barrierBelowResource: true}}),
		"an abandoned barrier is set free, whichever client owns it (X2)": some(model{
			begin: 0b011, late: 0b100, left: faults{stops: 1}, wrong: wrong{abandonsBlindly: true}}),
		"barriers are released while the handler still stops (X1)": some(model{
			begin: 0b011, left: faults{stops: 1}, wrong: wrong{releasesTooEarly: true}}),
		"barriers are taken from live clients": some(model{
			begin: 0b011, late: 0b100, wrong: wrong{takesFromTheLiving: true}}),
		"barriers are set whatever their version": some(model{
			begin: 0b011, late: 0b100, left: faults{losses: 1}, wrong: wrong{setsBlindly: true}}),
		"the owner's client node is read before the barrier": some(model{
			begin: 0b011, late: 0b100, left: faults{stops: 1}, wrong: wrong{ownerSeenBefore: true}}),
		"barriers are deleted, and their versions start again": {
			begin: 0b1111, idle: 1, resources: 0b001, changing: 0b011, left: faults{losses: 1, changes: 3},
			wrong: wrong{versionsStartAgain: true}},
		"a session expires while its client trusts in it": some(model{
			begin: 0b011, left: faults{losses: 1}, wrong: wrong{expiresTheTrusting: true}}),
		"an unheard transaction is taken for one that failed": some(model{
			begin: 0b011, left: faults{replies: 1}, wrong: wrong{forgetsReplies: true}}),
		"what is owned is started before the rest is (R27)": some(model{
			begin: 0b011, late: 0b100, complete: true, wrong: wrong{startsIncomplete: true}}),

		"the shard is read before the status": some(model{mode: Global,
			begin: 0b011, late: 0b100, wrong: wrong{shardBeforeStatus: true}}),
		"a word counts for any generation": some(model{mode: Global,
			begin: 0b011, late: 0b100, left: faults{losses: 1}, wrong: wrong{acksWithoutGeneration: true}}),
		"a zombie writes without a check of the epoch": {mode: Global,
			begin: 0b011, late: 0b100, idle: 1, resources: 0b011, left: faults{kicks: 1}, wrong: wrong{noEpochCheck: true}},
		"what a shard says is started although it is newer than the status": some(model{mode: Global,
			begin: 0b011, late: 0b100, left: faults{losses: 1}, wrong: wrong{startsNewerShard: true}}),
		"a word is given while the handler still stops (X1)": some(model{mode: Global,
			begin: 0b011, late: 0b100, wrong: wrong{acksTooEarly: true}}),
		"the clients are listed before the election": some(model{mode: Global,
			begin: 0b011, late: 0b100, idle: 0b010, after: [4]uint8{3: 1}, left: faults{losses: 1}, wrong: wrong{oldClientList: true}}),
		"a shard is taken that is meant for the same instance before": some(model{mode: Global,
			begin: 0b111, after: [4]uint8{3: 2}, again: [4]uint8{3: 2}, left: faults{losses: 1}, wrong: wrong{othersShard: true}}),
		"no member is waited for": some(model{mode: Global,
			begin: 0b011, late: 0b100, wrong: wrong{waitsForNoMember: true}}),
	}
}

// X1, X2, X4
func TestModelFindsWrongRules_X1_X2_X4(t *testing.T) {
	for name, m := range wrongRules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.unsafe = m.wrong != wrong{forgetsReplies: true}
			n, err := m.explore(3_000_000)
			require.Error(t, err)
			require.NotErrorIs(t, err, errModelTooMany)
			t.Logf("%d states: %.80v", n, err)
		})
	}
}

// A group that never comes to rest is detected, too: at rest, a group with
// members owns all resources.
func TestModelFindsResourcesWithoutAnOwner(t *testing.T) {
	m := model{begin: 0b011, resources: 0b001}
	s := m.initial()
	require.ErrorContains(t, m.rest(&s), "[x] has 0 owners at rest")
	s.clients[0].use = 1
	require.ErrorContains(t, m.rest(&s), "knows of")
	require.ErrorContains(t, m.safe(&s), "does not own it")
	s.clients[1].use, s.now[0].barriers[0] = 1, mbarrier{there: true, owner: 1}
	require.ErrorContains(t, m.safe(&s), "used twice")
}
