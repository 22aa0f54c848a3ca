// Package kubetest tests package kubelock with client-go's leaderelection and with a
// manager of controller-runtime. It is a module of its own, outside of the workspace,
// because these libraries take minutes to compile:
//
//	cd election/kubelock/kubetest && GOWORK=off go test ./...
package kubetest
