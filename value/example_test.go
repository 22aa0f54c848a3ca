package value_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// connect connects an example to a server of its own.
func connect(ctx context.Context) (client *session.Client, done func()) {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	client, err = session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	return client, func() { client.Close(ctx); server.Close() }
}

func Example() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	hosts := value.New(client, "/config/hosts", nil)
	for _, host := range []string{"a.example", "b.example", "a.example"} {
		data, err := hosts.Update(ctx, func(data []byte) ([]byte, error) {
			if bytes.Contains(data, []byte(host)) {
				return data, nil // nothing is written
			}
			return fmt.Appendf(data, "%s ", host), nil
		})
		fmt.Printf("%s%v\n", data, err)
	}
	// Output:
	// a.example <nil>
	// a.example b.example <nil>
	// a.example b.example <nil>
}

// The caller handles a change whose outcome is unknown.
func ExampleValue_Set() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	mode := value.New(client, "/config/mode", nil)
	switch err := mode.Set(ctx, []byte("read-only")); {
	case errors.Is(err, session.ErrUnknownOutcome):
		fmt.Println("it may have been set: look before you set it again")
	case err != nil:
		fmt.Println("surely not set:", err)
	default:
		fmt.Println("set")
	}
	// Output: set
}

func ExampleValue_CompareAndSwap() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	mode := value.New(client, "/config/mode", &value.Options{Seed: []byte("on")}) // DistributedAtomicValue's compareAndSet
	first, _ := mode.CompareAndSwap(ctx, []byte("on"), []byte("off"))
	second, _ := mode.CompareAndSwap(ctx, []byte("on"), []byte("off"))
	fmt.Println(first, second)
	// Output: true false
}

// The bytes are edited elsewhere, for a long time, and set only if no other client has set
// them meanwhile.
func ExampleValue_TrySet() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	text := value.New(client, "/texts/welcome", &value.Options{Seed: []byte("hello")}) // SharedValue's trySetValue
	seen, err := text.Get(ctx)
	if err != nil {
		panic(err)
	}
	set, err := text.TrySet(ctx, seen, append(seen.Data, '!'))
	fmt.Println(set, err)
	stale, err := text.TrySet(ctx, seen, []byte("good morning"))
	fmt.Println(stale, err)
	// Output:
	// true <nil>
	// false <nil>
}

func ExampleValue_Watch() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	mode := value.New(client, "/config/mode", &value.Options{Seed: []byte("starting")})
	for state, err := range mode.Watch(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", state.Data)
		if string(state.Data) == "running" {
			break
		}
		if err := mode.Set(ctx, []byte("running")); err != nil {
			panic(err)
		}
	}
	// Output:
	// starting
	// running
}
