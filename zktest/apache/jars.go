package apache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// jarBackend runs Java processes of this machine.
type jarBackend struct {
	flags []string // of java, but for the archive of classes
	dir   string   // the cluster's
	netns string   // prefix of the servers' network namespaces, "" = none

	mu sync.Mutex
	// args is java and all its arguments but the configuration file.
	args []string
	// running holds the servers started and not yet reaped.
	running map[int]*process
	dirs    []string
}

type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has been reaped
}

// debianJars is where Debian's packages put their jars.
const debianJars = "/usr/share/java"

// findJars returns java and the class path of a ZooKeeper server.
func findJars(home string) (java, classPath string, err error) {
	if !servesHere {
		return "", "", fmt.Errorf("%w: servers can be started on Unix only: set %s to a running ensemble", ErrUnavailable, EnvServers)
	}
	java, err = exec.LookPath("java")
	if err != nil {
		return "", "", fmt.Errorf("%w: no java in PATH: install the package default-jre-headless", ErrUnavailable)
	}
	if home != "" {
		if found, _ := filepath.Glob(filepath.Join(home, "lib", "zookeeper-[0-9]*.jar")); len(found) == 0 {
			return "", "", fmt.Errorf("%w: %s (%s) is not an unpacked release: it has no lib/zookeeper-<version>.jar", ErrUnavailable, home, EnvHome)
		}
		return java, filepath.Join(home, "lib", "*"), nil
	}
	var jars []string
	for _, jar := range []string{"zookeeper.jar", "slf4j-simple.jar"} {
		path := filepath.Join(debianJars, jar)
		if _, err := os.Stat(path); err != nil {
			return "", "", fmt.Errorf("%w: no %s: install the packages zookeeper and libslf4j-java, or set %s to an unpacked release",
				ErrUnavailable, path, EnvHome)
		}
		// The manifest of this jar names the other required jars.
		jars = append(jars, path)
	}
	// The manifest leaves out what Netty needs for secureClientPort, and Jetty for the admin
	// server.
	for _, jar := range []string{"netty-codec.jar", "netty-resolver.jar", "netty-transport-native-unix-common.jar", "servlet-api.jar"} {
		if path := filepath.Join(debianJars, jar); fileExists(path) {
			jars = append(jars, path)
		}
	}
	return java, strings.Join(jars, string(os.PathListSeparator)), nil
}

// prepareJars gives every server its address, its folder and its files.
func (c *Cluster) prepareJars(ctx context.Context, id string, f *Options) (err error) {
	java, classPath, err := findJars(os.Getenv(EnvHome))
	if err != nil {
		return err
	}
	b := &jarBackend{running: map[int]*process{}, dir: c.dir, flags: jvmFlags(f, c.dir)}
	if f.Cuts {
		if c.subnet, err = claimSubnet(id); err != nil {
			return err
		}
		if err = c.subnet.buildNetwork(ctx, id, f.Servers); err != nil {
			return err
		}
		b.netns = "zktest-" + id + "-s"
		for i := range f.Servers {
			c.places = append(c.places, place{c.subnet.serverAddr(i), 2181, 2888, 3888})
		}
	} else if c.places, err = loopbackPlaces(f.Servers); err != nil {
		return err
	}
	if len(f.SASLUsers) > 0 {
		if err := os.WriteFile(filepath.Join(c.dir, loginName), loginConfig(f.SASLUsers), 0o600); err != nil {
			return err
		}
	}
	b.use(java, classPath, c.classArchive(ctx, java, classPath))
	for i := range f.Servers {
		dir := filepath.Join(c.dir, strconv.Itoa(i))
		b.dirs = append(b.dirs, dir)
		if err := writeServer(f, c.places, i, dir); err != nil {
			return err
		}
	}
	c.back = b
	return nil
}

