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

// OnKeeper reports whether the product is of the Keeper family. A server of the family does not
// say that a session has expired if it has, and only then: a lost session, and what it was about
// to create, may exist.
func OnKeeper() bool { return product() != "" && product() != zktest.Apache }

// Creates reports whether op, of a request or a transaction, creates a znode in the way of a
// product. The requests that create containers are others.
func Creates(op string) bool { return op == "create2" || op == "create" }

// productExcuses are the errors that the product alone is the reason for: where no session is
// resumed, each fault of a connection is one of the session.
func productExcuses() []error {
	if Has(Resumes) {
		return nil
	}
	return []error{session.ErrLost, session.ErrUnknownOutcome}
}
