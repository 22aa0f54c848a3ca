package otel_test

import (
	"context"
	"fmt"
	"log"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/observe/otel"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A request that takes a lock has the wait and the hold in its trace. A program passes
// exporters of its own in place of the recorder.
func Example() {
	ctx := context.Background()
	server, err := zktest.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	recorder := tracetest.NewSpanRecorder()
	tracing := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	observer, err := otel.New(&otel.Options{TracerProvider: tracing, MeterProvider: sdkmetric.NewMeterProvider()})
	if err != nil {
		log.Fatal(err)
	}
	client, err := session.Connect(ctx, server.Addr(), &session.Options{Observer: observer})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	ctx, request := tracing.Tracer("example").Start(ctx, "POST /reports")
	held, err := lock.New(client, "/locks/report", nil).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := held.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	request.End()
	for _, span := range recorder.Ended() {
		fmt.Println(span.Name(), "links:", len(span.Links()))
	}
	// Output:
	// wait lock links: 0
	// hold lock links: 1
	// POST /reports links: 0
}
