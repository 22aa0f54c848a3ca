package world

import (
	"os"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// productVariable is the environment variable with the [zktest.Product] of all servers whose
// options name none.
const productVariable = "ZKTEST_PRODUCT"

func product() zktest.Product { return zktest.Product(os.Getenv(productVariable)) }

// withProduct returns o, which may be nil, for the product that the tests are run for.
func withProduct(o *zktest.Options) *zktest.Options {
	out := zktest.Options{}
	if o != nil {
		out = *o
	}
	if out.Product == "" {
		out.Product = product()
	}
	return &out
}

// OnKeeper reports whether the product is of the Keeper family. Clients do not remove the
// watches that they have stopped from such a server; and it does not say that a session has
// expired if it has, and only then: a lost session, and what it was about to create, may exist.
func OnKeeper() bool { return product() != "" && product() != zktest.Apache }

// Creates reports whether op, of a request or a transaction, creates a znode in the way of a
// product.
func Creates(op string) bool { return op == "create2" || op == "create" }

// ResumesSessions reports whether the product resumes a session on a new connection.
// Otherwise each fault of a connection is one of the session.
func ResumesSessions() bool { return product() != zktest.ClickHouseKeeper }

// productExcuses are the errors that the product alone is the reason for.
func productExcuses() []error {
	if ResumesSessions() {
		return nil
	}
	return []error{session.ErrLost, session.ErrUnknownOutcome}
}
