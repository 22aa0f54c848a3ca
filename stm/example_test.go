package stm_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
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

var errNoMoney = errors.New("not enough money")

// transfer moves an amount between two accounts, or returns the reason for a
// refusal.
func transfer(from, to string, amount int) func(tx *stm.Tx) error {
	return func(tx *stm.Tx) error {
		accounts, err := tx.GetAll(from, to) // one round trip
		if err != nil {
			return err
		}
		a, _ := strconv.Atoi(string(accounts[0].Data)) // a missing account is empty
		b, _ := strconv.Atoi(string(accounts[1].Data))
		if a < amount {
			return fmt.Errorf("%s has %d: %w", from, a, errNoMoney)
		}
		return errors.Join(tx.Put(from, []byte(strconv.Itoa(a-amount))), tx.Put(to, []byte(strconv.Itoa(b+amount))))
	}
}

func Example() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	txs := stm.New(client, "/transactions", nil)
	fmt.Println(txs.Apply(ctx, func(tx *stm.Tx) error { return tx.Put("/alice", []byte("30")) }))
	fmt.Println(txs.Apply(ctx, transfer("/alice", "/bob", 20)))
	fmt.Println(txs.Apply(ctx, transfer("/alice", "/bob", 20)))
	// Output:
	// <nil>
	// <nil>
	// /alice has 10: not enough money
}

// The servers refuse a write of a process that has lost its hold. Locks,
// leaderships and all other holds have a Guard; here the hold is a single
// znode.
func ExampleTx_Guard() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	s, err := client.Session(ctx)
	if err != nil {
		panic(err)
	}
	held, err := s.Create(ctx, "/held", nil, session.Ephemeral, nil)
	if err != nil {
		panic(err)
	}
	publish := func(tx *stm.Tx) error {
		return errors.Join(tx.Guard(session.CheckOp(held.Path, 0)), tx.Put("/report", []byte("done")))
	}
	txs := stm.New(client, "/transactions", nil)
	fmt.Println(txs.Apply(ctx, publish))
	_ = s.Delete(ctx, held.Path, 0)
	fmt.Println(errors.Is(txs.Apply(ctx, publish), stm.ErrGuard))
	// Output:
	// <nil>
	// true
}

// Compare and set of any bytes. For a single znode, package value does the same with fewer
// requests.
func ExampleTransactor_Apply_compareAndSet() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	txs := stm.New(client, "/transactions", nil)
	compareAndSet := func(path, from, to string) (ok bool, err error) {
		err = txs.Apply(ctx, func(tx *stm.Tx) error {
			node, err := tx.Get(path)
			if ok = string(node.Data) == from; err != nil || !ok {
				return err
			}
			return tx.Put(path, []byte(to))
		})
		return ok && err == nil, err
	}
	fmt.Println(compareAndSet("/mode", "", "blue"))
	fmt.Println(compareAndSet("/mode", "green", "red"))
	fmt.Println(compareAndSet("/mode", "blue", "green"))
	// Output:
	// true <nil>
	// false <nil>
	// true <nil>
}
