package httpfence_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/httpfence"
)

// putReport sends the report with the token of the hold.
func putReport(ctx context.Context, client *http.Client, url string, token fence.Token, text string) error {
	req, err := http.NewRequestWithContext(fence.NewContext(ctx, token), http.MethodPut, url, strings.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := httpfence.CheckResponse(resp); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("put %s: %s", url, resp.Status)
	}
	return nil
}

// A server that refuses late writes, and the clients of two holds.
func Example() {
	reports := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := fence.FromContext(r.Context())
		fmt.Println("written with", token)
	})
	server := httptest.NewServer(httpfence.Handler(&fence.Memory{}, reports, nil))
	defer server.Close()
	client := &http.Client{Transport: &httpfence.Transport{}}
	defer client.CloseIdleConnections()

	ctx, url := context.Background(), server.URL+"/report"
	fmt.Println(putReport(ctx, client, url, fence.Token{Epoch: 1, Number: 7}, "by the first holder"))
	fmt.Println(putReport(ctx, client, url, fence.Token{Epoch: 1, Number: 9}, "by the second holder"))
	fmt.Println(putReport(ctx, client, url, fence.Token{Epoch: 1, Number: 7}, "too late"))
	// Output:
	// written with 1-7
	// <nil>
	// written with 1-9
	// <nil>
	// fence: write /report: stale fencing token: token 1-7 is lower than 1-9, the highest seen
}
