package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sources are the peers in other languages.
//
//go:embed peers/java/*.java peers/kazoo_bench.py
var sources embed.FS

const (
	javaJars = "/usr/share/java"
	python   = "/usr/bin/python3" // the Python of Debian's packages
	// rolePeer as first argument makes this program a peer.
	rolePeer = "peer"
)

// commands returns the start command of each of peers. All get the servers, and
// the session timeout in milliseconds. The files of a peer are below dir.
func commands(ctx context.Context, peers []string, dir, servers string, timeout time.Duration) (map[string][]string, error) {
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, peer := range peers {
		var start []string
		switch peer {
		case ourName, goZooKeeper:
			start = []string{self, rolePeer, peer}
		case curator:
			classPath, err := compile(ctx, filepath.Join(dir, "peers", "java"))
			if err != nil {
				return nil, missing(curator, err)
			}
			start = []string{"java", "-Xmx512m", "-cp", classPath, "Bench"}
		case kazoo:
			if out, err := exec.CommandContext(ctx, python, "-c", "import kazoo").CombinedOutput(); err != nil {
				return nil, missing(kazoo, fmt.Errorf("install the package python3-kazoo: %w\n%s", err, out))
			}
			start = []string{python, filepath.Join(dir, "peers", "kazoo_bench.py")}
		default:
			return nil, fmt.Errorf("no peer is called %q", peer)
		}
		out[peer] = append(start, servers, strconv.FormatInt(timeout.Milliseconds(), 10))
	}
	return out, nil
}

func missing(peer string, err error) error {
	return fmt.Errorf("%s cannot take part (leave it out with -peers): %w", peer, err)
}

// jars are Curator and its dependencies from Debian's packages.
func jars() []string {
	return []string{
		"curator-client", "curator-framework", "curator-recipes", "zookeeper", "zookeeper-jute", "guava", "jackson-core",
		"jackson-databind", "jackson-annotations", "slf4j-api", "slf4j-nop", "metrics-core", "snappy-java",
		"netty-buffer", "netty-codec", "netty-common", "netty-handler", "netty-resolver", "netty-transport",
	}
}

// compile compiles the Java peer in dir and returns its class path. The
// compiler is called as a module, so Debian's Java runtime is enough.
func compile(ctx context.Context, dir string) (string, error) {
	var paths []string
	for _, name := range jars() {
		jar := filepath.Join(javaJars, name+".jar")
		if _, err := os.Stat(jar); err != nil {
			return "", fmt.Errorf("install the packages libcurator-recipes-java and default-jre-headless: %w", err)
		}
		paths = append(paths, jar)
	}
	classPath := strings.Join(paths, string(os.PathListSeparator))
	files, err := filepath.Glob(filepath.Join(dir, "*.java"))
	if err != nil {
		return "", err
	}
	args := append([]string{"-m", "jdk.compiler/com.sun.tools.javac.Main", "-cp", classPath, "-d", dir}, files...)
	if out, err := exec.CommandContext(ctx, "java", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile: %w\n%s", err, out)
	}
	return dir + string(os.PathListSeparator) + classPath, nil
}
