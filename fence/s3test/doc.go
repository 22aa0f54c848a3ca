// Package s3test has the tests of fence.Put and fence.Update on a real server of S3's
// protocol, versitygw, and an adapter for the AWS SDK. The package is a module of its own,
// outside of the workspace, because server and SDK take minutes to compile, and is not
// released:
//
//	cd fence/s3test && GOWORK=off go test ./...
package s3test
