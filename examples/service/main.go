// Command service is a web service that stops gracefully: registered while it serves, one of
// its instances leads, and nothing of it is left behind when it ends.
//
//	zkr serve &                       # a ZooKeeper for tests, if there is none
//	go run ./examples/service -listen 127.0.0.1:8081 & go run ./examples/service -listen 127.0.0.1:8082 &
//	zkr service ls web; zkr elect ls /web/leader
//	curl 127.0.0.1:8081/readyz
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/health"
	"github.com/zkrecipes/zkrecipes/session"
)

func main() {
	servers := flag.String("servers", "127.0.0.1:2181", "ZooKeeper's servers, host:port,..., and perhaps a chroot behind the last one")
	listen := flag.String("listen", "127.0.0.1:8081", "host:port to serve on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := serve(ctx, *servers, *listen, nil)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

// drainTime is how long requests in flight may take after the end of ctx.
const drainTime = 10 * time.Second

// serve serves until ctx ends.
func serve(ctx context.Context, servers, listen string, o *session.Options) error {
	connecting, cancel := context.WithTimeout(ctx, 15*time.Second) // Connect retries until its context ends
	defer cancel()
	client, err := session.Connect(connecting, servers, o)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx)) // the last: it ends the session

	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: routes(client), ReadHeaderTimeout: 5 * time.Second}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ends := make(chan error, 3)
	part := func(run func() error) {
		// Waited for below; ends with ctx.
		go func() {
			err := run()
			stop() // the end of one part ends the others
			ends <- err
		}()
	}
	part(func() error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	// Run resigns when ctx ends, and returns after lead has returned.
	part(func() error { return election.New(client, "/web/leader", nil).Run(ctx, lead) })
	part(func() error {
		unregister, err := register(ctx, client, l.Addr().(*net.TCPAddr))
		if err == nil {
			<-ctx.Done()
			// First, so that clients look for another instance; then requests in flight end.
			err = unregister(context.WithoutCancel(ctx))
		}
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		return errors.Join(err, server.Shutdown(drain))
	})
	return errors.Join(<-ends, <-ends, <-ends)
}

// register registers this instance; it is registered again after a lost session.
func register(ctx context.Context, client *session.Client, at *net.TCPAddr) (unregister func(context.Context) error, err error) {
	r, err := discovery.NewRegistry(client, "/services", nil).Register(ctx, discovery.Instance{
		Service: "web", ID: session.NewID(), Address: at.IP.String(), Port: at.Port,
	})
	if err != nil {
		return nil, err
	}
	return r.Unregister, nil
}

func routes(client *session.Client) *http.ServeMux {
	mux := http.NewServeMux()
	// A restart repairs no ensemble: liveness does not depend on ZooKeeper.
	mux.Handle("/livez", health.Handler(health.Alive(client)))
	mux.Handle("/readyz", health.Handler(health.Connected(client, 0)))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	return mux
}

// lead does what one instance does at a time, until ctx ends: at the end of the service, or
// before another instance can lead.
func lead(ctx context.Context, l *election.Leadership) error {
	fmt.Printf("process %d leads, token %d\n", os.Getpid(), l.Token())
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C: // the work of the leader; its writes carry l.Token()
		case <-ctx.Done():
			return nil
		}
	}
}
