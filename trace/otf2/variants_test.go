package otf2

import "github.com/coppice-hpc/coppice/trace"

// tables are mapping tables for completeDefinitions. Dense ones number local
// references from 0; sparse ones name only what differs.
func tables(sparse bool) []Mapping {
	var list []Mapping
	for k := range trace.NumRefKinds {
		n := limits[k]
		m := Mapping{Kind: k}
		for i := range n {
			m.Pairs = append(m.Pairs, [2]uint64{i, (i + 1) % n})
		}
		if k == trace.RefLocation {
			m.Pairs = [][2]uint64{{0, 1}, {1, 1 << 32}, {2, 1<<32 + 1}, {3, 0}, {4, 2}, {5, 3}}
			if sparse {
				m.Pairs = [][2]uint64{{0, 1 << 32}, {1 << 32, 0}}
			}
		} else if sparse {
			m.Pairs = [][2]uint64{{0, 0}, {1 << 19, n - 1}, {n - 1, 1 << 19}}
			if n == 1 {
				m.Pairs = [][2]uint64{{0, 0}}
			}
		}
		list = append(list, m)
	}
	return list
}

// variants are the ways to write an archive that other tools can read.
func variants() map[string]Options {
	const chunk = 256 << 10
	offsets := []ClockOffset{{Time: 900, Offset: 40, Deviation: 0.5}, {Time: 1100, Offset: 40}, {Time: 1400, Offset: -20}, {Time: 2000, Offset: -30}}
	local := func(l Local) func(trace.P) *Local {
		return func(p trace.P) *Local {
			if p == 1 { // one location without any
				return nil
			}
			return &l
		}
	}
	return map[string]Options{
		"plain":      {EventChunk: chunk},
		"big endian": {EventChunk: chunk, BigEndian: true},
		"dense":      {EventChunk: chunk, Local: local(Local{Mappings: tables(false)})},
		"sparse":     {EventChunk: chunk, Local: local(Local{Mappings: tables(true), Sparse: true})},
		"clock":      {EventChunk: chunk, Local: local(Local{Offsets: offsets})},
		"all":        {EventChunk: chunk, BigEndian: true, Local: local(Local{Mappings: tables(true), Sparse: true, Offsets: offsets})},
	}
}
