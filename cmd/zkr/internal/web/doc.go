// Package web is the common part of zkr's pages: protection against foreign
// requests, the frame around the pages, and live updates.
//
// # Pages
//
// A page is a frame with regions, and a region is a list of blocks: pieces of
// HTML with a key. [Frame.Serve] writes the whole page, complete without any
// script. [Stream] then sends, as server-sent events, the changed blocks and
// the list of present blocks: assets/live.js puts them into place. Both get the
// regions from the same function, so a page is written once.
//
// Ages are not sent again: [Ago] makes elements whose text the page updates by
// itself.
//
// # Safety
//
// Listen refuses addresses reachable from other machines, unless told
// otherwise. [Guard] answers only requests that name this machine, so a foreign
// page cannot read this one by pointing its own name here (DNS rebinding).
// Guard's headers forbid everything except loading the page's own style,
// scripts and events: even if foreign data were interpreted as HTML, the data
// could neither run code nor send requests.
package web
