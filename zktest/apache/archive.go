package apache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// archiveTimeout bounds the creation of an archive on a busy machine. A test
// process continues without an archive if the creation fails.
const archiveTimeout = time.Minute

// classArchive returns a file from which Java maps the parsed and checked
// classes of a server, or "" without such a file. Loading the classes from the
// jars takes half of the processor's time of a server's start, and a test run
// starts hundreds of servers. The archive is kept, below the user's cache
// folder, for the next test process.
//
// Java checks whether an archive fits Java's version and the jars, and
// otherwise loads the classes from the jars. The file name identifies both, so
// a change of either leads to a new archive.
func (c *Cluster) classArchive(ctx context.Context, java, classPath string) string {
	name, err := archiveName(java, classPath)
	if err != nil {
		return ""
	}
	if !fileExists(name) {
		// One process makes the archive; other processes neither wait nor make
		// another.
		claim, err := claimFile(name + ".lock")
		if err != nil {
			return ""
		}
		defer claim.Close()
		if !fileExists(name) && c.makeArchive(ctx, java, classPath, name) != nil {
			return ""
		}
	}
	if info, err := os.Stat(name); err != nil || info.Size() == 0 {
		return "" // this Java makes none
	}
	return name
}

// archiveName returns the file name of the archive for this Java and these
// jars, and creates its folder.
func archiveName(java, classPath string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "zktest")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	mark := sha256.New()
	for _, file := range append([]string{java}, filepath.SplitList(classPath)...) {
		path, err := filepath.EvalSymlinks(strings.TrimSuffix(file, "*"))
		if err != nil {
			return "", err
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(mark, path, info.Size(), info.ModTime().UnixNano())
	}
	return filepath.Join(dir, "classes-"+hex.EncodeToString(mark.Sum(nil)[:8])+".jsa"), nil
}

// makeArchive lets Java dump the classes loaded by a server when the server
// ends. An empty file records a Java without support for archives.
func (c *Cluster) makeArchive(ctx context.Context, java, classPath, name string) error {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	o, places, err := ensembleOfOne()
	if err != nil {
		return err
	}
	dir := filepath.Join(c.dir, "archive")
	if err := writeServer(o, places, 0, dir); err != nil {
		return err
	}
	made := fmt.Sprintf("%s.%d", name, os.Getpid())
	defer os.Remove(made)
	args := serverCommand(java, classPath, c.dir, append(jvmFlags(o, dir), "-XX:ArchiveClassesAtExit="+made)...)
	if err := serveOnce(ctx, places[0].addr(), append(args, filepath.Join(dir, "zoo.cfg"))); err != nil {
		return err
	}
	if !fileExists(made) {
		if err := os.WriteFile(made, nil, 0o600); err != nil {
			return err
		}
	}
	return os.Rename(made, name) // whole, or not there
}

// ensembleOfOne has most of the classes of larger ones.
func ensembleOfOne() (*Options, []place, error) {
	places, err := loopbackPlaces(1)
	if err != nil {
		return nil, nil, err
	}
	p := places[0]
	o, err := (&Options{Mode: Jars, Config: map[string]string{
		"standaloneEnabled": "false", "server.1": fmt.Sprintf("%s:%d:%d", p.host, p.peer, p.election),
	}}).withDefaults()
	return o, places, err
}

// serveOnce runs a server until the server answers, and stops the server
// gracefully. An early exit of the server is not an error.
func serveOnce(ctx context.Context, addr string, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	gone := make(chan struct{})
	// Ends when the process does; awaited below.
	go func() {
		defer close(gone)
		_ = cmd.Wait() // the exit code does not matter, only the written file
	}()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for serves := false; !serves; {
		select {
		case <-gone: // by itself, or killed because ctx has ended
			return ctx.Err()
		case <-tick.C:
			answer, err := askWord(ctx, addr, "srvr")
			serves = err == nil && strings.Contains(answer, "Mode: ")
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
	<-gone
	return ctx.Err()
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
