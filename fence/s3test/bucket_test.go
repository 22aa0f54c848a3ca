//go:build unix

package s3test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/zkrecipes/zkrecipes/fence"
)

// Bucket is a fence.ObjectStore: a bucket of S3, or of another server with its protocol and
// conditional writes.
type Bucket struct {
	Client *s3.Client
	Name   string
}

// Get reads an object.
func (b Bucket) Get(ctx context.Context, key string) ([]byte, string, error) {
	out, err := b.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
	var missing *types.NoSuchKey
	switch {
	case errors.As(err, &missing):
		return nil, "", fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case err != nil:
		return nil, "", err
	}
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	return data, aws.ToString(out.ETag), err
}

// Put writes an object on a condition. The SDK must not repeat the request: if the reply to
// a successful write is lost, the repetition would fail with PreconditionFailed, which
// stands for a write that was not carried out.
func (b Bucket) Put(ctx context.Context, key string, data []byte, version string) error {
	in := &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: bytes.NewReader(data)}
	if version == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &version
	}
	_, err := b.Client.PutObject(ctx, in, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	var refused smithy.APIError
	if errors.As(err, &refused) {
		switch refused.ErrorCode() {
		case "PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey":
			return fmt.Errorf("%w: %w", fence.ErrVersionMismatch, err)
		}
	}
	return err
}
