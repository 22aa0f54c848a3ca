// Command partlog shows that processes that die all the time can process a log
// with nothing lost, nothing done twice, and nothing out of order.
//
//	go run ./examples/partlog                       # needs nothing; ends by itself, after some 12 s
//	go run ./examples/partlog -servers zk1:2181     # the same, on your servers
//
// A producer appends records to the partitions of a log, which are files. Each record
// has a key, and all records of a key are in one partition, numbered from 1. Consumers,
// which are processes of their own, share the partitions with package rebalanser: each
// partition is a resource, and has one consumer at a time. Meanwhile consumers are
// killed (kill -9) and started again, frozen for longer than their sessions last and
// thawed, and ended gracefully, at random. At the end a judge compares the output with
// the input, and says whether the output is right.
//
// How the output becomes exact. A consumer reads a few records, works on them, and
// writes the results into a file, a batch, which is not part of the output yet. Then
// the consumer commits the batch in one transaction of ZooKeeper. The transaction sets
// the partition's head to the batch, and the offset to the end of its last record. It
// fails unless the head is still the batch that the consumer has continued from, and
// the consumer still owns the partition ([rebalanser.Resource.Guard]). The output
// consists of the committed batches: each batch names its predecessor, and the head is
// the last batch. So a consumer that is killed in the middle leaves a file that is
// never read. A consumer that was frozen, and still believes to own a partition, is
// refused. No file system has to compare a token: the token is in the names of the
// files, so that two owners never write the same file.
//
// Consumers can be run by hand as well, also on other machines that share the folder;
// the first line of the output says how. With -keep, the znodes and the files stay
// for inspection by "zkr rebalance status" and "zkr tree".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// settings are the values of the flags.
type settings struct {
	servers string // "" in the director: a server in this process
	dir     string // folder of the log and of the output; "" in the director: a temporary one
	root    string // path below which all of it is in ZooKeeper
	name    string // of the consumer
	session time.Duration
	pace    time.Duration // how long the work on a record takes
	batch   int           // records to a batch, at most

	partitions, keys, consumers int
	last                        time.Duration // how long records come, and consumers are disturbed
	seed                        uint64
	keep                        bool
}

func main() {
	var c settings
	flag.StringVar(&c.servers, "servers", "", "ZooKeeper's servers; default: one in this process")
	flag.StringVar(&c.dir, "dir", "", "folder of the log and of the output; default: a temporary one")
	flag.StringVar(&c.root, "root", "/partlog", "path in ZooKeeper, which must not exist")
	flag.DurationVar(&c.session, "session", 0, "session timeout; 0: 2s, or with -servers 4s, the shortest that most servers grant")
	flag.DurationVar(&c.pace, "pace", 8*time.Millisecond, "how long the work on a record takes")
	flag.IntVar(&c.batch, "batch", 20, "records to a batch, at most")
	flag.IntVar(&c.partitions, "partitions", 12, "partitions of the log")
	flag.IntVar(&c.keys, "keys", 5, "keys in a partition")
	flag.IntVar(&c.consumers, "consumers", 4, "consumers")
	flag.DurationVar(&c.last, "for", 8*time.Second, "how long records are produced and consumers disturbed")
	flag.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano()), "seed of the events that happen to the consumers")
	flag.BoolVar(&c.keep, "keep", false, "leave the files and the znodes")
	flag.StringVar(&c.name, "consume", "", "be a consumer of this `name`, and nothing else, until stdin ends")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "partlog: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2) // as for a flag that there is not
	}
	if c.session == 0 {
		c.session = 2 * time.Second
		if c.servers != "" {
			c.session *= 2
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	do := runDemo
	if c.name != "" {
		do = consume
	}
	err := do(ctx, c, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "partlog:", err)
		os.Exit(1)
	}
}
