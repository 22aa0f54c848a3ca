package cache_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// follow prints the settings below /conf, and how they change.
func follow(ctx context.Context, servers string) error {
	client, err := session.Connect(ctx, servers, nil)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))

	conf := cache.NewChildren(client, "/conf", cache.Bytes, nil)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { ended <- conf.Run(ctx) }()

	for ev, err := range conf.Events(ctx) {
		if err != nil {
			return err
		}
		switch ev.Kind {
		case cache.EventSnapshot:
			for e := range ev.Snapshot.All() {
				fmt.Printf("%s is %s\n", e.Name(), e.Value)
			}
			// Another client changes a setting.
			s, err := client.Session(ctx)
			if err != nil {
				return err
			}
			if _, err := s.Set(ctx, "/conf/port", []byte("8081"), -1); err != nil {
				return err
			}
		case cache.EventUpdated:
			fmt.Printf("%s is %s, was %s\n", ev.New.Name(), ev.New.Value, ev.Old.Value)
			if now, ok := conf.Get("port"); ok { // never waits
				fmt.Printf("and so it says: %s\n", now.Value)
			}
			cancel()
			<-ended
			return nil
		}
	}
	return nil
}

func Example() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	for _, node := range [][2]string{{"/conf", ""}, {"/conf/host", "localhost"}, {"/conf/port", "8080"}} {
		if err := server.Create(node[0], []byte(node[1])); err != nil {
			panic(err)
		}
	}
	fmt.Println(follow(context.Background(), server.Addr()))
	// Output:
	// host is localhost
	// port is 8080
	// port is 8081, was 8080
	// and so it says: 8081
	// <nil>
}

// Limits are the JSON data of the znode /config/limits.
type Limits struct{ Rate int }

func decodeLimits(n session.Node) (Limits, error) {
	var l Limits
	err := json.Unmarshal(n.Data, &l)
	return l, err
}

// A setting as a value of the program's own type, which stays readable while
// ZooKeeper is unreachable.
func ExampleValue() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(context.WithoutCancel(ctx))

	limits := cache.NewValue(client, "/config/limits", decodeLimits, nil)
	over := make(chan struct{})
	// Waited for below; ends with ctx.
	go func() { defer close(over); _ = limits.Run(ctx) }()
	if err := limits.WaitSynced(ctx); err != nil {
		panic(err)
	}
	_, exists := limits.Get()
	fmt.Println("there is one:", exists) // a later znode is shown as well

	texts := []string{`{"Rate":10}`, `{"Rate":"many"}`}
	for event, err := range limits.Events(ctx) {
		switch {
		case err != nil:
			panic(err)
		case event.Kind == cache.EventSnapshot:
			if err := server.Create("/config", nil); err != nil {
				panic(err)
			}
			if err := server.Create("/config/limits", []byte(texts[0])); err != nil {
				panic(err)
			}
			continue
		case event.Kind == cache.EventAdded:
			fmt.Println(event.Kind, event.New.Value.Rate)
			if err := server.Set("/config/limits", []byte(texts[1])); err != nil {
				panic(err)
			}
			continue
		}
		fmt.Println(event.Kind, event.New.Value.Rate, "an error:", event.New.Err != nil, "it was", event.Old.Value.Rate)
		break
	}
	cancel()
	<-over
	// Output:
	// there is one: false
	// added 10
	// updated 0 an error: true it was 10
}
