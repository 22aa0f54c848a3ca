module github.com/zkrecipes/zkrecipes/fence/grpcfence

go 1.26.0

require (
	github.com/stretchr/testify v1.12.1
	github.com/zkrecipes/zkrecipes v0.1.0
	go.uber.org/goleak v1.3.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)
