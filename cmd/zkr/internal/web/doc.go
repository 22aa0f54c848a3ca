// Package web is what zkr's pages have in common: who may ask for them, the
// frame around them, and how they stay up to date.
//
// # Pages
//
// A page is a frame with regions, and a region is a list of blocks: pieces of
// HTML with a key. [Frame.Serve] writes the whole page, which is complete without
// any script. [Stream] then sends, as server-sent events, the blocks that have
// become others, and which blocks there are: assets/live.js puts them where they
// belong. Both get the regions from the same function, so a page is written once.
//
// Ages are not part of what is sent again: [Ago] makes elements whose text the
// page counts by itself.
//
// # Safety
//
// Listen refuses addresses that others can reach, unless it is told not to.
// [Guard] answers only requests that name this machine, so that no page from
// elsewhere can be made to read this one by a name that it lets point here; and
// its headers forbid whatever a page could do but load its own style, scripts and
// events: even if foreign data came to be taken for HTML, it could run nothing and
// tell nobody.
package web
