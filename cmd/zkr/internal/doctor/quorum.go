package doctor

import "fmt"

// leastAsked is how many servers must be asked if the number of members is not known: while
// there is no quorum, no server tells it. The members that were not asked can then have a quorum
// only in an ensemble of seven or more.
const leastAsked = 3

// quorum has the counts that tell whether the servers that were not asked may have a quorum.
type quorum struct {
	asked    int // that may vote
	voters   int // 0 if not known
	serving  int // with a leader, or alone
	refusing int // that answered, and do not serve writes
}

func quorumOf(all []*Server) quorum {
	q := quorum{asked: countVoters(all), voters: votersOf(all)}
	for _, s := range all {
		switch s.Mode() {
		case "leader", "standalone", "follower", "observer":
			q.serving++
		default:
			if s.Words["srvr"] != "" {
				q.refusing++
			}
		}
	}
	return q
}

// excluded reports whether the servers that were not asked are no majority.
func (q quorum) excluded() bool {
	if q.voters == 0 {
		return q.asked >= leastAsked
	}
	return (q.voters-q.asked)*2 <= q.voters
}

func (q quorum) String() string {
	members := "the number of members is not known"
	if q.voters > 0 {
		members = fmt.Sprintf("the ensemble has %d members", q.voters)
	}
	return fmt.Sprintf("%d servers were asked, %d of them told their state, and none serves; %s", q.asked, q.refusing, members)
}
