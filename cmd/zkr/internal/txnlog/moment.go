package txnlog

import (
	"errors"
	"io"
	"os"
	"time"
)

// startOf returns the index of the first log that may have a transaction at or
// after both from and since. The first transaction of a log tells about where the
// log before ends; one log more is read for transactions that were logged late.
func (f *Folder) startOf(from Zxid, since time.Time) int {
	start := 0
	for i, log := range f.Logs {
		if compareZxids(log.Zxid, from) <= 0 {
			start = i
		}
	}
	start = max(0, start-1)
	if since.IsZero() {
		return start
	}
	for i := len(f.Logs) - 1; i > start; i-- {
		if first, ok := firstTime(f.Logs[i].Path); ok && first.Before(since) {
			return i - 1
		}
	}
	return start
}

// firstTime returns the time of the first transaction of a log, if it can be read.
func firstTime(path string) (time.Time, bool) {
	f, err := os.Open(path)
	if err != nil {
		return time.Time{}, false
	}
	defer f.Close()
	var txn Txn
	err = NewReader(f, path).Next(&txn)
	return txn.Time, err == nil
}

// ZxidAt returns the last transaction before the first one that is later than a
// moment, by the leaders' clocks. The result is false if the logs do not reach back
// to the moment.
func (f *Folder) ZxidAt(moment time.Time) (Zxid, bool, error) {
	var last Zxid
	reader := &Transactions{folder: f, seen: newRecent(), begun: true, o: ReadOptions{Report: func(Finding) {}}}
	reader.logs = append(reader.logs, f.Logs[f.startOf(0, moment):]...)
	defer reader.Close()
	for found := false; ; found = true {
		txn, err := reader.Next()
		if errors.Is(err, io.EOF) || err == nil && txn.Time.After(moment) {
			return last, found, nil
		}
		if err != nil {
			return 0, false, err
		}
		last = txn.Zxid
	}
}

// SnapshotAt returns the newest snapshot that was begun at or before a moment, as
// found by ZxidAt. The snapshot may include later transactions; see Snapshot.End.
func (f *Folder) SnapshotAt(moment time.Time) (File, bool, error) {
	zxid, ok, err := f.ZxidAt(moment)
	if !ok || err != nil {
		return File{}, false, err
	}
	file, ok := f.SnapshotBefore(zxid)
	return file, ok, nil
}
