//go:build unix

package s3test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/internal/frozen"
	"github.com/zkrecipes/zkrecipes/fence/internal/objecttest"
)

// Everything that an object store must do, on a real one.
func TestBucketIsAnObjectStore(t *testing.T) {
	b := bucketAt(startS3(t), nil)
	for name, test := range map[string]func(*testing.T, fence.ObjectStore){
		"conditions": objecttest.Conditions, "lower token": objecttest.LowerToken, "late": objecttest.LateBehindItsRead,
		"shown token": objecttest.ShownToken, "unfenced": objecttest.Unfenced,
		"updates": func(t *testing.T, store fence.ObjectStore) { objecttest.ConcurrentUpdates(t, store, 8) },
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

// deaf is a transport that loses the reply to the first PUT.
type deaf struct{ puts atomic.Int64 }

var errReply = errors.New("the reply is lost")

func (d *deaf) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.Method == http.MethodPut && d.puts.Add(1) == 1 {
		resp.Body.Close()
		return nil, errReply
	}
	return resp, err
}

// A write without a reply is reported, and neither the SDK nor Update repeats it.
func TestUpdateWithoutAReplyIsNotRepeated(t *testing.T) {
	url := startS3(t)
	token := fence.Token{Epoch: 1, Number: 5}
	add := func(data []byte) ([]byte, error) { return append(data, 'x'), nil }
	var d deaf
	b := bucketAt(url, &d)
	require.ErrorIs(t, fence.Update(t.Context(), b, "a", token, add), errReply)
	data, _, err := fence.Get(t.Context(), b, "a")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	require.EqualValues(t, 1, d.puts.Load())
	require.NoError(t, fence.Update(t.Context(), b, "a", token, add))
	data, _, err = fence.Get(t.Context(), b, "a")
	require.NoError(t, err)
	require.Equal(t, "xx", string(data))
}

// The process of a holder is frozen until another client holds and has written.
func TestALateWriteToS3IsRefused(t *testing.T) { testLateWrite(t, frozen.InProcess(t)) }

func TestOnApacheALateWriteToS3IsRefused(t *testing.T) { testLateWrite(t, frozen.OnApache(t)) }

func testLateWrite(t *testing.T, servers string) {
	for _, fenced := range []bool{false, true} {
		t.Run(fmt.Sprintf("fenced=%v", fenced), func(t *testing.T) {
			var url string
			refused := frozen.Case{
				Serve: func() string { url = startS3(t); return url },
				Write: func(ctx context.Context, w frozen.Writer, value string) error {
					b := bucketAt(w.Target, nil)
					if fenced {
						return fence.Put(ctx, b, "report", w.Token, []byte(value))
					}
					// The fence is missing, and the condition with it.
					_, err := b.Client.PutObject(ctx, &s3.PutObjectInput{
						Bucket: &b.Name, Key: aws.String("report"), Body: strings.NewReader("1-1\n" + value),
					})
					return err
				},
			}.Run(t, servers)
			require.Equal(t, fenced, refused)
			data, _, err := fence.Get(t.Context(), bucketAt(url, nil), "report")
			require.NoError(t, err)
			if fenced {
				require.Equal(t, frozen.Next, string(data))
			} else {
				require.Equal(t, frozen.Late, string(data))
			}
		})
	}
}
