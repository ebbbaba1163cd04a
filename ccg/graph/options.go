package graph

import "encoding/binary"

// Options are the parameters of the structure, which determine its bytes. Zero values mean the defaults.
type Options struct {
	Fold int // K, longest loop body that is folded, in list entries (256); below 0: none
	Fan  int // B, most children of a node (16)

	Deviation Deviation // of gaps; lossless by default
}

// Bounds and defaults of the options.
const (
	DefaultFold = 256
	DefaultFan  = 16
	maxFold     = 1 << 16
	maxFan      = 128
)

// Normal replaces missing values and those out of bounds. It does not change its own results.
func (o Options) Normal() Options {
	if o.Fold == 0 {
		o.Fold = DefaultFold
	}
	if o.Fan == 0 {
		o.Fan = DefaultFan
	}
	return Options{Fold: min(max(o.Fold, -1), maxFold), Fan: min(max(o.Fan, 2), maxFan), Deviation: o.Deviation.Normal()}
}

// Append appends fan, fold and, for a lossy graph, the bounds.
func (o Options) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(o.Fan))
	dst = binary.AppendUvarint(dst, uint64(max(o.Fold, 0)))
	return o.Deviation.Append(dst)
}

// Options reads what Append appended.
func (r *Reader) Options(lossy bool) Options {
	fan, fold := r.Next(), r.Next()
	d := r.Deviation(lossy)
	if fan < 2 || fan > maxFan || fold > maxFold {
		r.Fail()
		return Options{Fan: DefaultFan, Fold: DefaultFold}
	}
	if fold == 0 {
		return Options{Fan: int(fan), Fold: -1, Deviation: d}
	}
	return Options{Fan: int(fan), Fold: int(fold), Deviation: d}
}
