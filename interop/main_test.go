//go:build unix

package interop_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
	"go.uber.org/goleak"
)

// The variables by which TestMain passes settings to the tests, and to the test binary
// when it plays a peer.
const (
	// envRole: this process is a peer of this module, not a run of tests.
	envRole = "INTEROP_ROLE"
	// envClasses is the class path of the Java peer, envNoCurator the reason if it is
	// missing.
	envClasses   = "INTEROP_CLASSES"
	envNoCurator = "INTEROP_NO_CURATOR"
	// envCurator is where the Java process that is many peers listens.
	envCurator = "INTEROP_CURATOR"
	// envMode is how the shared server is run, and others are to be.
	envMode = "INTEROP_MODE"
)

// TestMain starts what all tests share: one server, and the compiled Java peer.
// It fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv(envRole) != "" {
		if err := playOurs(os.Stdin, os.Stdout, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Most of the time tests wait, for sessions to end: more of them at a time
	// than there are processors.
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err) // package testing has no such flag any more
	}
	goleak.VerifyTestMain(shared{m})
}

// shared runs the tests around what they share.
type shared struct{ m *testing.M }

func (s shared) Run() int {
	dir, err := os.MkdirTemp("", "interop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	curator := make(chan func() error)
	// Waited for below; ends with the compiler.
	go func() {
		end, err := shareCurator(dir)
		if err != nil {
			_ = os.Setenv(envNoCurator, err.Error())
		}
		curator <- end
	}()
	cluster, err := shareServer()
	end := <-curator
	if err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, end()))
		return 1
	}
	code := s.m.Run()
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, "the Java process that is many peers:", err)
		code = 1
	}
	if cluster == nil {
		return code
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "server log:\n%s\n", cluster.Logs(context.Background(), 20))
	}
	if err := cluster.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// options are those of every server of these tests. The servers keep empty
// containers: Kazoo looks for a path, or remembers it, then creates below it, and
// fails with NoNodeError if a server deletes the container between the two. That
// ours, and Curator's, create it again is tested where they are alone.
func options() *apache.Options {
	return &apache.Options{Heap: 96, ContainerInterval: time.Hour}
}

// shareServer starts a server and makes it the one that [apache.Require] gives
// to all tests. It returns nil if a server cannot be started, or is given: then
// apache.Require decides.
func shareServer() (*apache.Cluster, error) {
	if os.Getenv(apache.EnvServers) != "" {
		return nil, nil
	}
	cluster, err := apache.Start(context.Background(), options())
	if errors.Is(err, apache.ErrUnavailable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return cluster, errors.Join(os.Setenv(envMode, string(cluster.Mode())),
		os.Setenv(apache.EnvServers, cluster.Connect()), os.Setenv(apache.EnvMode, string(apache.Given)))
}

// curatorJars are Curator and its dependencies, from Debian's packages.
func curatorJars() []string {
	return []string{
		"curator-client", "curator-framework", "curator-recipes", "curator-x-discovery", "zookeeper", "zookeeper-jute", "guava",
		"jackson-core", "jackson-databind", "jackson-annotations", "slf4j-api", "slf4j-nop", "metrics-core", "snappy-java",
		"netty-buffer", "netty-codec", "netty-common", "netty-handler", "netty-resolver", "netty-transport",
	}
}

// compileCurator compiles the Java peer and returns its class path. The compiler
// is called as the module that it is, so that a Java runtime will do, where
// Debian has it, and no development kit is needed.
func compileCurator(dir string) (string, error) {
	var jars []string
	for _, name := range curatorJars() {
		jar := filepath.Join("/usr/share/java", name+".jar")
		if _, err := os.Stat(jar); err != nil {
			return "", fmt.Errorf("install the Debian packages libcurator-recipes-java, libcurator-discovery-java and default-jre-headless: %w", err)
		}
		jars = append(jars, jar)
	}
	sources, err := filepath.Glob("testdata/java/*.java")
	if err != nil {
		return "", err
	}
	classPath := strings.Join(jars, ":")
	args := append([]string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "-cp", classPath, "-d", dir}, sources...)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "java", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the Java peer: %w\n%s", err, out)
	}
	return dir + ":" + classPath, nil
}

// java is a command of the Java peer.
func java(classPath string, args ...string) *exec.Cmd {
	// Quick to start rather than quick in the long run.
	return exec.Command("java", append([]string{"-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classPath, "Peer"}, args...)...)
}

// shareCurator compiles the Java peer, and starts the process that is many of them:
// end ends it.
func shareCurator(dir string) (end func() error, err error) {
	end = func() error { return nil }
	classes, err := compileCurator(dir)
	if err != nil {
		return end, err
	}
	cmd := java(classes)
	cmd.Stderr = os.Stderr
	peers, lines, err := subprocess.StartLines(cmd)
	if err != nil {
		return end, err
	}
	end = func() error {
		peers.End()
		return peers.Wait()
	}
	port, ok := <-lines
	if !ok {
		return end, errors.New("the Java peer has ended before it listened")
	}
	return end, errors.Join(os.Setenv(envClasses, classes), os.Setenv(envCurator, net.JoinHostPort("127.0.0.1", port)))
}

// needCurator skips loudly where there is no Curator, unless real peers are
// insisted on.
func needCurator(t *testing.T) {
	t.Helper()
	if why := os.Getenv(envNoCurator); why != "" {
		missing(t, "CURATOR", why)
	}
}

const python = "/usr/bin/python3"

// needKazoo is needCurator for Kazoo.
func needKazoo(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), python, "-c", "import kazoo").CombinedOutput()
	if err != nil {
		missing(t, "KAZOO", fmt.Sprintf("install the Debian package python3-kazoo: %v\n%s", err, out))
	}
}

func missing(t *testing.T, peer, why string) {
	t.Helper()
	if os.Getenv(apache.EnvRequire) == "1" {
		t.Fatalf("%s=1, but: %s", apache.EnvRequire, why)
	}
	t.Skipf("\n*** NOT TESTED AGAINST %s: %s", peer, why)
}

// startOwnServer starts a server that the test may kill.
func startOwnServer(t *testing.T) *apache.Cluster {
	t.Helper()
	o := options()
	o.Own, o.Mode = true, apache.Mode(os.Getenv(envMode))
	return apache.Require(t, o)
}

// fresh returns an unused path: servers may be shared.
func fresh(name string) string { return "/interop-" + session.NewID() + "/" + name }

// connect is a client of this module in the process of the test.
func connect(t *testing.T) *session.Client {
	t.Helper()
	cluster := apache.Require(t, options())
	c, err := session.Connect(t.Context(), cluster.Connect(), &session.Options{Timeout: timeout})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, c.Close(ctx))
	})
	return c
}

// current is the client's session.
func current(t *testing.T, c *session.Client) *session.Session {
	t.Helper()
	s, err := c.Session(t.Context())
	require.NoError(t, err)
	return s
}
