package exporter

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

// page is series as a scrape sends them: as text, and as the blocks of a compressed stream,
// which end that stream.
type page struct{ text, deflated []byte }

// encode writes the series in Prometheus's text format. Every scrape until the next refresh
// sends these bytes: encoding and compressing ten thousand locks takes longer than a scrape
// may take.
func (b *batch) encode() page {
	var order []*metric
	groups := map[*metric][]key{}
	for _, k := range b.order {
		if groups[k.metric] == nil {
			order = append(order, k.metric)
		}
		groups[k.metric] = append(groups[k.metric], k)
	}
	var text []byte
	for _, m := range order {
		kind := "gauge"
		if m.isCounter() {
			kind = "counter"
		}
		text = append(text, "# HELP "+m.name+" "+helpEscapes.Replace(m.help)+"\n# TYPE "+m.name+" "+kind+"\n"...)
		for _, k := range groups[m] {
			text = appendSeries(text, k, b.values[k])
		}
	}
	return page{text, deflate(text, true)}
}

// The escapes of the text format.
var (
	helpEscapes  = strings.NewReplacer("\\", `\\`, "\n", `\n`)            // read only
	labelEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`) // read only
)

// appendSeries appends a line.
func appendSeries(text []byte, k key, value float64) []byte {
	text = append(text, k.metric.name...)
	for i, label := range k.labels[:k.n] {
		text = append(text, "{,"[min(i, 1)])
		text = append(text, k.metric.labels[i]...)
		text = append(text, `="`...)
		text = append(text, labelEscapes.Replace(label)...)
		text = append(text, '"')
	}
	if k.n > 0 {
		text = append(text, '}')
	}
	text = append(text, ' ')
	text = strconv.AppendFloat(text, value, 'g', -1, 64)
	return append(text, '\n')
}

// deflate compresses text into whole blocks, to which others can be appended unless they
// are the last ones.
func deflate(text []byte, last bool) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestSpeed) // the level is valid
	_, _ = w.Write(text)                           // a Buffer has no errors
	if end := w.Flush; !last {
		_ = end()
	} else {
		_ = w.Close()
	}
	return out.Bytes()
}

// writeGzip writes head and then the page as one gzip file (RFC 1952): some readers accept
// no second one behind it.
func writeGzip(w io.Writer, head []byte, p page) error {
	if p.deflated == nil {
		p.deflated = deflate(nil, true)
	}
	sum := crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, p.text)
	end := binary.LittleEndian.AppendUint32(nil, sum)
	end = binary.LittleEndian.AppendUint32(end, uint32(len(head)+len(p.text)))
	for _, part := range [][]byte{{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}, deflate(head, false), p.deflated, end} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
