package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog/logtest"
)

// writeLog writes a log of which each transaction creates a znode at one of the times.
func writeLog(t *testing.T, dir string, times ...time.Time) {
	t.Helper()
	m := logtest.New()
	for i, at := range times {
		m.Add(&logtest.Header{Session: 7, Zxid: txnlog.Zxid(i + 1), Time: at, Type: txnlog.TypeCreate}, logtest.Create(fmt.Sprintf("/n%d", i+1), "", false, uint32(i)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.1"), m.Bytes, 0o600))
}
