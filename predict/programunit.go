package predict

import "github.com/coppice-hpc/coppice/predict/simnet"

// unitNodes are the nodes of a unit: a node of the graph with all of its requests, and at most unitValues byte counts that differ. Memory: 80 bytes for each
// combination of them.
type unitNodes struct {
	columns []int32 // of the byte counts, in the order of execution
	known   map[[unitValues]uint64]simnet.NodeID
	last    [unitValues]uint64
	id      simnet.NodeID // of last
	any     bool          // there is a last
}

// unit returns the unit of a node.
func (t *tracer) unit(n uint32) *unitNodes {
	u := t.units[n]
	if u != nil {
		return u
	}
	u = &unitNodes{known: map[[unitValues]uint64]simnet.NodeID{}}
	w := walker{plain: true}
	for st, id := w.begin(t, n); st != walkEnd; st, id = w.next() {
		switch st {
		case walkRecord:
			u.columns = t.records[t.info[id].record-1].columns(u.columns)
		case walkPart:
			w.take()
		}
	}
	if t.units == nil {
		t.units = map[uint32]*unitNodes{}
	}
	t.units[n] = u
	return u
}

// node returns the node of an instance with the given byte counts.
func (u *unitNodes) node(t *tracer, n uint32, values []uint64) (simnet.NodeID, error) {
	var key [unitValues]uint64
	copy(key[:], values)
	if u.any && u.last == key {
		return u.id, nil
	}
	id, ok := u.known[key]
	if !ok {
		if t.apart == nil {
			t.apart = newWriter(t)
		}
		var err error
		if id, err = t.apart.convert(n, key[:len(values)]); err != nil {
			return 0, err
		}
		u.known[key] = id
	}
	u.last, u.id, u.any = key, id, true
	return id, nil
}
