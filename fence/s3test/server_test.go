//go:build unix

package s3test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
)

// The credentials of the server, which listens on the loopback only.
const (
	accessKey = "test"
	secretKey = "test-secret"
)

// bucketName is the bucket of all tests.
const bucketName = "bucket"

// startS3 starts a server with an empty bucket in a temporary folder, and returns its URL.
func startS3(t *testing.T) string {
	t.Helper()
	built, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "versitygw").Output()
	require.NoError(t, err, "build the server")
	program := strings.TrimSpace(string(built))

	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, bucketName), 0o700))
	address := freeAddress(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer log.Close()
	server := exec.Command(program, "--port", address, "--quiet", "posix", dir)
	server.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	server.Stdout, server.Stderr = log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGKILL) // it may have ended
		_ = server.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("log of the S3 server:\n%s", text)
		}
	})
	url := "http://" + address
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := bucketAt(url, nil).Client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String(bucketName)})
		return err == nil
	}, 30*time.Second, 20*time.Millisecond)
	return url
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// bucketAt is the bucket of a server. transport may be nil.
func bucketAt(url string, transport http.RoundTripper) Bucket {
	return Bucket{
		Client: s3.New(s3.Options{
			BaseEndpoint: &url, UsePathStyle: true, Region: "us-east-1",
			Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
			HTTPClient:  &http.Client{Transport: transport},
		}),
		Name: bucketName,
	}
}
