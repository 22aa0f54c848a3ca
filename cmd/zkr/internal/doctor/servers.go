package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// The limits of the checks.
const (
	mostWaiting  = 100     // requests in a server
	mostLatency  = 50.0    // average, in milliseconds
	mostWatches  = 1000000 // of a server
	mostAwaited  = 10000   // paths of znodes that do not exist, which clients watch
	mostFull     = 80      // percent of a limit
	leastOnDisk  = 2 << 30 // bytes of logs and snapshots that are never too many
	mostOnDisk   = 50      // times the data
	soundInTicks = 3       // a timeout that needs no knowledge of the tick
	leastInTicks = 2       // the shortest that any rule is made for without that knowledge
)

// Servers checks what servers say of themselves.
func Servers(all []*Server) []Finding {
	var out []Finding
	for _, s := range all {
		out = append(out, checkState(s)...)
		out = append(out, checkLoad(s)...)
		out = append(out, checkTimeouts(s)...)
		out = append(out, checkAdmin(s)...)
	}
	out = append(out, checkLeaders(all)...)
	return append(out, checkEquality(all)...)
}

// NotSeen is what servers did not tell.
func NotSeen(all []*Server) (out []Unseen) {
	for _, s := range all {
		if len(s.Refused) > 0 {
			out = append(out, Unseen{s.Address, "not allowed: " + strings.Join(s.Refused, ", "),
				"add the words to 4lw.commands.whitelist for as long as you want to see more: of some settings, loads and sessions nothing is known"})
		}
		if len(s.Silent) > 0 && !s.refusing() {
			out = append(out, Unseen{s.Address, "not answered: " + strings.Join(s.Silent, ", "), "run zkr doctor again when the server is less busy"})
		}
	}
	out = append(out, notTold(all)...)
	const nameAll = "name all members in --servers, or use --follow-ensemble"
	if asked, voters := countVoters(all), votersOf(all); asked < voters {
		out = append(out, Unseen{ensemble, fmt.Sprintf("%d of %d members, which --servers does not name", voters-asked, voters), nameAll})
	}
	if q := quorumOf(all); q.serving == 0 && q.refusing > 0 && !q.excluded() {
		out = append(out, Unseen{ensemble, fmt.Sprintf("whether there is a leader: %s, and the others may have a quorum", q), nameAll})
	}
	return out
}

func checkState(s *Server) (out []Finding) {
	switch {
	case s.Err != nil:
		return []Finding{newFinding("server.unreachable", recognize.Bad, s.Address, s.Err.Error())}
	case s.refusing():
		return []Finding{newFinding("server.not-serving", recognize.Bad, s.Address, "srvr: "+strings.TrimSpace(s.Words["srvr"]))}
	case s.Mode() == "read-only":
		out = append(out, newFinding("server.read-only", recognize.Bad, s.Address, "srvr: Mode: read-only"))
	}
	if found := faultsOf(s.Version()); len(found) > 0 && !s.imitates() {
		out = append(out, newFinding("server.version", recognize.Warn, s.Address, "version "+s.Version()+": "+strings.Join(found, "; ")))
	}
	if s.Words[probe] != "" {
		out = append(out, newFinding("server.words", recognize.Hint, s.Address, "the server answers gtmk, which hardly any list names: it probably allows all words, also wchc, wchp and dump"))
	}
	return out
}

func checkLoad(s *Server) (out []Finding) {
	add := func(name string, level recognize.Level, format string, args ...any) {
		out = append(out, newFinding(name, level, s.Address, fmt.Sprintf(format, args...)))
	}
	if n := s.Outstanding(); n > mostWaiting {
		add("server.queue", recognize.Warn, "%d outstanding requests; more than %d", n, mostWaiting)
	}
	if ms := s.Latency(); ms > mostLatency {
		add("server.slow", recognize.Warn, "average latency %.1f ms; more than %.0f ms", ms, mostLatency)
	}
	if n, _ := s.monitored("watch_count"); n > mostWatches {
		add("server.watches", recognize.Hint, "%d watches; more than %d", n, mostWatches)
	}
	if paths, znodes := s.WatchedPaths(), s.Znodes(); znodes > 0 && paths > znodes+mostAwaited {
		add("server.watch-leak", recognize.Warn, "%d paths are watched, and there are %d znodes: clients watch at least %d paths of znodes that do not exist, more than %d", paths, znodes, paths-znodes, mostAwaited)
	}
	open, _ := s.monitored("open_file_descriptor_count")
	if most, ok := s.monitored("max_file_descriptor_count"); ok && open*100 >= most*mostFull {
		add("server.files", recognize.Warn, "%d of %d file descriptors are open", open, most)
	}
	data, known := s.monitored("approximate_data_size")
	files := max(number(s.setting("dataDirSize")), number(s.line("dirs", "datadir_size: ")))
	if s.setting("dataLogDir") != s.setting("dataDir") || s.setting("dataDir") == "" {
		files += max(number(s.setting("dataLogSize")), number(s.line("dirs", "logdir_size: ")))
	}
	if known && files > leastOnDisk && files > data*mostOnDisk {
		add("server.disk", recognize.Warn, "logs and snapshots have %d MiB, the data has %d MiB", files>>20, data>>20)
	}
	most := number(s.setting("maxClientCnxns"))
	clients := map[string]int64{}
	for _, c := range s.connections() {
		clients[c.client]++
	}
	for _, client := range slices.Sorted(maps.Keys(clients)) {
		if n := clients[client]; most > 0 && n*100 >= most*mostFull {
			add("server.connections", recognize.Warn, "%d of %d connections (maxClientCnxns) of %s", n, most, client)
		}
	}
	return out
}

