package session

// kind is what a session is made for.
type kind int

const (
	usual    kind = iota
	onTrial       // see Client.probeServers: nothing is reported, and each server is tried once
	forReads      // see Client.ReadSession: nothing is reported, and a server without a quorum will do
)