// use lets the servers that are started from now on run these classes.
func (b *jarBackend) use(java, classPath, archive string) {
	flags := slices.Clone(b.flags)
	if archive != "" {
		flags = append(flags, "-XX:SharedArchiveFile="+archive)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.args = serverCommand(java, classPath, b.dir, flags...)
}

// serverCommand is the command line of a server, but for the configuration file. The
// guard knows the servers by zktest.dir.
func serverCommand(java, classPath, dir string, flags ...string) []string {
	args := append([]string{java}, flags...)
	return append(args, "-Dzktest.dir="+dir+"/",
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-cp", classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain")
}

// writeServer writes the files that server i reads at its start.
func writeServer(f *Options, places []place, i int, dir string) error {
	data := filepath.Join(dir, "data")
	files := map[string][]byte{
		filepath.Join(data, "myid"):   []byte(strconv.Itoa(i + 1)),
		filepath.Join(dir, "zoo.cfg"): []byte(zooCfg(f, places, i, data)),
	}
	if len(f.Counters)+len(f.Versions) > 0 {
		snap, err := encodeSnapshot(f.Counters, f.Versions)
		if err != nil {
			return err
		}
		files[filepath.Join(data, snapshotName)] = snap
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (b *jarBackend) start(_ context.Context, i int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running[i] != nil {
		return errors.New("it runs already")
	}
	out, err := os.OpenFile(filepath.Join(b.dirs[i], "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	args := append([]string{}, b.args...)
	if b.netns != "" {
		args = append(b.netnsCommand(i), args...)
	}
	args = append(args, filepath.Join(b.dirs[i], "zoo.cfg"))
	// Not bound to a context: the server outlives the call.
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.dirs[i], out, out
	// A group of its own: an interrupt from the terminal reaches only the test,
	// and the test decides about the server.
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, gone: make(chan struct{})}
	b.running[i] = p
	// Ends when the process does; kill and close wait on gone.
	go func() {
		_ = cmd.Wait() // the error "killed" is expected
		b.mu.Lock()
		delete(b.running, i)
		b.mu.Unlock()
		close(p.gone)
	}()
	return nil
}

func (b *jarBackend) findProcess(i int) *process {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[i]
}

func (b *jarBackend) isRunning(_ context.Context, i int) bool { return b.findProcess(i) != nil }

func (b *jarBackend) kill(_ context.Context, i int) error { return b.endProcess(i) }

func (b *jarBackend) endProcess(i int) error {
	p := b.findProcess(i)
	if p == nil {
		return nil
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.gone // a killed process is reaped soon, in any state
	return nil
}

func (b *jarBackend) pause(ctx context.Context, i int, on bool) error {
	p := b.findProcess(i)
	if p == nil {
		return errors.New("it does not run")
	}
	if !on {
		return p.cmd.Process.Signal(signalContinue)
	}
	if err := p.cmd.Process.Signal(signalStop); err != nil {
		return err
	}
	// The signal takes effect thread by thread: a thread inside the kernel may
	// still answer a client.
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !isStopped(p.cmd.Process.Pid) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.gone:
			return errors.New("it ended")
		case <-tick.C:
		}
	}
	return nil
}

// isStopped says whether all threads of a process have stopped, where there is a
// /proc to tell.
func isStopped(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range stats {
		// "pid (name) state ...", and the name may hold anything.
		text, err := os.ReadFile(name)
		after := string(text[bytes.LastIndexByte(text, ')')+1:])
		if err == nil && !strings.HasPrefix(after, " T") {
			return false
		}
	}
	return true
}

func (b *jarBackend) netnsCommand(i int) []string {
	return []string{"ip", "netns", "exec", b.netns + strconv.Itoa(i)}
}

func (b *jarBackend) namespacePrefix(_ context.Context, i int) ([]string, error) {
	return b.netnsCommand(i), nil
}

func (b *jarBackend) log(_ context.Context, i int) (string, error) {
	text, err := os.ReadFile(filepath.Join(b.dirs[i], "log"))
	return string(text), err
}

func (b *jarBackend) close() error {
	var errs []error
	for i := range b.dirs {

		errs = append(errs, b.endProcess(i))
	}
	return errors.Join(errs...)
}