// checkTimeouts applies the library's own rule (docs/guarantees.md#assumptions): without
// knowledge of the tick, a quarter of a timeout must cover half a tick, which it does
// without slack at two ticks.
func checkTimeouts(s *Server) (out []Finding) {
	tick := s.Tick()
	if tick == 0 {
		return nil
	}
	if least := s.Least(); least > 0 && least < leastInTicks*tick {
		out = append(out, newFinding("timeout.unsound", recognize.Warn, s.Address,
			fmt.Sprintf("the server grants timeouts from %v (minSessionTimeout), with a tick of %v: they are sound from %v on, and from %v on with slack", least, tick, leastInTicks*tick, soundInTicks*tick)))
	}
	n, shortest, first := 0, time.Duration(0), ""
	for _, c := range s.connections() {
		if c.timeout > 0 && c.timeout < soundInTicks*tick {
			if n++; n == 1 || c.timeout < shortest {
				shortest, first = c.timeout, c.session
			}
		}
	}
	if n > 0 {
		level := recognize.Hint
		if shortest < leastInTicks*tick {
			level = recognize.Warn
		}
		out = append(out, newFinding("timeout.unsound", level, s.Address,
			fmt.Sprintf("sessions with timeouts below three ticks (%v): %d; the shortest has %v, such as %s", soundInTicks*tick, n, shortest, first)))
	}
	below, sync := 0, s.Sync()
	for _, c := range s.connections() {
		below += asBit(c.timeout > 0 && c.timeout < sync)
	}
	if below > 0 {
		out = append(out, newFinding("timeout.sync-limit", recognize.Hint, s.Address,
			fmt.Sprintf("sessions with timeouts below syncLimit (%v): %d", sync, below)))
	}
	return out
}

func asBit(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// votersOf is how many servers vote, as the servers say; 0 if none says so.
func votersOf(all []*Server) (n int) {
	for _, s := range all {
		n = max(n, s.voters())
	}
	return n
}

// countVoters is how many of the servers are not known to be observers.
func countVoters(all []*Server) (n int) {
	for _, s := range all {
		if s.Mode() != "observer" {
			n++
		}
	}
	return n
}

func checkLeaders(all []*Server) (out []Finding) {
	var leaders []string
	ids := map[string]bool{} // of the leaders: a server may have several addresses
	voters := votersOf(all)
	for _, s := range all {
		switch s.Mode() {
		case "leader", "standalone":
			if s.Mode() == "leader" && s.ID() != "" {
				if ids[s.ID()] {
					continue
				}
				ids[s.ID()] = true
			}
			leaders = append(leaders, s.Address+" ("+s.Mode()+")")
		}
	}
	if len(leaders) > 1 {
		out = append(out, newFinding("ensemble.leaders", recognize.Bad, ensemble, strings.Join(leaders, ", ")))
	}
	if q := quorumOf(all); q.serving == 0 && q.refusing > 0 && q.excluded() {
		out = append(out, newFinding("ensemble.no-leader", recognize.Bad, ensemble, q.String()))
	}
	followers := voters - 1
	if voters == 0 {
		followers = countVoters(all) - 1
	}
	for _, s := range all {
		synced, known := s.monitored("synced_followers")
		if s.Mode() == "leader" && known && int(synced) < followers {
			out = append(out, newFinding("ensemble.not-synced", recognize.Warn, s.Address, fmt.Sprintf("%d of %d followers are synchronized", synced, followers)))
		}
		if s.Mode() == "standalone" {
			out = append(out, newFinding("ensemble.single", recognize.Hint, s.Address, "srvr: Mode: standalone"))
		}
	}
	if voters > 0 && voters%2 == 0 && len(leaders) <= 1 {
		out = append(out, newFinding("ensemble.even", recognize.Hint, ensemble, fmt.Sprintf("%d servers", voters)))
	}
	return out
}

func checkEquality(all []*Server) (out []Finding) {
	versions, limits := map[string][]string{}, map[string][]string{}
	for _, s := range all {
		if v := s.Version(); v != "" {
			versions[v] = append(versions[v], s.Address)
		}
		if s.Tick() > 0 {
			key := fmt.Sprintf("tick %v, timeouts %v to %v", s.Tick(), s.Least(), s.Most())
			if sync := s.Sync(); sync > 0 {
				key += fmt.Sprintf(", syncLimit %v", sync)
			}
			limits[key] = append(limits[key], s.Address)
		}
	}
	describe := func(m map[string][]string) string {
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, key+" on "+strings.Join(m[key], ", "))
		}
		return strings.Join(parts, "; ")
	}
	if len(versions) > 1 {
		out = append(out, newFinding("ensemble.versions", recognize.Hint, ensemble, describe(versions)))
	}
	if len(limits) > 1 {
		out = append(out, newFinding("settings.differ", recognize.Warn, ensemble, describe(limits)))
	}
	return out
}
