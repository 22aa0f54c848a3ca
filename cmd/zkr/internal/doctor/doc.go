// Package doctor audits an ensemble and what runs on it: from facts to findings.
// The checks are pure. Ask collects the facts of a server with four-letter words.
package doctor
